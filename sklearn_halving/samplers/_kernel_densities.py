"""Kernel densities of good and bad candidates: the proposals of BOHB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtr, ndtri

from sklearn_halving._checks import CheckedFields, Count, Positive, Share, between
from sklearn_halving.samplers._dimensions import Dimension, Opaque
from sklearn_halving.samplers._random import filled
from sklearn_halving.samplers._space import FloatArray, IntArray, Params, Space
from sklearn_halving.samplers._types import Told

MIN_BANDWIDTH = 1e-3
"""Smallest bandwidth, which is used if all points have the same value."""
MAX_POINTS = 100
"""Maximum number of points of a density. If there are more, they are thinned evenly by rank."""


@dataclass(frozen=True)
class KernelDensitySampler(CheckedFields):
    """Propose candidates that are likely among the good and unlikely among the other candidates.

    At the largest level with enough scores, one kernel density is fitted to the best candidates
    and another one to the rest. Points are drawn from the first density, with wider kernels. The
    point with the largest ratio of the two densities becomes a candidate.

    Parameters
    ----------
    share_good : float, default=0.15
        Share of the candidates that count as good (q in the paper). Their number is at least one
        more than the number of parameters.
    share_random : float, default=1/3
        Share of the candidates that are drawn at random (rho in the paper).
    n_draws : int, default=64
        Number of points that are drawn for each candidate (N_s in the paper).
    widening : float, default=3
        Factor by which the bandwidths are multiplied when points are drawn (b_w in the paper).

    Notes
    -----
    The kernels are those of the paper. Bandwidths follow Scott's rule, and the numbers of points
    follow section 4.1 of the paper. Parameters that a candidate lacks are filled in at random, as
    in the authors' implementation. A density has at most 100 points, so that the time for a
    proposal does not grow with the number of candidates.

    References
    ----------
    Falkner, Klein and Hutter. BOHB: robust and efficient hyperparameter optimization at scale.
    ICML 2018, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from sklearn_halving.samplers import KernelDensitySampler, Space, Told
    >>> told = Told(Space.of({"x": uniform(0, 1)}))
    >>> for arm in range(100):
    ...     told.add({"x": arm / 100})
    ...     told.tell(arm, level=1, score=-abs(arm / 100 - 0.4))
    >>> near = KernelDensitySampler(share_random=0.1).propose(told, 20, np.random.default_rng(0))
    >>> bool(np.median([abs(params["x"] - 0.4) for params in near]) < 0.1)
    True
    """

    share_good: Annotated[float, between(0, 1)] = 0.15
    share_random: Share = 1 / 3
    n_draws: Count = 64
    widening: Positive = 3.0

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return ``n`` candidates, from the densities or at random."""
        densities = self.densities(told, rng)
        propose = partial(self.likely, told.space, *densities, rng) if densities else None
        return filled(told, n, rng, propose, self.share_random)

    def densities(self, told: Told, rng: np.random.Generator) -> tuple[Density, Density] | None:
        """Return the densities of good and of bad candidates; None if there are too few scores."""
        n_least = told.space.n_dimensions + 1  # the paper's N_min
        level = told.top_level(n_least + 2)
        if level is None:
            return None
        arms, scores = told.at_level(level)
        order = arms[np.argsort(-scores, kind="stable")].tolist()
        inside = [arm for arm in order if told.point(arm) is not None]
        if len(inside) < n_least + 2:
            return None
        n_good = max(n_least, int(self.share_good * len(inside)))
        n_bad = max(n_least, len(inside) - n_good)
        good, bad = inside[:n_good], inside[-n_bad:]
        return Density.of(told, good, rng), Density.of(told, bad, rng)

    def likely(
        self, space: Space, good: Density, bad: Density, rng: np.random.Generator
    ) -> Iterator[Params]:
        """Yield candidates, those with the largest ratio of densities first."""
        points = good.draw(self.n_draws, self.widening, rng)
        for i in np.argsort(bad.log_at(points) - good.log_at(points), kind="stable"):
            yield space.params_at(_snapped(space, points[i]), rng)


