"""The prior of candidates behind BayesGapSearchCV: their features and covariance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from sklearn_halving._checks import check_choice
from sklearn_halving._gaussian_process import KernelFamily, matern
from sklearn_halving._typing import ParamDistributions, Params
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._arrays import FloatArray, IntArray
from sklearn_halving.samplers import Space
from sklearn_halving.samplers._gaussian_process import Axes
from sklearn_halving.samplers._space import NEUTRAL, Continuous, Opaque, Uniform, dimension_of

CATEGORY_DISTANCE = 0.5
"""Distance of two categories of a parameter; the range of a number is 1."""
FAR = 1e3
"""Distance at which every kernel is 0."""
LENGTH = 8**-0.5
"""Initial length scale if one parameter varies. With d parameters it is sqrt(d) times this, such
that the correlation between opposite corners of a space of numbers is exp(-4)."""
NOISE = 0.25
"""Initial variance of the noise of a fit, and of the effect of a split, in prior variances of a
candidate."""
NO_NUMBERS = (
    "No numeric parameter varies, so the model of BayesGapSearchCV only knows which values the "
    "candidates have in common: a fit tells little or nothing about other candidates. "
    "VarianceHalvingSearchCV compares candidates without a model."
)


def draw_evenly(
    spaces: Sequence[Params], n: int, rng: np.random.RandomState
) -> tuple[Params, ...] | None:
    """Draw candidates that are spread more evenly than independent ones.

    They are at the points of a scrambled Halton sequence.

    Returns
    -------
    candidates : tuple of dict or None
        None if a dict has no continuous distribution, or a distribution has no method ``ppf``.
    """
    space, seed = Space.of(spaces), np.random.default_rng(rng.randint(2**31 - 1))
    for branch in space.branches:
        kinds = [type(space.dimensions[axis]) for axis in branch]
        if Opaque in kinds or not (Uniform in kinds or Continuous in kinds):
            return None
    return tuple(map(space.params_at, qmc.Halton(space.n_dimensions, seed=seed).random(n)))


@dataclass(frozen=True, eq=False)
class ParameterFamily(KernelFamily):
    """Kernels with a length scale for each parameter, which may have several columns.

    Parameters
    ----------
    kernel, points, lengths, length_bounds
        As for `KernelFamily`. The last column of the points has no length scale.
    parameter : ndarray of int of shape (n_columns - 1,)
        Parameter of each column, as an index of ``lengths``.
    """

    parameter: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        """Skip the checks of users' input."""

    def scaled(self, points: FloatArray, log_lengths: FloatArray) -> FloatArray:
        """Return points divided by the length scales."""
        return points / np.append(np.exp(log_lengths)[self.parameter], 1.0)


