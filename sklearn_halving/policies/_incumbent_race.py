"""A race of new arms against the incumbent, one split at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sklearn_halving.policies._incumbent_contest import Contest, RaceRules
from sklearn_halving.policies._types import (
    NO_ARM,
    BoolArray,
    FloatArray,
    IntArray,
    PolicyDescription,
    Problem,
    Pulls,
    Seed,
    Shape,
)
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._bracket_policy import ClosedRung
from sklearn_halving.policies.bases._parameter_checks import (
    check_budget,
    check_count,
    check_not_negative,
)
from sklearn_halving.policies.noise._additive_model import fit_additive_model


@dataclass
class RaceState:
    """State of the races of a batch of problems.

    Parameters
    ----------
    n_arms : int
    batch_shape : tuple of int
    contests : list of Contest
        One for each problem, in row-major order.
    """

    n_arms: int
    batch_shape: Shape
    contests: list[Contest]


@dataclass(frozen=True)
class IncumbentRace(BasePolicy):
    """Race each arm against the best arm so far, on the splits of the latter.

    The best arm so far is the incumbent. The first arm is the first incumbent. The other arms
    enter in their order. Before each of them, the incumbent is pulled on one more split, until it
    has all splits. A new arm is pulled on the splits of the incumbent, one after the other in
    random order. It is dropped when its mean difference from the incumbent is below zero by more
    than ``z`` standard errors, or not above zero after all of these splits. Otherwise it becomes
    the incumbent after all of these splits, if there are at least ``min_splits`` of them or if
    it leads by two standard errors. A poor arm thus costs one or two pulls, and the best arm is
    pulled on all splits. The policy is for arms in random order, and for arms that are created
    one after the other.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together. The pulls that the incumbent still needs to
        reach ``n_splits`` splits are reserved for it.
    n_splits : int, default=10
        Number of splits on which the recommended arm is pulled, if ``n_pulls`` allows and the
        problem has as many splits.
    min_splits : int, default=3
        Number of splits on which the first incumbent is pulled at the start, and after which a
        new arm may become the incumbent without a clear lead.
    z : float, default=1.0
        Number of standard errors by which a new arm must be behind to be dropped early.
    pulls_in_flight : int, default=4
        Maximum number of pulls in flight, and of new arms that race at the same time. The result
        depends on it, but not on the number of workers.

    Notes
    -----
    The standard error of a mean of n differences uses the pooled standard deviation of all
    differences so far around the means of their arms, because the standard deviation of an arm
    with one pull is unknown. It is the pooled standard deviation divided by the square root of n.
    An arm that fails once is dropped.

    References
    ----------
    Hutter, Hoos and Leyton-Brown. Sequential model-based optimization for general algorithm
    configuration. LION 5, 2011 (the procedure Intensify). Lopez-Ibanez et al. The irace package.
    Operations Research Perspectives 3, 2016. Audibert, Bubeck and Munos. Bandit view on noisy
    optimization, 2011, section 16.3 (races).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import IncumbentRace, Problem
    >>> policy = IncumbentRace(n_pulls=150)
    >>> state = policy.start(Problem(n_arms=30), seed=np.random.SeedSequence(0))
    >>> rng = np.random.default_rng(0)
    >>> means = rng.permutation(30)
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=4)
    ...     policy.tell(state, pulls, rng.normal(means[pulls.arm]))
    >>> int(means[policy.recommend(state)])
    29
    """

    n_pulls: int
    n_splits: int = 10
    min_splits: int = 3
    z: float = 1.0
    pulls_in_flight: int = 4

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_budget("n_pulls", self.n_pulls, 1, "to try an arm")
        check_count("n_splits", self.n_splits)
        check_count("min_splits", self.min_splits)
        check_count("pulls_in_flight", self.pulls_in_flight)
        check_not_negative("z", self.z, "Use 1, the default.")

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy. Arms may be created when first pulled."""
        return replace(super().describe(problem), arms_may_arrive=True)

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> RaceState:
        """Return the state before the first pull."""
        root = seed or np.random.SeedSequence()
        n_splits = min(self.n_splits, problem.max_repetitions or self.n_splits)
        rules = RaceRules(n_splits, self.min_splits, self.z, self.pulls_in_flight)
        contests = []
        for i in range(prod(batch_shape)):
            own = root
            if batch_shape:
                own = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i))
            entrants = list(range(problem.n_arms))
            rng = np.random.default_rng(own)
            contests.append(Contest(rules, problem.max_level, int(self.n_pulls), rng, entrants))
        return RaceState(problem.n_arms, batch_shape, contests)

    def ask(self, state: RaceState, max_pulls: int) -> Pulls:
        """Return one pull for each problem; none if the policy has to wait for rewards."""
        asked = [
            contest.ask() if max_pulls > 0 and contest.n_open < self.pulls_in_flight else None
            for contest in state.contests
        ]
        n = int(any(pull is not None for pull in asked))
        table = np.array([pull or (NO_ARM, 0, 0) for pull in asked], dtype=np.int64)
        columns = table[:, :, np.newaxis][..., :n]
        return Pulls(*(columns[:, i].reshape(*state.batch_shape, n) for i in range(3)))

    def tell(self, state: RaceState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, in the order in which the pulls were requested."""
        columns = [np.asarray(column).reshape(len(state.contests), -1) for column in pulls]
        told = np.asarray(rewards, dtype=np.float64).reshape(columns[0].shape)
        for i, contest in enumerate(state.contests):
            own = Pulls(*(column[i] for column in columns))
            known = told[i][own.arm != NO_ARM].tolist()
            for pull, reward in zip(own.each(), known, strict=True):
                contest.tell(pull, reward)

    def is_finished(self, state: RaceState) -> bool:
        """Return whether all races are finished."""
        return all(contest.is_finished for contest in state.contests)

    def is_alive(self, state: RaceState) -> BoolArray:
        """Return which arms have not been dropped."""
        alive = np.ones((len(state.contests), state.n_arms), dtype=bool)
        for row, contest in zip(alive, state.contests, strict=True):
            row[list(contest.dropped)] = False
        return alive.reshape(*state.batch_shape, state.n_arms)

    def rungs_before(self, state: RaceState, place: int) -> list[ClosedRung]:
        """Return the mean rewards of all arms of a single problem so far.

        They include dropped arms, and are adjusted for the effects of the splits. Failed arms
        have NaN. The result does not depend on ``place``, the new arm.
        """
        contest = state.contests[0]
        arms = np.array(sorted(contest.rewards), dtype=np.int64)
        failed = np.array(sorted(contest.dropped - contest.rewards.keys()), dtype=np.int64)
        means = np.full(len(arms) + len(failed), np.nan)
        if len(arms):
            table = np.full((len(arms), contest.rules.n_splits), np.nan)
            for row, arm in zip(table, arms.tolist(), strict=True):
                row[list(contest.rewards[arm])] = list(contest.rewards[arm].values())
            means[: len(arms)] = fit_additive_model(table, ~np.isnan(table)).mean
        return [ClosedRung(np.concatenate([arms, failed]), contest.level, means)]

    def recommend(self, state: RaceState) -> IntArray:
        """Return the incumbent; ``NO_ARM`` if no arm has a reward."""
        best = [contest.best() for contest in state.contests]
        return np.array(best, dtype=np.int64).reshape(state.batch_shape)
