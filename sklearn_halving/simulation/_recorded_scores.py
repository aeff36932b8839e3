"""Replays of recorded scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sklearn_halving._checks import refuse_unless
from sklearn_halving.policies import Pulls
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.policies.bases._base_policy import RewardRange
from sklearn_halving.simulation._randomness import Randomness
from sklearn_halving.simulation._synthetic_arms import EnvironmentDefaults, as_vector

ORDER, COLUMN = 31, 32
"""Purposes of random numbers."""


@dataclass(frozen=True, eq=False)
class RecordedScores(EnvironmentDefaults):
    """Real candidates as arms, with the scores that they had on real splits.

    Parameters
    ----------
    scores : array-like of shape (n_candidates, n_splits) or (n_candidates, n_splits, n_levels)
        Scores, larger is better. NaN marks a missing score; a pull that needs it raises an error.
    levels : sequence of int or None, default=None
        Levels of the last axis in increasing order. None: there is no such axis, and all pulls
        are at level 1.
    truth : array-like of shape (n_candidates,) or None, default=None
        True value of each candidate. None: its mean over all splits, at the highest level with a
        score.
    splits : {"common", "own", "recorded"}, default="common"
        The split of a repetition. "common": drawn with replacement for each problem, the same for
        all candidates, as in a search. "own": drawn for each candidate from the splits on which
        it has a score, so that rewards of different candidates are independent. "recorded":
        repetition j is split j, up to the number of recorded splits.
    shuffle : bool, default=False
        Whether candidates are in a random order in each problem, so that none gains from ties,
        which the first arm wins.
    reward_range : (float, float) or None, default=None
        Smallest and largest possible score, such as (0, 1) for accuracy.
    candidates : array-like of int of shape (n_candidates,) or None, default=None
        Candidate number of each row of ``scores``, used in `SimulationResult.recommended`. The
        numbers are distinct and at least 0. None: rows are counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import UniformAllocation
    >>> from sklearn_halving.simulation import RecordedScores, simulate
    >>> scores = np.array([[0.90, 0.92, 0.91], [0.86, 0.97, 0.90], [0.80, 0.70, 0.75]])
    >>> result = simulate(UniformAllocation(n_pulls=60), RecordedScores(scores))
    >>> np.bincount(result.recommended, minlength=3)[2]  # the last is never chosen
    np.int64(0)
    """

    scores: Any
    levels: Sequence[int] | None = None
    truth: Any = None
    splits: Literal["common", "own", "recorded"] = "common"
    shuffle: bool = False
    reward_range: RewardRange | None = None
    candidates: Any = None

    def __post_init__(self) -> None:
        """Check the table of scores."""
        super().__post_init__()
        scores = np.asarray(self.scores, dtype=np.float64)
        has_axes = scores.ndim == (2 if self.levels is None else 3) and scores.size > 0
        rule = "have the axes candidate and split, and level if there are levels"
        refuse_unless(has_axes, "scores", rule, f"an array of shape {scores.shape}")
        scores = scores.reshape(*scores.shape[:2], -1)
        candidates = _checked_candidates(self.candidates, len(scores))
        has_none = np.isnan(scores).all(axis=(1, 2))
        rule, lacking = "have a number for every candidate", candidates[has_none].tolist()
        refuse_unless(not lacking, "scores", rule, f"none for {lacking}")
        truth = _truth_of(scores) if self.truth is None else self.truth
        truth = np.broadcast_to(as_vector("truth", truth, len(scores)), len(scores))
        levels = _checked_levels(self.levels, scores.shape[2])
        n_splits = scores.shape[1] if self.splits == "recorded" else None
        self._store(scores=scores, levels=levels, candidates=candidates, truth=truth)
        self._store(n_arms=len(scores), max_repetitions=n_splits)
        self._store(min_level=levels[0], max_level=levels[-1])

    @classmethod
    def from_history(
        cls, history: pd.DataFrame, metric: str = "test_score", **options: Any
    ) -> RecordedScores:
        """Return the scores of a fitted search; candidates keep their numbers.

        Parameters
        ----------
        history : pandas.DataFrame
            The ``history_`` of a search with one row for each pull, or any table with the columns
            "candidate" and "split", and "n_resources" if there are levels. Candidates are
            integers of at least 0 and need not be consecutive: ``candidates`` lists them in
            increasing order.
        metric : str, default="test_score"
            Column of the scores; ``"test_" + name`` if the search had several metrics.
        **options
            ``truth``, ``splits``, ``shuffle`` and ``reward_range`` of the class; ``truth`` in the
            order of ``candidates``.

        Raises
        ------
        ValueError
            If a column is missing, or a candidate is not an integer.
        """
        for column in ("candidate", "split", metric):
            rule, got = f"have the column {column!r}", ", ".join(map(repr, history.columns))
            refuse_unless(column in history.columns, "history", rule, got)
        names = [n for n in ("candidate", "split", "n_resources") if n in history.columns]
        found = [np.unique(history[name].to_numpy(), return_inverse=True) for name in names]
        axes, places = zip(*found, strict=True)
        scores = np.full([len(axis) for axis in axes], np.nan)
        scores[places] = history[metric].to_numpy(dtype=np.float64)
        levels = axes[2].tolist() if len(axes) == 3 else None
        return cls(scores, levels, candidates=axes[0], **options)

    def draw(self, randomness: Randomness, n_arms: int) -> Replays:
        """Return ``randomness.n_problems`` replays."""
        shape = randomness.n_problems, n_arms
        order = np.broadcast_to(np.arange(n_arms), shape)
        if self.shuffle:
            uniform = randomness.of_each_arm(randomness.uniform, n_arms, ORDER)
            order = np.argsort(uniform, axis=1)
        return Replays(randomness, self, order)


@dataclass(frozen=True, eq=False)
class Replays:
    """Replays of recorded scores.

    Parameters
    ----------
    row : ndarray of int
        Row of the scores of each arm. Shape ``(n_problems, n_arms)``.
    """

    randomness: Randomness
    recorded: RecordedScores
    row: IntArray

    @cached_property
    def _columns(self) -> tuple[IntArray, IntArray]:
        """The splits of each (candidate, level), first those with a score, and their number."""
        known = ~np.isnan(self.recorded.scores)
        return np.argsort(~known, axis=1, kind="stable"), known.sum(axis=1)

    @property
    def candidate(self) -> IntArray:
        """Candidate number of each arm, shape ``(n_problems, n_arms)``."""
        return self.recorded.candidates[self.row]

    @property
    def values(self) -> FloatArray:
        """True value of each arm, shape ``(n_problems, n_arms)``."""
        return self.recorded.truth[self.row]

    @property
    def best_value(self) -> FloatArray:
        """True value of the best candidate, shape ``(n_problems,)``."""
        return np.full(self.randomness.n_problems, self.recorded.truth.max())

    def rewards(self, problem: IntArray, pulls: Pulls) -> FloatArray:
        """Return the rewards of pulls; all arrays of shape ``(n_pulls,)``."""
        levels = np.array(self.recorded.levels)
        place = np.searchsorted(levels, pulls.level)
        row = self.row[problem, pulls.arm]
        column = self._column(problem, row, place, pulls.repetition)
        unknown = levels[place] != pulls.level
        rule, first = f"be among those recorded, {levels.tolist()}", int(unknown.argmax())
        refuse_unless(not unknown.any(), "The levels of a policy", rule, int(pulls.level[first]))
        rewards: FloatArray = self.recorded.scores[row, column, place]
        missing = np.isnan(rewards)
        if missing.any():
            i = int(missing.argmax())
            raise ValueError(
                f"Candidate {self.recorded.candidates[row[i]]} has no recorded score on split "
                f"{column[i]} at level {pulls.level[i]}. Use splits='own' if it has others there."
            )
        return rewards

    def _column(
        self, problem: IntArray, row: IntArray, place: IntArray, repetition: IntArray
    ) -> IntArray:
        """Return the split of each pull."""
        if self.recorded.splits == "recorded":
            return repetition
        if self.recorded.splits == "common":
            uniform = self.randomness.uniform(problem, repetition, COLUMN)
            return (uniform * self.recorded.scores.shape[1]).astype(np.int64)
        # The split is the same at every level if all levels have the same number of splits.
        uniform = self.randomness.uniform(problem, repetition, COLUMN, row)
        columns, n_columns = self._columns
        index = (uniform * n_columns[row, place]).astype(np.int64)
        return columns[row, index, place]


def _checked_levels(levels: Sequence[int] | None, n_levels: int) -> tuple[int, ...]:
    """Return the levels; 1 if there is no axis of levels."""
    found = (1,) if levels is None else tuple(map(int, levels))
    is_increasing = found == tuple(sorted({*found})) and found[0] > 0
    rule = f"be {n_levels} different whole numbers above 0 in increasing order"
    refuse_unless(len(found) == n_levels and is_increasing, "levels", rule, levels)
    return found


def _checked_candidates(candidates: npt.ArrayLike | None, n_candidates: int) -> IntArray:
    """Return the candidate numbers, or the row numbers if there are none."""
    numbers = np.arange(n_candidates) if candidates is None else np.asarray(candidates)
    is_number = np.issubdtype(numbers.dtype, np.integer) and bool((numbers >= 0).all())
    is_unique = numbers.shape == (n_candidates,) and len(np.unique(numbers)) == n_candidates
    rule = f"be {n_candidates} different whole numbers of at least 0"
    advice = "Number those that have names with pandas.factorize."
    refuse_unless(is_number and is_unique, "candidates", rule, repr(candidates), advice)
    return numbers.astype(np.int64)


def _truth_of(scores: FloatArray) -> FloatArray:
    """Return the mean of each candidate at the highest level with a score."""
    known = ~np.isnan(scores)
    total = np.where(known, scores, 0.0).sum(axis=1)
    n_known = known.sum(axis=1)
    highest = n_known.shape[1] - 1 - (n_known > 0)[:, ::-1].argmax(axis=1)
    rows = np.arange(len(scores))
    return total[rows, highest] / n_known[rows, highest]
