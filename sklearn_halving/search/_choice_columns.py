"""What the scores say about the choice: means that can be compared, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._additive_model import fit_additive_model
from sklearn_halving.policies._choice import (
    corrected_mean,
    estimate_from_table,
    expected_regret,
    probability_of_best,
    standard_errors,
)
from sklearn_halving.policies._types import BoolArray, FloatArray, IntArray
from sklearn_halving.search._cv_results import pulled_means
from sklearn_halving.splits import corrected_variance_of_mean


def additive_means(scores: FloatArray, is_pulled: BoolArray, level: IntArray) -> FloatArray:
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
    """
    means = pulled_means(scores, is_pulled)
    usable = np.isfinite(means)
    for one in np.unique(level[usable]):
        group = np.flatnonzero(usable & (level == one))
        patterns = is_pulled[group]
        if not (patterns == patterns[0]).all():
            means[group] = fit_additive_model(scores[group], patterns).mean
    return means


@dataclass(frozen=True)
class Overlap:
    """Rows of the training and of the test sets, on average over the fits."""

    n_train: float
    n_test: float

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Overlap:
        """Return the means."""
        n_train = float(np.mean([outcome.n_train for outcome in outcomes]))
        return cls(n_train, float(np.mean([outcome.n_test for outcome in outcomes])))


@dataclass(frozen=True)
class ChoiceStatistics:
    """How sure a choice among candidates is.

    Parameters
    ----------
    mean : ndarray of shape (n_candidates,)
        Estimated score.
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

        Only candidates that reached the largest level can be the best.
        """
        scores, mean = split_scores(results, f"test_{metric}"), results[f"mean_test_{metric}"]
        in_question = np.isfinite(mean) & (level == level[np.isfinite(mean)].max(initial=0))
        arms = estimate_from_table(np.where(in_question[:, np.newaxis], scores, np.nan))
        ratio = overlap.n_test / overlap.n_train
        known = in_question & np.isfinite(arms.noise_variance)
        error = standard_errors(arms.n_pulls, np.where(known, arms.noise_variance, 0.0), ratio)
        return cls(np.where(known, mean, np.nan), np.where(known, error, np.nan))

    def probability_best(self) -> FloatArray:
        """Return the probability of each candidate to be the best."""
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
        variance = corrected_variance_of_mean(scores, overlap.n_train, overlap.n_test)
        results[f"standard_error_{side}"] = np.sqrt(variance)


def split_scores(results: dict[str, Any], side: str) -> FloatArray:
    """Return the scores of each split, shape (n_candidates, n_splits)."""
    columns: list[FloatArray] = []
    while (key := f"split{len(columns)}_{side}") in results:
        columns.append(results[key])
    return np.column_stack(columns)
