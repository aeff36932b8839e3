"""The searches that are named after a paper.

All play it by default, except `VarianceHalvingSearchCV`: its allocation "likelihood" is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import RandomState

from sklearn_halving import _typing as t
from sklearn_halving._formatting import counted
from sklearn_halving._unstable_imports import Interval, StrOptions
from sklearn_halving.policies import BayesGap, Hyperband, UniformAllocation, VarianceHalving
from sklearn_halving.policies._bayes_gap import Acquisition, BetaRule
from sklearn_halving.policies._plan import default_window
from sklearn_halving.policies._protocol import Policy
from sklearn_halving.policies._types import Problem
from sklearn_halving.resources import Resource, resolve_resource
from sklearn_halving.search._base import BaseSearch
from sklearn_halving.search._candidate_prior import NOISE, KernelName, draw_evenly, make_prior
from sklearn_halving.search._parameters import COUNT, POSITIVE, Inputs, SharedParameters
from sklearn_halving.search.preparing import _numbers
from sklearn_halving.search.preparing._plan import Setup, grid_setup
from sklearn_halving.search.preparing._space import SearchSpace, search_space
from sklearn_halving.search.preparing._splits import search_splits

BRACKET_FACTOR = 3
"""Default factor of Hyperband's brackets."""
MAX_STARTED = 2**16
"""Maximum number of candidates that a bracket, or all loops of a time budget, may start."""
Allocation = Literal["likelihood", "pooled", "ucb", "uniform"]
FITS_OF_A_DRAWN = 2
"""Number of fits for which one candidate is drawn from distributions with ``"likelihood"``. On ten
recorded tasks with five splits each, twice the candidates with half the fits each led to
better choices. Other allocations need more fits in the first stage."""
N_OF_MODEL = 100
"""Default number of candidates of BayesGapSearchCV from distributions; not all are fitted."""
MOST_FITS = 100
"""Default ``n_fits`` of BayesGapSearchCV. Grids of few candidates lose by fewer fits."""


