"""BayesGapSearchCV, a search with fewer fits than candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from sklearn_halving import _typing as t
from sklearn_halving._unstable_imports import Interval
from sklearn_halving.policies import UniformAllocation
from sklearn_halving.policies._bayes_gap import Acquisition, BetaRule
from sklearn_halving.policies.bases._base_policy import BasePolicy, default_window
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive_search import PULLS_OF_GRID_SEARCH, AdaptiveSearchCV
from sklearn_halving.search._bandit_search import _warn_of_range
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import ResultTable
from sklearn_halving.search._shared_parameters import PositiveFloat, PositiveInt, document_search
from sklearn_halving.search.candidate_model._features import draw_evenly
from sklearn_halving.search.candidate_model._gap_then_race import (
    make_gap_then_race,
    most_arms,
)
from sklearn_halving.search.candidate_model._independent import (
    BOUNDS,
    UGapName,
    UGapOverCandidates,
    interval_columns,
    make_ugap,
    n_first_fits,
)
from sklearn_halving.search.candidate_model._posterior import (
    bounds_before_race,
    columns_of_one,
    make_gap,
    posterior_columns,
)
from sklearn_halving.search.candidate_model._prior import (
    CandidatePrior,
    KernelName,
    make_prior,
)
from sklearn_halving.search.preparing._candidates import check_candidates, followed_by_a_sampler
from sklearn_halving.search.preparing._preparation import Preparation, Setup
from sklearn_halving.search.reporting._statistics import ChoiceStatistics
from sklearn_halving.search.reporting._tables import ResultRows, ranks

N_OF_DISTRIBUTIONS = 100
"""Default number of candidates that are drawn from distributions; not all of them are fitted."""
AUTO_PULLS = (20, 100)
"""Minimum and maximum of ``n_pulls="auto"``, which is a quarter of the number of candidates."""

Kernel = Annotated[Callable[..., ArrayLike], callable] | Annotated[ArrayLike, "array-like"]
"""A covariance of the candidates, or a function that returns it."""


@document_search
class BayesGapSearchCV(AdaptiveSearchCV):
    """Search over parameters with fewer fits than candidates, using a model of their scores.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Use it if fits are expensive
    and there are many candidates.

    The prior for the scores of all candidates is a Gaussian process over their parameters, so
    that a fit is informative about all similar candidates. Candidates that were never fitted have
    a posterior mean and standard deviation as well. BayesGap [1]_ compares the candidate that
    looks best with its strongest rival, fits whichever of the two is less certain, and repeats
    this ``n_pulls`` times. A fit is one candidate on one train/test split, and the j-th fit of
    every candidate is on split j.

    The winner is always a candidate that was fitted. The last fifth of the fits confirms the
    candidate with the largest posterior mean, until it has been fitted as often as its rivals, or
    another one looks better.

    Parameters
    ----------
    n_candidates : "auto" or int, default="auto"
        Number of candidates. ``"auto"`` is the whole grid, or 100 candidates from distributions.
        They are spread evenly by a quasi-random sequence if each dict has a continuous
        distribution and all distributions have a method ``ppf``. Otherwise they are drawn as in
        RandomizedSearchCV.
    n_pulls : "auto" or int, default="auto"
        Maximum number of fits (the paper's horizon T). ``"auto"`` is a quarter of the number of
        candidates, but at least 20 and at most 100, and never more than 5 for each candidate or
        than the splits of ``cv`` allow. With an ``acquisition`` of UGap, it is 5 for each
        candidate. With a sampler, it is 50.
    sampler : {"random", "evolution", "kernel_density", "gaussian_process"} or Sampler, \
default="random"
        Where further candidates come from, see HyperbandSearchCV. With ``"random"``, none are
        added, as in the paper. Otherwise, BayesGap makes a quarter of the fits, but at least 10.
        The candidates among which it cannot decide then race on the remaining fits, followed by
        new candidates. Each of these is generated when its turn comes, from the scores so far
        (`~sklearn_halving.policies.IncumbentRace`). The winner is fitted on at least 10 splits,
        or as many as ``cv`` has, if that is more. ``n_candidates`` is the number of candidates
        before the race. Not available for a whole grid, nor with an ``acquisition`` of UGap.
    epsilon : float, default=0.0
        Difference of scores that does not matter.
    beta : {"effective", "printed"} or float, default="effective"
        Half the width of the bounds in standard deviations, see
        `~sklearn_halving.policies.BayesGap`. ``"printed"`` is eq. (9) of the paper, which counts
        all candidates as if they were independent. ``"effective"`` takes their correlation into
        account.
    kernel : {"squared_exponential", "matern"}, kernel object, callable, array-like or None, \
default=None
        Prior covariance of the candidates:

        - None or ``"squared_exponential"``: the kernel of the paper, on scaled features;
        - ``"matern"``: Matern 5/2, for scores that vary less smoothly;
        - an object from `sklearn.gaussian_process.kernels`, which is used as it is within each
          branch;
        - a callable, which is called with the features of shape (n_candidates, n_columns) and
          returns a covariance of shape (n_candidates, n_candidates). If there are several
          branches, the last columns indicate the branch;
        - an array of shape (n_candidates, n_candidates): the covariance itself. The candidates
          must be a whole grid, in the order of `ParameterGrid`.
    branch_correlation : float, default=0.0
        Factor between 0 and 1 for the covariance of candidates from different branches, see
        Notes. Only available for kernels given by name or as a kernel object.
    acquisition : {"bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi", "ugap", \
"ugap_bernstein"}, default="bayesgap"
        Rule that chooses the next fit. All rules up to ``"pi"`` use the same posterior. ``"ugap"``
        and ``"ugap_bernstein"`` treat candidates as independent
        (`~sklearn_halving.policies.AdaptiveUGapEb`): each candidate is fitted once or twice
        first, the score must be known to lie between 0 and 1, and the posterior columns of
        ``cv_results_`` describe the candidate's own scores.
    noise : "auto" or float, default="auto"
        Variance of a score around the mean of its candidate on its split, in the units of the
        covariances of ``kernel``. The effect of a split on all candidates has the same variance.
        The overall scale of the scores is always estimated. ``"auto"`` is a quarter of the
        variance of the candidates. With a kernel given by name, this is only the initial
        value: both variances and one length scale for each parameter are then estimated by
        maximum marginal likelihood, after 5, 10, 20, 40, ... fits. A number disables this.
    pulls_in_flight : "auto" or int, default="auto"
        Maximum number of fits that are chosen before the score of the first of them is known.
        ``"auto"`` is an eighth of ``n_pulls``, at most 20. The result
        depends on this number, but not on ``n_jobs``. Scores are used in the order in which fits
        were chosen. Two to three times the number of workers therefore keeps all of them busy.
        With 1, every decision uses all scores, and only one worker is used.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate, fitted or not, and with these columns:

        - ``n_pulls``: number of fits. If it is 0, the score columns are NaN;
        - ``posterior_mean``, ``posterior_sd``: posterior mean and standard deviation of the
          score, without the uncertainty of the level that all candidates have in common;
        - ``lower_bound``, ``upper_bound``: the bounds that the next round would have compared;
        - ``probability_best``: probability that the candidate is the best one, from joint draws;
        - ``mean_test_score``, ``standard_error_test_score``: from the candidate's own scores, as
          in VarianceHalvingSearchCV;
        - ``rank_test_score``: rank by ``posterior_mean``, with the recommended candidate first and
          candidates whose fits failed last.

        With a sampler, only candidates that were fitted have a row. ``probability_best`` and
        ``rank_test_score`` are computed from their own scores, as in VarianceHalvingSearchCV.
        ``posterior_mean`` and ``posterior_sd`` and the bounds are those before the race, and NaN
        for candidates that were made later.
    best_probability_, best_regret_ : float
        As in VarianceHalvingSearchCV, from joint draws of the posterior. NaN with fewer than
        three scores, which say nothing about the scale of the differences. With a sampler, both
        are computed from the candidates' own scores, as in VarianceHalvingSearchCV.
    best_corrected_score_ : float
        Posterior mean of the best candidate, which is shrunk towards those of similar candidates.
        With a sampler, as in VarianceHalvingSearchCV.
    regret_bounds_ : ndarray of shape (n_rounds,)
        Upper bound of the regret of the leader in each round (B_J in the paper). Empty unless
        ``acquisition`` is ``"bayesgap"`` or one of UGap.

    Raises
    ------
    ValueError
        Before any fit: if ``kernel`` does not give a covariance of the candidates, or if the
        parameters of a candidate cannot be converted to features.

    Warns
    -----
    UserWarning
        If there are fewer than ``n_candidates`` candidates, or if no numeric parameter varies.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    VarianceHalvingSearchCV : For fewer candidates than fits.
    HyperbandSearchCV : For many candidates and cheap fits.
    sklearn_halving.policies.BayesGap : The policy, which does not depend on scikit-learn.

    Notes
    -----
    **Features.** A number is scaled to the range from 0 to 1: by the cumulative distribution
    function of its distribution, or between the smallest and the largest value of its list, on a
    logarithmic scale if the values are more evenly spaced on it. All other values (strings,
    booleans, None, tuples, estimators) are one-hot encoded, such that the distance of two
    categories is 0.5. The initial length scale depends on the number of parameters: the
    correlation between opposite corners of the space is always exp(-4).

    **Branches.** Candidates from different dicts of a list belong to different branches, and so do
    candidates with predictors of different classes as values. Candidates of different branches are
    independent, as in section 6.2 of the paper, unless ``branch_correlation`` is set. A candidate
    without a parameter gets the mean of its feature over the candidates that have it.

    **Failed fits.** The model treats a failed fit as another score as low as the lowest so far, so
    that the search avoids regions in which all fits fail.

    References
    ----------
    .. [1] Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
       bandit optimization with application to automatic machine learning. AISTATS 2014,
       Algorithm 1 and section 6.2. https://arxiv.org/abs/1303.6746

    Examples
    --------
    A search with 400 candidates and 20 fits:

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
    sampler: Annotated[str | Sampler, object]
    epsilon: Annotated[float, Interval(Real, 0, None, closed="left")]
    beta: BetaRule | PositiveFloat
    kernel: KernelName | Kernel | None
    branch_correlation: Annotated[float, Interval(Real, 0, 1, closed="both")]
    acquisition: Acquisition | UGapName
    noise: Literal["auto"] | PositiveFloat
    pulls_in_flight: Literal["auto"] | PositiveInt

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        n_candidates: int | Literal["auto"] = "auto",
        n_pulls: int | Literal["auto"] = "auto",
        sampler: str | Sampler = "random",
        epsilon: float = 0.0,
        beta: float | BetaRule = "effective",
        kernel: KernelName | Kernel | None = None,
        branch_correlation: float = 0.0,
        acquisition: Acquisition | UGapName = "bayesgap",
        noise: float | Literal["auto"] = "auto",
        pulls_in_flight: int | Literal["auto"] = "auto",
        resource: str | Resource | None = None,
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

    def _least_n_pulls(self, n_arms: int) -> int:
        return max(1, n_arms * n_first_fits(self.acquisition))

    def _count_drawn(self, setup: Setup) -> int:
        """Return the number of candidates that the model knows."""
        space = setup.space
        if space.is_grid or not isinstance(self.n_candidates, str):
            n_drawn = super()._count_candidates(replace(setup, sampler=None))
            return n_drawn if setup.sampler is None else max(n_drawn, len(space.initial))
        n_arms = max(N_OF_DISTRIBUTIONS, len(space.initial))
        return min(n_arms, space.size or n_arms)

    def _count_candidates(self, setup: Setup) -> int:
        n_drawn = self._count_drawn(setup)
        if setup.sampler is None:
            return n_drawn
        n_arms = most_arms(self._count_pulls(n_drawn, setup), n_drawn)
        return min(n_arms, setup.space.size or n_arms)

    def _count_pulls(self, n_arms: int, setup: Setup) -> int:
        if not isinstance(self.n_pulls, str):
            return int(self.n_pulls)
        if self.acquisition in BOUNDS or setup.sampler is not None:
            return super()._count_pulls(n_arms, setup)
        least, most = AUTO_PULLS
        n_each = min(PULLS_OF_GRID_SEARCH, setup.splits.n_repetitions or PULLS_OF_GRID_SEARCH)
        return min(n_each * n_arms, max(least, min(most, n_arms // 4)))

    def _make_policy(self, setup: Setup) -> BasePolicy:
        return self._policy_with(CandidatePrior(), setup)

    def _policy_with(self, prior: CandidatePrior, setup: Setup) -> BasePolicy:
        """Return the policy, given the prior of the candidates."""
        n_arms, n_drawn = self._count_candidates(setup), self._count_drawn(setup)
        n_pulls = self._count_pulls(n_drawn, setup)
        in_flight = self.pulls_in_flight
        if isinstance(in_flight, str):
            in_flight = default_window(n_pulls)
        policy: BasePolicy
        if setup.sampler is not None:
            policy = make_gap_then_race(self, n_pulls, in_flight, n_drawn, setup, prior)
        elif self.acquisition in BOUNDS:
            policy = make_ugap(self, n_pulls, in_flight, setup.splits.n_repetitions)
        else:
            policy = make_gap(self, n_pulls, in_flight, prior)
        self._check_splits(n_arms, setup.splits)
        return UniformAllocation(n_pulls) if n_arms == 1 else policy

    def _draw_candidates(self, prepared: Preparation, rng: np.random.RandomState) -> t.Candidates:
        setup, evenly = prepared.setup, None
        n_drawn, space = self._count_drawn(setup), setup.space
        if space.size is None:
            evenly = draw_evenly(space.distributions, n_drawn - len(space.initial), rng)
        if evenly is None:
            drawn = space.draw([n_drawn], rng, prepared.plan.fronts)
        else:
            drawn = (*space.initial, *evenly)
        check_candidates(self.estimator, drawn)
        self._warn_of_candidates(prepared, drawn)
        return followed_by_a_sampler(self.estimator, drawn, prepared, rng)

    def _with_candidates(self, prepared: Preparation, candidates: t.Candidates) -> Preparation:
        """Return the preparation with a policy that has the prior of the candidates."""
        setup, drawn = prepared.setup, list(candidates)  # those of a sampler arrive later
        space = setup.space
        has_model = len(drawn) > 1 and self.acquisition not in BOUNDS
        if not has_model and self.kernel is None:
            return prepared
        is_whole = space.is_grid and space.size == len(drawn)
        covariance = make_prior(
            self.kernel,
            drawn,
            space.distributions,
            self.branch_correlation,
            # An array is in the order of the grid.
            is_whole_grid=is_whole and not space.initial,
        )
        if not has_model:
            return prepared
        prior = CandidatePrior.of(covariance, self.noise)
        return replace(prepared, policy=self._policy_with(prior, setup))

    def _make_results(self, run: Run, rows: ResultRows) -> ResultTable:
        policy, state = run.prepared.policy, run.state
        has_several = run.prepared.plan.problem.n_arms > 1
        if has_several and self.acquisition in BOUNDS:
            table = super()._make_results(run, rows)
            ugap = cast(UGapOverCandidates, policy)
            columns = interval_columns(ugap, state, cast(ChoiceStatistics, table.statistics))
            results = table.cv_results | columns
            return ResultTable(results, table.statistics, ugap.regret_bounds(state))
        if run.prepared.setup.sampler is not None:
            table, gap = super()._make_results(run, rows), state.gap
            columns = bounds_before_race(gap, self.epsilon, rows.arm)
            bounds = gap.regret_bounds()[0]
            return ResultTable(table.cv_results | columns, table.statistics, bounds)
        results, overlap = self._results_with_errors(run, rows)
        key = f"test_{run.metric}"
        mean_score, bounds = results[f"mean_{key}"], np.zeros(0)
        if has_several:
            share = overlap.n_test / overlap.n_rest
            columns, statistics = posterior_columns(state, self.epsilon, share)
            bounds = state.regret_bounds()[0]
        else:
            columns, statistics = columns_of_one(mean_score, results[f"standard_error_{key}"])
        order = np.where(policy.is_alive(state), columns["posterior_mean"], mean_score)
        rank = ranks(order, (rows.arm == run.best_arm).astype(np.int64))
        return ResultTable(results | columns | {f"rank_{key}": rank}, statistics, bounds)

    def _report(self, run: Run) -> None:
        super()._report(run)
        _warn_of_range(run)
