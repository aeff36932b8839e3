"""Searches that are stopped: by a budget of time, by Ctrl-C, by exceptions, by a kill."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import FitFailedWarning, NotFittedError

from search.common import parametrize_searches
from search.resuming import (
    GRID,
    Steady,
    X,
    Y,
    crashing,
    fit_and_die,
    fits_in,
    fits_of,
    found,
    steady,
)
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV, HyperbandSearchCV
from sklearn_halving.execution._pull_loop import Interrupt
from sklearn_halving.policies import SuccessiveRejects
from sklearn_halving.policies.bases._planned_policy import PlannedGame

BUDGET = 1.0
"""Seconds of a search whose fits take none, but for one that takes all of them."""


def eventful(search_class, tmp_path, event, at=5, **params):
    """Return a search in which something happens in one fit, and never again."""
    estimator = Steady(log=str(tmp_path / "log"), event=event, at=at)
    return steady(search_class, tmp_path / "j", estimator=estimator, **params)


def unbroken(search_class, tmp_path, event):
    """Return what the same search finds if nothing happens."""
    estimator = Steady(log=str(tmp_path / "log of unbroken"), event=event, at=10**9)
    return found(steady(search_class, estimator=estimator).fit(X, Y))


def assert_goes_on(search, tmp_path, event, n_done):
    """Check that a search that was stopped ends as if it had not been."""
    n_begun = len(fits_of(tmp_path / "log"))
    search.set_params(refit=True).fit(X, Y)
    assert found(search) == unbroken(type(search), tmp_path, event)
    # the refit is a fit too
    assert len(fits_of(tmp_path / "log")) - n_begun == search.n_fits_ - n_done + 1


# ----------------------------------------------------------------------------- time budget


@parametrize_searches
def test_a_time_budget_ends_with_results_and_a_refit(search_class, tmp_path):
    search = eventful(search_class, tmp_path, "sleep", at=13, time_budget=BUDGET)
    search.estimator.seconds = BUDGET
    with pytest.warns(
        UserWarning, match=rf"by time_budget={BUDGET} .*after 14 fits of \d candidates"
    ):
        search.fit(X, Y)
    assert search.stopped_by_ == "time_budget"
    assert search.n_fits_ == 14
    assert len(fits_of(tmp_path / "log")) == 15, "the refit is outside of the budget"
    assert search.best_estimator_.value == search.best_params_["value"]
    assert search.predict(X).shape == (60,)
    assert search.cv_results_["candidate"].size >= 2


@parametrize_searches
def test_a_time_budget_that_compares_few_candidates_in_full_says_what_would_do(
    search_class, tmp_path
):
    search = eventful(search_class, tmp_path, "sleep", at=1, time_budget=BUDGET)
    search.estimator.seconds = BUDGET
    with pytest.warns(UserWarning, match=r"enough to fit \d candidates? in full") as caught:
        search.fit(X, Y)
    n_full, *seconds = re.findall(r"(?<=fit )\d|\d+(?:\.\d+)?(?= s)", str(caught[0].message))
    levels = search.history_.get("n_resources", search.history_["n_train"])
    assert int(n_full) == search.history_["candidate"][levels == 40].nunique()
    took, *needed = map(float, seconds)
    assert took >= BUDGET / 2, "the mean of two fits"
    assert needed == [pytest.approx(10 * took, rel=0.05)]


@parametrize_searches
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_a_time_budget_too_short_for_any_fit_has_a_fitted_model(search_class, backend):
    search = steady(search_class, time_budget=1e-9)
    with parallel_config(backend, n_jobs=2), pytest.warns(UserWarning, match="fit took|takes"):
        search.fit(X, Y)
    assert search.stopped_by_ == "time_budget"
    assert search.n_fits_ <= 2
    search.best_estimator_.predict(X)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("loky", 2)])
def test_workers_begin_nothing_after_the_time_is_up(backend, n_jobs, tmp_path):
    """A fit of each worker lasts as long as the budget; those that wait are not begun."""
    estimator = Steady(log=str(tmp_path / "log"), seconds=1.5 * BUDGET)
    search = steady(HyperbandSearchCV, estimator=estimator, time_budget=BUDGET, refit=False)
    with parallel_config(backend, n_jobs=n_jobs):
        # To start worker processes may take longer than the budget.
        steady(HyperbandSearchCV).fit(X, Y)
        with pytest.warns(UserWarning, match="time_budget"):
            search.fit(X, Y)
    assert search.n_fits_ <= n_jobs
    # A process may take up the next one in the moment before it is ended.
    assert len(fits_of(tmp_path / "log")) <= n_jobs * (2 if backend == "loky" else 1)


# ---------------------------------------------------------------------------------- Ctrl-C


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize(("backend", "n_jobs"), [("sequential", 1), ("threading", 2), ("loky", 2)])
def test_ctrl_c_keeps_what_is_done_and_the_search_goes_on(search_class, backend, n_jobs, tmp_path):
    search = eventful(search_class, tmp_path, "interrupt", n_jobs=n_jobs)
    search.estimator.seconds = 0.05 * (n_jobs - 1)  # so that workers are not ahead by all of it
    with parallel_config(backend), pytest.raises(KeyboardInterrupt, match=r"after .* fits"):
        search.fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert search.stopped_by_ == "interrupt"
    n_done = search.n_fits_
    # loky's workers begin at different times: the fifth to begin may be the first to end
    assert n_done >= (1 if backend == "loky" else 5)
    assert n_done < 18
    assert len(search.history_) == n_done
    assert search.best_params_ in search.cv_results_["params"]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError):
        search.predict(X)
    assert len(fits_in(tmp_path / "j")) == n_done
    assert_goes_on(search, tmp_path, "interrupt", n_done)


@pytest.mark.parametrize("n_presses", [1, 2])
@parametrize_searches
def test_ctrl_c_while_the_results_are_made_keeps_them(search_class, n_presses, tmp_path):
    def choose(results):
        for _ in range(n_presses):
            signal.raise_signal(signal.SIGINT)
        return 0

    search = steady(search_class, tmp_path / "j", refit=choose)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.stopped_by_ == "interrupt"
    assert search.n_fits_ == len(search.history_)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert not hasattr(search, "best_estimator_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def handled(number, error):
    """Handle a signal by raising an error."""

    def handle(*_):
        raise error

    former = signal.signal(number, handle)
    try:
        yield handle
    finally:
        assert signal.getsignal(number) is handle
        signal.signal(number, former)


@pytest.mark.walk
@pytest.mark.skipif(os.name == "nt", reason="has other signals")
@pytest.mark.parametrize(
    ("backend", "n_jobs"),
    [("sequential", 1), ("threading", 2), ("loky", 2), ("multiprocessing", 2)],
)
@pytest.mark.parametrize("error", [SystemExit(3), TimeoutError("an alarm of the user")])
def test_what_a_handler_of_the_user_raises_ends_the_search(error, backend, n_jobs, tmp_path):
    search = eventful(HyperbandSearchCV, tmp_path, "terminate", n_jobs=n_jobs)
    search.estimator.seconds = 0.05 * (n_jobs - 1)
    with (
        handled(signal.SIGTERM, error),
        parallel_config(backend),
        pytest.raises(type(error)) as info,
    ):
        search.fit(X, Y)
    assert info.value is error
    assert search.stopped_by_ == "error"
    assert 1 <= search.n_fits_ == len(search.history_) < 18
    assert set(search.history_["outcome"]) == {"ok"}
    assert search.best_params_ in search.cv_results_["params"]
    assert_goes_on(search, tmp_path, "terminate", search.n_fits_)


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_handlers_of_the_user_wait_until_the_results_are_made():
    def choose(results):
        signal.raise_signal(signal.SIGTERM)
        return 0

    search = steady(HyperbandSearchCV, refit=choose)
    with handled(signal.SIGTERM, SystemExit(3)), pytest.raises(SystemExit):
        search.fit(X, Y)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]


class Ended(Steady):
    """The refit, on all rows, gets the signal that ends a process."""

    def fit(self, X, y=None):
        if len(X) == len(globals()["X"]):
            signal.raise_signal(signal.SIGTERM)
        return super().fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_a_refit_that_is_ended_leaves_the_results_and_says_that_there_is_no_model():
    search = HyperbandSearchCV(Ended(), {"value": [0.1, 0.2, 0.3]}, cv=3, random_state=0)
    with handled(signal.SIGTERM, SystemExit(3)), pytest.raises(SystemExit):
        search.fit(X, Y)
    assert search.best_params_ == {"value": 0.3}
    assert "nothing was refitted" in str(search.summary())
    with pytest.raises(NotFittedError, match=r"no best_estimator_ .* was stopped"):
        search.predict(X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_worker_that_is_forked_while_the_results_are_made_can_be_ended():
    """As a pool does that replaces a worker. A library such as Ray sets the handler."""
    with handled(signal.SIGTERM, SystemExit(3)), Interrupt() as interrupt:
        interrupt.makes_results = True
        context = multiprocessing.get_context("fork")
        runs = context.Event()
        worker = context.Process(target=lambda: runs.set() or time.sleep(60))
        worker.start()
        runs.wait(30)
        worker.terminate()
        worker.join(30)
        worker.kill()
    assert worker.exitcode == 3


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_an_estimator_that_sets_an_alarm_of_its_own_fails_alone():
    """It leaves its handler behind, as many do."""
    former = signal.getsignal(signal.SIGTERM)
    try:
        for _ in range(2):
            search = HyperbandSearchCV(WithAlarm(), {"value": [0.1, 0.2, 0.3, 0.9]}, cv=3)
            with pytest.warns(FitFailedWarning):
                search.fit(X, Y)
            assert search.stopped_by_ == "policy"
            assert search.best_params_ == {"value": 0.3}
    finally:
        signal.signal(signal.SIGTERM, former)


class WithAlarm(Steady):
    """Ends the fit of the best value by a signal that it handles itself."""

    def fit(self, X, y=None):
        def give_up(*_):
            raise TimeoutError

        signal.signal(signal.SIGTERM, give_up)
        if self.value == 0.9:
            signal.raise_signal(signal.SIGTERM)
        return super().fit(X, y)


def test_signals_are_left_alone_in_another_thread_and_where_somebody_handles_them():
    def look():
        with Interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    seen = []
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
    own = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look()
    finally:
        signal.signal(signal.SIGINT, own)
    assert seen[1] is signal.SIG_IGN
    with Interrupt() as outer, Interrupt() as inner:
        signal.raise_signal(signal.SIGINT)
        assert (outer.is_requested, inner.is_requested) == (True, False)


@pytest.mark.skipif(os.name == "nt", reason="has other signals")
def test_other_signals_than_those_that_end_a_process_are_left_alone():
    def handle(*_):
        pass

    former = [signal.signal(number, handle) for number in (signal.SIGUSR1, signal.SIGTERM)]
    try:
        with Interrupt():
            assert signal.getsignal(signal.SIGUSR1) is handle
            assert signal.getsignal(signal.SIGTERM) is not handle
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        for number, old in zip((signal.SIGUSR1, signal.SIGTERM), former, strict=True):
            signal.signal(number, old)


# ------------------------------------------------------------------------------ exceptions


@dataclass(frozen=True)
class Confused(SuccessiveRejects):
    """Can neither go on after some pulls nor say which arm is best."""

    def start(self, problem, seed=None):
        return ConfusedGame(self, problem)


class ConfusedGame(PlannedGame):
    def tell(self, pull, reward):
        super().tell(pull, reward)
        raise LookupError("lost count")

    def recommend(self):
        raise RuntimeError("cannot say")


def test_what_a_policy_raises_is_not_hidden_by_what_it_raises_next():
    search = BanditSearchCV(Steady(), GRID, policy=Confused(20), cv=5, random_state=0)
    with pytest.raises(LookupError, match="lost count") as info:
        search.fit(X, Y)
    assert "cannot say" in "".join(info.value.__notes__)
    assert len(search.history_) == search.n_fits_ >= 1


# ------------------------------------------------------------------------------------ kills


@pytest.mark.walk
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="has no SIGKILL")
@pytest.mark.parametrize(
    "backend", ["sequential", "threading", pytest.param("loky", marks=pytest.mark.full)]
)
@pytest.mark.parametrize("search_class", [AdaptiveSearchCV, HyperbandSearchCV, BanditSearchCV])
def test_a_killed_search_goes_on(search_class, backend, tmp_path):
    """The process is killed at a random moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sklearn_halving", "sklearn.datasets", "scipy.stats"])
    own = tmp_path / "unbroken"
    own.mkdir()
    whole = crashing(search_class, own).fit(X, Y)
    fit_of_pull = dict(zip(fits_in(own / "j"), fits_of(own / "log"), strict=True))
    rng, log = random.Random(0), tmp_path / "log"
    for _ in range(2):
        done = set(fits_in(tmp_path / "j"))
        n_begun = len(fits_of(log))
        kill_at = n_begun + rng.randrange(1, 5)
        arguments = (search_class, tmp_path, backend, kill_at)
        process = context.Process(target=fit_and_die, args=arguments)
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        again = {fit_of_pull[pull] for pull in done} & set(fits_of(log)[n_begun:])
        assert not again, "what is known is not done again"
    n_begun, n_done = len(fits_of(log)), len(fits_in(tmp_path / "j"))
    last = crashing(search_class, tmp_path).fit(X, Y)
    assert found(last) == found(whole)
    assert len(fits_in(tmp_path / "j")) == whole.n_fits_
    if backend == "sequential":
        assert len(fits_of(log)) == whole.n_fits_ + 2, "only the two that were killed"
    assert n_done <= n_begun


