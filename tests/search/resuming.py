"""What the tests of long searches share: an estimator with events, and comparisons."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
from joblib import parallel_config
from scipy.stats import uniform

from search.common import Constant, numbered, small

GRID = {"value": [0.3, 0.9, 0.5, 0.7, 0.1]}
X, Y = numbered(60)


class Steady(Constant):
    """Scores its value plus a little noise that depends on the training rows only.

    Each fit adds a line with its value and its rows to the file ``log`` when it begins.

    Parameters
    ----------
    value : float
    log : str or None
    event : str or None
        What happens in fit number ``at`` of the log: "interrupt" and "interrupt twice" send
        Ctrl-C to the search, "terminate" sends it SIGTERM, "kill" ends its process, "error"
        raises an error, and "sleep" takes ``seconds``.
    at : int
    seconds : float
        Duration of each fit, or of this fit only for "sleep".
    """

    def __init__(self, value=0.5, log=None, event=None, at=5, seconds=0.0):
        self.value = value
        self.log = log
        self.event = event
        self.at = at
        self.seconds = seconds

    def fit(self, X, y=None):
        rows = np.asarray(X)[:, 0].astype(int)
        n_before = 0
        if self.log is not None:
            with Path(self.log).open("a+") as file:
                file.write(f"{self.value} {hash(rows.tobytes() and tuple(rows.tolist()))}\n")
                file.flush()
                end = file.tell()  # of this line, whatever another worker has added since
                file.seek(0)
                n_before = file.read(end).count("\n") - 1
        if n_before == int(os.environ.get("KILL_AT", "-1")):
            self._kill()
        if n_before == self.at and self.event is not None:
            getattr(self, "_" + self.event.replace(" ", "_"))()
        elif self.seconds and self.event != "sleep":
            time.sleep(self.seconds)
        self.noise_ = 0.05 * np.sin(rows.sum())
        return super().fit(X, y)

    def _interrupt(self):
        os.kill(search_process(), signal.SIGINT)

    def _terminate(self):
        os.kill(search_process(), signal.SIGTERM)

    def _interrupt_twice(self):
        os.kill(search_process(), signal.SIGINT)
        time.sleep(0.05)  # a second signal is lost while the first is pending
        os.kill(search_process(), signal.SIGINT)
        time.sleep(5)  # in another process, it must not end before the search

    def _kill(self):
        os.kill(search_process(), signal.SIGKILL)
        time.sleep(60)

    def _error(self):
        raise ArithmeticError("told to fail")

    def _sleep(self):
        time.sleep(self.seconds)

    def score(self, X, y=None):
        return self.value + self.noise_


def search_process():
    """Return the process of the search: this one, or the one that started this worker."""
    is_worker = multiprocessing.current_process().name.startswith(("Loky", "ForkPool"))
    return os.getppid() if is_worker else os.getpid()


def steady(search_class, path=None, *, estimator=None, **params):
    """Return a small search of `Steady` with a checkpoint at ``path``."""
    return small(search_class, estimator or Steady(), GRID, checkpoint=path, **params)


def table(search, *, with_times=False):
    """Return ``cv_results_`` as text; numbers to the last bit."""
    return str(
        {
            key: np.ma.getdata(column).tolist() if key != "params" else column
            for key, column in search.cv_results_.items()
            if with_times or not key.endswith("_time")
        }
    )


def found(search):
    """Return the results that an interrupted and an uninterrupted search have in common."""
    names = ("best_params_", "best_index_", "best_score_", "n_fits_", "n_splits_")
    names += ("n_resources_spent_", "n_fits_left_", "best_probability_", "stopped_by_")
    return table(search), [repr(getattr(search, name, None)) for name in names]


def fits_in(path):
    """Return the pulls of the fits in a checkpoint, in the order in which they returned."""
    if not Path(path).exists():
        return []
    rows = []
    with suppress(sqlite3.OperationalError):  # it is empty, because a search begins
        rows = query(path, "SELECT outcome FROM fits ORDER BY rowid")
    return [tuple(json.loads(outcome)["pull"]) for (outcome,) in rows]


def cut_after(path, n_fits):
    """Leave the first fits in a checkpoint, as if the process had been killed then."""
    first = f"SELECT rowid FROM fits ORDER BY rowid LIMIT {n_fits}"
    query(path, f"DELETE FROM fits WHERE rowid NOT IN ({first})")


def query(path, text):
    """Return the rows that a statement gives."""
    with closing(sqlite3.connect(path, timeout=60)) as connection, connection:
        return connection.execute(text).fetchall()


def fits_of(log):
    """Return the lines of a log, in the order in which the fits began."""
    return Path(log).read_text().splitlines() if Path(log).exists() else []


def fit_and_die(search_class, folder, backend, kill_at):
    """Run the search of the crash tests, which is killed in fit number ``kill_at`` of the log."""
    os.environ["KILL_AT"] = str(kill_at)
    os.setpgid(0, 0)  # so that the test can end workers that outlive their search
    with parallel_config(backend, n_jobs=1 if backend == "sequential" else 2):
        crashing(search_class, folder).fit(X, Y)


def crashing(search_class, folder, **params):
    """Return a search whose fits take a moment and are logged."""
    estimator = Steady(log=f"{folder}/log", seconds=0.01)
    # All candidates differ, so that each line of the log is one fit.
    space, path = {"value": uniform(0, 1)}, f"{folder}/j"
    params["n_candidates"] = 5
    return small(search_class, estimator, space, checkpoint=path, refit=False, **params)
