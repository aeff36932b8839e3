"""BayesGapSearchCV: a good choice with fewer fits than candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from sklearn_halving.policies import UniformAllocation
from sklearn_halving.policies._bayes_gap import Acquisition, BetaRule
from sklearn_halving.policies._types import Policy
from sklearn_halving.resources import Resource
from sklearn_halving.search._adaptive_search import PULLS_OF_GRID_SEARCH, AdaptiveSearchCV
from sklearn_halving.search._bandit_search import _warn_of_range
from sklearn_halving.search._shared_parameters import (
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.candidate_model._features import draw_evenly
from sklearn_halving.search.candidate_model._independent import (
    BOUNDS,
    UGapName,
    UGapOverCandidates,
    interval_columns,
    make_ugap,
    n_first_fits,
)
from sklearn_halving.search.candidate_model._posterior import (
    GapOverCandidates,
    OpenPrior,
    columns_of_one,
    posterior_columns,
)
from sklearn_halving.search.candidate_model._prior import KernelName, make_prior
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._plan import AdaptiveLayout
from sklearn_halving.search.preparing._preparation import (
    Levels,
    Preparation,
    check_candidates,
    choose_levels,
)
from sklearn_halving.search.preparing._search_space import Params, SearchSpace
from sklearn_halving.search.preparing._splitting import SplitRows
from sklearn_halving.search.reporting._cv_results import ResultRows, ranks
from sklearn_halving.search.reporting._search_results import Run

N_OF_DISTRIBUTIONS = 100
"""Candidates drawn from distributions: they cost no fits."""
AUTO_PULLS = (20, 100)
"""Least and most fits of ``n_pulls="auto"``, between which it is a quarter of the candidates."""

Kernel = Annotated[Callable[..., ArrayLike], callable] | Annotated[ArrayLike, "array-like"]
"""A covariance of candidates, or how to compute it."""


@document_search
class BayesGapSearchCV(AdaptiveSearchCV):
    """Search with fewer fits than candidates: a fit says something about all that are alike.

    For searches in which fits are dear and candidates many. The scores of all candidates are
    taken to be one draw from a Gaussian process over the parameters, so that candidates never
    fitted have a mean and an uncertainty too. BayesGap [1]_ fits whichever is less well known of
    the candidate that looks best and its strongest rival, ``n_pulls`` times.

    A fit, or *pull*, is one candidate on one train/test split. Every candidate's j-th pull is on
    split j.

    Parameters
    ----------
    param_distributions : dict or list of dict
        Parameter names to lists of values or to distributions, as for GridSearchCV and
        RandomizedSearchCV. See Notes for which candidates are alike.
    n_candidates : "auto" or int, default="auto"
        How many candidates there are. "auto": all of a grid, 100 of distributions. They are spread
        evenly by quasi-random numbers where each dict has a continuous distribution and all
        distributions have quantiles (a method ``ppf``); otherwise drawn as by
        RandomizedSearchCV.
    n_pulls : "auto" or int, default="auto"
        Number of fits, the paper's horizon T; never exceeded, and known to the policy from the
        start. "auto": a quarter of the candidates, as in the larger of the paper's budgets for
        160 of them, but 20 to 100 fits, and no more than the five for each candidate that
        GridSearchCV makes, or than ``cv`` has splits; for UGap just these five.
    epsilon : float, default=0.0
        Difference in score that does not matter.
    beta : {"effective", "printed"} or float, default="effective"
        Half the width of the bounds in standard deviations; see
        `~sklearn_halving.policies.BayesGap`. "printed" is eq. (9) of the paper, which counts
        candidates that are nearly copies as if they were independent.
    kernel : None, str, kernel object, callable or array-like, default=None
        How alike candidates are before the first fit:

        - None or ``"squared_exponential"``: the paper's, on scaled features;
        - ``"matern"``: Matern 5/2, for scores that change less smoothly;
        - an object of ``sklearn.gaussian_process.kernels``: taken as it is, inside of branches;
        - a callable: gets the features, of shape (n_candidates, n_columns), and returns a
          covariance of shape (n_candidates, n_candidates); where there are several branches the
          last columns say which;
        - an array of shape (n_candidates, n_candidates): the covariance itself, in the order of
          ``ParameterGrid``, of which it must be all.
    branch_correlation : float, default=0.0
        Share, from 0 to 1, of the kernel that is left between candidates of different branches
        (see Notes); for a kernel that is given by name or as an object.
    acquisition : str, default="bayesgap"
        What chooses the next fit: "bayesgap", or on the same posterior "thompson",
        "bayes_ucb", "gp_ucb", "ei" or "pi". "ugap" and "ugap_bernstein" take candidates for
        independent: each is fitted once or twice first, the score must be known to be from 0 to
        1, and "posterior" in the columns stands for a candidate's own scores
        (`~sklearn_halving.policies.AdaptiveUGapEb`).
    noise : "auto" or float, default="auto"
        Variance of a score around its candidate's mean on its split, in the units in which
        ``kernel`` gives covariances; the effect of a split on all candidates is taken to have the
        same. The scale of all scores is always estimated. "auto": a quarter of the candidates'
        variance; with a kernel that is given by name that is only a guess, and both variances
        and a length scale for each parameter are estimated by marginal likelihood, after 5, 10,
        20, 40, ... fits. A number switches all of this off.
    pulls_in_flight : int, default=1
        Number of fits that are under way at a time. Set it to the number of workers: ``n_jobs``
        alone does not change the result, and brings nothing without it.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, one row for each candidate, fitted or not, with

        - ``n_pulls``: its fits, which may be 0; then the columns of scores are NaN;
        - ``posterior_mean``, ``posterior_sd``: of its score; the uncertainty of the level that
          all candidates share is left out;
        - ``lower_bound``, ``upper_bound``: the bounds of the next round, had there been one;
        - ``probability_best``: the probability that it is the best, from joint draws;
        - ``mean_test_score``, ``standard_error_test_score``: of the candidate's own scores, as in
          VarianceHalvingSearchCV;
        - ``rank_test_score``: by ``posterior_mean``, and the recommended candidate first. Those
          whose fits failed are last.
    best_score_ : float
        Mean cross-validated score of the best candidate, or its posterior mean if it was never
        fitted.
    best_corrected_score_ : float
        Posterior mean of the best candidate, which is shrunk towards those of similar candidates.
    regret_bounds_ : ndarray of shape (n_rounds,)
        The paper's B_J for every round: the bound of the leader's regret. Empty unless
        ``acquisition`` is "bayesgap" or UGap.

    Raises
    ------
    ValueError
        Before any fit, if ``kernel`` gives no covariance of the candidates, or there is a
        candidate of which no features can be made, which is named.

    See Also
    --------
    VarianceHalvingSearchCV : For fewer candidates than fits.
    sklearn_halving.policies.BayesGap : The policy, usable without scikit-learn.

    Notes
    -----
    Features: a number becomes one between 0 and 1, by the quantiles of its distribution, or
    between the least and the largest of its list; on a logarithmic scale if the list is more
    evenly spaced on that. All other values are categories, two of which are half a range apart:
    strings, booleans, None, tuples, estimators. The length scale to begin with is such that the
    correlation from corner to corner is exp(-4) for any number of parameters.

    Candidates of different dicts of a list are of different branches, and so are those with
    predictors of different classes as values: independent, as in section 6.2, unless
    ``branch_correlation`` says otherwise. Who lacks a parameter is in the middle of its range.

    To the model a failed fit is another score as low as the lowest so far, so that a region in
    which all fits fail is left.

    References
    ----------
    .. [1] Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
       bandit optimization with application to automatic machine learning. AISTATS 2014,
       Algorithm 1 and section 6.2.

    Examples
    --------
    Twenty fits for 400 candidates:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import BayesGapSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> grid = {"svc__C": np.logspace(-3, 3, 20), "svc__gamma": np.logspace(-5, 1, 20)}
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> search = BayesGapSearchCV(pipeline, grid, n_pulls=20, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.n_fits_
    (400, 20)
    >>> bool(search.best_corrected_score_ > 0.95)
    True
    """

    n_candidates: Literal["auto"] | PositiveInt
    epsilon: Annotated[float, Interval(Real, 0, None, closed="left")]
    beta: BetaRule | PositiveFloat
    kernel: KernelName | Kernel | None
    branch_correlation: Annotated[float, Interval(Real, 0, 1, closed="both")]
    acquisition: Acquisition | UGapName
    noise: Literal["auto"] | PositiveFloat
    pulls_in_flight: PositiveInt

    def __init__(
        self,
        estimator: Estimator,
        param_distributions: ParamDistributions,
        *,
        n_candidates: int | Literal["auto"] = "auto",
        n_pulls: int | Literal["auto"] = "auto",
        epsilon: float = 0.0,
        beta: float | BetaRule = "effective",
        kernel: KernelName | Kernel | None = None,
        branch_correlation: float = 0.0,
        acquisition: Acquisition | UGapName = "bayesgap",
        noise: float | Literal["auto"] = "auto",
        pulls_in_flight: int = 1,
        resource: str | Resource | None = None,
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

    def _least_n_pulls(self, n_arms: int) -> int:
        return max(1, n_arms * n_first_fits(self.acquisition))

    def _count_candidates(self, space: SearchSpace) -> int:
        if space.is_grid or not isinstance(self.n_candidates, str):
            return super()._count_candidates(space)
        return min(N_OF_DISTRIBUTIONS, space.size or N_OF_DISTRIBUTIONS)

    def _count_pulls(self, n_arms: int, rows: SplitRows) -> int:
        if not isinstance(self.n_pulls, str):
            return int(self.n_pulls)
        if self.acquisition in BOUNDS:
            return super()._count_pulls(n_arms, rows)
        least, most = AUTO_PULLS
        n_each = min(PULLS_OF_GRID_SEARCH, rows.n_repetitions or PULLS_OF_GRID_SEARCH)
        return min(n_each * n_arms, max(least, min(most, n_arms // 4)))

    def _make_levels(self, resource: Resource, rows: SplitRows) -> Levels:
        smallest, largest = resource.level_range(self.estimator, rows.n_train, rows.n_rows_needed)
        levels = choose_levels(
            resource,
            smallest,
            largest,
            min_resources="auto",
            max_resources=self.max_resources,
            factor=3,
        )
        return replace(levels, smallest=levels.largest)

    def _make_policy(self, levels: Levels, space: SearchSpace, rows: SplitRows) -> Policy:
        n_arms = self._count_candidates(space)
        n_pulls = self._count_pulls(n_arms, rows)
        policy: Policy
        if self.acquisition == "ugap" or self.acquisition == "ugap_bernstein":
            policy = make_ugap(self, n_pulls, rows.n_repetitions)
        else:
            policy = GapOverCandidates(
                n_pulls,
                covariance=OpenPrior(),
                acquisition=self.acquisition,
                beta=self.beta,
                epsilon=self.epsilon,
                pulls_in_flight=self.pulls_in_flight,
            )
        self._check_splits(n_arms, rows)
        return UniformAllocation(n_pulls) if n_arms == 1 else policy

    def _make_layout(
        self, policy: Any, levels: Levels, space: SearchSpace, rows: SplitRows
    ) -> AdaptiveLayout:
        n_arms = self._count_candidates(space)
        stages = ((n_arms, policy.n_pulls),)
        return AdaptiveLayout(n_arms, policy.n_pulls, stages, levels=(levels.largest,))

    def _draw_candidates(
        self, prepared: Preparation, rng: np.random.RandomState
    ) -> tuple[Params, ...]:
        given, n_of_bracket = self.param_distributions, prepared.layout.n_of_bracket
        spaces = [given] if isinstance(given, Mapping) else list(given)
        candidates = None
        if prepared.space.size is None:
            candidates = draw_evenly(spaces, sum(n_of_bracket), rng)
        if candidates is None:
            candidates = prepared.space.draw(n_of_bracket, rng)
        check_candidates(self.estimator, candidates)
        self._warn_of_space(prepared)
        is_whole = prepared.space.is_grid and prepared.space.size == len(candidates)
        args = (self.kernel, candidates, spaces, self.branch_correlation)
        if isinstance(prepared.policy, GapOverCandidates):
            prior = make_prior(*args, is_whole_grid=is_whole)
            prepared.policy.covariance.set(prior, self.noise, len(candidates))
        elif self.kernel is not None:  # there is one candidate, and it may not fit
            make_prior(*args, is_whole_grid=is_whole)
        return candidates

    def _make_results(self, run: Run, rows: ResultRows) -> dict[str, Any]:
        policy = run.prepared.policy
        if isinstance(policy, UGapOverCandidates):
            results = super()._make_results(run, rows)
            self.regret_bounds_ = policy.regret_bounds(run.state)
            _warn_of_range(policy.reward_range, run)
            return results | interval_columns(policy, run.state, self._statistics)
        results, metric, _ = self._make_table(run, rows)
        key, prepared = f"test_{metric}", run.prepared
        mean_score = results[f"mean_{key}"]
        if isinstance(prepared.policy, GapOverCandidates):
            columns, self._statistics = posterior_columns(prepared.policy, run.state)
            self.regret_bounds_ = prepared.policy.regret_bounds(run.state)
        else:
            columns, self._statistics = columns_of_one(
                mean_score, results[f"standard_error_{key}"]
            )
            self.regret_bounds_ = np.zeros(0)
        results.update(columns)
        is_alive = prepared.policy.is_alive(run.state)
        order = np.where(is_alive, columns["posterior_mean"], mean_score)
        results[f"rank_{key}"] = ranks(order, (rows.arm == run.best_arm).astype(np.int64))
        return results

    def _set_best(self, inputs: FitInputs, best_arm: int) -> None:
        super()._set_best(inputs, best_arm)
        if hasattr(self, "best_score_") and self.cv_results_["n_pulls"][self.best_index_] == 0:
            self.best_score_ = self.cv_results_["posterior_mean"][self.best_index_]