class HyperbandSearchCV(BaseSearch):
    """Hyperband: brackets of successive halving over a resource.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, if fits with few rows or few
    iterations are cheap and indicate how good the full fit will be.

    Over **distributions**, it is Hyperband [1]_ (Algorithm 1), with candidates drawn at random.
    Bracket s starts with ``max_resources / factor ** s`` of the resource. From rung to rung, one
    of every ``factor`` candidates is kept and gets ``factor`` times the resource. With a
    ``time_budget``, the brackets are repeated until the time is used up.

    Over a **grid**, it is a single bracket that starts every candidate, as in AdaptiveSearchCV.
    With ``brackets="all"``, the brackets share the grid.

    Parameters
    ----------
    estimator : estimator object
        The estimator, with a ``score`` unless ``scoring`` is given.
    param_distributions : dict, list of dict or "auto"
        Parameter names, and lists of values or distributions with a method ``rvs``. If all values
        are lists, it is a grid. Each dict of a list is a separate space. ``"auto"`` is
        `spaces.space_for` of the estimator.
    time_budget : float, str or None, default=None
        Maximum time for `fit` with the refit, in seconds or as text, such as ``"30min"``.
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
    n_candidates : int or None, default=None
        Number of candidates that a loop starts. They fill the brackets of the paper, the smallest
        first, and the widest bracket gets the rest. None is the whole grid, or the number that
        the paper's brackets need.
    n_loops : int or None, default=None
        Number of times that the brackets are played, each time with new candidates. None means
        once, or without limit if there is a ``time_budget``. A grid is played once, and so is
        another finite space, unless it has enough candidates for all loops.
    brackets : {"all", "most_exploratory"}, list of int or None, default=None
        The brackets that are played; numbers are values of s. None is one bracket that starts
        every candidate for a grid, and ``"all"`` for distributions.
    factor : float or None, default=None
        The paper's eta, at least 2: one of every ``factor`` candidates of a rung is promoted.
        None is 2 for the bracket of a grid and 3 for Hyperband's brackets.
    resource : str, Resource or None, default=None
        What grows from rung to rung:

        - ``"n_samples"``, which None stands for: the number of training rows. Test sets are never
          reduced.
        - the name of a numeric parameter, such as ``"n_estimators"`` or ``"clf__max_iter"``.
          Models are trained further from rung to rung if the estimator supports that.
        - ``"partial_fit"``: the number of epochs of ``partial_fit``.
        - ``"fit_time"``: the training time in seconds. Limits may have a unit, as in ``"30s"``.
        - an object from `sklearn_halving.resources`, or of your own.
    min_resources : float, str or None, default=None
        Smallest resource of a fit. None is ``max_resources / factor ** 4``, but at least one
        iteration, or enough rows to compare candidates.
    max_resources : float, str or None, default=None
        Resource of the fits in the last rung. None is all training rows, or the value of the
        parameter in ``estimator``, which is ``max_iter`` for ``"partial_fit"``.
    initial_candidates : list of dict or None, default=None
        Candidates that are always tried, such as ``{}`` for the unmodified estimator. They fill
        the widest bracket first.
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
        As in GridSearchCV, with one row for each candidate and amount of resource. Below the
        largest amount, candidates are fitted on just enough splits to compare them.
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
        Probability that the chosen candidate is the best of the finalists. NaN if too few splits
        were repeated to estimate the noise.
    scorer_ : function or dict
        The scorer, or one for each metric.
    n_splits_ : int
        Number of splits.
    n_fits_ : int
        Number of fits, without the refit.
    full_fits_ : float
        Cost of these fits in full fits, if the cost of a fit is its share of the resource.
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
        If there is only one rung, or if a model could not be trained further.

    See Also
    --------
    AdaptiveSearchCV : The everyday search, also within a budget of fits or of time.
    BanditSearchCV : For more parameters of the paper, with ``policy=Hyperband(...)``.

    References
    ----------
    .. [1] Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar. Hyperband: a novel bandit-based
       approach to hyperparameter optimization. JMLR 18 (2018), Algorithm 1.
       https://arxiv.org/abs/1603.06560

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn_halving import HyperbandSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
    >>> search = HyperbandSearchCV(SVC(), space, n_candidates=5, random_state=0)
    >>> search.plan(X, y)[["bracket", "n_candidates", "n_resources", "n_fits"]]
       bracket  n_candidates  n_resources  n_fits
    0        1             3          479       3
    1        1             1         1437       5
    2        0             2         1437      10
    >>> search.fit(X, y).leaderboard()[["rank", "n_resources", "status"]].iloc[[0, -1]]
       rank  n_resources                    status
    0     1         1437                    chosen
    4     5          479  dropped at n_samples=479
    """

    _parameter_constraints: ClassVar[dict[str, object]] = (
        SharedParameters._parameter_constraints
        | {"n_loops": [COUNT, None], "factor": [Interval(Real, 2, None, closed="left"), None]}
        | {"brackets": [StrOptions({"all", "most_exploratory"}), "array-like", None]}
    )

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
        n_candidates: int | None = None,
        n_loops: int | None = None,
        brackets: Literal["all", "most_exploratory"] | Sequence[int] | None = None,
        factor: float | None = None,
        resource: str | Resource | None = None,
        min_resources: float | str | None = None,
        max_resources: float | str | None = None,
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

    n_loops: int | None
    brackets: str | Sequence[int] | None
    factor: float | None

    def _setup(self, inputs: Inputs) -> tuple[Setup, Policy]:
        resource = resolve_resource(self.resource or "n_samples", self.estimator)
        space = search_space(self, resource, inputs)
        if self.brackets is None and space.is_grid:  # all candidates start in one bracket
            self._check_loops(space.size, space.size)
            return grid_setup(self, inputs, space, resource)
        splits = search_splits(self, inputs, resource, is_stream=False)
        levels = _numbers.choose_levels(self, resource, splits, self.factor or BRACKET_FACTOR)
        is_endless = self.time_budget is not None and self.n_loops is None and space.size is None
        setup = Setup(inputs, space, resource, splits, levels, is_endless=is_endless)
        return setup, self._loops(setup)

    def _loops(self, setup: Setup) -> Hyperband:
        """Return the policy that plays all loops of brackets."""
        space, levels = setup.space, setup.levels
        brackets = "all" if self.brackets is None else self.brackets
        loop = Hyperband(
            factor=self.factor or BRACKET_FACTOR,
            brackets=brackets if isinstance(brackets, str) else tuple(brackets),
            max_eliminations=levels.n_eliminations,
            early_repetitions=setup.splits.early.n_telling,
        )
        n_drawn = None
        if not space.is_grid:
            n_drawn = loop.plan(Problem(1, levels.smallest, levels.largest)).n_arms
            if n_drawn == 1:  # there is a single rung
                n_drawn = _numbers.N_OF_DISTRIBUTIONS
        n_arms = space.at_most(self.n_candidates or n_drawn)
        if n_arms > MAX_STARTED:
            raise ValueError(
                f"factor={self.factor!r} must be small enough that a loop starts at most "
                f"{MAX_STARTED} candidates, but it would start {n_arms}. Use a smaller factor, "
                "usually from 2 to 5, raise min_resources, or set n_candidates."
            )
        self._check_loops(space.size if space.is_grid else n_arms, space.size)
        n_loops = MAX_STARTED // n_arms if setup.is_endless else self.n_loops or 1
        return replace(loop, n_loops=n_loops, n_candidates=n_arms)

    def _check_loops(self, n_arms: int | None, size: int | None) -> None:
        """Raise if the loops need more candidates than there are."""
        n_loops = self.n_loops or 1
        if n_loops > 1 and size is not None and (n_arms or 0) * n_loops > size:
            raise ValueError(
                f"n_loops={n_loops} must be None or 1 for a space of {size} candidates, of which "
                f"a loop starts {n_arms}. Leave it out, or set a smaller n_candidates."
            )


