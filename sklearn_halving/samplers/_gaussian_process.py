"""Expected improvement under a Gaussian process: Bayesian optimization as a sampler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import log
from typing import Annotated, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import erfcx, ndtr

from sklearn_halving._checks import CheckedFields, Share, at_least
from sklearn_halving._gaussian_process import (
    JITTER,
    Factor,
    matern,
    most_probable,
    negative_log_likelihood,
    squared_distances,
)
from sklearn_halving._typing import Params
from sklearn_halving.samplers._sampler import Told, filled
from sklearn_halving.samplers._space import NEUTRAL, Choices, FloatArray, IntArray, Opaque, Space

MAX_POINTS = 100
"""Maximum number of scores to which the process is fitted: the best half, and others at random."""
MAX_CELLS = 1000
"""Spaces with at most this many candidates are searched as a whole."""
MAX_PENDING = 50
"""Maximum number of candidates without a score that are taken into account, the latest ones."""
N_PARENTS = 5
"""Half of the pool are steps from this many of the best candidates."""
STEPS = 0.05, 0.2
"""Range of the standard deviation of such a step, as a share of the range of a parameter."""
P_NUMBER, P_CATEGORY = 0.5, 0.25
"""Probabilities that a step changes a number, and a value of an unordered list."""
N_REFINEMENTS = 5
"""Number of times that steps from the points with the largest expected improvement are added."""
N_REFINED, N_NEAR = 10, 100
"""Number of those points, and number of steps that are added each time."""
NEAR_STEPS = 0.02, 0.2
"""Range of the standard deviation of these steps."""
GROWTH = 1.12
"""The hyperparameters are fitted again when the number of scores has grown by this factor."""
LEAST_SPREAD = 1e-4
"""Minimum spread of the better half of the scores, as a share of the spread of all of them."""
MAX_ITERATIONS = 15
"""Maximum number of iterations for the hyperparameters."""
LOG_NOISE = -6.0
"""Prior mean of the logarithm of the noise variance. The standard deviation is 2."""


@dataclass(frozen=True)
class GaussianProcessSampler(CheckedFields):
    """Propose candidates with a large expected improvement under a Gaussian process.

    A Gaussian process is fitted to the scores at the largest level at which at least ``min_told``
    candidates have a score. The point with the largest expected improvement becomes a candidate.
    It is searched for among ``n_pool`` points, half of which are random and the others steps from
    the five best candidates, and then five times among 100 steps from the ten best points so far;
    in a space of at most 1,000 candidates, among all of them.

    Parameters
    ----------
    share_random : float, default=0.1
        Share of the candidates that are drawn at random, so that no part of the space is excluded.
        It is above 0 and at most 1.
    min_told : int, default=5
        Minimum number of candidates with a score. All candidates are random until it is reached.
    n_pool : int, default=500
        Number of points with which the maximization of the expected improvement starts.

    Notes
    -----
    The kernel is Matern 5/2 with a length scale for each parameter. Two different values of an
    unordered list are at distance 1. The hyperparameters are fitted by their posterior density.
    The prior median of a length scale grows with the square root of the number of parameters [3]_.
    Scores below the median are compressed logarithmically, since the differences between poor
    candidates do not matter. If there are more than 100 scores, the process is fitted to the best
    50 and 50 others, so that the time for a proposal does not grow with the number of candidates.

    Candidates of the same batch, and all others without a score, are assumed to get the score that
    the process predicts (the "Kriging believer" [2]_). This reduces the variance around them, so
    that candidates that are proposed at the same time differ. A failed candidate counts as one
    with the lowest score.

    References
    ----------
    .. [1] Jones, Schonlau and Welch. Efficient global optimization of expensive black-box
       functions. Journal of Global Optimization 13, 1998.
    .. [2] Ginsbourger, Le Riche and Carraro. Kriging is well-suited to parallelize optimization.
       In: Computational Intelligence in Expensive Optimization Problems, 2010.
    .. [3] Hvarfner, Hellsten and Nardi. Vanilla Bayesian optimization performs great in high
       dimensions. ICML 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from sklearn_halving.samplers import GaussianProcessSampler, Space, Told
    >>> told = Told(Space.of({"x": uniform(0, 1)}))
    >>> for arm in range(10):
    ...     told.add({"x": arm / 10})
    ...     told.tell(arm, level=1, score=-((arm / 10 - 0.44) ** 2))
    >>> sampler = GaussianProcessSampler(share_random=0.01)
    >>> [params] = sampler.propose(told, 1, np.random.default_rng(0))
    >>> round(params["x"], 1)
    0.4
    """

    share_random: Share = 0.1
    min_told: Annotated[int, at_least(2)] = 5
    n_pool: Annotated[int, at_least(2)] = 500

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> list[Params]:
        """Return ``n`` candidates, by expected improvement or at random."""
        pool = self._pool(told, rng)
        if pool is None:
            return filled(told, n, rng)

        def propose() -> Iterator[Params]:
            return (told.space.params_at(pool.points[place], rng) for place in pool.ranked())

        return filled(told, n, rng, propose, self.share_random)

    def _pool(self, told: Told, rng: np.random.Generator) -> Pool | None:
        """Return points to choose from; None if there are too few different scores, or no axes."""
        axes, (arms, scores) = Axes.of(told.space), _known(told, self.min_told)
        if not len(arms) or scores[0] == scores[-1] or not len(axes.of_column):
            return None  # there is nothing to learn from
        values, n_told = compressed(scores), len(arms)
        if n_told > MAX_POINTS:
            n_best = MAX_POINTS // 2
            others = rng.choice(n_told - n_best, MAX_POINTS - n_best, replace=False)
            kept = np.concatenate([np.arange(n_best), n_best + np.sort(others)])
            arms, values = arms[kept], values[kept]
        known = _points_of(told, arms.tolist())
        own = axes.columns(known), axes.of_column, values
        if not told.memo.get("n_fitted", 0) <= n_told < GROWTH * told.memo.get("n_fitted", 0):
            told.memo.update(n_fitted=n_told, logs=fit_hyperparameters(*own))
        process = Process(told.memo["logs"], *own)
        pending = _points_of(told, told.without_score()[-MAX_PENDING:])
        process.believe(axes.columns(pending))
        if (told.space.size or np.inf) <= MAX_CELLS:
            points = _new_cells(told, rng)
        else:
            points = _new(told, self._searched(process, axes, known[:N_PARENTS], rng))
        return Pool(process, points, axes.columns(points))

    def _searched(
        self, process: Process, axes: Axes, parents: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return random points, steps from some points, and steps from the best of all these.

        Those with the largest expected improvement come first.
        """
        n_steps = self.n_pool // 2
        steps = axes.steps(parents, n_steps, STEPS, rng)
        points = np.concatenate([axes.random(self.n_pool - n_steps, rng), steps])
        gains = Pool(process, points, axes.columns(points)).gains()
        for _ in range(N_REFINEMENTS):
            best = np.argsort(-gains, kind="stable")[:N_REFINED]
            near = axes.steps(points[best], N_NEAR, NEAR_STEPS, rng)
            of_near = Pool(process, near, axes.columns(near)).gains()
            points, gains = np.concatenate([points, near]), np.append(gains, of_near)
        return points[np.argsort(-gains, kind="stable")]


