"""Searches played on recorded scores, and how good their choices are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _recorded import Recorded

from sklearn_halving.policies import Policy, Problem, UniformAllocation, VarianceHalving

MULTIPLES = 1, 5 / 3, 2, 3, 5, 8, 10
LONGER = *MULTIPLES, 20, 40
CHUNK = 50  # replays at a time


@dataclass(frozen=True)
class Way:
    """A way to choose within n pulls.

    Parameters
    ----------
    policy : callable
        Number of pulls -> policy.
    splits : {"common", "own", "folds"}
        Whether a candidate's j-th pull is on split j, as all others', on a split of its own,
        or on fold j % 5 of partition j // 5.
    multiples : tuple of float
        Numbers of pulls, in multiples of K.
    """

    policy: Callable[[int], Policy]
    splits: str = "common"
    multiples: tuple[float, ...] = MULTIPLES


def halving(allocation: str, **options: Any) -> Callable[[int], Policy]:
    """Return what makes a policy of a number of pulls."""
    return lambda n_pulls: VarianceHalving(n_pulls, allocation, **options)


INDEPENDENT = {"common_splits": False}
WAYS = {
    "likelihood": Way(halving("likelihood")),
    "likelihood, folds of cv=5": Way(halving("likelihood"), "folds"),
    "pooled": Way(halving("pooled")),
    "uniform in stages": Way(halving("uniform")),
    "all alike": Way(UniformAllocation, multiples=LONGER),
    "likelihood, common splits as if independent": Way(halving("likelihood", **INDEPENDENT)),
    "likelihood, own splits": Way(halving("likelihood", **INDEPENDENT), "own", LONGER),
    "all alike, own splits": Way(UniformAllocation, "own", LONGER),
}
GRID, RANDOM, HALVING = "GridSearchCV(cv=5)", "RandomizedSearchCV, a third", "HalvingGridSearchCV"


@dataclass(frozen=True)
class Quality:
    """Of many choices: the regret of each in standard errors, and how often it was within one.

    Parameters
    ----------
    multiple : float
        Fits, in multiples of K.
    regret, within : ndarray of shape (n_choices,)
    """

    multiple: float
    regret: np.ndarray
    within: np.ndarray

    @classmethod
    def of(cls, multiple: float, regret: np.ndarray, scale: float) -> Quality:
        """Return the quality of choices, shape (n_choices,) or (n_choices, n_alike)."""
        regret = regret.reshape(len(regret), -1) / scale
        return cls(multiple, regret.mean(axis=1), (regret <= 1).mean(axis=1))

    @property
    def mean_regret(self) -> float:
        """Mean over choices."""
        return float(self.regret.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean regret."""
        return standard_error(self.regret)

    @property
    def misses(self) -> float:
        """Share of choices more than a standard error below the best."""
        return float(1 - self.within.mean())


def replay(way: Way, task: Recorded, multiple: float, n_replays: int) -> Quality | None:
    """Return how good the choices are; None if it takes more pulls to play at all."""
    n_arms = task.n_candidates
    policy = way.policy(int(multiple * n_arms + 1e-9))
    if isinstance(policy, VarianceHalving) and policy.n_pulls < policy.least_n_pulls(n_arms):
        return None
    regrets = []
    for seed in np.random.SeedSequence(len(task.name)).spawn(-(-n_replays // CHUNK)):
        rng = np.random.default_rng(seed)
        order = np.argsort(rng.random((min(CHUNK, n_replays), n_arms)), axis=1)
        chosen = play(policy, way.splits, task, order, rng)
        regrets.append(task.truth.max() - task.truth[chosen])
    return Quality.of(multiple, np.concatenate(regrets), task.standard_error)


def play(
    policy: Any, splits: str, task: Recorded, order: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return which candidate the policy chooses in each replay; arm i is ``order[:, i]``."""
    table = task.folds.reshape(task.n_candidates, -1) if splits == "folds" else task.splits
    rows = np.arange(len(order))[:, np.newaxis]
    columns = _columns(splits, table.shape[1], (len(order), policy.n_pulls), rng)
    state = policy.start(Problem(task.n_candidates), batch_shape=(len(order),))
    while not policy.is_finished(state):
        pulls = policy.ask(state, 10**9)
        column = columns[rows, pulls.repetition]
        if splits == "own":
            column = rng.integers(table.shape[1], size=column.shape)
        policy.tell(state, pulls, table[order[rows, pulls.arm], column])
    chosen: np.ndarray = order[rows[:, 0], policy.recommend(state)]
    return chosen


def _columns(
    splits: str, n_columns: int, shape: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return the column of the table for each repetition, drawn with replacement."""
    if splits != "folds":
        return rng.integers(n_columns, size=shape)
    n_blocks = -(-shape[1] // 5)
    first = 5 * rng.integers(n_columns // 5, size=(shape[0], n_blocks, 1))
    folds = np.argsort(rng.random((shape[0], n_blocks, 5)), axis=2)
    return (first + folds).reshape(shape[0], -1)


def others(task: Recorded) -> dict[str, Quality]:
    """Return the quality of scikit-learn's searches; ties are broken at random."""
    rng, truth, scale = np.random.default_rng(0), task.truth, task.standard_error
    n_third = -(-task.n_candidates // 3)
    if not task.folds.size:  # five splits stand for five folds
        drawn = rng.integers(task.splits.shape[1], size=(500, 5))
        means = task.splits[:, drawn].mean(axis=2).T
    else:
        means = task.folds.mean(axis=2).T
    of_grid, of_random = [], []
    for mean in means:
        orders = [rng.permutation(task.n_candidates) for _ in range(50)]
        of_grid.append([truth[order[mean[order].argmax()]] for order in orders])
        thirds = [order[:n_third] for order in orders]
        of_random.append([truth[order[mean[order].argmax()]] for order in thirds])
    found = {
        GRID: Quality.of(5, truth.max() - np.array(of_grid), scale),
        RANDOM: Quality.of(5 * n_third / len(truth), truth.max() - np.array(of_random), scale),
    }
    if len(task.halving_choice):
        regret = truth.max() - truth[task.halving_choice]
        found[HALVING] = Quality.of(task.halving_fits, regret, scale)
    return found


def needed(curve: dict[float, Quality], goal: float, what: str = "mean_regret") -> float:
    """Return the multiple of K with which ``what``, which falls, comes down to ``goal``.

    Interpolated on log scales; NaN if it is not reached, the first if that suffices.
    """
    n = np.array(list(curve))
    y = np.array([max(getattr(one, what), 1e-4) for one in curve.values()])
    y = np.minimum.accumulate(y)
    goal = max(goal, 1e-4)
    if goal < y[-1]:
        return np.nan
    if goal >= y[0]:
        return float(n[0])
    i = int(np.argmax(y <= goal))
    share = np.log(y[i - 1] / goal) / np.log(y[i - 1] / y[i])
    return float(np.exp((1 - share) * np.log(n[i - 1]) + share * np.log(n[i])))


Curves = dict[str, dict[float, Quality]]


def all_curves(task: Recorded, n_replays: int) -> Curves:
    """Return the quality of all ways at all numbers of pulls."""
    curves: Curves = {}
    for name, way in WAYS.items():
        if way.splits == "folds" and not task.folds.size:
            continue
        found = ((m, replay(way, task, m, n_replays)) for m in way.multiples)
        curves[name] = {multiple: one for multiple, one in found if one is not None}
    return curves


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of a mean; NaN for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
