"""VarianceHalvingSearchCV, which uses more splits for candidates that may still be the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_halving import _typing as t
from sklearn_halving._unstable_imports import Interval
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import IncumbentRace, UniformAllocation, VarianceHalving
from sklearn_halving.policies._variance_halving import Allocation
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._planned_pulls import n_stages_of
from sklearn_halving.policies.bases._rungs import growing_levels
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive_search import AdaptiveSearchCV
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._shared_parameters import (
    Fraction,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._inputs import check_defaults
from sklearn_halving.search.preparing._levels import Levels, choose_levels
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._preparation import Setup
from sklearn_halving.search.preparing._search_space import SearchSpace
from sklearn_halving.search.preparing._splitting import SearchSplits

NOT_FOR_SAMPLERS: dict[str, object] = {
    "allocation": "likelihood",
    "reward_variances": None,
    "delta": 0.05,
    "keep_pulls": True,
    "stop_probability": None,
    "tolerance": None,
    "min_resources": None,
}
"""Parameters that apply only to candidates that are drawn before the first fit."""


@document_search
class VarianceHalvingSearchCV(AdaptiveSearchCV):
    """Search over parameters with more splits for the candidates that may still be the best.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Use it to choose among
    candidates whose scores differ by less than the noise of cross-validation.

    A fit is one candidate on one train/test split, with all rows of the training fold. All
    candidates start on the same first split or splits. The search then proceeds in stages. Each
    stage only fits the candidates that may still be the best, half as many as in the stage
    before. The j-th fit of every candidate is on split j, so that candidates are
    compared on the same splits. There is no limit to the number of splits.

    Parameters
    ----------
    n_candidates : "exhaust" or int, default="exhaust"
        Number of candidates, which are drawn without replacement. ``"exhaust"`` uses the whole
        grid. From distributions, it draws one candidate for every 2 fits of ``n_pulls`` (for every
        5 fits, if ``allocation`` is not ``"likelihood"``), or 10 if ``n_pulls`` is ``"auto"``.
    n_pulls : "auto" or int, default="auto"
        Maximum number of fits. ``"auto"`` is 5 for each candidate, as in GridSearchCV, or the
        smallest number that allows one fit of each candidate in every stage, if that is larger.
        With a sampler, it is 50.
    sampler : {"random", "evolution", "kernel_density", "gaussian_process"} or Sampler, \
