"""VarianceHalvingSearchCV, which uses more splits for candidates that may still be the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Annotated, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving._unstable_imports import Interval
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import IncumbentRace, UniformAllocation, VarianceHalving
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._planned_pulls import widths_of
from sklearn_halving.policies.bases._rungs import growing_levels
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive import FITS_OF_GRID_SEARCH, AdaptiveSearchCV
from sklearn_halving.search._formatting import counted
from sklearn_halving.search._parameters import PositiveFloat, PositiveInt, document_search
from sklearn_halving.search.preparing._arriving import resolve_sampler
from sklearn_halving.search.preparing._inputs import FitInputs, check_defaults
from sklearn_halving.search.preparing._levels import choose_levels
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import search_space
from sklearn_halving.search.preparing._splits import streamed_splits

Allocation = Literal["likelihood", "pooled", "ucb", "uniform"]
NOT_FOR_SAMPLERS: dict[str, object] = {
    "allocation": "likelihood",
    "stop_probability": None,
    "tolerance": None,
    "min_resources": None,
}
"""Parameters that apply only to candidates that are drawn before the first fit."""
FITS_OF_A_DRAWN = 2
"""Number of fits for which one candidate is drawn from distributions with ``"likelihood"``. On ten
recorded tasks with five splits each, twice as many candidates with half as many fits each led to
better choices. Other allocations need more fits in the first stage."""


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
        grid. From distributions, it draws one candidate for every 2 fits of ``n_fits`` (for every
        5 fits, if ``allocation`` is not ``"likelihood"``), or 10 if ``n_fits`` is ``"auto"``.
    n_fits : "auto" or int, default="auto"
        Maximum number of fits. ``"auto"`` is 5 for each candidate, as in GridSearchCV, or the
        smallest number that allows one fit of each candidate in every stage, if that is larger.
        With a sampler, it is 50.
    sampler : {"random", "evolution", "kernel_density", "gaussian_process"} or Sampler, \
default="random"
        How candidates are generated, see HyperbandSearchCV. Except with ``"random"``, each new
        candidate is generated when its turn comes, from the scores so far. It races against the
        best candidate so far, on the splits of the latter, and is dropped as soon as it is behind
        (`~sklearn_halving.policies.IncumbentRace`). The winner is fitted on 10 splits, or on as
        many as ``cv`` has, if that is more. With ``n_candidates="exhaust"``, ``n_fits`` is the
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

        - ``n_fits``: number of fits;
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
        Before any fit: if ``n_fits`` is too small for the number of candidates, or larger than
        the number of fits that a finite ``cv`` allows; if ``reward_variances`` are negative, or
        there is not one for each candidate.

    Warns
    -----
    UserWarning
        If ``n_fits`` is too small for ``allocation="ucb"`` to adapt, or if there are fewer than
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
    >>> n_fits = search.cv_results_["n_fits"]
    >>> int(n_fits.min()) < 5 < int(n_fits[search.best_index_])
    True
    """

    n_candidates: Literal["exhaust"] | PositiveInt
    allocation: Allocation
    stop_probability: Annotated[float, Interval(Real, 0.5, 1, closed="neither")] | None
    tolerance: PositiveFloat | None
    sampler: Annotated[str | Sampler, object]
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
        sampler: str | Sampler = "random",
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
        space = search_space(self, resource)
        sampler = resolve_sampler(self.sampler)
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
        if self.allocation == "ucb":
            _warn_of_no_adaptation(halving, n_arms)
        return halving

    def _race(self, setup: Setup) -> IncumbentRace:
        """Return the policy for candidates that a sampler creates."""
        other = f"sampler={self.sampler!r}, whose candidates race against the best one so far"
        check_defaults(self, NOT_FOR_SAMPLERS, other, "sampler='random'")
        self._check_splits(setup, setup.n_candidates)
        n_splits = max(IncumbentRace.n_splits, setup.splits.n_named)
        return IncumbentRace(setup.n_fits, n_splits=n_splits)


def _warn_of_no_adaptation(halving: VarianceHalving, n_arms: int) -> None:
    """Warn if SHAdaVar equals plain sequential halving because there are too few pulls."""
    first, least = halving.first_adaptive_stage(n_arms), halving.least_n_pulls_to_adapt(n_arms)
    if first == 0:
        return
    where = "any stage" if first is None else f"the first {first} stages"
    warn_user(
        f"n_fits={halving.n_pulls} is too small for allocation='ucb' to adapt in {where}, where "
        f"it equals allocation='uniform'. With {n_arms} candidates, it needs n_fits={least}; "
        "allocation='pooled' adapts from 3 fits per candidate."
    )
