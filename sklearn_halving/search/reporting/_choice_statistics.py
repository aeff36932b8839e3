"""What the scores say about the choice: means that can be compared, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.noise._additive_model import fit_additive_model
from sklearn_halving.policies.noise._choice_probability import (
    corrected_mean,
    estimate_from_table,
    expected_regret,
    probability_of_best,
    standard_errors,
)
from sklearn_halving.policies.noise._noise_estimates import LEAST_FREEDOM
from sklearn_halving.search.reporting._cv_results import pulled_means
from sklearn_halving.splits import corrected_variance_of_mean


def additive_means(
    scores: FloatArray, is_pulled: BoolArray, level: IntArray, has_failed: BoolArray
) -> FloatArray:
    """Return means that can be compared though candidates were scored on different splits.

    Where all had the same splits, these are plain means, to the last bit. Scores at different
    levels are not put together.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_splits)
        NaN where a candidate was not scored, or where that failed.
    is_pulled : ndarray of bool of shape (n_candidates, n_splits)
        Where it was.
    level : ndarray of shape (n_candidates,)
        With how much resource.
    has_failed : ndarray of bool of shape (n_candidates,)
        Candidates with scores that stand for a failure: these say nothing about splits.
    """
    means = pulled_means(scores, is_pulled)
    usable = np.isfinite(means) & ~has_failed
    for one in np.unique(level[usable]):
        group = np.flatnonzero(usable & (level == one))
        patterns = is_pulled[group]
        if not (patterns == patterns[0]).all():
            means[group] = fit_additive_model(scores[group], patterns).mean
    return means


@dataclass(frozen=True)
class Overlap:
    """How much of the noise more splits of the same rows do not average out.

    Nadeau and Bengio's ``n_test / n_train`` is for training sets of all rows that are not
    tested. Smaller training sets overlap less, and do not make it larger.

    Parameters
    ----------
    n_test, n_rest : float
        Rows of a test set, on average over the fits, and of the data without it.
    """

    n_test: float
    n_rest: float

    @classmethod
    def of(cls, outcomes: list[Outcome], n_rows: int) -> Overlap:
        """Return the means."""
        n_test = float(np.mean([outcome.n_test for outcome in outcomes]))
        return cls(n_test, max(1.0, n_rows - n_test))


@dataclass(frozen=True)
class ChoiceStatistics:
    """How sure a choice among candidates is.

    Parameters
    ----------
    mean : ndarray of shape (n_candidates,)
        Estimated score; NaN for candidates that are not in question.
    error : ndarray of shape (n_candidates,)
        Its standard error, of what the splits do not explain.
    """

    mean: FloatArray
    error: FloatArray

    @classmethod
    def of(
        cls, results: dict[str, Any], metric: str, level: IntArray, overlap: Overlap
    ) -> ChoiceStatistics:
        """Return the statistics of the metric that steers the search.

        Only candidates that reached the largest level can be the best. The noise is that of
        the better half of them: an erratic candidate far behind says nothing about the others.
        """
        scores, mean = split_scores(results, f"test_{metric}"), results[f"mean_test_{metric}"]
        known = ~np.isnan(mean)
        known &= level == level[known].max(initial=0)
        if known.sum() < 2 or np.isposinf(mean[known]).any():  # there is nothing to be unsure of
            return cls(np.where(known, mean, np.nan), np.where(known, 0.0, np.nan))
        better = known & (mean >= np.median(mean[known])) & np.isfinite(mean)
        arms, best_arms = (
            estimate_from_table(np.where(rows[:, np.newaxis], scores, np.nan))
            for rows in (known & np.isfinite(mean), better)
        )
        variance = np.where(better, best_arms.noise_variance, arms.noise_variance)
        freedom = float(best_arms.freedom.sum())
        if freedom < LEAST_FREEDOM:
            variance, freedom = arms.noise_variance, float(arms.freedom.sum())
        if freedom < LEAST_FREEDOM:
            return cls(mean, np.full_like(mean, np.nan))
        ratio = overlap.n_test / overlap.n_rest
        error = standard_errors(arms.n_pulls, np.where(np.isnan(variance), 0.0, variance), ratio)
        # The variance is an estimate itself: as wide as Student's t.
        error = np.where(np.isfinite(mean), error * np.sqrt(freedom / (freedom - 2)), 0.0)
        return cls(np.where(known, mean, np.nan), np.where(known, error, np.nan))

    def probability_best(self) -> FloatArray:
        """Return the probability of each candidate to be the best; NaN if that is not known."""
        return probability_of_best(self.mean, self.error)

    def regret(self, candidate: int) -> float:
        """Return by how much the best is expected to be better."""
        return expected_regret(self.mean, self.error, candidate)

    def corrected_score(self, candidate: int) -> float:
        """Return the mean score, corrected for having been chosen."""
        return corrected_mean(self.mean, self.error, candidate)


def add_standard_errors(results: dict[str, Any], overlap: Overlap) -> None:
    """Add the standard error of each mean, for all metrics and both sides."""
    for key in [key for key in results if key.startswith(("mean_test_", "mean_train_"))]:
        side = key.removeprefix("mean_")
        scores = split_scores(results, side)
        variance = corrected_variance_of_mean(scores, overlap.n_rest, overlap.n_test)
        results[f"standard_error_{side}"] = np.sqrt(variance)


def split_scores(results: dict[str, Any], side: str) -> FloatArray:
    """Return the scores of each split, shape (n_candidates, n_splits)."""
    columns: list[FloatArray] = []
    while (key := f"split{len(columns)}_{side}") in results:
        columns.append(results[key])
    return np.column_stack(columns)
