"""From the lines of `compare.py` to regrets, ranks and times.

Regret is given on a scale of its own for each task and seed: 0 is the best test score that any
search, or random candidate, had there at any moment; 1 is the median test score of 20 random
candidates. A search that has no candidate to return yet has regret 1, as if one had been taken
at random. Regrets are cut off at 2, so that one model that diverged does not decide a mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from _compare_searches import FIT_SHARES, GRID, RANDOM, TIMES
from scipy.stats import rankdata

Array = np.ndarray
LARGEST = 2.0
N_BOOTSTRAP = 2000


@dataclass
class Results:
    """All figures, as arrays.

    Parameters
    ----------
    searches : list of str
    tasks : list of str
    seeds : list of int
    regret : ndarray of shape (n_searches, n_tasks, n_seeds, n_times)
        NaN where a search was not run, or the task has no scale.
    by_fits : ndarray of shape (n_searches, n_tasks, n_seeds, n_shares)
    final : ndarray of shape (n_searches, n_tasks, n_seeds)
        Regret of what a search returned at its end, however long it took.
    has_answer : ndarray of bool, the shape of ``regret``
        Whether there was a candidate to return; True where a search was not run.
    limit, seconds, overhead : ndarray of shape (n_searches, n_tasks, n_seeds)
        T, the time of the search, and of that what was not in fits, per fit; all in seconds.
    scores : dict of (str, str) to list of float
        Test scores at T, by search and task.
    about : dict of str to dict
        By task: rows, scoring, best and median test score.
    label : str, default=""
        Added to titles of tables.
    """

    searches: list[str]
    tasks: list[str]
    seeds: list[int]
    regret: Array
    by_fits: Array
    final: Array
    has_answer: Array
    limit: Array
    seconds: Array
    overhead: Array
    n_fits: Array
    scores: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    label: str = ""

    def of(self, search: str) -> int:
        """Return the place of a search."""
        return self.searches.index(search)

    def mean_regret(self, values: Array | None = None) -> Array:
        """Return means over the seeds, shape (n_searches, n_tasks, ...)."""
        with np.errstate(all="ignore"):
            return _nanmean(self.regret if values is None else values, axis=2)


def _nanmean(values: Array, axis: int) -> Array:
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=axis)
    n = known.sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def read(lines: Iterable[dict[str, Any]]) -> Results:
    """Return the figures of all tasks and seeds whose random search is there."""
    kept = [line for line in lines if line["seed"] >= 0]
    by_key = {(line["search"], line["task"], line["seed"]): line for line in kept}
    searches = list(dict.fromkeys(one["search"] for one in kept if one["search"] != "reference"))
    tasks = list(dict.fromkeys(one["task"] for one in kept if one["search"] == RANDOM))
    seeds = sorted({line["seed"] for line in kept})
    shape = (len(searches), len(tasks), len(seeds))
    found = Results(
        searches,
        tasks,
        seeds,
        regret=np.full((*shape, len(TIMES)), np.nan),
        by_fits=np.full((*shape, len(FIT_SHARES)), np.nan),
        final=np.full(shape, np.nan),
        has_answer=np.ones((*shape, len(TIMES)), dtype=bool),
        limit=np.full(shape, np.nan),
        seconds=np.full(shape, np.nan),
        overhead=np.full(shape, np.nan),
        n_fits=np.full(shape, np.nan),
    )
    for t, task in enumerate(tasks):
        for s, seed in enumerate(seeds):
            own = {name: by_key.get((name, task, seed)) for name in searches}
            reference = by_key.get(("reference", task, seed))
            if reference is not None and own[RANDOM] is not None:
                ran = {k: line for k, line in own.items() if line and line["n_fits"] > 0}
                _enter(found, ran, reference, t, s)
    return found


def _enter(found: Results, own: dict[str, Any], reference: Any, t: int, s: int) -> None:
    """Enter one task and seed."""
    known = [x for line in own.values() for x in (*line["by_time"], *line["by_fits"])]
    known += [*reference["scores"], *(line["final"] for line in own.values())]
    known = [x for x in known if x is not None and np.isfinite(x)]
    drawn = np.array([x if np.isfinite(x) else -np.inf for x in reference["scores"]])
    best, middle = max(known), max(float(np.median(drawn)), min(known))
    task = found.tasks[t]
    about = found.about.setdefault(task, {**reference, "best": [], "median": []})
    about["best"].append(best)
    about["median"].append(middle)

    def regret(scores: Sequence[float | None]) -> Array:
        values = [middle if x is None else x for x in scores]
        values = [x if np.isfinite(x) else -np.inf for x in values]
        return np.clip((best - np.array(values)) / (best - middle), 0, LARGEST)

    for name, line in own.items():
        place = found.of(name), t, s
        if best > middle:
            found.regret[place] = regret(line["by_time"])
            found.by_fits[place] = regret(line["by_fits"])
            found.final[place] = regret([line["final"]])[0]
        found.has_answer[place] = [x is not None for x in line["by_time"]]
        found.limit[place], found.seconds[place] = line["limit"], line["seconds"]
        found.n_fits[place] = line["n_fits"]
        found.overhead[place] = (line["seconds"] - line["fit_seconds"]) / line["n_fits"]
        at_end = line["by_time"][TIMES.index(1.0)]
        found.scores.setdefault((name, task), []).append(np.nan if at_end is None else at_end)


def interval(values: Array, statistic: Any = np.mean) -> tuple[float, float]:
    """Return a 95 % bootstrap interval over the first axis, which is that of tasks."""
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return np.nan, np.nan
    draws = np.random.default_rng(0).integers(len(values), size=(N_BOOTSTRAP, len(values)))
    low, high = np.quantile(statistic(values[draws], axis=1), [0.025, 0.975])
    return float(low), float(high)


def ranks(found: Results, names: list[str], share: float) -> Array:
    """Return ranks at a moment, 1 is best, means over seeds, shape (n_names, n_tasks).

    Equal test scores share their ranks; who has no answer yet comes last.
    """
    at = TIMES.index(share)
    places = [found.of(name) for name in names]
    values = found.regret[places][..., at].round(9)
    missing = np.isnan(values)
    values = np.where(found.has_answer[places][..., at], values, LARGEST + 1)
    values = np.where(missing, LARGEST + 2, values)
    ranked = np.where(missing, np.nan, rankdata(values, axis=0))
    return _nanmean(ranked, axis=2)


def time_to(
    found: Results, name: str, goal: Array, tolerance: float, *, for_good: bool = False
) -> Array:
    """Return the first moment, as a share of T, at which the mean over seeds is good enough.

    Parameters
    ----------
    goal : ndarray of shape (n_tasks, n_seeds)
        Regret that is to be reached, in the mean over the seeds that the search was run with.
    tolerance : float
        By how much it may be missed.
    for_good : bool, default=False
        The moment from which on it stays so.

    Returns
    -------
    shares : ndarray of shape (n_tasks,)
        inf where it was not reached, NaN where the search was not run.
    """
    mean = found.mean_regret()[found.of(name)]
    is_good = mean <= _mean_goal(found, name, goal)[:, np.newaxis] + tolerance + 1e-9
    has_answer = found.has_answer[found.of(name)].all(axis=1)
    is_good &= has_answer
    if for_good:
        is_good = np.logical_and.accumulate(is_good[:, ::-1], axis=1)[:, ::-1]
    first = np.where(is_good.any(axis=1), np.array(TIMES)[is_good.argmax(axis=1)], np.inf)
    return np.where(np.isnan(mean).any(axis=1), np.nan, first)


def mean_time_to(found: Results, name: str, goal: Array) -> float:
    """Return the first moment at which the mean regret over tasks is that of the goal."""
    mean, goal = found.mean_regret()[found.of(name)], _mean_goal(found, name, goal)
    known = ~np.isnan(mean).any(axis=1) & ~np.isnan(goal)
    is_good = mean[known].mean(axis=0) <= goal[known].mean() + 1e-9
    return TIMES[int(is_good.argmax())] if is_good.any() else np.inf


def _mean_goal(found: Results, name: str, goal: Array) -> Array:
    """Return the goal's mean over the seeds that a search was run with, shape (n_tasks,)."""
    was_run = ~np.isnan(found.regret[found.of(name)][..., 0])
    return _nanmean(np.where(was_run, goal, np.nan), axis=1)


def goal_of_random(found: Results) -> Array:
    """Return the regret of RandomizedSearchCV with its whole budget, (n_tasks, n_seeds)."""
    return found.final[found.of(RANDOM)]


def goal_of_grid(found: Results) -> Array:
    """Return the regret of GridSearchCV over its whole grid, shape (n_tasks, n_seeds)."""
    return found.final[found.of(GRID)]