class VarianceHalvingSearchCV(BaseSearch):
    """Sequential halving with more splits for candidates whose scores are noisier.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, for candidates whose scores
    differ by less than the noise of cross-validation.

    The default ``allocation="likelihood"`` is not that of the paper [1]_. ``"ucb"`` is the paper's
    SHAdaVar, which needs 13 fits for each candidate in a stage, and ``"pooled"`` is the same
    halving with pooled variances.

    Each stage of the search only fits the candidates that may still be the best, half as many as
    the stage before. The j-th fit of every candidate is on split j, without a limit to the number
    of splits. Candidates of distributions are drawn before the first fit.

    Parameters
    ----------
    estimator : estimator object
        The estimator, with a ``score`` unless ``scoring`` is given.
    param_distributions : dict, list of dict or "auto"
        Parameter names, and lists of values or distributions with a method ``rvs``. If all values
        are lists, it is a grid. Each dict of a list is a separate space. ``"auto"`` is
        `spaces.space_for` of the estimator.
    time_budget : float, str or None, default=None
        Maximum time for `fit` with the refit, in seconds or as text, such as ``"30min"``.
    n_jobs : int or None, default=None
        Number of parallel jobs, which share the cores. The result does not depend on it, unless
        time is limited.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. The metric that ``refit`` names, or the first one, guides the search.
    cv : int, cross-validation generator or iterable, default=None
        The default is random splits without limit, with a fifth of the rows in the test set,
        stratified for classifiers. An int, or a splitter that can shuffle, is reshuffled without
        limit. Others give a fixed number of splits.
    refit : bool, str or callable, default=True
        As in GridSearchCV. A callable is passed the rows of ``cv_results_`` with the largest
        resource and enough splits.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible results. It also seeds estimators that have no seed.
    verbose : int, default=0
        1 prints progress, 2 also a line for each fit, 3 also scores.
    n_fits : int or None, default=None
        Maximum number of fits, each of one candidate on one split. None is 5 for each candidate,
        or what ``allocation`` needs.
    n_candidates : int or None, default=None
        Number of candidates. None uses the whole grid. From distributions, it draws one for every
        2 fits (for every 5, if ``allocation`` is not ``"likelihood"``), or 10 without ``n_fits``.
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
    resource : str, Resource or None, default=None
        Unit of ``max_resources``, see HyperbandSearchCV. None is ``"n_samples"``.
    max_resources : float, str or None, default=None
        Resource of a fit. None is all training rows, or the value in ``estimator``.
    initial_candidates : list of dict or None, default=None
        Candidates that are always tried, such as ``{}`` for the unmodified estimator.
    checkpoint : str, path-like or None, default=None
        File to which every fit is written. Searches with the same data, estimator, scoring and
        seed make only the missing fits.
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
        As in GridSearchCV, with one row for each candidate and with these columns:

        - ``n_fits``: number of fits;
        - ``stage``: the last stage of the candidate;
        - ``split{j}_test_score``: NaN without a fit on split j;
        - ``mean_test_score``: mean, corrected for splits that are easier than others;
        - ``standard_error_test_score``: its standard error, corrected for overlapping training
          sets [3]_;
        - ``probability_best``: probability that the candidate is the best one;
        - ``rank_test_score``: rank by the last stage, if candidates are eliminated, and the mean.
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
        Probability that the chosen candidate is the best one; on real data a lower bound. NaN if
        too few splits were repeated to estimate the noise.
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
        If ``n_fits`` is too small for the number of candidates or larger than a finite ``cv``
        allows, or if every fit failed.

    Warns
    -----
    UserWarning
        If there are fewer candidates than ``n_candidates``.

    See Also
    --------
    AdaptiveSearchCV : The everyday search, whose candidates are created during the search.
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
    >>> search.n_fits_  # GridSearchCV with 5 folds makes the same number
    20
    >>> search.leaderboard()[["rank", "n_fits", "max_depth"]]
       rank  n_fits max_depth
    0     1       6         3
    1     2       5         4
    2     3       6         2
    3     4       3         1
    """

    _parameter_constraints: ClassVar[dict[str, object]] = (
        SharedParameters._parameter_constraints
        | {"allocation": [StrOptions({*get_args(Allocation)})]}
        | {"stop_probability": [Interval(Real, 0.5, 1, closed="neither"), None]}
        | {"tolerance": [POSITIVE, None]}
    )

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
        allocation: Allocation = "likelihood",
        stop_probability: float | None = None,
        tolerance: float | None = None,
        resource: str | Resource | None = None,
        max_resources: float | str | None = None,
        initial_candidates: Sequence[t.Params] | None = None,
        checkpoint: t.FilePath | None = None,
        fit_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        pre_dispatch: int | str = "2*n_jobs",
    ) -> None:
        self._set_parameters(locals())

    allocation: Allocation
    stop_probability: float | None
    tolerance: float | None

    def _setup(self, inputs: Inputs) -> tuple[Setup, Policy]:
        resource = _numbers.optional_resource(self)
        space = search_space(self, resource, inputs)
        splits = search_splits(self, inputs, resource, is_stream=True)
        levels = _numbers.full_level(self, resource, splits)
        is_ours = self.allocation == "likelihood"
        of_each = FITS_OF_A_DRAWN if is_ours else _numbers.FITS_OF_GRID_SEARCH
        least_n_fits = VarianceHalving(1, self.allocation).least_n_pulls
        n_drawn = _numbers.count_drawn(self.n_fits, least_n_fits, of_each)
        n_arms = _numbers.count_candidates(self, space, n_drawn)
        least = least_n_fits(n_arms)
        n_fits = _numbers.count_fits(self, n_arms, splits, least)
        if n_fits < least:
            raise ValueError(
                f"n_fits={n_fits} is too small for {counted(n_arms, 'candidate')} with "
                f"allocation={self.allocation!r}. The least budget that works is {least}. Use "
                "more fits, or fewer candidates."
            )
        _numbers.check_splits(self, n_arms, splits.n_repetitions, least)
        setup = Setup(inputs, space, resource, splits, levels, n_arms)
        if n_arms == 1:
            return setup, UniformAllocation(n_fits)
        return setup, VarianceHalving(
            n_pulls=n_fits,
            allocation=self.allocation,
            stop_probability=self.stop_probability,
            tolerance=self.tolerance,
            overlap=splits.overlap,
        )


