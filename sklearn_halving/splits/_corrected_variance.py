"""The variance of a mean score over splits whose training sets overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_halving._checks import refuse_unless


def corrected_variance_of_mean(
    scores: ArrayLike, n_train: ArrayLike, n_test: ArrayLike
) -> NDArray[np.float64]:
    """Estimate the variance of a mean score over learning-testing splits.

    Scores of different splits are correlated because their training sets share rows, so
    ``s**2 / J`` underestimates the variance of the mean. The corrected resampled variance is
    ``(1 / J + n_test / n_train) * s**2``, where ``s**2`` is the sample variance of the J scores.
    Its square root is the standard error of the mean.

    Parameters
    ----------
    scores : array-like of shape (..., J)
        One score per split. NaN marks a split without a score, which is ignored.
    n_train, n_test : array-like of shape (...)
        Number of rows of a training set and a test set; broadcast against ``scores[..., 0]``.

    Returns
    -------
    variance : ndarray of shape (...)
        In squared units of the score; NaN if there are fewer than two scores.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning
    52, 239-281, section 4 (corrected resampled t-test).

    Examples
    --------
    >>> from sklearn_halving.splits import corrected_variance_of_mean
    >>> scores = [[0.5, 0.7, 0.9], [0.5, 0.7, float("nan")]]
    >>> corrected_variance_of_mean(scores, n_train=80, n_test=20).round(4)
    array([0.0233, 0.015 ])
    """
    values = np.asarray(scores, dtype=np.float64)
    train = np.asarray(n_train, dtype=np.float64)
    test = np.asarray(n_test, dtype=np.float64)
    for name, given, size in (("n_train", n_train, train), ("n_test", n_test, test)):
        refuse_unless(bool(np.all(size > 0)), name, "be a positive number of rows", repr(given))
    refuse_unless(values.ndim > 0, "scores", "have a last axis over splits", repr(scores))
    is_known = ~np.isnan(values)
    n_scores = is_known.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # infinite scores have variance NaN
        mean = np.where(is_known, values, 0.0).sum(axis=-1) / np.maximum(n_scores, 1)
        squares = np.where(is_known, values - mean[..., np.newaxis], 0.0) ** 2
        sample_variance = squares.sum(axis=-1) / np.maximum(n_scores - 1, 1)
    shares = 1.0 / np.maximum(n_scores, 1) + test / train
    return np.where(n_scores >= 2, shares * sample_variance, np.nan)