def squared_exponential(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``exp(-d^2 / 2)`` of the distances."""
    return np.exp(-0.5 * cdist(points, others, "sqeuclidean"))


def matern_5_2(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the Matern kernel of the distances with nu = 5/2: twice differentiable."""
    return matern(cdist(points, others, "sqeuclidean"))[0]


KernelName = Literal["squared_exponential", "matern"]
KERNELS = {"squared_exponential": squared_exponential, "matern": matern_5_2}


def make_prior(
    kernel: KernelName, candidates: Sequence[Params], param_distributions: ParamDistributions
) -> ParameterFamily:
    """Return the prior covariance of candidates, whose length scales are estimated later."""
    axes, points, columns = _encoded(candidates, param_distributions)
    space, is_number = axes.space, np.isnan(axes.cell)
    ranges = np.ptp(columns, axis=0)
    if len(candidates) > 1 and not ranges[is_number].any():
        warn_user(NO_NUMBERS)
    number_of: dict[Hashable, int] = {}
    branch = [
        number_of.setdefault(_independent(space, params, point), len(number_of))
        for params, point in zip(candidates, points, strict=True)
    ]
    of_dict = [space.branch_of(point) for point in points]
    varies = np.isin(axes.of_column, np.concatenate(space.branches)) & (ranges > 0)
    axis = axes.of_column[varies]
    scales = np.where(is_number, ranges, 1 / CATEGORY_DISTANCE)[varies]
    n_varying = np.array([max(1, np.isin(own, axis).sum()) for own in space.branches])[of_dict]
    name_of = np.array([dimension.name for dimension in space.dimensions])
    names, parameter = np.unique(name_of[axis], return_inverse=True)
    return ParameterFamily(
        KERNELS[kernel],
        np.column_stack(
            [
                columns[:, varies] / scales / np.sqrt(n_varying)[:, np.newaxis],
                FAR * np.array(branch),
            ]
        ),
        np.full(len(names), LENGTH),
        parameter=parameter,
    )


def _encoded(
    candidates: Sequence[Params], param_distributions: Any
) -> tuple[Axes, FloatArray, FloatArray]:
    """Return the axes of a search space, and candidates as its points and in columns."""
    one = isinstance(param_distributions, Mapping)
    dicts: Sequence[Params] = [param_distributions] if one else param_distributions

    def known(name: str, values: Any) -> Any:  # a distribution without coordinates is a list
        drawn = [params[name] for params in candidates if name in params]
        return drawn if drawn and isinstance(dimension_of(name, values), Opaque) else values

    space = Space.of([{name: known(name, v) for name, v in own.items()} for own in dicts])
    axes, points = Axes.of(space), np.array([space.point_near(params) for params in candidates])
    return axes, points, np.nan_to_num(axes.columns(points), nan=NEUTRAL)


def _independent(space: Space, params: Params, point: FloatArray) -> Hashable:
    """Return a key that differs between candidates whose scores are unrelated.

    They are from different dicts, have predictors of different classes (section 6.2 of the
    paper), or one of them has a value that the space does not contain, other than a number.
    """
    predictors = {
        (name, type(value))
        for name, value in params.items()
        if hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    }
    return space.branch_of(point), frozenset(predictors), *np.flatnonzero(np.isnan(point))


def candidate_features(
    candidates: Sequence[Params], param_distributions: ParamDistributions
) -> FloatArray:
    """Return candidates as points, from which a covariance can be computed.

    Parameters
    ----------
    candidates : sequence of dict of length n_candidates
        Parameter names and values.
    param_distributions : dict or list of dict
        The search space of the candidates, as in BayesGapSearchCV.

    Returns
    -------
    features : ndarray of shape (n_candidates, n_columns)
        The same columns that samplers see. A number is scaled to the range from 0 to 1, by its
        distribution or its rank in its list. All other values are one-hot encoded, such that the
        distance of two categories is 1. With several dicts, the first columns indicate the dict.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from sklearn_halving.search import candidate_features
    >>> grid = {"C": [1, 10, 100, 1000], "kernel": ["rbf"]}
    >>> candidate_features(list(ParameterGrid(grid)), grid).tolist()
    [[0.125], [0.375], [0.625], [0.875]]
    """
    return _encoded(candidates, param_distributions)[-1]


def candidate_covariance(
    candidates: Sequence[Params],
    param_distributions: ParamDistributions,
    kernel: KernelName = "squared_exponential",
) -> KernelFamily:
    """Return the prior covariance that BayesGapSearchCV gives its candidates.

    Use it to run `~sklearn_halving.policies.BayesGap` with parameters that BayesGapSearchCV does
    not have, such as ``epsilon``. Its candidates must be in the same order: a whole grid is in the
    order of `ParameterGrid`.

    Parameters
    ----------
    candidates : sequence of dict of length n_candidates
        Parameter names and values.
    param_distributions : dict or list of dict
        The search space of the candidates.
    kernel : {"squared_exponential", "matern"}, default="squared_exponential"
        The kernel, see BayesGapSearchCV.

    Returns
    -------
    covariance : KernelFamily
        Its length scales are estimated during the search.

    Raises
    ------
    ValueError
        If there is no such kernel.

    Examples
    --------
    >>> from sklearn.model_selection import ParameterGrid
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import BanditSearchCV
    >>> from sklearn_halving.policies import BayesGap
    >>> from sklearn_halving.search import candidate_covariance
    >>> grid = {"C": [0.1, 1, 10, 100], "gamma": [0.001, 0.01, 0.1]}
    >>> covariance = candidate_covariance(list(ParameterGrid(grid)), grid)
    >>> policy = BayesGap(n_pulls=20, covariance=covariance, epsilon=0.01)
    >>> search = BanditSearchCV(SVC(), grid, policy=policy)
    """
    check_choice("kernel", kernel, "For another one, see candidate_features.", choices=KernelName)
    return make_prior(kernel, candidates, param_distributions)