class BayesGapSearchCV(BaseSearch):
    """BayesGap: fewer fits than candidates, chosen by a model of their scores.

    A drop-in replacement for GridSearchCV and RandomizedSearchCV, for expensive fits and many
    candidates.

    The model is a Gaussian process over the parameters, so that a fit is informative about all
    similar candidates. BayesGap [1]_ compares the candidate that looks best with its strongest
    rival, and fits whichever of the two is less certain. The j-th fit of every candidate is on
    split j. The last fifth of the fits confirms the candidate that looks best. Candidates of
    distributions are drawn before the first fit.

    Parameters
    ----------
    estimator : estimator object
        The estimator, with a ``score`` unless ``scoring`` is given.
    param_distributions : dict, list of dict or "auto"
        Parameter names, and lists of values or distributions with a method ``rvs``. If all values
        are lists, it is a grid. Each dict of a list is a separate space. ``"auto"`` is
        `spaces.space_for` of the estimator.
    time_budget : float, str or None, default=None
        Maximum time for `fit` with the refit, in seconds or as text, such as ``"30min"``.
    n_jobs : int or None, default=None
        Number of parallel jobs, which share the cores. The result does not depend on it, unless
        time is limited.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV. The metric that ``refit`` names, or the first one, guides the search.
    cv : int, cross-validation generator or iterable, default=None
        The default is random splits without limit, with a fifth of the rows in the test set,
        stratified for classifiers. An int, or a splitter that can shuffle, is reshuffled without
        limit. Others give a fixed number of splits.
    refit : bool, str or callable, default=True
        As in GridSearchCV. A callable is passed the rows of ``cv_results_`` with the largest
        resource and enough splits.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible results. It also seeds estimators that have no seed.
    verbose : int, default=0
        1 prints progress, 2 also a line for each fit, 3 also scores.
    n_fits : int or None, default=None
        Maximum number of fits, each of one candidate on one split (the paper's horizon T). None is
        100, but at most 5 for each candidate, the number of GridSearchCV with five folds.
    n_candidates : int or None, default=None
        Number of candidates. None is the whole grid, or 100 candidates from distributions, which
        are spread evenly if the distributions allow it.
    kernel : {"squared_exponential", "matern"}, default="squared_exponential"
        Prior covariance of the candidates: the kernel of the paper, or Matern 5/2, for scores
        that vary less smoothly. Length scales are estimated.
    acquisition : {"bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi"}, default="bayesgap"
        Rule that chooses the next fit. All rules use the same posterior.
    beta : {"effective", "printed"} or float, default="effective"
        Half the width of the bounds in standard deviations. ``"printed"`` is eq. (9) of the
        paper. ``"effective"`` takes the correlation of candidates into account.
    resource : str, Resource or None, default=None
        Unit of ``max_resources``, see HyperbandSearchCV. None is ``"n_samples"``.
    max_resources : float, str or None, default=None
        Resource of a fit. None is all training rows, or the value in ``estimator``.
    fits_in_flight : int or None, default=None
        Maximum number of fits that are chosen before the first of their scores is known. The
        result depends on it. Two to three times the number of workers keeps them busy. None is an
        eighth of ``n_fits``, at most 20.
    initial_candidates : list of dict or None, default=None
        Candidates that are always tried, such as ``{}`` for the unmodified estimator.
    checkpoint : str, path-like or None, default=None
        File to which every fit is written. Searches with the same data, estimator, scoring and
        seed make only the missing fits.
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
        As in GridSearchCV, with one row for each candidate, fitted or not, and with these columns:

        - ``n_fits``: number of fits. If it is 0, the score columns are NaN;
        - ``posterior_mean``, ``posterior_sd``: posterior mean and standard deviation of the score;
        - ``lower_bound``, ``upper_bound``: the bounds that the next round would have compared;
        - ``mean_test_score``, ``standard_error_test_score``: from the candidate's own scores, as
          in VarianceHalvingSearchCV;
        - ``rank_test_score``: rank by ``posterior_mean``, after the chosen candidate.
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
    regret_bounds_ : ndarray of shape (n_rounds,)
        Bound of the leader's regret in each round, for ``acquisition="bayesgap"``.
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
        If ``n_fits`` is larger than a finite ``cv`` allows, or if every fit failed.

    Warns
    -----
    UserWarning
        If there are fewer candidates than ``n_candidates``, or if no numeric parameter varies.

    See Also
    --------
    AdaptiveSearchCV : The everyday search, whose candidates are created during the search.
    VarianceHalvingSearchCV : For fewer candidates than fits.
    BanditSearchCV : For more parameters of the paper, with ``policy=BayesGap(...)``.

    Notes
    -----
    Candidates are the points that samplers see: numbers are scaled by their distribution function
    or their rank in a list of numbers, and values of other lists are one-hot encoded. Candidates
    from different dicts of a list are independent, and so are predictors of different classes
    (section 6.2 of the paper).

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
    >>> print(f"{search.best_score_:.2f}")
    0.9...
    """

    _parameter_constraints: ClassVar[dict[str, object]] = (
        SharedParameters._parameter_constraints
        | {"kernel": [StrOptions({*get_args(KernelName)})]}
        | {"acquisition": [StrOptions({*get_args(Acquisition)})]}
        | {"beta": [StrOptions({*get_args(BetaRule)}), POSITIVE]}
    )

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
        kernel: KernelName = "squared_exponential",
        acquisition: Acquisition = "bayesgap",
        beta: float | BetaRule = "effective",
        resource: str | Resource | None = None,
        max_resources: float | str | None = None,
        fits_in_flight: int | None = None,
        initial_candidates: Sequence[t.Params] | None = None,
        checkpoint: t.FilePath | None = None,
        fit_timeout: float | str | None = None,
        memory_limit: int | str | None = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        pre_dispatch: int | str = "2*n_jobs",
    ) -> None:
        self._set_parameters(locals())

    kernel: KernelName
    acquisition: Acquisition
    beta: float | BetaRule

    def _setup(self, inputs: Inputs) -> tuple[Setup, Policy]:
        resource = _numbers.optional_resource(self)
        space = search_space(self, resource, inputs)
        splits = search_splits(self, inputs, resource, is_stream=True)
        levels = _numbers.full_level(self, resource, splits)
        n_arms = _numbers.count_candidates(self, space, N_OF_MODEL)
        n_fits = _numbers.count_fits(self, n_arms, splits)
        n_fits = min(n_fits, MOST_FITS) if self.n_fits is None else n_fits
        _numbers.check_splits(self, n_arms, splits.n_repetitions, least=1)
        drawn, in_flight = self._draw(space, n_arms, inputs.seeds.rng), self.fits_in_flight
        setup = Setup(inputs, space, resource, splits, levels, n_arms, drawn=drawn)
        if n_arms == 1:
            return setup, UniformAllocation(n_fits)
        return setup, BayesGap(
            n_fits,
            covariance=make_prior(self.kernel, drawn, space.distributions),
            noise_variance=NOISE,
            split_variance=NOISE,
            acquisition=self.acquisition,
            beta=self.beta,
            confirm=True,
            breaks_ties=True,
            pulls_in_flight=default_window(n_fits) if in_flight is None else in_flight,
        )

    def _draw(self, space: SearchSpace, n_drawn: int, rng: RandomState) -> Sequence[t.Params]:
        """Return the candidates of the model, spread evenly if the distributions allow it."""
        n_others, evenly = n_drawn - len(space.initial), None
        if space.size is None and n_others > 0:
            evenly = draw_evenly(space.distributions, n_others, rng)
        return space.draw([n_drawn], rng) if evenly is None else [*space.initial, *evenly]