def _known(told: Told, min_told: int) -> tuple[IntArray, FloatArray]:
    """Return the arms to which the process is fitted, and their scores, best first.

    They are those at the largest level with at least ``min_told`` scores. A failed candidate gets
    the lowest of the scores, so that regions in which fits fail are avoided.
    """
    for level in told.levels():
        arms, scores = told.at_level(level)
        is_inside = [told.point(arm) is not None for arm in arms.tolist()]
        is_usable = np.array(is_inside, dtype=bool) & (scores < np.inf)
        arms, scores = arms[is_usable], scores[is_usable]
        is_score = np.isfinite(scores)
        if is_score.sum() >= min_told:
            scores = np.where(is_score, scores, scores[is_score].min())
            order = np.lexsort((arms, ~is_score, -scores))
            return arms[order], scores[order]
    return np.zeros(0, dtype=np.int64), np.zeros(0)


def _points_of(told: Told, arms: list[int]) -> FloatArray:
    """Return the points of those arms that are in the space, shape (n_points, n_dimensions)."""
    points = [point for arm in arms if (point := told.point(arm)) is not None]
    return np.array(points).reshape(-1, told.space.n_dimensions)


def _new_cells(told: Told, rng: np.random.Generator) -> FloatArray:
    """Return the points of a finite space that are no candidates yet, in any order."""
    space = told.space
    if "cells" not in told.memo:
        every = map(space.candidate, range(space.size or 0))
        told.memo["cells"] = np.array([space.point_of(params) for params in every])
    return rng.permutation(_new(told, told.memo["cells"]))


