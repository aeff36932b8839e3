"""BanditSearchCV, a search with any policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from sklearn_halving import _typing as t
from sklearn_halving import policies
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.policies._types import Policy
from sklearn_halving.policies.bases._base_policy import BasePolicy, as_policy, name_of
from sklearn_halving.policies.bases._parameter_checks import is_outside
from sklearn_halving.resources import Resource
from sklearn_halving.samplers import Sampler
from sklearn_halving.search._adaptive_search import AdaptiveSearchCV
from sklearn_halving.search._base_search import BaseBanditSearchCV
from sklearn_halving.search._run import Run
from sklearn_halving.search._search_results import ResultTable
from sklearn_halving.search._shared_parameters import (
    Fraction,
    PositiveFloat,
    PositiveInt,
    document_search,
)
from sklearn_halving.search.preparing._candidates import PointSampler
from sklearn_halving.search.preparing._inputs import FitInputs
from sklearn_halving.search.preparing._levels import Levels, choose_levels
from sklearn_halving.search.preparing._named_policies import (
    check_continuous,
    description_of,
    point_policy,
    policy_by_name,
    range_of_steering_score,
)
from sklearn_halving.search.preparing._preparation import Preparation, Setup
from sklearn_halving.search.preparing._search_space import MAX_LISTED, SearchSpace
from sklearn_halving.search.preparing._splitting import SearchSplits, fixed_splits
from sklearn_halving.search.reporting._tables import ResultRows


@document_search
class BanditSearchCV(AdaptiveSearchCV):
    """Search over parameters with any policy, given by name or as an object.

    Use it to compare policies, or to run a policy of your own: any class with the methods of
    `~sklearn_halving.policies.Policy`. For other purposes, start with HyperbandSearchCV or
    VarianceHalvingSearchCV.

    Most policies choose a single candidate for the next fit. They use an unlimited number of
    splits, as VarianceHalvingSearchCV does: a fit is one candidate on one train/test split, and
    the j-th fit of every candidate is on split j. Policies that play rungs
    (`~sklearn_halving.policies.Hyperband`) require a ``resource`` and use the splits of ``cv``, as
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
        ``"hoo"``. ``"asynchronous_halving"`` requires a ``resource``. ``"hoo"`` creates its
        candidates during the search: ``param_distributions`` must then be one dict of
        continuous distributions with a method ``ppf``, ``n_candidates`` must not be set, and
        the splits are those of ``cv``.
    n_candidates : "exhaust" or int, default="exhaust"
        Number of candidates, which are drawn without replacement. ``"exhaust"`` uses the whole
        grid. From distributions, it draws one candidate for every 5 fits of ``n_pulls``, or 10 if
        ``n_pulls`` is ``"auto"``.
    n_pulls : "auto" or int, default="auto"
        Maximum number of fits, for a policy given by name. ``"auto"`` is 5 for each candidate, and
        50 for ``"hoo"``. A policy with a confidence level may need fewer fits. A policy object has
        its own budget.
    sampler : {"random", "evolution", "kernel_density", "gaussian_process"} or Sampler, \
