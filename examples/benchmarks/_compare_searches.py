"""The searches of `compare.py` but for the peers: ours, and those of scikit-learn.

What a search would have returned, had it been stopped at some moment, comes from what it did:

- ours: its policy is told once more what came back until then, in the same order, and asked
  for its choice in the way ``time_budget`` does (`replayed`);
- GridSearchCV and RandomizedSearchCV: the candidate with the best mean among those that were
  through all folds, which credits them with an ability to stop that they do not have;
- the halving searches: the best of the last rung that was complete, again to their credit.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _compare_types import Incumbent, Params, Search, SearchRun
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
)

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.execution._pull_loop import PullLoop
from sklearn_halving.execution._types import Outcome, Result
from sklearn_halving.policies._types import NO_ARM
from sklearn_halving.policies.bases._base_policy import window_of
from sklearn_halving.search._run import Run as RunState
from sklearn_halving.search.preparing._checkpoint import open_checkpoint
from sklearn_halving.search.preparing._inputs import check_inputs
from sklearn_halving.search.preparing._setup import seed_of
from sklearn_halving.search.watching._callbacks import CallbackTree

TIMES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0, 1.1)
"""Moments at which incumbents are looked at, as shares of the time of RandomizedSearchCV."""
RANDOM, GRID = "RandomizedSearchCV", "GridSearchCV"


# ---------------------------------------------------------------------------------- ours


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """There is nothing more to tell."""


class _Record:
    """Stands where pulls run, and gives back what they gave in the search."""

    uses_threads = False

    def __init__(self, landed: list[Outcome], before: Callable[[Outcome], None]) -> None:
        self._outcomes = {outcome.pull: outcome for outcome in landed}
        self._before = before
        self._queue: deque[Any] = deque()

    @property
    def room(self) -> int:
        return 0 if self._queue else 64

    def submit(self, job: Any) -> None:
        self._queue.append(job.pull)

    def stop(self) -> None:
        self._queue.clear()

    def wait_any(self, timeout: float | None = None) -> list[Result]:
        outcome = self._outcomes.get(self._queue.popleft())
        if outcome is None:
            raise _Stopped
        self._before(outcome)
        return [Result(outcome, None)]


def replayed(
    search: Any, X: Any, y: Any, began: float, moments: list[float]
) -> Iterator[Incumbent]:
    """Yield what a fitted search would have chosen at the moments.

    Parameters
    ----------
    search : a fitted search of this package
        With an int as ``random_state``, fitted in one process.
    X, y : ndarray
    began : float
        When its `fit` was called, by the clock of ``time.time``.
    moments : list of float
        In seconds.
    """
    landed: list[Outcome] = search._record.outcomes
    again = clone(search)
    with open_checkpoint(again) as checkpoint:
        inputs = check_inputs(again, X, y, {})
        callbacks = CallbackTree.begin(again, inputs.X, inputs.y, inputs.fit_params, refits=False)
        rng, seed = seed_of(checkpoint.random_state)
        prepared = again._prepare(inputs, rng, seed)
        task = again._make_task(prepared, callbacks)
        run = RunState(prepared, task, prepared.start(), checkpoint, float("inf"), budget="")
    run.stopped_by = "time_budget"
    found: list[Incumbent] = []

    def look(moment: float) -> None:
        if not run.log.outcomes:
            return
        arm = run.best_arm
        if arm == NO_ARM:
            again._tabulate(run)
            arm = again._best_arm(run)
        if arm != NO_ARM:
            found.append(Incumbent(moment, len(run.log.outcomes), run.task.candidates[arm]))

    times = deque(sorted(moments))

    def before(outcome: Outcome) -> None:
        end = outcome.started + outcome.fit_seconds + outcome.score_seconds - began
        while times and times[0] < end:
            look(times.popleft())

    executor = _Record(landed, before)
    loop = PullLoop(
        run.prepared.policy,
        run.state,
        executor,
        reward=run.reward,
        log=run.log,
        problem=run.prepared.plan.problem,
        window=window_of(run.prepared.policy, run.prepared.plan.description),
        arrive=getattr(run.task.candidates, "arrive", None),
        first_to_tell=run.prepared.policy.first_to_tell,
        charge=partial(run.prepared.policy.charge, run.state)
        if run.prepared.plan.description.keeps_time
        else None,
    )
    with contextlib.suppress(_Stopped):
        loop.run()
    last = landed[-1]
    look(last.started + last.fit_seconds + last.score_seconds - began)
    return iter(found)


def run_ours(search: Any, task: Search, seconds: float, seed: int) -> SearchRun:
    """Run one of our searches for ``seconds``."""
    search.set_params(
        scoring=task.scoring, random_state=seed, refit=False, time_budget=max(seconds, 1e-3)
    )
    began, began_wall = time.time(), time.perf_counter()
    search.fit(task.X, task.y)
    wall = time.perf_counter() - began_wall
    moments = [share * seconds for share in TIMES]
    incumbents = list(replayed(search, task.X, task.y, began, moments))
    clean = [Incumbent(one.seconds, one.n_fits, _without(one.params, task)) for one in incumbents]
    return SearchRun(clean, wall, search.n_fits_)


def _without(params: Params, task: Search) -> Params:
    return {name: value for name, value in params.items() if name != task.resource}


def hyperband(task: Search, seconds: float, seed: int) -> SearchRun:
    """HyperbandSearchCV with its defaults and the resource of the family."""
    name = "partial_fit" if hasattr(task.estimator, "partial_fit") else task.resource
    options = {"max_resources": task.max_resource} if name == "partial_fit" else {}
    search = HyperbandSearchCV(
        task.estimator,
        task.distributions,
        resource=name,
        cv=task.cv,
        **options,
    )
    return run_ours(search, task, seconds, seed)


def variance_halving(task: Search, seconds: float, seed: int) -> SearchRun:
    """VarianceHalvingSearchCV with as many fits as RandomizedSearchCV; own splits."""
    search = VarianceHalvingSearchCV(task.estimator, task.distributions, n_fits=_budget(task))
    return run_ours(search, task, seconds, seed)


def bayes_gap(task: Search, seconds: float, seed: int) -> SearchRun:
    """BayesGapSearchCV with as many fits."""
    search = BayesGapSearchCV(task.estimator, task.distributions, n_fits=_budget(task))
    return run_ours(search, task, seconds, seed)


def successive_rejects(task: Search, seconds: float, seed: int) -> SearchRun:
    """BanditSearchCV with successive rejects and as many fits."""
    search = BanditSearchCV(
        task.estimator, task.distributions, policy="successive_rejects", n_fits=_budget(task)
    )
    return run_ours(search, task, seconds, seed)


def _budget(task: Search) -> int:
    return task.n_iter * len(task.cv)


# -------------------------------------------------------------------------- scikit-learn's


def run_plain(search: Any, task: Search) -> SearchRun:
    """Run GridSearchCV or RandomizedSearchCV to the end."""
    wall = _wall(search, task)
    table, n_folds = search.cv_results_, len(task.cv)
    spent = n_folds * (table["mean_fit_time"] + table["mean_score_time"])
    ends, scores = np.cumsum(spent) / spent.sum() * wall, table["mean_test_score"]
    incumbents, best = [], -np.inf
    for i in np.flatnonzero(~np.isnan(scores)):
        if scores[i] > best:
            best = scores[i]
            incumbents.append(Incumbent(float(ends[i]), n_folds * int(i + 1), table["params"][i]))
    return SearchRun(incumbents, wall, n_folds * len(scores))


def run_halving(search: Any, task: Search) -> SearchRun:
    """Run one of scikit-learn's halving searches to the end."""
    wall = _wall(search, task)
    table, n_folds = search.cv_results_, len(task.cv)
    spent = n_folds * (table["mean_fit_time"] + table["mean_score_time"])
    ends, incumbents = np.cumsum(spent) / spent.sum() * wall, []
    for rung in np.unique(table["iter"]):
        rows = np.flatnonzero(table["iter"] == rung)
        scores = np.where(np.isnan(table["mean_test_score"][rows]), -np.inf, 0)
        scores = scores + np.nan_to_num(table["mean_test_score"][rows])
        best = rows[int(scores.argmax())]
        params = _without(table["params"][best], task)
        incumbents.append(Incumbent(float(ends[rows[-1]]), n_folds * int(rows[-1] + 1), params))
    return SearchRun(incumbents, wall, n_folds * len(ends))