def _new(told: Told, points: FloatArray) -> FloatArray:
    """Return the points of candidates that do not exist yet, one of each."""
    known = _points_of(told, [*range(len(told.candidates))])
    cells = told.space.cells_at(np.concatenate([known, points]))
    first: dict[bytes, int] = {}
    for place, row in enumerate(cells.view(f"V{cells.strides[0]}").ravel().tolist()):
        first.setdefault(row, place - len(known))
    return points[[place for place in first.values() if place >= 0]]


def compressed(scores: FloatArray) -> FloatArray:
    """Return scores minus their median, relative to the spread of the better half.

    A score below the median by z becomes -log(1 + z). The spread is at least 0.0001 times that
    of all scores, since the better half may be equal. Different scores count once each, so that
    candidates that give the same model do not change the scale.
    """
    size = np.abs(scores).max() or 1.0
    scaled = scores / size  # squares neither overflow nor underflow
    different = np.unique(scaled)
    centre = np.median(different)
    squares = (different - centre) ** 2
    better = squares[len(different) // 2 :]
    spread = max(np.sqrt(better.mean()), LEAST_SPREAD * np.sqrt(squares.mean())) or 1.0
    z = (scaled - centre) / spread
    return np.where(z < 0, -np.log1p(np.maximum(-z, 0)), z)


@dataclass(frozen=True)
class Axes:
    """The axes of a space, and the columns that they have as inputs of a process.

    An ordered axis is a column. An unordered axis has a column for each value (one-hot encoding).

    Parameters
    ----------
    space : Space
    of_column : ndarray of int of shape (n_columns,)
        The axis of each column. Axes that cannot change have no columns.
    cell : ndarray of shape (n_columns,)
        The coordinate of the value that a column stands for; NaN for an ordered axis.
    """

    space: Space
    of_column: IntArray
    cell: FloatArray

    @classmethod
    def of(cls, space: Space) -> Self:
        """Return the axes of a space."""
        columns: list[tuple[int, float]] = []
        for axis, dimension in enumerate(space.dimensions):
            if isinstance(dimension, Opaque) or dimension.n_cells == 1:
                continue
            n_values = 0 if dimension.is_ordered else dimension.n_cells or 0
            cells = (np.arange(n_values) + 0.5) / max(n_values, 1)
            columns += [(axis, cell) for cell in (cells.tolist() or [np.nan])]
        of_column = np.array([axis for axis, _ in columns], dtype=np.int64)
        return cls(space, of_column, np.array([cell for _, cell in columns]))

    def columns(self, points: FloatArray) -> FloatArray:
        """Return the inputs of the process, shape (n_points, n_columns)."""
        x = points[:, self.of_column]
        is_this = np.abs(x - self.cell) < 1e-9
        return np.where(np.isnan(self.cell), x, is_this / np.sqrt(2))

    def random(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return random points, shape (n, n_dimensions)."""
        return self._settled(rng.random((n, self.space.n_dimensions)))

    def steps(
        self, parents: FloatArray, n: int, sizes: tuple[float, float], rng: np.random.Generator
    ) -> FloatArray:
        """Return random steps from some points, shape (n, n_dimensions)."""
        start = parents[np.arange(n) % len(parents)]
        size = np.exp(rng.uniform(log(sizes[0]), log(sizes[1]), (n, 1)))
        folded = np.abs(start + size * rng.standard_normal(start.shape)) % 2
        near = np.minimum(folded, 2 - folded)  # reflected at 0 and 1
        is_ordered = np.array([d.is_ordered for d in self.space.dimensions])
        chance = np.where(is_ordered, P_NUMBER, P_CATEGORY)
        other = np.where(is_ordered, near, rng.random(start.shape))
        return self._settled(np.where(rng.random(start.shape) < chance, other, start))

    def _settled(self, points: FloatArray) -> FloatArray:
        """Return points with the centres of the cells of lists, and inactive axes reset."""
        for axis, dimension in enumerate(self.space.dimensions):
            if isinstance(dimension, Choices):
                points[:, axis] = (dimension.cells_at(points[:, axis]) + 0.5) / dimension.n_cells
        branches = self.space.branches
        if len(branches) == 1:
            return points
        is_active = np.array([np.isin(range(points.shape[1]), (0, *own)) for own in branches])
        return np.where(is_active[(points[:, 0] * len(branches)).astype(int)], points, NEUTRAL)


class Pool:
    """Points, among which candidates are chosen by their expected improvement.

    Parameters
    ----------
    process : Process
    points : ndarray of shape (n_points, n_dimensions)
    columns : ndarray of shape (n_points, n_columns)
        The points as inputs of the process.

    Attributes
    ----------
    inputs : ndarray of shape (n_points, n_columns)
        The columns divided by the length scales.
    mean : ndarray of shape (n_points,)
        Posterior mean; -inf for a point that was chosen.
    factor : Factor
        The posterior variances, and what is known of the points.
    best : float
        The largest posterior mean at a known or a chosen point.
    chosen : int or None
        The point that was chosen last, see `ranked`.
    """

    def __init__(self, process: Process, points: FloatArray, columns: FloatArray) -> None:
        self.process, self.points, self.best = process, points, process.best
        self.inputs = columns / process.scales
        prior = process.covariance(process.inputs, self.inputs)
        rows = process.root @ prior
        self.factor = Factor(process.signal - (rows**2).sum(axis=0), rows)
        self.mean = process.weights @ prior
        self.chosen: int | None = None

    def gains(self) -> FloatArray:
        """Return the logarithm of the expected improvement at each point."""
        variance = np.maximum(self.factor.variance, JITTER * self.process.signal)
        deviation = np.sqrt(variance)
        z = (self.mean - self.best) / deviation
        gains = log_improvement(z) + np.log(deviation)
        # Rounded, so that rounding errors of another machine do not change the candidates.
        rounded: FloatArray = gains.round(6)
        return rounded

    def ranked(self) -> Iterator[int]:
        """Yield the points in the order of their expected improvement, the largest first.

        The last point that was taken is chosen: the next call assumes its score.
        """
        if self.chosen is not None:  # not before another point is needed, as it takes time
            self._believe(self.chosen)
        order = np.argsort(-self.gains(), kind="stable")
        for place in order[np.isfinite(self.mean[order])].tolist():
            self.chosen = place
            yield place

    def _believe(self, place: int) -> None:
        """Condition on the predicted score of a point, which leaves all means as they are."""
        column = self.process.covariance(self.inputs[place : place + 1], self.inputs)[0]
        self.factor.add(place, column, self.process.least_noise)
        self.best = max(self.best, float(self.mean[place]))
        self.mean[place] = -np.inf


def log_improvement(z: FloatArray) -> FloatArray:
    """Return the logarithm of the expected improvement over 0 of a variable with mean z, sd 1.

    It is ``log(pdf(z) + z * cdf(z))``, which would underflow for z far below 0.
    """
    near, far = np.maximum(z, -1.0), np.clip(z, -1e6, -1.0)
    ratio = np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2))  # cdf over pdf
    log_far = -0.5 * far**2 - 0.5 * log(2 * np.pi) + np.log1p(far * ratio)
    density = np.exp(-0.5 * near**2) / np.sqrt(2 * np.pi)
    return np.where(z > -1, np.log(density + near * ndtr(near)), log_far)


class Process:
    """A Gaussian process with a Matern 5/2 kernel, conditioned on values at some inputs.

    Parameters
    ----------
    logs : ndarray
        The hyperparameters, see `fit_hyperparameters`.
    columns : ndarray of shape (n_points, n_columns)
    of_column : ndarray of int of shape (n_columns,)
        The axis of each column.
    values : ndarray of shape (n_points,)

    Attributes
    ----------
    scales : ndarray of shape (n_columns,)
        Length scale of each column.
    signal, least_noise : float
        Variances of the process, and of the noise of a value.
    inputs : ndarray of shape (n_points, n_columns)
        Divided by the length scales.
    root : ndarray of shape (n_points, n_points)
        Inverse of the Cholesky factor of the covariance of the values.
    weights : ndarray of shape (n_points,)
        The inverse covariance times the values.
    """

    def __init__(
        self, logs: FloatArray, columns: FloatArray, of_column: IntArray, values: FloatArray
    ) -> None:
        *of_axis, self.signal, noise = np.exp(logs).tolist()
        self.least_noise = noise + JITTER * self.signal
        self.scales = np.array(of_axis)[np.unique(of_column, return_inverse=True)[1]]
        self.inputs = columns / self.scales
        self.root = self._inverse_root()
        self.weights = self.root.T @ (self.root @ values)

    def believe(self, columns: FloatArray) -> None:
        """Condition also on the values that the process predicts at some inputs.

        All means remain as they are, and the variances near these inputs decrease.
        """
        self.inputs = np.concatenate([self.inputs, columns / self.scales])
        self.weights = np.append(self.weights, np.zeros(len(columns)))
        self.root = self._inverse_root()

    @cached_property
    def best(self) -> float:
        """The largest posterior mean at the inputs."""
        return float((self.covariance(self.inputs, self.inputs) @ self.weights).max())

    def covariance(self, inputs: FloatArray, others: FloatArray) -> FloatArray:
        """Return the prior covariance of the values at inputs that are divided by the scales."""
        return self.signal * matern(squared_distances(inputs, others))[0]

    def _inverse_root(self) -> FloatArray:
        covariance = self.covariance(self.inputs, self.inputs)
        covariance[np.diag_indices(len(self.inputs))] += self.least_noise
        lower = np.linalg.cholesky(covariance)
        return solve_triangular(lower, np.eye(len(lower)), lower=True)


def fit_hyperparameters(
    columns: FloatArray, of_column: IntArray, values: FloatArray
) -> FloatArray:
    """Return the hyperparameters with the largest posterior density.

    They are the logarithms of the length scales, the signal variance and the noise variance.
    """
    of_axis, place = np.unique(of_column, return_inverse=True)
    squares = np.zeros((len(of_axis), len(values), len(values)))
    varies = np.ptp(columns, axis=0) > 0
    for column, own in zip(columns.T[varies], place[varies].tolist(), strict=True):
        squares[own] += np.subtract.outer(column, column) ** 2
    centre = np.append(np.full(len(of_axis), 0.5 * log(len(of_axis) / 8)), [0.0, LOG_NOISE])
    width = np.append(np.ones(len(of_axis) + 1), 2.0)
    bounds = np.column_stack([centre - 3 * width, centre + 3 * width])
    flat = squares.reshape(len(of_axis), -1)
    loss = partial(negative_log_likelihood, squares=flat, values=values)
    logs = most_probable(loss, centre, width, bounds, maxiter=MAX_ITERATIONS)
    # Rounded, so that rounding errors of another machine do not change the candidates.
    rounded: FloatArray = logs.round(4)
    return rounded
