"""Statistics of the choice: comparable means, standard errors and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_halving._typing import CvResults, Params
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray
from sklearn_halving.policies.noise._noise_estimates import (
    fit_additive_model,
    probability_of_choice,
)
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._space import is_finite_number
from sklearn_halving.search.reporting._tables import pulled_means
from sklearn_halving.splits._stream import corrected_variance_of_mean, split_scores

AT_END = 0.02
"""A value in the first or last part of a distribution, of this size, is at an end of its range."""


def additive_means(
    scores: FloatArray, is_pulled: BoolArray, level: IntArray, has_failed: BoolArray
) -> FloatArray:
    """Return comparable means of candidates that were scored on different splits.

    If all candidates were scored on the same splits, these are exactly the plain means. Scores
    at different levels are not combined.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_splits)
        NaN if a candidate was not scored on a split, or if scoring failed.
    is_pulled : ndarray of bool of shape (n_candidates, n_splits)
        Whether a candidate was scored on a split.
    level : ndarray of shape (n_candidates,)
        Level of the scores of each candidate.
    has_failed : ndarray of bool of shape (n_candidates,)
        Whether a candidate has failed fits. Their scores are not informative about the splits.
    """
    means = pulled_means(scores, is_pulled)
    usable = np.isfinite(means) & ~has_failed
    for one in np.unique(level[usable]):
        group = np.flatnonzero(usable & (level == one))
        patterns = is_pulled[group]
        if not (patterns == patterns[0]).all():
            means[group] = fit_additive_model(scores[group], patterns).mean
    return means


def overlap_of(outcomes: list[Outcome], n_rows: int) -> float:
    """Return how much the training sets overlap, which limits what more splits can tell.

    The ratio ``n_test / n_train`` of Nadeau and Bengio is for training sets that contain all rows
    outside the test set. Smaller training sets overlap less, so they must not increase it.
    """
    n_test = float(np.mean([outcome.n_test for outcome in outcomes]))
    return n_test / max(1.0, n_rows - n_test)


def probability_best(
    results: CvResults, metric: str, level: IntArray, overlap: float
) -> FloatArray:
    """Return the probability that a candidate is the best one; NaN if it is not known.

    Only candidates that reached the largest level can be the best.
    """
    mean = results[f"mean_test_{metric}"]
    known = ~np.isnan(mean)
    known &= level == level[known].max(initial=0)
    scores = split_scores(results, f"test_{metric}")
    return probability_of_choice(np.where(known, mean, np.nan), scores, overlap)


def mean_errors(results: CvResults, side: str, overlap: float) -> FloatArray:
    """Return the standard error of each mean of a side and metric, such as "test_score"."""
    return np.sqrt(corrected_variance_of_mean(split_scores(results, side), 1, overlap))


def add_standard_errors(results: CvResults, overlap: float) -> None:
    """Add the standard error of each mean, for all metrics, of test and training scores."""
    for key in [key for key in results if key.startswith(("mean_test_", "mean_train_"))]:
        side = key.removeprefix("mean_")
        results[f"standard_error_{side}"] = mean_errors(results, side, overlap)


def edges(params: Params, distributions: Sequence[Params]) -> Iterator[str]:
    """Yield which values to try beyond the ends of a range, such as "larger C".

    0 and numbers close to 1 are left out, as they are often limits of the parameter itself, and
    so are numbers outside of the range, such as those of the estimator as it is. Of a list of
    dicts, the first one that contains the parameters counts.
    """
    own = (one for one in distributions if Space.of(one).point_of(params) is not None)
    for name, values in next(own, {}).items():
        value = params.get(name)
        is_limit = not is_finite_number(value) or value == 0 or 0.95 < value <= 1
        if (ends := None if is_limit else _ends(values)) is None:
            continue
        first, low, high, last = ends
        if first <= params[name] <= low:
            yield f"smaller {name}"
        elif high <= params[name] <= last:
            yield f"larger {name}"


def _ends(values: Any) -> tuple[float, ...] | None:
    """Return the two ends of a range of numbers, each as an interval."""
    if hasattr(values, "ppf"):
        return tuple(map(float, values.ppf([0, AT_END, 1 - AT_END, 1])))
    if hasattr(values, "rvs") or len(values) < 3:
        return None
    if isinstance(values, range):
        values = values[:: len(values) - 1]
    if not all(map(is_finite_number, values)):
        return None
    return min(values), min(values), max(values), max(values)
