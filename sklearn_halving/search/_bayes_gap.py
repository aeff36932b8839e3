"""BayesGapSearchCV, a search with fewer fits than candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving.policies import BayesGap, UniformAllocation
from sklearn_halving.policies._bayes_gap import Acquisition, BetaRule
from sklearn_halving.policies.bases._base_policy import BasePolicy, default_window
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive import FITS_OF_GRID_SEARCH, AdaptiveSearchCV
from sklearn_halving.search._candidate_model import NOISE, KernelName, draw_evenly, make_prior
from sklearn_halving.search._shared_parameters import (
    FitInputs,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._arriving import check_candidates
from sklearn_halving.search.preparing._levels import choose_levels
from sklearn_halving.search.preparing._plan import SearchPlan, fronts_of
from sklearn_halving.search.preparing._setup import Setup
from sklearn_halving.search.preparing._space import SearchSpace
from sklearn_halving.search.preparing._splits import SearchSplits, streamed_splits

N_OF_DISTRIBUTIONS = 100
"""Default number of candidates that are drawn from distributions; not all of them are fitted."""
AUTO_FITS = (20, 100)
"""Minimum and maximum of ``n_fits="auto"``, which is a quarter of the number of candidates."""


@document_search
class BayesGapSearchCV(AdaptiveSearchCV):
    """Search over parameters with fewer fits than candidates, using a model of their scores.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, for expensive fits and many
    candidates.

    The model is a Gaussian process over the parameters, so that a fit is informative about all
    similar candidates. BayesGap [1]_ compares the candidate that looks best with its strongest
    rival, and fits whichever of the two is less certain. The j-th fit of every candidate is on
    split j. The last fifth of the fits confirms the candidate that looks best.

    Parameters
    ----------
    n_candidates : "auto" or int, default="auto"
        Number of candidates. ``"auto"`` is the whole grid, or 100 candidates from distributions,
        which are spread evenly if the distributions allow it.
    n_fits : "auto" or int, default="auto"
        Maximum number of fits, each of one candidate on one split (the paper's horizon T).
        ``"auto"`` is one for every 4 candidates, but from 20 to 100, and at most 5 for each
        candidate. With a sampler, it is 50.
    kernel : {"squared_exponential", "matern"}, default="squared_exponential"
        Prior covariance of the candidates: the kernel of the paper, or Matern 5/2, for scores
        that vary less smoothly. Length scales are estimated.
    acquisition : {"bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi"}, default="bayesgap"
        Rule that chooses the next fit. All rules use the same posterior.
    beta : {"effective", "printed"} or float, default="effective"
        Half the width of the bounds in standard deviations. ``"printed"`` is eq. (9) of the
        paper. ``"effective"`` takes the correlation of candidates into account.
    fits_in_flight : "auto" or int, default="auto"
        Maximum number of fits that are chosen before the score of the first of them is known.
        ``"auto"`` is an eighth of ``n_fits``, at most 20, and 4 in a race. The result depends on
        it. Two to three times the number of workers keeps them busy.
    sampler : {"auto", "random", "gaussian_process"} or Sampler, default="auto"
        How candidates are generated. With ``"random"``, they are drawn before the first fit, and
        compared as described above. Otherwise, they are created one by one, and race against the
        best one so far, as in VarianceHalvingSearchCV. ``"auto"`` is ``"gaussian_process"`` for
        distributions, but ``"random"`` for a grid, and if ``kernel``, ``acquisition`` or ``beta``
        is set, which a race does not have.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV, with one row for each candidate, fitted or not, and with these columns:

        - ``n_fits``: number of fits. If it is 0, the score columns are NaN;
        - ``posterior_mean``, ``posterior_sd``: posterior mean and standard deviation of the score;
        - ``lower_bound``, ``upper_bound``: the bounds that the next round would have compared;
        - ``mean_test_score``, ``standard_error_test_score``: from the candidate's own scores, as
          in VarianceHalvingSearchCV;
        - ``rank_test_score``: rank by ``posterior_mean``, after the chosen candidate.

        After a race, rows, columns and attributes are those of VarianceHalvingSearchCV, and so is
        the table of one candidate.
    best_corrected_score_ : float
        Posterior mean of the best candidate. After a race, as in VarianceHalvingSearchCV.
    regret_bounds_ : ndarray of shape (n_rounds,)
        Bound of the leader's regret in each round, for ``acquisition="bayesgap"``.

    Raises
    ------
    ValueError
        If ``n_fits`` is larger than a finite ``cv`` allows, or if every fit failed.

    Warns
    -----
    UserWarning
        If there are fewer candidates than ``n_candidates``, or if no numeric parameter varies.

    See Also
    --------
    VarianceHalvingSearchCV : For fewer candidates than fits.
    HyperbandSearchCV : For many candidates and cheap fits.
    BanditSearchCV : For more parameters of the paper, with ``policy=BayesGap(...)``.

    Notes
    -----
    Numbers are scaled to the range from 0 to 1, by their distribution function or their rank in
    their list. Other values are one-hot encoded. Candidates from different dicts of a list are
    independent, and so are predictors of different classes (section 6.2 of the paper).

    References
    ----------
    .. [1] Hoffman, Shahriari and de Freitas. On correlation and budget constraints in model-based
       bandit optimization with application to automatic machine learning. AISTATS 2014,
       Algorithm 1 and section 6.2. https://arxiv.org/abs/1303.6746

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import BayesGapSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"C": np.logspace(-3, 3, 20), "gamma": np.logspace(-7, 1, 20)}
    >>> search = BayesGapSearchCV(SVC(), grid, n_fits=20, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.n_fits_
    (400, 20)
    >>> bool(search.best_corrected_score_ > 0.95)
    True
    """

    _of_drawn: ClassVar[Mapping[str, object]] = {
        "kernel": "squared_exponential",
        "acquisition": "bayesgap",
        "beta": "effective",
    }

    n_candidates: Literal["auto"] | PositiveInt
    kernel: KernelName
    acquisition: Acquisition
    beta: BetaRule | PositiveFloat
    fits_in_flight: Literal["auto"] | PositiveInt

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
        sampler: str | Sampler = "auto",
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
        space, sampler = self._space(resource, inputs)
        splits = streamed_splits(self, inputs, resource, seed)
        levels = choose_levels((None, self.max_resources), self.estimator, resource, splits)
        drawn: Sequence[t.Params] = ()
        if sampler is not None:
            n_arms = self._count_candidates(space, sampler, lambda n_arms: 1)
            n_fits = self._count_fits(n_arms, sampler, splits, least=1)
        else:
            n_arms = self._count_drawn(space)
            n_fits = self._count_gap_fits(n_arms, splits)
            drawn = self._draw(space, n_arms, rng)
        return Setup(inputs, space, sampler, resource, splits, levels, n_arms, n_fits, drawn=drawn)

    def _count_drawn(self, space: SearchSpace) -> int:
        """Return the number of candidates that the model knows."""
        if space.is_grid or not isinstance(self.n_candidates, str):
            return self._count_candidates(space, None, lambda n_arms: 1)
        n_drawn = max(N_OF_DISTRIBUTIONS, len(space.initial))
        return min(n_drawn, space.size or n_drawn)

    def _count_gap_fits(self, n_drawn: int, splits: SearchSplits) -> int:
        """Return the budget for drawn candidates."""
        if not isinstance(self.n_fits, str):
            return int(self.n_fits)
        least, most = AUTO_FITS
        n_each = min(FITS_OF_GRID_SEARCH, splits.n_repetitions or FITS_OF_GRID_SEARCH)
        return min(n_each * n_drawn, max(least, min(most, n_drawn // 4)))

    def _draw(
        self, space: SearchSpace, n_drawn: int, rng: np.random.RandomState
    ) -> Sequence[t.Params]:
        """Return the candidates of the model, spread evenly if the distributions allow it."""
        n_initial, evenly = len(space.initial), None
        fronts = fronts_of(n_initial, [n_drawn], [0])  # raises if there are too many
        if space.size is None:
            evenly = draw_evenly(space.distributions, n_drawn - n_initial, rng)
        drawn = space.draw([n_drawn], rng, fronts) if evenly is None else (*space.initial, *evenly)
        check_candidates(self.estimator, drawn)
        return drawn

    def _policy(self, setup: Setup) -> BasePolicy:
        n_fits, in_flight = setup.n_fits, self.fits_in_flight
        if setup.sampler is not None:
            race = self._race(setup)
            named = {} if isinstance(in_flight, str) else {"pulls_in_flight": in_flight}
            return replace(race, **named)
        self._check_splits(setup, least=1)
        if setup.n_candidates == 1:
            return UniformAllocation(n_fits)
        return BayesGap(
            n_fits,
            covariance=make_prior(self.kernel, setup.drawn, setup.space.distributions),
            noise_variance=NOISE,
            split_variance=NOISE,
            acquisition=self.acquisition,
            beta=self.beta,
            confirm=True,
            breaks_ties=True,
            pulls_in_flight=default_window(n_fits) if isinstance(in_flight, str) else in_flight,
        )

    def _candidates(
        self, setup: Setup, policy: BasePolicy, plan: SearchPlan, rng: np.random.RandomState
    ) -> t.Candidates:
        if setup.sampler is not None:
            return super()._candidates(setup, policy, plan, rng)
        self._warn_of_candidates(setup)
        return setup.drawn
