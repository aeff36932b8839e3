"""BanditSearchCV, a search with any policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import is_classifier

from sklearn_halving import _typing as t
from sklearn_halving import policies
from sklearn_halving.policies._protocol import ChoosesPoints, GrowsArms, Policy
from sklearn_halving.policies._types import Problem
from sklearn_halving.policies.bases._base_policy import plays_levels, require_policy
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.samplers._space import Continuous, Uniform, dimension_of
from sklearn_halving.search._base import BaseSearch
from sklearn_halving.search._parameters import Inputs, Reward, SharedParameters
from sklearn_halving.search.preparing import _numbers
from sklearn_halving.search.preparing._candidates import resolve_sampler
from sklearn_halving.search.preparing._plan import Setup, make_plan
from sklearn_halving.search.preparing._space import SearchSpace, search_space
from sklearn_halving.search.preparing._splits import search_splits

Factory = Callable[[int, int, int, "int | None"], Policy]
"""Makes a policy from the numbers of candidates, fits and parameters, and of splits, or None."""
NAMES: dict[str, Factory] = {
    "adaptive_gap_e_v": lambda _, n, *__: policies.AdaptiveGapEV(n),
    "adaptive_ucb_e": lambda _, n, *__: policies.AdaptiveUCBE(n),
    "adaptive_ugap_eb": lambda _, n, *__: policies.AdaptiveUGapEb(n),
    "anytime_successive_rejects": lambda _, n, *__: policies.AnytimeSuccessiveRejects(n),
    "bernstein_race": lambda n_arms, n, *__: policies.BernsteinRace(n // n_arms),
    "budgeted_race": lambda _, n, *__: policies.BudgetedRace(n),
    "exp3": lambda _, n, *__: policies.EXP3(n),
    "hoeffding_race": lambda n_arms, n, *__: policies.HoeffdingRace(n // n_arms),
    "hoo": lambda _, n, n_parameters, n_splits: policies.HOO(n, n_parameters, n_splits=n_splits),
    "lil_ucb": lambda _, n, *__: policies.LilUCB(max_pulls=n),
    "lucb": lambda _, n, *__: policies.LUCB(max_pulls=n),
    "moss": lambda _, n, *__: policies.MOSS(n),
    "successive_elimination": lambda _, n, *__: policies.SuccessiveElimination(max_pulls=n),
    "successive_rejects": lambda _, n, *__: policies.SuccessiveRejects(n),
    "ucb1": lambda _, n, *__: policies.UCB1(n),
    "ucb_v": lambda _, n, *__: policies.UCBV(n),
    "uniform": lambda _, n, *__: policies.UniformAllocation(n),
    "variance_halving": lambda _, n, *__: policies.VarianceHalving(n),
    "variance_rejects": lambda _, n, *__: policies.VarianceRejects(n),
}
"""Names of the policies that need only a number of fits or a confidence."""
UNIT_SCORES = re.compile(
    "(accuracy|average_precision|balanced_accuracy|f1|jaccard|precision|recall|roc_auc"
    "|top_k_accuracy)(_.*)?"
)
"""Names of scores between 0 and 1, also with suffixes such as ``_macro``."""


class BanditSearchCV(BaseSearch):
    """Search over parameters with any policy, given by name or as an object.

    Use it for all parameters of a paper, to compare policies, or to run a policy of your own: any
    class with the methods of `~sklearn_halving.policies.Policy`. For everyday use, start with
    AdaptiveSearchCV.

    Most policies choose a single candidate for the next fit. They use an unlimited number of
    splits, as VarianceHalvingSearchCV does: a fit is one candidate on one train/test split, and
    the j-th fit of every candidate is on split j. Policies that play rungs, such as
    `~sklearn_halving.policies.Hyperband`, require a ``resource`` and use the splits of ``cv``, as
    HyperbandSearchCV does.

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
    policy : str or Policy, default="successive_rejects"
        An object from `sklearn_halving.policies`, an object of your own, or one of the names
        ``"uniform"``, ``"variance_halving"``, ``"successive_rejects"``,
        ``"anytime_successive_rejects"``, ``"adaptive_ucb_e"``, ``"adaptive_gap_e_v"``,
        ``"adaptive_ugap_eb"``, ``"successive_elimination"``, ``"hoeffding_race"``,
        ``"bernstein_race"``, ``"lucb"``, ``"lil_ucb"``, ``"ucb1"``, ``"ucb_v"``, ``"moss"``,
        ``"exp3"``, ``"variance_rejects"``, ``"budgeted_race"`` and ``"hoo"``. ``"hoo"`` creates
        its candidates during the search, so that ``param_distributions`` must be one dict of
        continuous distributions with a method ``ppf``, and ``n_candidates`` must not be set.
    n_fits : int or None, default=None
        Maximum number of fits, for a policy given by name. None is 5 for each candidate, and 50
        for ``"hoo"`` and ``"budgeted_race"``. A policy object has its own budget.
    n_candidates : int or None, default=None
        Number of candidates, which are drawn without replacement. None uses the whole grid. From
        distributions, it draws one candidate for every 5 fits, or 10 without ``n_fits``. Policies
        that plan their brackets have their own number. `~sklearn_halving.policies.BudgetedRace`
        creates at most this number, and without a screening level, at most one for each fit.
    sampler : {"random", "gaussian_process"}, Sampler or None, default=None
        How candidates are created during the search, for policies whose candidates are:
        ``"budgeted_race"``. None is ``"gaussian_process"``.
    resource : str, Resource or None, default=None
        Unit of the limits below, see HyperbandSearchCV. Policies that play rungs need it. None is
        ``"n_samples"`` for all others.
    min_resources : float, str or None, default=None
        Smallest resource of a fit, only for policies that play rungs; see HyperbandSearchCV.
    max_resources : float, str or None, default=None
        Resource of a full fit. None is all training rows, or the value in ``estimator``.
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
        As in HyperbandSearchCV for a policy that plays rungs, as in BayesGapSearchCV for
        `~sklearn_halving.policies.BayesGap`, and as in VarianceHalvingSearchCV for all others.
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
        Probability that the chosen candidate is the best one. NaN if too few splits were repeated
        to estimate the noise. Not available for BayesGap.
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
        Before the first fit, if the name of the policy is unknown, if the budget is too small
        for the number of candidates, or if the policy needs the range of the score and it is not
        known: give it as a field of the policy, as in ``LUCB(reward_range=(0, 10))``. During
        `fit`, if every fit failed.

    Warns
    -----
    UserWarning
        If a policy with a confidence level reached its budget before it knew the best candidate,
        or if a score was outside of its range.

    See Also
    --------
    sklearn_halving.policies : The policies, with their papers.

    References
    ----------
    .. [1] Audibert, Bubeck and Munos. Bandit view on noisy optimization. In: Optimization for
       Machine Learning, MIT Press 2011, Fig. 16.1 (successive rejects).
       https://doi.org/10.7551/mitpress/8996.001.0001

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import BanditSearchCV
    >>> from sklearn_halving.policies import Hyperband
    >>> X, y = load_wine(return_X_y=True)
    >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
    >>> search = BanditSearchCV(tree, grid, policy="successive_rejects", random_state=0)
    >>> search.fit(X, y).leaderboard()[["rank", "n_fits", "max_depth"]]
       rank  n_fits max_depth
    0     1       6         ...
    1     2       6         ...
    2     3       4         2
    3     4       3         1
    >>> policy = Hyperband(factor=2, brackets=[1], select="all_rungs")
    >>> search = BanditSearchCV(tree, grid, policy=policy, resource="n_samples", random_state=0)
    >>> search.fit(X, y).leaderboard()[["rank", "n_resources", "max_depth"]]
       rank  n_resources max_depth
    0     1          142         ...
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
        policy: str | Policy = "successive_rejects",
        n_fits: int | None = None,
        n_candidates: int | None = None,
        sampler: str | Sampler | None = None,
        resource: str | Resource | None = None,
        min_resources: float | str | None = None,
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

    policy: Any

    def _setup(self, inputs: Inputs) -> tuple[Setup, Policy]:
        check_policy_or_name(self.policy)
        grows = self.policy == "budgeted_race" or isinstance(self.policy, GrowsArms)
        creates_points = self.policy == "hoo" or isinstance(self.policy, ChoosesPoints)
        has_levels = plays_levels(self.policy)
        if self.resource is None and has_levels:
            raise ValueError(
                f"resource must be given for policy={self.policy!r}, which fits at several "
                "levels; got None. Give the name of a resource, such as 'n_samples'."
            )
        if self.min_resources is not None and not has_levels:
            raise self._left_out("min_resources", "fits at one level")
        uses_time = isinstance(self.policy, GrowsArms) and self.policy.uses_time
        if uses_time and self.time_budget is None:
            raise ValueError(
                f"time_budget must be given for policy={self.policy!r}, which has no budget of "
                "fits; got None. Set it, or give the policy a number of pulls."
            )
        resource = _numbers.optional_resource(self)
        space = search_space(self, resource, inputs)
        self._check_sampled(space, grows=grows, creates_points=creates_points)
        is_stream = not (has_levels or grows or creates_points)
        splits = search_splits(self, inputs, resource, is_stream=is_stream)
        if has_levels:
            levels = _numbers.choose_levels(self, resource, splits, self.policy.factor)
        else:
            levels = _numbers.full_level(self, resource, splits)
        if grows or creates_points:
            n_fits = _numbers.count_fits(self, _numbers.N_OF_DISTRIBUTIONS, splits)
            n_arms = self._count_most(space, n_fits) if grows else 1
        else:
            n_drawn = _numbers.count_drawn(self.n_fits, lambda n_arms: n_arms)
            n_arms = _numbers.count_candidates(self, space, n_drawn)
            n_fits = _numbers.count_fits(self, n_arms, splits)
        sampler = resolve_sampler(self.sampler) if grows else None
        known = range_of_steering_score(self)
        setup = Setup(inputs, space, resource, splits, levels, n_arms, sampler, reward_range=known)
        return setup, self._checked_policy(setup, n_fits)

    def _check_sampled(self, space: SearchSpace, *, grows: bool, creates_points: bool) -> None:
        """Raise if a parameter does not suit a policy that creates candidates, or does not."""
        if self.sampler is not None and not grows:
            raise self._left_out("sampler", "chooses among given candidates")
        if not creates_points:
            return
        check_continuous(space, str(self.policy))
        for name in ("n_candidates", "initial_candidates"):
            if getattr(self, name):
                raise self._left_out(name, "creates its candidates during the search")

    def _count_most(self, space: SearchSpace, n_fits: int) -> int:
        """Return the maximum number of candidates that are created during the search."""
        n_arms = space.at_most(_numbers.MOST_CANDIDATES, self.n_candidates)
        if isinstance(self.policy, str):
            return min(n_arms, n_fits)
        return min(n_arms, self.policy.plan(Problem(n_arms)).max_pulls or n_arms)

    def _left_out(self, name: str, why: str) -> ValueError:
        """Return the error for a parameter that a policy does not take."""
        return ValueError(
            f"{name}={getattr(self, name)!r} must be left out for policy={self.policy!r}, which "
            f"{why}."
        )

    def _checked_policy(self, setup: Setup, n_fits: int) -> Policy:
        """Return the policy; raise if it does not suit the search."""
        policy = self.policy
        if isinstance(policy, str):
            policy = self._named_policy(policy, setup, n_fits)
        elif self.n_fits is not None:
            raise self._left_out("n_fits", "has its own budget")
        n_parameters = len(setup.space.names)
        if isinstance(policy, ChoosesPoints) and policy.n_dimensions != n_parameters:
            raise ValueError(
                f"n_dimensions must be {n_parameters}, the number of parameters; got "
                f"policy={policy!r}. Give HOO(n_dimensions={n_parameters}, ...)."
            )
        # Most policies reject a budget that is too small. A huge grid is not listed before.
        with naming_n_fits(self.policy, setup, n_fits):
            plan = make_plan(policy, setup)
            policy.start(plan.problem, SeedSequence(0))
        if plan.has_rungs and not plays_levels(policy):
            raise ValueError(
                f"plays_levels must be True for policy={policy!r}, which plans rungs. Set it in "
                "the class, with the factor of its levels; see PlaysLevels."
            )
        if plan.has_rungs and self.n_candidates is not None:
            raise self._left_out("n_candidates", "plans how many candidates it starts")
        return policy

    def _named_policy(self, name: str, setup: Setup, n_fits: int) -> Policy:
        """Return the policy with this name, with a budget."""
        n_arms = setup.n_candidates
        is_of_arms = name != "hoo" and setup.sampler is None
        if is_of_arms:
            _numbers.check_splits(self, n_arms, setup.splits.n_repetitions, least=n_arms)
        if is_of_arms and n_arms == 1:  # only its score is needed
            return policies.UniformAllocation(n_fits)
        with naming_n_fits(name, setup, n_fits):
            return NAMES[name](n_arms, n_fits, len(setup.space.names), setup.splits.n_repetitions)