default="random"
        How candidates are generated, see HyperbandSearchCV. Samplers other than ``"random"`` are
        for ``policy="incumbent_race"``: each new candidate is generated when its turn comes, from
        the scores so far. With ``n_candidates="exhaust"``, ``n_pulls`` is the only limit (50 for
        ``"auto"``).
    confidence : float, default=0.95
        Confidence level at which a policy given by name stops, if it is one that stops when the
        best candidate is known.
    reward_range : "auto" or (float, float), default="auto"
        Smallest and largest possible score, for policies whose bounds depend on it. ``"auto"`` is
        from 0 to 1 for accuracy, roc_auc, f1 and other scores with that range. With several
        metrics, it applies to the one that guides the search.
    min_resources : "auto", float or str, default="auto"
        Smallest resource of a fit, for policies that play rungs; see HyperbandSearchCV. All
        other policies use ``max_resources`` only.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in HyperbandSearchCV for a policy that plays rungs, and as in VarianceHalvingSearchCV
        for all other policies.

    Raises
    ------
    ValueError
        Before any fit: if the name of the policy is unknown, or if the policy has parameters
        without defaults and must be given as an object; if the budget is too small for the number
        of candidates; or if the policy needs the range of the score and it is not known.

    Warns
    -----
    UserWarning
        If a policy with a confidence level reached ``n_pulls`` before it knew the best candidate,
        or if a score was outside ``reward_range``.
    sklearn.exceptions.FitFailedWarning
        If some fits failed.

    See Also
    --------
    sklearn_halving.policies : The policies, with their papers.

    References
    ----------
    .. [1] Audibert, Bubeck and Munos. Bandit view on noisy optimization. In: Optimization for
       Machine Learning, MIT Press 2011 (successive rejects, UCB-E, races).
       https://doi.org/10.7551/mitpress/8996.001.0001

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_halving import BanditSearchCV
    >>> X, y = load_wine(return_X_y=True)
    >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
    >>> search = BanditSearchCV(tree, grid, policy="successive_rejects", random_state=0)
    >>> search.fit(X, y).n_fits_ <= 20
    True
    >>> bool(search.best_score_ > 0.8)
    True
    """

    policy: Annotated[str | Policy, object]
    n_candidates: Literal["exhaust"] | PositiveInt
    sampler: Annotated[str | Sampler, object]
    confidence: Fraction
    reward_range: Literal["auto"] | Annotated[tuple[float, float], "array-like"]
    min_resources: PositiveFloat | str

    def __init__(
        self,
        estimator: t.Estimator,
        param_distributions: t.ParamDistributions,
        *,
        policy: str | Policy = "successive_rejects",
        n_candidates: int | Literal["exhaust"] = "exhaust",
        n_pulls: int | Literal["auto"] = "auto",
        sampler: str | Sampler = "random",
        confidence: float = 0.95,
        reward_range: tuple[float, float] | Literal["auto"] = "auto",
        resource: str | Resource | None = None,
        min_resources: float | str = "auto",
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

    def _make_splits(
        self, inputs: FitInputs, resource: Resource, seed: np.random.SeedSequence
    ) -> SearchSplits:
        described = description_of(self.policy)
        if described.plays_levels or described.n_dimensions is not None:
            return fixed_splits(self, inputs, resource, seed)
        return super()._make_splits(inputs, resource, seed)

    def _resolve_resource(self) -> Resource:
        if self.resource is None and description_of(self.policy).plays_levels:
            raise ValueError(
                f"resource must be given for policy={self.policy!r}, which plays rungs; got "
                "None. Give the name of a resource, such as 'n_samples'."
            )
        return super()._resolve_resource()

    def _make_levels(
        self, space: SearchSpace, sampler: Sampler | None, resource: Resource, splits: SearchSplits
    ) -> Levels:
        described = description_of(self.policy)
        levels = choose_levels(self, resource, splits, factor=described.factor)
        return levels if described.plays_levels else replace(levels, smallest=levels.largest)

    def _resolve_sampler(self, space: SearchSpace) -> Sampler | None:
        sampler = super()._resolve_sampler(space)
        creates_points = description_of(self.policy).n_dimensions is not None
        return PointSampler() if sampler is None and creates_points else sampler

    def _make_policy(self, setup: Setup) -> BasePolicy:
        if isinstance(self.policy, str):
            policy: Policy = self._named_policy(self.policy, setup)
        else:
            policy = self._own_policy(self.policy, setup)
        complete = as_policy(policy, reward_range=self._known_range())
        is_given = setup.sampler and not isinstance(setup.sampler, PointSampler)
        if is_given and not complete.describe().arms_may_arrive:
            raise ValueError(
                f"sampler must be 'random' for policy={self.policy!r}, which chooses among given "
                f"candidates; got {self.sampler!r}. Use policy='incumbent_race', or leave it out."
            )
        return complete

    def _named_policy(self, name: str, setup: Setup) -> BasePolicy:
        """Return the policy with this name, with a budget."""
        described = description_of(name)
        if described.n_dimensions is not None:
            n_dimensions = self._count_dimensions(setup.space)
            n_pulls = self._count_pulls(1, setup)
            return point_policy(name, n_pulls, n_dimensions, setup.splits.n_repetitions)
        n_arms = self._count_candidates(setup)
        n_pulls = self._count_pulls(n_arms, setup)
        if not described.plays_levels:
            self._check_splits(n_arms, setup.splits)
        return policy_by_name(name, n_arms, n_pulls, self.confidence, setup.splits.n_named)

    def _own_policy(self, policy: Policy, setup: Setup) -> Policy:
        """Return a policy that is given as an object."""
        if not isinstance(self.n_pulls, str):
            raise ValueError(
                f"n_pulls={self.n_pulls} must be left out if policy is an object, which has its "
                f"own budget; got policy={policy!r}. Set the budget of the policy."
            )
        described = description_of(policy)
        if described.n_dimensions is None:
            return policy
        n_dimensions = self._count_dimensions(setup.space)
        if described.n_dimensions != n_dimensions:
            raise ValueError(
                f"n_dimensions must be {n_dimensions}, the number of parameters; "
                f"got policy={policy!r}. Give HOO(n_dimensions={n_dimensions}, ...)."
            )
        return as_policy(policy, n_splits=setup.splits.n_repetitions)

    def _count_dimensions(self, space: SearchSpace) -> int:
        """Return the number of dimensions of the space of a policy that creates its candidates."""
        n_dimensions = check_continuous(space, str(self.policy))
        if not isinstance(self.n_candidates, str):
            raise ValueError(
                f"n_candidates={self.n_candidates} must be left out for policy={self.policy!r}, "
                "which creates its candidates during the search. Leave it out, and give n_pulls."
            )
        if space.initial:
            raise ValueError(
                f"initial_candidates must be None for policy={self.policy!r}, which chooses all "
                f"points itself; got {self.initial_candidates!r}. Leave it out, or use another "
                "policy."
            )
        return n_dimensions

    def _count_candidates(self, setup: Setup) -> int:
        n_arms = super()._count_candidates(setup)
        may_arrive = description_of(self.policy).arms_may_arrive
        if n_arms > MAX_LISTED and may_arrive and not isinstance(self.n_pulls, str):
            return int(self.n_pulls)  # the policy does not try more candidates
        return n_arms

    def _least_n_pulls(self, n_arms: int) -> int:
        if self.policy == "variance_halving":
            return policies.VarianceHalving(1).least_n_pulls(n_arms)
        return n_arms

    def _known_range(self) -> tuple[float, float] | None:
        if not isinstance(self.reward_range, str):
            low, high = self.reward_range
            return float(low), float(high)
        return range_of_steering_score(self)

    def _draw_candidates(self, prepared: Preparation, rng: np.random.RandomState) -> t.Candidates:
        problem, description = prepared.plan.problem, prepared.plan.description
        most = problem.n_arms if description.max_pulls is None else description.max_pulls
        may_arrive = prepared.setup.sampler or description.arms_may_arrive
        if most < problem.n_arms and not may_arrive:
            # Most policies reject such a budget. It is checked before a huge grid is listed.
            prepared.policy.start(problem, seed=np.random.SeedSequence(0))
        return super()._draw_candidates(prepared, rng)

    def _make_results(self, run: Run, rows: ResultRows) -> ResultTable:
        if run.prepared.plan.schedule is not None:
            return BaseBanditSearchCV._make_results(self, run, rows)
        return super()._make_results(run, rows)

    def _report(self, run: Run) -> None:
        super()._report(run)
        if run.prepared.plan.schedule is None:
            _warn_of_range(run)
            _warn_of_doubt(run)

    def _warn_of_candidates(self, prepared: Preparation, candidates: t.Candidates) -> None:
        if prepared.plan.schedule is None:
            super()._warn_of_candidates(prepared, candidates)


def _warn_of_doubt(run: Run) -> None:
    """Warn if a policy with a confidence level ended before it reached that level."""
    policy = run.prepared.policy
    is_confident = policy.is_confident(run.state)
    if is_confident is not None and policy.is_finished(run.state) and not is_confident:
        warn_user(
            f"{name_of(policy)} used its {len(run.outcomes)} fits before it reached its "
            "confidence level, so the choice is not guaranteed. Give it more fits."
        )


def _warn_of_range(run: Run) -> None:
    """Warn if scores are outside the range that the policy assumes."""
    reward_range = run.prepared.plan.description.reward_range
    rewards = np.array([run.reward(outcome) for outcome in run.outcomes])
    outside = rewards[is_outside(reward_range, rewards)]
    if len(outside):
        warn_user(
            f"{len(outside)} scores are outside reward_range={reward_range}, such as "
            f"{outside[0]:.6g}, so the confidence bounds of the policy are not valid. Set "
            "reward_range to the range of the score."
        )
