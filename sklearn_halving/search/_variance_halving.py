"""VarianceHalvingSearchCV: pulls are splits, and go where the choice is still in doubt."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_halving._typing import (
    CrossValidation,
    Estimator,
    FilePath,
    ParamDistributions,
    RandomState,
    Refit,
    Rescale,
    Scoring,
)
from sklearn_halving._unstable_imports import Interval
from sklearn_halving.policies import UniformAllocation, VarianceHalving
from sklearn_halving.policies._types import Policy
from sklearn_halving.policies._variance_halving import Allocation
from sklearn_halving.policies.bases._planned_pulls import growing_levels, n_stages_of
from sklearn_halving.resources import Resource
from sklearn_halving.search._adaptive_search import AdaptiveSearchCV
from sklearn_halving.search._shared_parameters import (
    Fraction,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._plan import AdaptiveLayout
from sklearn_halving.search.preparing._preparation import Levels, choose_levels
from sklearn_halving.search.preparing._search_space import SearchSpace
from sklearn_halving.search.preparing._splitting import SplitRows
from sklearn_halving.search.watching._user_warnings import warn_user


@document_search
class VarianceHalvingSearchCV(AdaptiveSearchCV):
    """Search by sequential halving over splits: more splits for candidates still in doubt.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, for choosing among
    candidates that differ by less than the noise of cross-validation. A fit is one candidate
    on one train/test split, always with a training set of full size. All candidates start on
    the first split or splits; then, stage by stage, the fits go to those that may still be the
    best, half as many in each stage. Every candidate's j-th fit is on split j, so that
    candidates are compared pair by pair, and the splits have no end.

    Parameters
    ----------
    n_candidates : "exhaust" or int, default="exhaust"
        How many candidates are drawn, without replacement. ``"exhaust"``: all of a grid; from
        distributions, one for every 2 of ``n_pulls`` (of 5 with an ``allocation`` other than
        ``"likelihood"``), or 10 if that is ``"auto"``.
    n_pulls : "auto" or int, default="auto"
        Number of fits, never exceeded. ``"auto"`` is what GridSearchCV with 5 folds would
        make, or the least with which every stage can fit each of its candidates once,
        whichever is more.
    allocation : {"likelihood", "pooled", "ucb", "known", "uniform"}, default="likelihood"
        Where the fits go:

        - ``"likelihood"``: in stage s to the likeliest ``n_candidates / 2**s``, by the
          likelihood that they are as good as the one in the lead. Nobody is eliminated for good:
          who was left out of a stage may come back in the next.
        - ``"pooled"``: halving; within a stage to the candidate with the largest variance a
          pull, its own variance shrunk towards that of all.
        - ``"ucb"``: SHAdaVar, by upper confidence bounds of the variances.
        - ``"known"``: SHVar, by ``reward_variances``.
        - ``"uniform"``: halving, within a stage to all alike.
    reward_variances : array-like of shape (n_candidates,) or None, default=None
        Variance of the score of each candidate, in the order of a grid, for
        ``allocation="known"``.
    delta : float, default=0.05
        One minus the confidence of the bounds of ``allocation="ucb"``.
    keep_pulls : bool, default=True
        Whether a stage goes on with the scores of the stages before it. False is the paper's
        form; it needs splits without end.
    stop_probability : float or None, default=None
        Stop as soon as the candidate in the lead is the best with this probability, between
        0.5 and 1. What is left of ``n_pulls`` is not spent.
    tolerance : float or None, default=None
        Stop as soon as no candidate still in play can be better than the one in the lead by
        more than this, in units of the score, with a confidence of 95 % for each.
    min_resources : "auto", float or None, default=None
        None: every fit is at ``max_resources``. A number, or ``"auto"``: the resource grows
        from this to ``max_resources``, from stage to stage; scores of different stages are
        then not put together. Not for ``allocation="likelihood"``, which has no stages.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, one row for each candidate, with

        - ``n_pulls``: its fits; ``stage``: the last stage in which it was in play, or, with
          ``"likelihood"``, was fitted;
        - ``split{j}_test_score``: NaN where it was not fitted on split j;
        - ``mean_test_score``: its mean in the additive model candidate + split + noise, which
          makes up for splits that were easier or harder than others; the plain mean where
          all candidates had the same splits;
        - ``standard_error_test_score``: of its mean, corrected for training sets that
          overlap [3]_; NaN with a single fit;
        - ``probability_best``: the probability that it is the best; NaN for all where too few
          splits were repeated to know the noise;
        - ``rank_test_score``: by the mean; where candidates are eliminated, those of later
          stages rank first. The winner has rank 1.

    Raises
    ------
    ValueError
        Before any fit, if ``n_pulls`` is too small for the candidates, or more than a finite
        ``cv`` has splits for; if ``reward_variances`` are negative or not one for each
        candidate; if ``delta`` or ``stop_probability`` are out of range.

    Warns
    -----
    UserWarning
        If ``allocation="ucb"`` has too few pulls to adapt, or the space is smaller than
        ``n_candidates``.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    HyperbandSearchCV : Cheap fits first, for many candidates that differ much.
    sklearn_halving.policies.VarianceHalving : The policy, usable without scikit-learn.

    Notes
    -----
    ``best_probability_`` and ``best_regret_`` are of the additive model with normal noise and
    no prior preference, with the correction of [3]_: more splits of the same rows do not make
    them certain.

    References
    ----------
    .. [1] Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification
       with heterogeneous reward variances. UAI 2023, Algorithms 1 to 4.
    .. [2] Karnin, Koren and Somekh. Almost optimal exploration in multi-armed bandits. ICML
       2013.
    .. [3] C. Nadeau and Y. Bengio. Inference for the generalization error. Machine Learning
       52 (2003), section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import VarianceHalvingSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.001, 0.01, 0.1, 1]}
    >>> search = VarianceHalvingSearchCV(
    ...     make_pipeline(StandardScaler(), SVC()), grid, random_state=0
    ... ).fit(X, y)
    >>> search.n_fits_  # as many as GridSearchCV with 5 folds
    80
    >>> n_pulls = search.cv_results_["n_pulls"]
    >>> int(n_pulls.min()) < 5 < int(n_pulls[search.best_index_])
    True
    """

    n_candidates: Literal["exhaust"] | PositiveInt
    allocation: Allocation
    reward_variances: Annotated[ArrayLike, "array-like"] | None
    delta: Fraction
    keep_pulls: bool
    stop_probability: Annotated[float, Interval(Real, 0.5, 1, closed="neither")] | None
    tolerance: PositiveFloat | None
    min_resources: Literal["auto"] | PositiveFloat | None

    def __init__(
        self,
        estimator: Estimator,
        param_distributions: ParamDistributions,
        *,
        n_candidates: int | Literal["exhaust"] = "exhaust",
        n_pulls: int | Literal["auto"] = "auto",
        allocation: Allocation = "likelihood",
        reward_variances: ArrayLike | None = None,
        delta: float = 0.05,
        keep_pulls: bool = True,
        stop_probability: float | None = None,
        tolerance: float | None = None,
        resource: str | Resource | None = None,
        min_resources: float | Literal["auto"] | None = None,
        max_resources: float | Literal["auto"] = "auto",
        rescale: Rescale | None = None,
        scoring: Scoring | None = None,
        n_jobs: int | None = None,
        refit: Refit = True,
        cv: CrossValidation | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: RandomState | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        checkpoint: FilePath | None = None,
        checkpoint_models: bool = False,
        time_budget: float | None = None,
        pull_timeout: float | None = None,
        memory_limit: int | None = None,
        refit_on_interrupt: bool = False,
        progress_bar: bool = False,
    ) -> None:
        self._set_parameters(locals())

    @property
    def _pulls_of_a_drawn(self) -> int:
        # On ten recorded tasks (five splits each) twice as many candidates with half as many fits
        # each led to better choices; halving needs more fits to begin with.
        return 2 if self.allocation == "likelihood" else super()._pulls_of_a_drawn

    def _make_levels(self, resource: Resource, rows: SplitRows) -> Levels:
        smallest, largest = resource.level_range(self.estimator, rows.n_train, rows.n_rows_needed)
        levels = choose_levels(
            resource,
            smallest,
            largest,
            min_resources="auto" if self.min_resources is None else self.min_resources,
            max_resources=self.max_resources,
            factor=2,
        )
        if self.min_resources is None:
            return replace(levels, smallest=levels.largest)
        return levels

    def _make_policy(self, levels: Levels, space: SearchSpace, rows: SplitRows) -> Policy:
        n_arms = self._count_candidates(space)
        policy = VarianceHalving(
            n_pulls=self._count_pulls(n_arms, rows),
            allocation=self.allocation,
            reward_variances=self.reward_variances,
            delta=self.delta,
            keep_pulls=self.keep_pulls,
            stop_probability=self.stop_probability,
            tolerance=self.tolerance,
            overlap=rows.n_test / max(1, rows.n_rows - rows.n_test),
        )
        if levels.smallest < levels.largest:
            n_stages = n_stages_of(n_arms)
            growing = growing_levels(levels.smallest, levels.largest, n_stages)
            policy = replace(policy, levels=growing)
        self._check_splits(n_arms, rows, n_levels=len(set(policy.levels or (1,))))
        if n_arms == 1:
            return UniformAllocation(policy.n_pulls)
        if self.allocation == "ucb":
            _warn_of_no_adaptation(policy, n_arms)
        return policy

    def _least_n_pulls(self, n_arms: int) -> int:
        allocation = "uniform" if self.allocation == "known" else self.allocation
        return VarianceHalving(1, allocation).least_n_pulls(n_arms)

    def _make_layout(
        self, policy: Any, levels: Levels, space: SearchSpace, rows: SplitRows
    ) -> AdaptiveLayout:
        n_arms = self._count_candidates(space)
        stages: tuple[tuple[int, int], ...] = ((1, policy.n_pulls),)
        of_stage: tuple[int, ...] | None = None
        if isinstance(policy, VarianceHalving):
            stages, of_stage = policy.stages(n_arms), policy.levels
        return AdaptiveLayout(
            n_arms,
            policy.n_pulls,
            stages,
            levels=of_stage or (levels.largest,) * len(stages),
            eliminates=self.allocation != "likelihood",
        )


def _warn_of_no_adaptation(policy: VarianceHalving, n_arms: int) -> None:
    """Say so where too few pulls make SHAdaVar plain sequential halving."""
    first, least = policy.first_adaptive_stage(n_arms), policy.least_n_pulls_to_adapt(n_arms)
    if first == 0:
        return
    where = "any stage" if first is None else f"the first {first} stages"
    warn_user(
        f"n_pulls={policy.n_pulls} is too small for allocation='ucb' to adapt in {where}, which "
        f"are those of allocation='uniform'. With {n_arms} candidates it takes n_pulls={least}; "
        "allocation='pooled' adapts from 3 fits a candidate."
    )