@contextmanager
def naming_n_fits(policy: str | Policy, setup: Setup, n_fits: int) -> Iterator[None]:
    """Add the name and ``n_fits`` to an error of a policy that the search has created."""
    try:
        yield
    except ValueError as error:
        if not isinstance(policy, str):
            raise
        n_splits = setup.splits.n_repetitions
        has_all = n_splits is not None and n_fits >= setup.n_candidates * n_splits
        way_out = " For more fits, use a cv with more splits." if has_all else ""
        text = f"policy={policy!r} with n_fits={n_fits}: {error}{way_out}"
        raise ValueError(text) from error


def check_policy_or_name(policy: object) -> None:
    """Raise unless the policy is an object with the methods of a policy, or one of the names."""
    if isinstance(policy, str) and policy in NAMES:
        return
    try:
        require_policy(policy)
    except TypeError as error:
        raise ValueError(
            f"policy must be one of {', '.join(map(repr, sorted(NAMES)))}, or an object with the "
            "methods of sklearn_halving.policies.Policy, such as Hyperband(factor=4); got "
            f"{policy!r}."
        ) from error


def range_of_steering_score(search: SharedParameters) -> tuple[float, float] | None:
    """Return the range of the score that guides the search, or None if it is not known."""
    scoring, classifies = search.scoring, is_classifier(search.estimator)
    if isinstance(scoring, list | tuple | set | Mapping):
        of_name = scoring if isinstance(scoring, Mapping) else {name: name for name in scoring}
        if not of_name:
            return None  # scikit-learn raises an error later
        scoring = of_name[Reward(search.refit).metric_of(dict(of_name))]
    is_unit = scoring is None and classifies
    is_unit |= isinstance(scoring, str) and UNIT_SCORES.fullmatch(scoring) is not None
    return (0.0, 1.0) if is_unit else None


def check_continuous(space: SearchSpace, policy: str) -> None:
    """Raise unless the space is one dict of continuous distributions with a method ``ppf``.

    With a discrete distribution, different points could be equal candidates, fitted on the same
    splits.
    """
    spaces = space.distributions
    dimensions = [dimension_of(name, values) for name, values in spaces[0].items()]
    bad = [one.name for one in dimensions if not isinstance(one, Uniform | Continuous)]
    if len(spaces) > 1 or bad or not spaces[0]:
        got = f"other values of {', '.join(map(repr, bad))}" if bad else f"{len(spaces)} dicts"
        raise ValueError(
            "param_distributions must be one dict of continuous distributions for policy="
            f"{policy!r}, which halves ranges of numbers; got {got if spaces[0] else {}}. Give "
            "distributions such as scipy.stats.loguniform(1e-3, 1e3), or use another policy."
        )
