"""dask-ml's HyperbandSearchCV on one search problem, run by the Python that has dask-ml.

    python _dask_ml_worker.py FOLDER

FOLDER has ``task.json`` (model, space, limits) and ``rows.npz`` (X, y); ``run.json`` is what
comes back: seconds, fits, and for each change of the best model its time, fits and params.
This file imports nothing of `sklearn_halving`, which its environment does not have. Releases
that were seen to run together (Python 3.11, November 2026):

    pip install dask-ml==2025.1.0 dask==2025.1.0 distributed==2025.1.0 scikit-learn==1.6.1
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


class TimeIsOverError(Exception):
    """Ends the search from inside, which has no limit of time of its own."""


class Watch:
    """A scorer that sees each model when it is scored: its parameters, its last score."""

    def __init__(self, scorer: Any, names: list[str], seconds: float) -> None:
        self._scorer, self._names, self._limit = scorer, names, seconds
        self.started = time.perf_counter()
        self.scores: dict[str, float] = {}
        self.incumbents: list[tuple[float, int, dict[str, Any]]] = []
        self.n_fits = 0

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """Score, and keep whose last score is the best."""
        if self.seconds() > self._limit:
            raise TimeIsOverError
        try:
            score = float(self._scorer(model, X, y))
        except ValueError:  # an overflow in the coefficients
            score = -1e6
        self.n_fits += 1
        params = {name: plain(model.get_params()[name]) for name in self._names}
        self.scores[json.dumps(params)] = score
        best = json.loads(max(self.scores, key=lambda key: self.scores[key]))
        if not self.incumbents or self.incumbents[-1][2] != best:
            self.incumbents.append((self.seconds(), self.n_fits, best))
        return score

    def seconds(self) -> float:
        """Return the wall time since the start."""
        return time.perf_counter() - self.started


WATCH: Watch | None = None


def watched_score(model: Any, X: Any, y: Any) -> float:
    """Score with what `run` set up: a function that Dask can name, and need not copy."""
    if WATCH is None:
        raise RuntimeError("Scored outside a run.")
    return WATCH(model, X, y)


def plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def from_json(space: dict[str, Any]) -> dict[str, Any]:
    """Return distributions of SciPy, and lists."""
    import scipy.stats

    return {
        name: values
        if isinstance(values, list)
        else getattr(scipy.stats, values["name"])(*values["args"], **values["kwds"])
        for name, values in space.items()
    }


def run(task: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """Search; return what `run.json` holds."""
    global WATCH  # noqa: PLW0603 - Dask runs the scorer by its name
    from dask_ml.model_selection import HyperbandSearchCV
    from distributed import Client
    from sklearn.metrics import get_scorer

    model = getattr(importlib.import_module(task["module"]), task["name"])(**task["params"])
    space = from_json(task["space"])
    fit_params = {"classes": np.unique(y)} if task["is_classifier"] else {}
    # Left open: closing it waits for all that is still queued, see `main`.
    Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    )
    # What is imported and compiled once is no part of a search.
    HyperbandSearchCV(model, space, max_iter=3, random_state=0).fit(X, y, **fit_params)
    search = HyperbandSearchCV(
        model,
        space,
        max_iter=task["max_iter"],
        random_state=task["seed"],
        scoring=watched_score,
    )
    WATCH = Watch(get_scorer(task["scoring"]), list(space), task["seconds"])
    with contextlib.suppress(TimeIsOverError):
        search.fit(X, y, **fit_params)
    took = WATCH.seconds()
    history = getattr(search, "history_", [])
    times = [one["partial_fit_time"] + one["score_time"] for one in history]
    return {
        "incumbents": WATCH.incumbents,
        "seconds": took,
        "n_fits": WATCH.n_fits,
        # Only known of a search that came to its end.
        "fit_seconds": float(np.sum(times)) if times else float("nan"),
    }


def main() -> None:
    """Read the task, write the run."""
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    rows = np.load(folder / "rows.npz", allow_pickle=False)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # Dask pickles functions of the script as copies, which would not see the same WATCH; those
    # of a module it finds by name.
    module = importlib.import_module("_dask_ml_worker")
    answer = module.run(task, rows["X"], rows["y"])
    (folder / "run.json").write_text(json.dumps(answer), encoding="utf-8")
    os._exit(0)


if __name__ == "__main__":
    main()