@dataclass(frozen=True)
class Density:
    """A mixture of products of kernels, one around each point.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
    bandwidth : ndarray of shape (n_dimensions,)
        For an unordered axis, the probability of another value.
    n_values : ndarray of int of shape (n_dimensions,)
        Number of values of an unordered axis, 0 for other axes.
    """

    points: FloatArray
    bandwidth: FloatArray
    n_values: IntArray

    @classmethod
    def of(cls, told: Told, arms: list[int], rng: np.random.Generator) -> Density:
        """Return the density of some arms, with one bandwidth for each axis."""
        if len(arms) > MAX_POINTS:
            arms = [arms[i] for i in np.linspace(0, len(arms) - 1, MAX_POINTS).round().astype(int)]
        space = told.space
        points = np.array([_filled_in(space, told.point(arm), rng) for arm in arms])
        n_points, n_dimensions = points.shape
        bandwidth = points.std(axis=0) * n_points ** (-1 / (n_dimensions + 4))  # Scott
        n_values = np.array([_n_unordered(d) for d in space.dimensions], dtype=np.int64)
        bandwidth = np.maximum(bandwidth, MIN_BANDWIDTH)
        most = np.where(n_values > 0, 1 - 1 / np.maximum(n_values, 1), np.inf)
        return cls(points, np.minimum(bandwidth, most), n_values)

    def draw(self, n: int, widening: float, rng: np.random.Generator) -> FloatArray:
        """Draw points from the density with wider kernels, shape (n, n_dimensions)."""
        centre = self.points[rng.integers(len(self.points), size=n)]
        width = self.bandwidth * widening
        uniform = rng.random(centre.shape)
        low, high = ndtr(-centre / width), ndtr((1 - centre) / width)
        near = centre + width * ndtri(low + uniform * (high - low))  # truncated to the cube
        is_other = uniform < np.minimum(width, 1)
        n_values = np.maximum(self.n_values, 1)
        other = (np.floor(rng.random(centre.shape) * n_values) + 0.5) / n_values
        unordered = np.where(is_other, other, centre)
        return np.clip(np.where(self.n_values > 0, unordered, near), 0.0, 1.0)

    def log_at(self, x: FloatArray) -> FloatArray:
        """Return the logarithm of the density at each point, shape (n,), up to a constant."""
        distance = x[:, np.newaxis] - self.points
        z = distance / self.bandwidth
        numeric = -0.5 * z**2 - np.log(self.bandwidth)
        others = np.maximum(self.n_values - 1, 1)
        same = np.log(np.maximum(1 - self.bandwidth, 1e-12))
        unordered = np.where(abs(distance) < 1e-9, same, np.log(self.bandwidth / others))
        log_kernel = np.where(self.n_values > 0, unordered, numeric).sum(axis=-1)
        top = log_kernel.max(axis=1)
        return top + np.log(np.exp(log_kernel - top[:, None]).mean(axis=1))


def _n_unordered(dimension: Dimension) -> int:
    """Return the number of values of an unordered axis, 0 for other axes."""
    is_one = dimension.n_cells == 1
    return 0 if dimension.is_ordered or is_one else dimension.n_cells or 0


def _filled_in(space: Space, point: Any, rng: np.random.Generator) -> FloatArray:
    """Return the point with random coordinates for the parameters that it lacks."""
    filled = rng.random(space.n_dimensions)
    own = space.branches[space.branch_of(point)]
    has_values = [0, *own] if len(space.branches) > 1 else list(own)
    filled[has_values] = point[has_values]
    return filled


def _snapped(space: Space, point: FloatArray) -> FloatArray:
    """Return the centres of the cells of a point; NaN for values that have to be drawn."""
    snapped = [
        np.nan if isinstance(dimension, Opaque) else dimension.snap(float(x))
        for dimension, x in zip(space.dimensions, point, strict=True)
    ]
    return np.array(snapped)