# ------------------------------------------------------------- what counts after a second Ctrl-C

ONE, TWO = {"n_jobs": 1}, {"n_jobs": 2}
LIMITED = {"fit_timeout": 600}
WAYS = {
    "this process": ("sequential", ONE),
    "threads": ("threading", TWO),
    "processes": ("loky", TWO),
    "a companion": ("sequential", ONE | LIMITED),
    "companions of threads": ("threading", TWO | LIMITED),
    "companions of processes": ("loky", TWO | LIMITED),
}


def ctrl_c_twice(log, is_over):
    """Press Ctrl-C twice during the ninth fit, which takes long."""
    while not is_over.is_set() and len(fits_of(log)) < 9:
        time.sleep(0.01)
    time.sleep(0.2)  # other fits return
    for _ in range(2):
        if not is_over.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # a signal that is pending already is not sent again


@pytest.mark.slow
@pytest.mark.walk
@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
@pytest.mark.parametrize(
    "way",
    [*list(WAYS)[:-1], pytest.param("companions of processes", marks=pytest.mark.full)],
)
@parametrize_searches
def test_the_best_so_far_is_set_after_a_second_ctrl_c(search_class, way, tmp_path):
    backend, params = WAYS[way]
    search = eventful(search_class, tmp_path, "sleep", at=8, **params)
    search.estimator.seconds = 5
    is_over = threading.Event()
    thread = threading.Thread(target=ctrl_c_twice, args=(tmp_path / "log", is_over))
    thread.start()
    try:
        message = r"by Ctrl-C after \d+ fits of .* is chosen. Call fit again to go on"
        with parallel_config(backend), pytest.raises(KeyboardInterrupt, match=message):
            search.fit(X, Y)
    finally:
        is_over.set()
        thread.join()
    assert search.stopped_by_ == "interrupt"
    # Of a chunk in a worker, all fits come back or none.
    assert search.n_fits_ == 8 if params["n_jobs"] == 1 else 1 <= search.n_fits_ < 18
    assert search.n_fits_ == len(fits_in(tmp_path / "j")) == len(search.history_)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert np.isfinite(search.best_score_)
    search.set_params(n_jobs=1, fit_timeout=None).fit(X, Y)
    assert found(search) == unbroken(search_class, tmp_path, "sleep")
