"""BayesGapSearchCV, a search with fewer fits than candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving.policies import BayesGap, UniformAllocation
from sklearn_halving.policies._bayes_gap import Acquisition, BetaRule
from sklearn_halving.policies.bases._base_policy import BasePolicy, default_window
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive import FITS_OF_GRID_SEARCH, N_SAMPLED, AdaptiveSearchCV
from sklearn_halving.search._parameters import PositiveFloat, PositiveInt, document_search
from sklearn_halving.search.candidate_model._features import draw_evenly
from sklearn_halving.search.candidate_model._gap_then_race import (
    make_gap_then_race,
    most_arms,
    n_of_gap,
)
from sklearn_halving.search.candidate_model._prior import NOISE, KernelName, make_prior
from sklearn_halving.search.preparing._arriving import (
    check_candidates,
    followed_by_a_sampler,
    resolve_sampler,
)
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._levels import choose_levels
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import SearchSpace, search_space
from sklearn_halving.search.preparing._splits import SearchSplits, streamed_splits

N_OF_DISTRIBUTIONS = 100
"""Default number of candidates that are drawn from distributions; not all of them are fitted."""
AUTO_FITS = (20, 100)
"""Minimum and maximum of ``n_fits="auto"``, which is a quarter of the number of candidates."""


@document_search
class BayesGapSearchCV(AdaptiveSearchCV):
    """Search over parameters with fewer fits than candidates, using a model of their scores.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV. Use it if fits are expensive
    and there are many candidates.

    The prior for the scores of all candidates is a Gaussian process over their parameters, so
    that a fit is informative about all similar candidates. Candidates that were never fitted have
    a posterior mean and standard deviation as well. BayesGap [1]_ compares the candidate that
    looks best with its strongest rival, fits whichever of the two is less certain, and repeats
    this ``n_fits`` times. A fit is one candidate on one train/test split, and the j-th fit of
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
    n_fits : "auto" or int, default="auto"
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
    acquisition : {"bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi", "ugap", \
"ugap_bernstein"}, default="bayesgap"
        Rule that chooses the next fit. All rules up to ``"pi"`` use the same posterior. ``"ugap"``
        and ``"ugap_bernstein"`` treat candidates as independent
        (`~sklearn_halving.policies.AdaptiveUGapEb`): each candidate is fitted once or twice
        first, the score must be known to lie between 0 and 1, and the posterior columns of
        ``cv_results_`` describe the candidate's own scores.
    fits_in_flight : "auto" or int, default="auto"
        Maximum number of fits that are chosen before the score of the first of them is known.
        ``"auto"`` is an eighth of ``n_fits``, at most 20. The result
        depends on this number, but not on ``n_jobs``. Scores are used in the order in which fits
        were chosen. Two to three times the number of workers therefore keeps all of them busy.
        With 1, every decision uses all scores, and only one worker is used.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate, fitted or not, and with these columns:

        - ``n_fits``: number of fits. If it is 0, the score columns are NaN;
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
    >>> search = BayesGapSearchCV(pipeline, grid, n_fits=20, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.n_fits_
    (400, 20)
    >>> bool(search.best_corrected_score_ > 0.95)
    True
    """

    n_candidates: Literal["auto"] | PositiveInt
    kernel: KernelName
    acquisition: Acquisition
    beta: BetaRule | PositiveFloat
    fits_in_flight: Literal["auto"] | PositiveInt
    sampler: Annotated[str | Sampler, object]

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
        n_candidates: int | Literal["auto"] = "auto",
        n_fits: int | Literal["auto"] = "auto",
        kernel: KernelName = "squared_exponential",
        acquisition: Acquisition = "bayesgap",
        beta: float | BetaRule = "effective",
        fits_in_flight: int | Literal["auto"] = "auto",
        sampler: str | Sampler = "random",
        resource: str | Resource | None = None,
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
        levels = choose_levels((None, self.max_resources), self.estimator, resource, splits)
        n_arms = n_drawn = self._count_drawn(space, has_sampler=sampler is not None)
        n_fits = self._count_gap_fits(n_drawn, splits, has_sampler=sampler is not None)
        if sampler is not None:
            n_arms = most_arms(n_fits, n_drawn)
            n_arms = min(n_arms, space.size or n_arms)
        drawn = self._draw(space, n_drawn, rng)
        return Setup(inputs, space, sampler, resource, splits, levels, n_arms, n_fits, drawn=drawn)

    def _count_drawn(self, space: SearchSpace, *, has_sampler: bool) -> int:
        """Return the number of candidates that the model knows."""
        if space.is_grid or not isinstance(self.n_candidates, str):
            n_drawn = self._count_candidates(space, None, lambda n_arms: 1)
            return max(n_drawn, len(space.initial)) if has_sampler else n_drawn
        n_drawn = max(N_OF_DISTRIBUTIONS, len(space.initial))
        return min(n_drawn, space.size or n_drawn)

    def _count_gap_fits(self, n_drawn: int, splits: SearchSplits, *, has_sampler: bool) -> int:
        """Return the budget."""
        if not isinstance(self.n_fits, str):
            return int(self.n_fits)
        if has_sampler:
            return N_SAMPLED
        least, most = AUTO_FITS
        n_each = min(FITS_OF_GRID_SEARCH, splits.n_repetitions or FITS_OF_GRID_SEARCH)
        return min(n_each * n_drawn, max(least, min(most, n_drawn // 4)))

    def _draw(
        self, space: SearchSpace, n_drawn: int, rng: np.random.RandomState
    ) -> Sequence[t.Params]:
        """Return the candidates of the model, spread evenly if the distributions allow it."""
        n_initial, evenly = len(space.initial), None
        if space.size is None:
            evenly = draw_evenly(space.distributions, n_drawn - n_initial, rng)
        if evenly is None:
            drawn = space.draw([n_drawn], rng, [range(n_initial)] if n_initial else ())
        else:
            drawn = (*space.initial, *evenly)
        check_candidates(self.estimator, drawn)
        return drawn

    def _policy(self, setup: Setup) -> BasePolicy:
        n_fits, in_flight = setup.n_fits, self.fits_in_flight
        if isinstance(in_flight, str):
            in_flight = default_window(n_fits)
        self._check_splits(setup, least=1)
        if setup.n_candidates == 1:
            return UniformAllocation(n_fits)
        gap = BayesGap(
            n_fits if setup.sampler is None else n_of_gap(n_fits),
            covariance=make_prior(self.kernel, setup.drawn, setup.space.distributions),
            noise_variance=NOISE,
            split_variance=NOISE,
            acquisition=self.acquisition,
            beta=self.beta,
            confirm=True,
            breaks_ties=True,
            pulls_in_flight=in_flight,
        )
        return gap if setup.sampler is None else make_gap_then_race(gap, self.sampler, setup)

    def _candidates(
        self, setup: Setup, policy: BasePolicy, plan: SearchPlan, rng: np.random.RandomState
    ) -> t.Candidates:
        self._warn_of_candidates(setup)
        if setup.sampler is None:
            return setup.drawn
        n_later = plan.problem.n_arms - len(setup.drawn)
        return followed_by_a_sampler(
            self.estimator, setup.space, setup.sampler, setup.drawn, n_later, rng
        )
