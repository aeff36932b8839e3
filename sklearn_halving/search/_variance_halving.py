"""VarianceHalvingSearchCV, which uses more splits for candidates that may still be the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Annotated, ClassVar, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving._unstable_imports import Interval
from sklearn_halving.policies import UniformAllocation, VarianceHalving
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._planned_pulls import widths_of
from sklearn_halving.policies.bases._rungs import growing_levels
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive import FITS_OF_GRID_SEARCH, AdaptiveSearchCV
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._shared_parameters import (
    FitInputs,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._levels import choose_levels
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._splits import streamed_splits

Allocation = Literal["likelihood", "pooled", "ucb", "uniform"]
FITS_OF_A_DRAWN = 2
"""Number of fits for which one candidate is drawn from distributions with ``"likelihood"``. On ten
recorded tasks with five splits each, twice as many candidates with half as many fits each led to
better choices. Other allocations need more fits in the first stage."""


@document_search
class VarianceHalvingSearchCV(AdaptiveSearchCV):
    """Search over parameters with more splits for the candidates that may still be the best.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, for candidates whose scores
    differ by less than the noise of cross-validation.

    Each stage of the search only fits the candidates that may still be the best, half as many as
    the stage before. The j-th fit of every candidate is on split j, without a limit to the number
    of splits.

    Parameters
    ----------
    n_candidates : "exhaust" or int, default="exhaust"
        Number of candidates. ``"exhaust"`` uses the whole grid. From distributions, it draws one
        for every 2 fits (for every 5, if ``allocation`` is not ``"likelihood"``), or 10 if
        ``n_fits`` is ``"auto"``.
    n_fits : "auto" or int, default="auto"
        Maximum number of fits, each of one candidate on one split. ``"auto"`` is 5 for each
        candidate, or what ``allocation`` needs. With a sampler, it is 50.
    allocation : {"likelihood", "pooled", "ucb", "uniform"}, default="likelihood"
        Which candidates are fitted:

        - ``"likelihood"``: in stage s, the ``n_candidates / 2**s`` candidates that are most likely
          to be as good as the leader. A candidate that is left out may return in a later stage.
        - ``"pooled"``: sequential halving, with more fits for candidates with noisier scores.
        - ``"ucb"``: the same with upper bounds of the variances (SHAdaVar [1]_, Algorithm 4),
          which need 13 fits for each candidate in a stage to adapt.
        - ``"uniform"``: sequential halving [2]_, with equal numbers of fits in a stage.
    stop_probability : float or None, default=None
        Stop when the leader is the best candidate with this probability, between 0.5 and 1.
    tolerance : float or None, default=None
        Stop when no candidate can be better than the leader by more than this difference of
        scores, with a confidence of 95 % for each candidate.
    sampler : {"auto", "random", "gaussian_process"} or Sampler, default="auto"
        How candidates are generated, see HyperbandSearchCV. Except with ``"random"``, they are
        created one by one, and race against the best one so far
        (`~sklearn_halving.policies.IncumbentRace`). ``"auto"`` is ``"gaussian_process"`` for
        distributions, but ``"random"`` for a grid, and if ``allocation``, ``stop_probability``,
        ``tolerance`` or ``min_resources`` is set, which a race does not have.
    min_resources : "auto", float, str or None, default=None
        Resource of the first stage, from which it grows to ``max_resources``. With None, all fits
        use ``max_resources``. Not available for ``allocation="likelihood"``.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate and with these columns:

        - ``n_fits``: number of fits;
        - ``stage``: the last stage of the candidate;
        - ``split{j}_test_score``: NaN without a fit on split j;
        - ``mean_test_score``: mean, corrected for splits that are easier than others;
        - ``standard_error_test_score``: its standard error, corrected for overlapping training
          sets [3]_;
        - ``probability_best``: probability that the candidate is the best one;
        - ``rank_test_score``: rank by the last stage, if candidates are eliminated, and the mean.
    best_probability_ : float
        Probability that the chosen candidate is the best one; on real data a lower bound. NaN,
        like ``best_regret_``, if too few splits were repeated to estimate the noise.
    best_regret_ : float
        Expected difference between the best score and that of the chosen candidate.

    Raises
    ------
    ValueError
        If ``n_fits`` is too small for the number of candidates or larger than a finite ``cv``
        allows, or if every fit failed.

    Warns
    -----
    UserWarning
        If there are fewer candidates than ``n_candidates``.

    See Also
    --------
    HyperbandSearchCV : For many candidates whose scores differ a lot.
    BayesGapSearchCV : For fewer fits than candidates.
    BanditSearchCV : For more parameters of the paper, with ``policy=VarianceHalving(...)``.

    References
    ----------
    .. [1] Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification
       with heterogeneous reward variances. UAI 2023, Algorithms 1 to 4.
       https://arxiv.org/abs/2306.07549
    .. [2] Karnin, Koren and Somekh. Almost optimal exploration in multi-armed bandits. ICML
       2013, Algorithm 1. https://proceedings.mlr.press/v28/karnin13.html
    .. [3] C. Nadeau and Y. Bengio. Inference for the generalization error. Machine Learning
       52 (2003), section 4. https://doi.org/10.1023/A:1024068626366

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> tree, grid = DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4]}
    >>> search = VarianceHalvingSearchCV(tree, grid, random_state=0).fit(X, y)
    >>> search.n_fits_  # as many as GridSearchCV with 5 folds
    20
    >>> n_fits = search.cv_results_["n_fits"]
    >>> int(n_fits.min()) < 5 < int(n_fits[search.best_index_])
    True
    """

    _of_drawn: ClassVar[Mapping[str, object]] = {
        "allocation": "likelihood",
        "stop_probability": None,
        "tolerance": None,
        "min_resources": None,
    }

    n_candidates: Literal["exhaust"] | PositiveInt
    allocation: Allocation
    stop_probability: Annotated[float, Interval(Real, 0.5, 1, closed="neither")] | None
    tolerance: PositiveFloat | None
    min_resources: PositiveFloat | str | None

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        time_budget: float | str | None = None,
        n_jobs: int | None = None,
        scoring: t.Scoring | None = None,
        cv: t.CrossValidation | None = None,
        refit: t.Refit = True,
        random_state: t.RandomState | None = None,
        verbose: int = 0,
        n_candidates: int | Literal["exhaust"] = "exhaust",
        n_fits: int | Literal["auto"] = "auto",
        allocation: Allocation = "likelihood",
        stop_probability: float | None = None,
        tolerance: float | None = None,
        sampler: str | Sampler = "auto",
        resource: str | Resource | None = None,
        min_resources: float | str | None = None,
        max_resources: float | str = "auto",
        initial_candidates: Sequence[t.Params] | None = None,
        checkpoint: t.FilePath | None = None,
        fit_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        pre_dispatch: int | str = "2*n_jobs",
    ) -> None:
        self._set_parameters(locals())

    def _setup(
        self, inputs: FitInputs, rng: np.random.RandomState, seed: np.random.SeedSequence
    ) -> Setup:
        resource = self._resource()
        space, sampler = self._space(resource, inputs)
        splits = streamed_splits(self, inputs, resource, seed)
        limits = self.min_resources, self.max_resources
        levels = choose_levels(limits, self.estimator, resource, splits, factor=2)
        of_a_drawn = FITS_OF_A_DRAWN if self.allocation == "likelihood" else FITS_OF_GRID_SEARCH
        least = VarianceHalving(1, self.allocation).least_n_pulls
        n_arms = self._count_candidates(space, sampler, least, of_a_drawn)
        n_fits = self._count_fits(n_arms, sampler, splits, least(n_arms))
        return Setup(inputs, space, sampler, resource, splits, levels, n_arms, n_fits)

    def _policy(self, setup: Setup) -> BasePolicy:
        if setup.sampler is not None:
            return self._race(setup)
        n_arms, levels, overlap = setup.n_candidates, setup.levels, setup.splits.overlap
        halving = VarianceHalving(
            n_pulls=setup.n_fits,
            allocation=self.allocation,
            stop_probability=self.stop_probability,
            tolerance=self.tolerance,
            overlap=overlap,
        )
        if levels.smallest < levels.largest and self.allocation == "likelihood":
            raise ValueError(
                f"min_resources={self.min_resources!r} cannot be combined with "
                "allocation='likelihood', which combines the scores of all stages. Use "
                "allocation='pooled', or leave min_resources out."
            )
        if levels.smallest < levels.largest:
            n_stages = len(widths_of(n_arms))
            growing = growing_levels(levels.smallest, levels.largest, n_stages)
            halving = replace(halving, levels=growing)
        least = halving.least_n_pulls(n_arms)
        if halving.n_pulls < least:
            raise ValueError(
                f"n_fits={halving.n_pulls} is too small for {counted(n_arms, 'candidate')} with "
                f"allocation={self.allocation!r}. The least budget that works is {least}. Use "
                "more fits, or fewer candidates."
            )
        self._check_splits(setup, least, n_levels=len(set(halving.levels or (1,))))
        if n_arms == 1:
            return UniformAllocation(halving.n_pulls)
        return halving