default="random"
        How candidates are generated, see HyperbandSearchCV. Except with ``"random"``, each new
        candidate is generated when its turn comes, from the scores so far. It races against the
        best candidate so far, on the splits of the latter, and is dropped as soon as it is behind
        (`~sklearn_halving.policies.IncumbentRace`). The winner is fitted on 10 splits, or on as
        many as ``cv`` has, if that is more. With ``n_candidates="exhaust"``, ``n_pulls`` is the
        only limit. The parameters from ``allocation`` to ``tolerance`` and ``min_resources`` do
        not apply.
    allocation : {"likelihood", "pooled", "ucb", "known", "uniform"}, default="likelihood"
        Which candidates are fitted:

        - ``"likelihood"``: in stage s, the ``n_candidates / 2**s`` candidates that are most likely
          to be as good as the leader, in proportion to that likelihood. No candidate is
          eliminated for good: it may be left out of one stage and return in the next.
        - ``"pooled"``: sequential halving. Within a stage, the next fit goes to the candidate
          with the largest variance per fit, where the variance of each candidate is shrunk
          towards the pooled variance.
        - ``"ucb"``: SHAdaVar [1]_, which uses upper confidence bounds of the variances.
        - ``"known"``: SHVar [1]_, which uses ``reward_variances``.
        - ``"uniform"``: sequential halving [2]_, with the same number of fits for all candidates
          of a stage.
    reward_variances : array-like of shape (n_candidates,) or None, default=None
        Variance of the score of each candidate, in the order of `ParameterGrid`. Required for
        ``allocation="known"``, and not allowed otherwise.
    delta : float, default=0.05
        One minus the confidence level of the bounds of ``allocation="ucb"``.
    keep_pulls : bool, default=True
        Whether a stage also uses the scores of earlier stages. False is the form that is analyzed
        in the papers. It requires a ``cv`` with an unlimited number of splits.
    stop_probability : float or None, default=None
        Stop as soon as the leader is the best candidate with this probability, between 0.5 and 1.
    tolerance : float or None, default=None
        Stop as soon as no candidate can be better than the leader by more than this difference of
        scores, with a confidence of 95 % for each candidate.
    min_resources : "auto", float, str or None, default=None
        With None, all fits use ``max_resources``. Otherwise the resource grows from stage to
        stage, from ``min_resources`` to ``max_resources``, and scores of different stages are not
        combined. Not available for ``allocation="likelihood"``, which combines the
        scores of all stages.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate and with these columns:

        - ``n_pulls``: number of fits;
        - ``stage``: the last stage in which the candidate took part (with ``"likelihood"``, in
          which it was fitted);
        - ``split{j}_test_score``: NaN if the candidate was not fitted on split j. If more than 100
          splits were drawn, these columns are left out, and ``history_`` has the scores;
        - ``mean_test_score``: mean of the candidate in the model score = candidate + split +
          noise, which corrects for splits that are easier or harder than others. It is the
          plain mean if all candidates were fitted on the same splits;
        - ``standard_error_test_score``: standard error of the mean, corrected for overlapping
          training sets [3]_. NaN if there was a single fit;
        - ``probability_best``: probability that the candidate is the best one. NaN if too few
          splits were repeated to estimate the noise;
        - ``rank_test_score``: rank by the mean. If candidates are eliminated, those that
          reached a later stage rank first. The best candidate has rank 1.

    Raises
    ------
    ValueError
        Before any fit: if ``n_pulls`` is too small for the number of candidates, or larger than
        the number of fits that a finite ``cv`` allows; if ``reward_variances`` are negative, or
        there is not one for each candidate.

    Warns
    -----
    UserWarning
        If ``n_pulls`` is too small for ``allocation="ucb"`` to adapt, or if there are fewer than
        ``n_candidates`` candidates.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    HyperbandSearchCV : For many candidates whose scores differ a lot.
    BayesGapSearchCV : For fewer fits than candidates.
    sklearn_halving.policies.VarianceHalving : The policy, which does not depend on scikit-learn.

    Notes
    -----
    ``best_probability_`` and ``best_regret_`` are computed from the additive model, with normal
    noise, a flat prior and the correction of [3]_. Training sets of different splits overlap, so
    the choice does not become certain, however many splits are used.

    References
    ----------
    .. [1] Lalitha, Kalantari, Ma, Deoras and Kveton. Fixed-budget best-arm identification
       with heterogeneous reward variances. UAI 2023, Algorithms 1 to 4.
       https://arxiv.org/abs/2306.07549
    .. [2] Karnin, Koren and Somekh. Almost optimal exploration in multi-armed bandits. ICML
       2013. https://proceedings.mlr.press/v28/karnin13.html
    .. [3] C. Nadeau and Y. Bengio. Inference for the generalization error. Machine Learning
       52 (2003), section 4. https://doi.org/10.1023/A:1024068626366

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
    sampler: Annotated[str | Sampler, object]
    allocation: Allocation
    reward_variances: Annotated[ArrayLike, "array-like"] | None
    delta: Fraction
    keep_pulls: bool
    stop_probability: Annotated[float, Interval(Real, 0.5, 1, closed="neither")] | None
    tolerance: PositiveFloat | None
    min_resources: PositiveFloat | str | None

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        n_candidates: int | Literal["exhaust"] = "exhaust",
        n_pulls: int | Literal["auto"] = "auto",
        sampler: str | Sampler = "random",
        allocation: Allocation = "likelihood",
        reward_variances: ArrayLike | None = None,
        delta: float = 0.05,
        keep_pulls: bool = True,
        stop_probability: float | None = None,
        tolerance: float | None = None,
        resource: str | Resource | None = None,
        min_resources: float | str | None = None,
        max_resources: float | str = "auto",
        initial_candidates: Sequence[t.Params] | None = None,
        scoring: t.Scoring | None = None,
        n_jobs: int | None = None,
        refit: t.Refit = True,
        cv: t.CrossValidation | None = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: t.RandomState | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        checkpoint: t.FilePath | None = None,
        time_budget: float | str | None = None,
        pull_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self._set_parameters(locals())

    @property
    def _pulls_of_a_drawn(self) -> int:
        # On ten recorded tasks with five splits each, twice as many candidates with half as many
        # fits each led to better choices. Other allocations need more fits in the first stage.
        return 2 if self.allocation == "likelihood" else super()._pulls_of_a_drawn

    def _make_levels(
        self, space: SearchSpace, sampler: Sampler | None, resource: Resource, splits: SearchSplits
    ) -> Levels:
        return choose_levels(self, resource, splits, factor=2)

    def _make_policy(self, setup: Setup) -> BasePolicy:
        n_arms = self._count_candidates(setup)
        if setup.sampler is not None:
            return self._make_race(n_arms, setup)
        levels, splits = setup.levels, setup.splits
        if self.reward_variances is not None and setup.space.initial:
            raise ValueError(
                "initial_candidates must be None if reward_variances is given, which is in the "
                f"order of ParameterGrid; got {self.initial_candidates!r}. Leave one of them out."
            )
        halving = VarianceHalving(
            n_pulls=self._count_pulls(n_arms, setup),
            allocation=self.allocation,
            reward_variances=self.reward_variances,
            delta=self.delta,
            keep_pulls=self.keep_pulls,
            stop_probability=self.stop_probability,
            tolerance=self.tolerance,
            overlap=splits.n_test / max(1, splits.n_rows - splits.n_test),
        )
        if levels.smallest < levels.largest:
            n_stages = n_stages_of(n_arms)
            growing = growing_levels(levels.smallest, levels.largest, n_stages)
            halving = replace(halving, levels=growing)
        least = self._least_n_pulls(n_arms)
        if halving.n_pulls < least:
            raise ValueError(
                f"n_pulls={halving.n_pulls} is too small for {counted(n_arms, 'candidate')} with "
                f"allocation={self.allocation!r}. The least budget that works is {least}. Use "
                "more fits, or fewer candidates."
            )
        self._check_splits(n_arms, splits, n_levels=len(set(halving.levels or (1,))))
        if n_arms == 1:
            return UniformAllocation(halving.n_pulls)
        if self.allocation == "ucb":
            _warn_of_no_adaptation(halving, n_arms)
        return halving

    def _make_race(self, n_arms: int, setup: Setup) -> IncumbentRace:
        """Return the policy for candidates that a sampler creates."""
        other = f"sampler={self.sampler!r}, whose candidates race against the best one so far"
        check_defaults(self, NOT_FOR_SAMPLERS, other, "sampler='random'")
        self._check_splits(n_arms, setup.splits)
        n_splits = max(IncumbentRace.n_splits, setup.splits.n_named)
        return IncumbentRace(self._count_pulls(n_arms, setup), n_splits=n_splits)

    def _least_n_pulls(self, n_arms: int) -> int:
        allocation = "uniform" if self.allocation == "known" else self.allocation
        return VarianceHalving(1, allocation).least_n_pulls(n_arms)

    def _make_plan(self, policy: BasePolicy, setup: Setup) -> SearchPlan:
        plan = super()._make_plan(policy, setup)
        return replace(plan, eliminates=self.allocation != "likelihood")


def _warn_of_no_adaptation(halving: VarianceHalving, n_arms: int) -> None:
    """Warn if SHAdaVar equals plain sequential halving because there are too few pulls."""
    first, least = halving.first_adaptive_stage(n_arms), halving.least_n_pulls_to_adapt(n_arms)
    if first == 0:
        return
    where = "any stage" if first is None else f"the first {first} stages"
    warn_user(
        f"n_pulls={halving.n_pulls} is too small for allocation='ucb' to adapt in {where}, where "
        f"it equals allocation='uniform'. With {n_arms} candidates, it needs n_pulls={least}; "
        "allocation='pooled' adapts from 3 fits per candidate."
    )