def _wall(search: Any, task: Search) -> float:
    search.set_params(scoring=task.scoring, cv=task.cv, refit=False)
    started = time.perf_counter()
    search.fit(task.X, task.y)
    return time.perf_counter() - started


def _halving_options(task: Search) -> Params:
    if task.resource == "n_samples":
        return {}
    return {"resource": task.resource, "max_resources": task.max_resource}


def random_search(task: Search, seconds: float, seed: int) -> SearchRun:
    """RandomizedSearchCV: what it takes is the measure of all others."""
    search = RandomizedSearchCV(
        task.estimator, task.distributions, n_iter=task.n_iter, random_state=seed
    )
    return run_plain(search, task)


def grid_search(task: Search, seconds: float, seed: int) -> SearchRun:
    """GridSearchCV over the whole grid."""
    return run_plain(GridSearchCV(task.estimator, task.grid), task)


def halving_random(task: Search, seconds: float, seed: int) -> SearchRun:
    """HalvingRandomSearchCV with the resource of the family and its defaults else."""
    options = {**_halving_options(task), "random_state": seed}
    return run_halving(HalvingRandomSearchCV(task.estimator, task.distributions, **options), task)


def halving_grid(task: Search, seconds: float, seed: int) -> SearchRun:
    """HalvingGridSearchCV over the whole grid."""
    options = {**_halving_options(task), "random_state": seed}
    return run_halving(HalvingGridSearchCV(task.estimator, task.grid, **options), task)


Run = Callable[[Search, float, int], SearchRun]
OURS: dict[str, Run] = {
    "HyperbandSearchCV": hyperband,
    "VarianceHalvingSearchCV": variance_halving,
    "BayesGapSearchCV": bayes_gap,
    "BanditSearchCV, successive rejects": successive_rejects,
}
SKLEARN: dict[str, Run] = {
    RANDOM: random_search,
    GRID: grid_search,
    "HalvingRandomSearchCV": halving_random,
    "HalvingGridSearchCV": halving_grid,
}
