"""BanditSearchCV, a search with any policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Annotated, Literal

import numpy as np
from sklearn.base import is_classifier

from sklearn_halving import _typing as t
from sklearn_halving import policies
from sklearn_halving.policies._types import Policy, PolicyDescription
from sklearn_halving.policies.bases._base_policy import BasePolicy, as_policy
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive import AdaptiveSearchCV
from sklearn_halving.search._shared_parameters import (
    FitInputs,
    PositiveFloat,
    PositiveInt,
    Reward,
    SharedParameters,
    document_search,
)
from sklearn_halving.search.preparing._arriving import (
    BRACKETS_IN_PLAY,
    PointSampler,
    resolve_sampler,
)
from sklearn_halving.search.preparing._levels import choose_levels
from sklearn_halving.search.preparing._setup import Setup, make_plan
from sklearn_halving.search.preparing._space import (
    MAX_LISTED,
    SearchSpace,
    is_discrete,
    search_space,
)
from sklearn_halving.search.preparing._splits import fixed_splits, streamed_splits

POLICIES: dict[str, str] = {
    "adaptive_gap_e_v": "AdaptiveGapEV",
    "adaptive_ucb_e": "AdaptiveUCBE",
    "adaptive_ugap_eb": "AdaptiveUGapEb",
    "anytime_successive_rejects": "AnytimeSuccessiveRejects",
    "bernstein_race": "BernsteinRace",
    "exp3": "EXP3",
    "hoeffding_race": "HoeffdingRace",
    "incumbent_race": "IncumbentRace",
    "lil_ucb": "LilUCB",
    "lucb": "LUCB",
    "moss": "MOSS",
    "successive_elimination": "SuccessiveElimination",
    "successive_rejects": "SuccessiveRejects",
    "ucb1": "UCB1",
    "ucb_v": "UCBV",
    "uniform": "UniformAllocation",
    "variance_halving": "VarianceHalving",
    "variance_rejects": "VarianceRejects",
}
"""Names and classes of the policies that need only a number of fits or a confidence."""
POINT_POLICIES: dict[str, str] = {"hoo": "HOO"}
"""Policies that create their candidates during the search, from continuous distributions."""
LEVEL_POLICIES: dict[str, str] = {"asynchronous_halving": "AsynchronousHalving"}
"""Policies that need a number of fits and a resource."""
EXAMPLE_FITS = 1000
NAMES = (*POLICIES, *LEVEL_POLICIES, *POINT_POLICIES)
UNIT_SCORES = re.compile(
    "(accuracy|average_precision|balanced_accuracy|f1|jaccard|precision|recall|roc_auc"
    "|top_k_accuracy)(_.*)?"
)
"""Names of scores between 0 and 1, also with suffixes such as ``_macro``."""


@document_search
class BanditSearchCV(AdaptiveSearchCV):
    """Search over parameters with any policy, given by name or as an object.

    Use it for all parameters of a paper, to compare policies, or to run a policy of your own: any
    class with the methods of `~sklearn_halving.policies.Policy`. For everyday use, start with
    HyperbandSearchCV or VarianceHalvingSearchCV.

    Most policies choose a single candidate for the next fit. They use an unlimited number of
    splits, as VarianceHalvingSearchCV does: a fit is one candidate on one train/test split, and
    the j-th fit of every candidate is on split j. Policies that play rungs, such as
    `~sklearn_halving.policies.Hyperband`, require a ``resource`` and use the splits of ``cv``, as
    HyperbandSearchCV does.

    Parameters
    ----------
    policy : str or Policy, default="successive_rejects"
        An object from `sklearn_halving.policies`, an object of your own, or one of the names
        ``"uniform"``, ``"variance_halving"``, ``"successive_rejects"``,
        ``"anytime_successive_rejects"``, ``"adaptive_ucb_e"``, ``"adaptive_gap_e_v"``,
        ``"adaptive_ugap_eb"``, ``"successive_elimination"``, ``"hoeffding_race"``,
        ``"bernstein_race"``, ``"lucb"``, ``"lil_ucb"``, ``"ucb1"``, ``"ucb_v"``, ``"moss"``,
        ``"exp3"``, ``"variance_rejects"``, ``"incumbent_race"``, ``"asynchronous_halving"`` and
        ``"hoo"``. ``"hoo"`` creates its candidates during the search, so that
        ``param_distributions`` must be one dict of continuous distributions with a method
        ``ppf``, and ``n_candidates`` must not be set.
    n_candidates : "exhaust" or int, default="exhaust"
        Number of candidates, which are drawn without replacement. ``"exhaust"`` uses the whole
        grid. From distributions, it draws one candidate for every 5 fits, or 10 if ``n_fits`` is
        ``"auto"``. Policies that plan their brackets have their own number.
    n_fits : "auto" or int, default="auto"
        Maximum number of fits, for a policy given by name. ``"auto"`` is 5 for each candidate, and
        50 for ``"hoo"``. A policy object has its own budget.
    sampler : {"random", "gaussian_process"} or Sampler, default="random"
        How candidates are generated, see HyperbandSearchCV. Samplers other than ``"random"`` are
        for policies to which candidates may arrive later: those that play rungs, and
        ``"incumbent_race"``. Each candidate is generated when its turn comes, from the scores so
        far.
    min_resources : "auto", float or str, default="auto"
        Smallest resource of a fit, for policies that play rungs; see HyperbandSearchCV. All
        other policies use ``max_resources`` only.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in HyperbandSearchCV for a policy that plays rungs, as in BayesGapSearchCV for
        `~sklearn_halving.policies.BayesGap`, and as in VarianceHalvingSearchCV for all others.
    best_probability_ : float
        Probability that the chosen candidate is the best one. NaN, like ``best_regret_``, if too
        few splits were repeated to estimate the noise. Neither is available for BayesGap.
    best_regret_ : float
        Expected difference between the score of the best candidate and that of the chosen one.

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
    >>> search.fit(X, y).n_fits_ <= 20
    True
    >>> policy = Hyperband(factor=2, brackets=[1], select="all_rungs")
    >>> search = BanditSearchCV(tree, grid, policy=policy, resource="n_samples", random_state=0)
    >>> bool(search.fit(X, y).best_score_ > 0.8)
    True
    """

    policy: Annotated[str | Policy, object]
    n_candidates: Literal["exhaust"] | PositiveInt
    sampler: Annotated[str | Sampler, object]
    min_resources: PositiveFloat | str

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
        n_candidates: int | Literal["exhaust"] = "exhaust",
        n_fits: int | Literal["auto"] = "auto",
        sampler: str | Sampler = "random",
        resource: str | Resource | None = None,
        min_resources: float | str = "auto",
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
        described = description_of(self.policy)
        if self.resource is None and described.plays_levels:
            raise ValueError(
                f"resource must be given for policy={self.policy!r}, which plays rungs; got "
                "None. Give the name of a resource, such as 'n_samples'."
            )
        resource = self._resource()
        space = search_space(self, resource, inputs)
        sampler = resolve_sampler(self.sampler)
        creates_points = described.n_dimensions is not None
        if creates_points:
            self._check_points(space, sampler)
            sampler = PointSampler()
        make_splits = streamed_splits
        if described.plays_levels or creates_points:
            make_splits = fixed_splits
        splits = make_splits(self, inputs, resource, seed)
        limits = self.min_resources, self.max_resources
        levels = choose_levels(limits, self.estimator, resource, splits, factor=described.factor)
        if not described.plays_levels:
            levels = replace(levels, smallest=levels.largest)
        n_arms = 1 if creates_points else self._count(space, sampler, described)
        n_fits = self._count_fits(n_arms, sampler, splits, self._least_n_fits(n_arms))
        return Setup(inputs, space, sampler, resource, splits, levels, n_arms, n_fits)

    def _count(
        self, space: SearchSpace, sampler: Sampler | None, described: PolicyDescription
    ) -> int:
        """Return the number of candidates of a policy without brackets."""
        n_arms = self._count_candidates(space, sampler, self._least_n_fits)
        if n_arms > MAX_LISTED and described.arms_may_arrive and not isinstance(self.n_fits, str):
            return int(self.n_fits)  # the policy does not try more candidates
        return n_arms

    def _least_n_fits(self, n_arms: int) -> int:
        if self.policy == "variance_halving":
            return policies.VarianceHalving(1).least_n_pulls(n_arms)
        return n_arms

    def _check_points(self, space: SearchSpace, sampler: Sampler | None) -> None:
        """Raise if a parameter does not suit a policy that creates its candidates."""
        check_continuous(space, str(self.policy))
        given = {
            "sampler": sampler is not None,
            "n_candidates": not isinstance(self.n_candidates, str),
            "initial_candidates": bool(space.initial),
        }
        for name, is_given in given.items():
            if is_given:
                raise self._left_out(name, "creates its candidates during the search")

    def _left_out(self, name: str, why: str) -> ValueError:
        """Return the error for a parameter that a policy does not take."""
        return ValueError(
            f"{name}={getattr(self, name)!r} must be left out for policy={self.policy!r}, which "
            f"{why}."
        )

    def _policy(self, setup: Setup) -> BasePolicy:
        makes_candidates = setup.sampler is not None
        given = self.policy
        if isinstance(given, str):
            given = self._named_policy(given, setup)
        elif not isinstance(self.n_fits, str):
            raise self._left_out("n_fits", "has its own budget")
        policy = as_policy(
            given,
            reward_range=range_of_steering_score(self),
            overlap=setup.splits.overlap,
            n_splits=setup.splits.n_repetitions,
            brackets_in_play=BRACKETS_IN_PLAY if makes_candidates else None,
        )
        described, levels = policy.describe(), setup.levels
        plans = policy.schedule(levels.smallest, levels.largest, setup.space.size) is not None
        if plans and not isinstance(self.n_candidates, str):
            raise self._left_out("n_candidates", "plans how many candidates it starts")
        if described.n_dimensions not in (None, len(setup.space.names)):
            raise ValueError(
                f"n_dimensions must be {len(setup.space.names)}, the number of parameters; got "
                f"policy={given!r}. Give HOO(n_dimensions={len(setup.space.names)}, ...)."
            )
        if makes_candidates and not described.arms_may_arrive and not described.n_dimensions:
            why = "chooses among given candidates, unlike 'incumbent_race'"
            raise self._left_out("sampler", why)
        # Most policies reject a budget that is too small. A huge grid is not listed before.
        with naming_n_fits(self.policy, setup):
            policy.start(make_plan(policy, setup).problem, seed=np.random.SeedSequence(0))
        return policy

    def _named_policy(self, name: str, setup: Setup) -> BasePolicy:
        """Return the policy with this name, with a budget."""
        described, splits, n_arms = description_of(name), setup.splits, setup.n_candidates
        n_splits: int | None = max(splits.n_named, policies.IncumbentRace.n_splits)
        if described.n_dimensions is not None:
            n_splits = splits.n_repetitions
        elif not described.plays_levels:
            self._check_splits(setup, self._least_n_fits(n_arms))
        with naming_n_fits(name, setup):
            n_dimensions = len(setup.space.names)
            return policy_by_name(name, n_arms, setup.n_fits, n_splits, n_dimensions)

    def _warn_of_candidates(self, setup: Setup) -> None:
        if not description_of(self.policy).plays_levels:
            super()._warn_of_candidates(setup)


@contextmanager
def naming_n_fits(policy: str | Policy, setup: Setup) -> Iterator[None]:
    """Add the name and ``n_fits`` to an error of a policy that the search has created."""
    try:
        yield
    except ValueError as error:
        if not isinstance(policy, str):
            raise
        n_splits = setup.splits.n_repetitions
        has_all = n_splits is not None and setup.n_fits >= setup.n_candidates * n_splits
        way_out = " For more fits, use a cv with more splits." if has_all else ""
        text = f"policy={policy!r} with n_fits={setup.n_fits}: {error}{way_out}"
        raise ValueError(text) from error


def policy_by_name(
    name: str, n_arms: int, n_fits: int, n_splits: int | None, n_dimensions: int = 1
) -> BasePolicy:
    """Return the policy, with the budget and the splits of the search."""
    if n_arms == 1 and name in POLICIES:  # only its score is needed
        return policies.UniformAllocation(n_fits)
    known = {
        "n_pulls": n_fits,
        "max_pulls": n_fits,
        "n_rounds": n_fits // n_arms,
        "n_splits": n_splits,
        "n_dimensions": n_dimensions,
    }
    policy_class = getattr(policies, (POLICIES | LEVEL_POLICIES | POINT_POLICIES)[name])
    names = {field.name for field in fields(policy_class)}
    policy: BasePolicy = policy_class(**{key: known[key] for key in known.keys() & names})
    return policy


def description_of(policy: str | Policy) -> PolicyDescription:
    """Return the description of a policy that is given by name or as an object.

    A name has the description of an example, which holds for any number of fits and candidates
    except for ``max_pulls``.
    """
    if isinstance(policy, str):
        if policy not in NAMES:
            raise ValueError(
                f"policy must be one of {', '.join(map(repr, sorted(NAMES)))}, or an object from "
                f"sklearn_halving.policies, such as Hyperband(factor=4); got {policy!r}."
            )
        policy = policy_by_name(policy, 2, EXAMPLE_FITS, policies.IncumbentRace.n_splits)
    try:
        return as_policy(policy).describe()
    except TypeError as error:
        raise ValueError(
            "policy must be a name or an object with the methods of "
            f"sklearn_halving.policies.Policy; got {policy!r}. Names are "
            f"{', '.join(map(repr, sorted(NAMES)))}."
        ) from error


def range_of_steering_score(search: SharedParameters) -> tuple[float, float] | None:
    """Return the range of the score that guides the search, or None if it is not known."""
    scoring, classifies = search.scoring, is_classifier(search.estimator)
    if isinstance(scoring, list | tuple | set | Mapping):
        of_name = scoring if isinstance(scoring, Mapping) else {name: name for name in scoring}
        if not of_name:
            return None  # scikit-learn raises an error later
        scoring = of_name[Reward(search.refit, None).metric_of(dict(of_name))]
    is_unit = scoring is None and classifies
    is_unit |= isinstance(scoring, str) and UNIT_SCORES.fullmatch(scoring) is not None
    return (0.0, 1.0) if is_unit else None


def check_continuous(space: SearchSpace, policy: str) -> None:
    """Raise unless the space is one dict of continuous distributions with a method ``ppf``.

    With a discrete distribution, different points could be equal candidates, fitted on the same
    splits.
    """
    spaces = space.distributions
    bad = [n for n, v in spaces[0].items() if not hasattr(v, "ppf") or is_discrete(v)]
    if len(spaces) > 1 or bad or not spaces[0]:
        got = f"other values of {', '.join(map(repr, bad))}" if bad else f"{len(spaces)} dicts"
        raise ValueError(
            "param_distributions must be one dict of continuous distributions for policy="
            f"{policy!r}, which halves ranges of numbers; got {got if spaces[0] else {}}. Give "
            "distributions such as scipy.stats.loguniform(1e-3, 1e3), or use another policy."
        )
