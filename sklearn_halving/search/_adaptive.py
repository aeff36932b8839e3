"""AdaptiveSearchCV, the everyday search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving._content_hash import params_digest
from sklearn_halving._unstable_joblib import count_workers
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies import BudgetedRace
from sklearn_halving.policies._protocol import Policy
from sklearn_halving.resources import Resource, resolve_resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._base import BaseSearch
from sklearn_halving.search._parameters import Inputs
from sklearn_halving.search.preparing import _numbers
from sklearn_halving.search.preparing._candidates import resolve_sampler
from sklearn_halving.search.preparing._plan import Setup, grid_setup
from sklearn_halving.search.preparing._space import SearchSpace, own_candidate, search_space
from sklearn_halving.search.preparing._splits import search_splits
from sklearn_halving.search.watching._failure_messages import FEW_FULL_FITS

DEFAULT_FITS = 50
"""Default number of full fits over distributions: the work of RandomizedSearchCV."""
N_FINALISTS = 3
"""A callable ``refit`` has the choice between at most this number of candidates on all splits."""
FITS_PER_FLIGHT, MOST_IN_FLIGHT = 25, 8
"""One fit in flight for every 25 fits of the budget, at most 8."""


class AdaptiveSearchCV(BaseSearch):
    """The everyday search: over a grid, or within a budget of fits or of time.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV.

    Over a **grid without a budget**, all candidates are first compared on few training rows. The
    better half gets twice the rows, and at least three are compared in full, on all splits. The
    search never makes more fits than GridSearchCV.

    **Within a budget**, your unmodified estimator is fitted first, so you can see what the search
    gains. New candidates are tried in small batches, where a model of the scores expects the
    largest improvement, each time on another split. The best are fitted on further splits, until
    one is clearly ahead. The search can be stopped at any time, and always has a result.

    Parameters
    ----------
    estimator : estimator object
        The estimator, with a ``score`` unless ``scoring`` is given.
    param_distributions : dict, list of dict or "auto"
        Parameter names, and lists of values or distributions with a method ``rvs``. If all values
        are lists, it is a grid. Each dict of a list is a separate space. ``"auto"`` is
        `spaces.space_for` of the estimator.
    time_budget : float, str or None, default=None
        Time for `fit` with the refit, in seconds or as text, such as ``"30min"``. The result then
        depends on the speed of the machine.
    n_jobs : int or None, default=None
        Number of parallel jobs, which share the cores. The result does not depend on it, unless
        time is limited.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. The metric that ``refit`` names, or the first one, guides the search.
    cv : int, cross-validation generator or iterable, default=None
        As in GridSearchCV. The default is 5-fold cross-validation.
    refit : bool, str or callable, default=True
        As in GridSearchCV. A callable is passed the rows of ``cv_results_`` with the largest
        resource and enough splits.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible results. It also seeds estimators that have no seed.
    verbose : int, default=0
        1 prints progress, 2 also a line for each fit, 3 also scores.
    n_fits : int or None, default=None
        Budget of fits, each of one candidate on all rows of one split. None means no limit if
        there is a ``time_budget`` or a grid, and otherwise 50, the work of RandomizedSearchCV.
    n_candidates : int or None, default=None
        Maximum number of candidates. Without a budget, this many are drawn from a grid. The
        default budget over distributions stays at 50 fits: set ``n_fits`` for more candidates.
    resource : str, Resource or None, default=None
        What small fits have less of: ``"n_samples"``, which None stands for, the name of a
        parameter such as ``"n_estimators"``, ``"partial_fit"`` or ``"fit_time"``; see
        HyperbandSearchCV. With ``n_fits``, all fits are full.
    min_resources : float, str or None, default=None
        Smallest resource of a fit. None is chosen by the search.
    max_resources : float, str or None, default=None
        Resource of a full fit. None is all training rows, or the value in ``estimator``.
    sampler : {"gaussian_process", "random"}, Sampler or None, default=None
        How new candidates are created within a budget. None is ``"gaussian_process"``.
    fits_in_flight : int or None, default=None
        With ``n_fits``, the maximum number of fits that run at the same time. The next candidate
        is chosen without their scores, so the result depends on this number. A large number
        leaves no fits to confirm the leaders. None is one for every 25 fits, at most 8.
    initial_candidates : list of dict or None, default=None
        Candidates that are tried first. Within a budget, your unmodified estimator comes before
        them, unless the list is empty.
    checkpoint : str, path-like or None, default=None
        File to which every fit is written. Searches with the same data, estimator, scoring and
        seed make only the missing fits.
    warm_start : bool, default=False
        Whether `fit` reuses the fits of earlier calls, as with a checkpoint, for example with a
        larger budget or another space. Data, estimator, scoring and seed must stay the same.
    fit_timeout : float, str or None, default=None
        Maximum time for one fit and its scoring, in seconds or as text. A longer fit fails.
    memory_limit : int, str or None, default=None
        Maximum memory of one fit, in bytes or as text, such as ``"1GB"``. Linux only.
    error_score : "raise" or float, default=np.nan
        Score of a failed fit. NaN is worse than any number.
        ``"raise"`` raises the error.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes training scores.
    pre_dispatch : int or str, default="2*n_jobs"
        As in GridSearchCV.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in GridSearchCV. Within a budget, it has one row for each candidate, with the number of
        its fits, ``n_fits``, with ``standard_error_test_score``, and with ``probability_best`` if
        it is known. Otherwise it has one row for each candidate and amount of resource,
        ``n_resources``. The page on results lists all columns.
    history_ : DataFrame
        One row for each fit.
    best_estimator_ : estimator
        The best candidate, refitted on all data, unless ``refit=False``.
    best_score_ : float
        Mean test score of the best candidate.
    best_params_ : dict
        Parameters of the best candidate.
    best_index_ : int
        Row of the best candidate in ``cv_results_``.
    best_probability_ : float
        Probability that the chosen candidate is the best of those that were compared. NaN if too
        few splits were repeated to estimate the noise.
    scorer_ : function or dict
        The scorer, or one for each metric.
    n_splits_ : int
        Number of splits.
    n_fits_ : int
        Number of fits, without the refit.
    full_fits_ : float
        Cost of these fits in full fits, if the cost of a fit is its share of the resource.
    n_fits_left_ : int or None
        Number of unused fits of the budget; None without a budget.
    n_resources_spent_ : float
        Sum of the resource over all fits.
    stopped_by_ : {"policy", "time_budget", "callback", "interrupt", "error"}
        What ended the search.
    refit_time_ : float
        Time of the refit, in seconds.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels of a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features.

    Raises
    ------
    ValueError
        If a parameter is invalid, or if every fit failed.

    Warns
    -----
    UserWarning
        If the budget is too small to fit three candidates in full.

    See Also
    --------
    HyperbandSearchCV : Brackets of successive halving, as in its paper.
    VarianceHalvingSearchCV : For good candidates that five folds cannot tell apart.
    BayesGapSearchCV : For fewer fits than candidates, as in its paper.

    Notes
    -----
    A grid without a budget is searched by `~sklearn_halving.policies.GridHalving`, and a budget by
    `~sklearn_halving.policies.BudgetedRace`.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import AdaptiveSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
    >>> search = AdaptiveSearchCV(SVC(), space, n_fits=20, random_state=0).fit(X, y)
    >>> search.leaderboard()[["rank", "score", "n_fits", "C"]].head(2).round(2)
       rank  score  n_fits  ...
    0     1   0.9...
    1     2   0.9...
    >>> grid = {"C": [1, 10, 100], "gamma": [1e-4, 1e-3, 1e-2]}
    >>> AdaptiveSearchCV(SVC(), grid).plan(X, y)[["n_candidates", "n_resources", "n_fits"]]
       n_candidates  n_resources  n_fits
    0             9          359      18
    1             5          719      10
    2             3         1437      15
    """

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
        n_fits: int | None = None,
        n_candidates: int | None = None,
        resource: str | Resource | None = None,
        min_resources: float | str | None = None,
        max_resources: float | str | None = None,
        sampler: str | Sampler | None = None,
        fits_in_flight: int | None = None,
        initial_candidates: Sequence[t.Params] | None = None,
        checkpoint: t.FilePath | None = None,
        warm_start: bool = False,
        fit_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        pre_dispatch: int | str = "2*n_jobs",
    ) -> None:
        self._set_parameters(locals())

    def _setup(self, inputs: Inputs) -> tuple[Setup, Policy]:
        resource = resolve_resource(self.resource or "n_samples", self.estimator)
        space = search_space(self, resource, inputs)
        has_budget = self.n_fits is not None or self.time_budget is not None
        if has_budget or not space.is_grid:
            return self._race_setup(inputs, space, resource)
        for name in ("sampler", "fits_in_flight"):
            self._require_none(name, "for a grid without a budget, whose candidates all start")
        return grid_setup(self, inputs, space, resource)

    def _race_setup(
        self, inputs: Inputs, space: SearchSpace, resource: Resource
    ) -> tuple[Setup, Policy]:
        """Return the setup of a budget of fits, which are all full, or of a time budget alone."""
        n_fits = self.n_fits or (DEFAULT_FITS if self.time_budget is None else None)
        if n_fits is None:
            why = "for a time_budget alone: each worker has one fit"
            self._require_none("fits_in_flight", why)
        else:
            self._require_none("min_resources", "for a budget of fits, which are all full")
            self._warn_of_few(n_fits, space)
            resource = _numbers.optional_resource(self)
        space = self._with_own_candidate(space)
        splits = search_splits(self, inputs, resource, is_stream=hasattr(self.cv, "stream"))
        choose = _numbers.screening_levels if n_fits is None else _numbers.full_level
        levels = choose(self, resource, splits)
        n_most = space.at_most(n_fits or _numbers.MOST_CANDIDATES, self.n_candidates)
        n_splits = splits.n_repetitions
        if n_most == space.size and n_splits is not None and n_most * n_splits <= (n_fits or 0):
            drawn = space.draw([n_most], inputs.seeds.rng)  # there is nothing to choose
            space = space.starting_with(drawn)
        sampler = resolve_sampler(self.sampler)
        setup = Setup(inputs, space, resource, splits, levels, n_most, sampler)
        return setup, self._race(setup, n_fits)

    def _warn_of_few(self, n_fits: int, space: SearchSpace) -> None:
        """Warn if there are fewer fits than candidates that a user wants, or a search needs."""
        most = _numbers.MOST_CANDIDATES if self.n_fits is None else FEW_FULL_FITS
        wanted = space.at_most(self.n_candidates or FEW_FULL_FITS, most)
        if n_fits < wanted:
            warn_user(
                f"n_fits={n_fits} is too few to try {wanted} candidates. Set n_fits, "
                f"for example to {_numbers.FITS_OF_GRID_SEARCH * wanted}."
            )

    def _with_own_candidate(self, space: SearchSpace) -> SearchSpace:
        """Return the space with the unmodified estimator as its first candidate."""
        if self.initial_candidates is not None and not len(self.initial_candidates):
            return space
        own = own_candidate(self.estimator, space)
        others = (p for p in space.initial if params_digest(p) != params_digest(own))
        return space.starting_with([own, *others], has_own=True)

    def _require_none(self, name: str, why: str) -> None:
        """Raise if a parameter is set that does not suit the kind of search."""
        if (value := getattr(self, name)) is not None:
            other = "time_budget without n_fits" if name == "min_resources" else "n_fits"
            raise ValueError(f"{name}={value!r} must be None {why}. Leave it out, or set {other}.")

    def _race(self, setup: Setup, n_fits: int | None) -> BudgetedRace:
        """Return the policy for a number of fits; None is a time budget."""
        levels, in_flight = setup.levels, self.fits_in_flight
        if n_fits is None:
            in_flight = count_workers(self.n_jobs)
        elif in_flight is None:
            in_flight = max(1, min(n_fits // FITS_PER_FLIGHT, MOST_IN_FLIGHT))
        return BudgetedRace(
            n_fits,
            screening_level=levels.smallest if levels.smallest < levels.largest else None,
            pulls_in_flight=in_flight,
            refit_cost=setup.splits.refit_cost if self.refit and n_fits is None else 0.0,
            baseline=0 if setup.space.has_own else None,
            n_finalists=N_FINALISTS if callable(self.refit) else 1,
        )
