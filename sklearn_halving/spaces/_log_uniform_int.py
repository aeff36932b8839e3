"""Whole numbers that are evenly spread in their logarithm. SciPy has no such distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rv_discrete


class _LogUniformInt(rv_discrete):  # type: ignore[misc]  # SciPy has no types
    """Whole numbers from ``low`` to ``high``, evenly spread in their logarithm."""

    def _argcheck(self, low: Any, high: Any) -> Any:
        return (low >= 1) & (high >= low) & (low == np.floor(low)) & (high == np.floor(high))

    def _get_support(self, low: Any, high: Any) -> Any:
        return low, high

    def _pmf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log1p(1 / np.asarray(k, dtype=float)) / np.log((high + 1) / low)

    def _cdf(self, k: Any, low: Any, high: Any) -> Any:
        return np.log((np.floor(k) + 1) / low) / np.log((high + 1) / low)

    def _ppf(self, q: Any, low: Any, high: Any) -> Any:
        bound = low * ((high + 1) / low) ** np.asarray(q, dtype=float)
        # Rounding must not lift an exact bound to the next number.
        return np.clip(np.ceil(bound * (1 - 1e-12)) - 1, low, high)


_DISTRIBUTION = _LogUniformInt(name="loguniform_int")


def loguniform_int(low: int, high: int) -> Any:
    """Return a distribution of whole numbers that are evenly spread in their logarithm.

    Parameters
    ----------
    low, high : int
        Smallest and largest value, both included; at least 1.

    Returns
    -------
    distribution : frozen SciPy distribution
        With the methods ``rvs``, ``ppf``, ``cdf`` and ``pmf``.

    Raises
    ------
    ValueError
        Unless ``1 <= low <= high``, both whole numbers.

    Examples
    --------
    >>> from sklearn_halving.spaces import loguniform_int
    >>> depth = loguniform_int(1, 64)
    >>> [int(depth.ppf(share)) for share in (0.1, 0.25, 0.5, 0.75, 1)]
    [1, 2, 8, 22, 64]
    """
    if not (low == int(low) and high == int(high) and 1 <= low <= high):
        raise ValueError(
            f"loguniform_int needs whole numbers with 1 <= low <= high, got {low!r} and {high!r}."
        )
    return _DISTRIBUTION(low, high)
