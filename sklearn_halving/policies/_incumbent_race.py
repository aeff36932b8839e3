"""A race of new arms against the incumbent, on its splits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from sklearn_halving._checks import Count, NotNegative
from sklearn_halving.policies._incumbent_contest import Contest, RaceRules
from sklearn_halving.policies._types import ClosedRung, PolicyDescription, Problem
from sklearn_halving.policies.bases._separate_games import SeparateGames, SeparateState
from sklearn_halving.policies.noise._additive_model import fit_additive_model


@dataclass(frozen=True)
class IncumbentRace(SeparateGames):
    """Race each arm against the best arm so far, on the splits of the latter.

    The best arm so far is the incumbent. The first arm is the first incumbent. The other arms
    enter in their order. Before each of them, the incumbent is pulled on one more split, until it
    has five, and then before every fifth of them, until it has all splits. A new arm is pulled on
    the splits of the incumbent in random order, one after the other, or several at a time while it
    leads. It is dropped when its mean difference from the incumbent is below zero by more
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

    n_pulls: Count
    n_splits: Count = 10
    min_splits: Count = 3
    z: NotNegative = 1.0
    pulls_in_flight: Count = 4

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy. Arms may be created when first pulled."""
        return replace(super().describe(problem), arms_may_arrive=True)

    def _new_game(self, problem: Problem, rng: np.random.Generator) -> Contest:
        n_splits = min(self.n_splits, problem.max_repetitions or self.n_splits)
        rules = RaceRules(n_splits, self.min_splits, self.z, self.pulls_in_flight)
        entrants = list(range(problem.n_arms))
        return Contest(rules, problem.max_level, int(self.n_pulls), rng, entrants)

    def rungs_before(self, state: SeparateState, place: int) -> list[ClosedRung]:
        """Return the mean rewards of all arms of a single problem so far.

        They include dropped arms, without the rewards that came after an arm was dropped, and
        are adjusted for the effects of the splits. Failed arms have NaN. The result does not
        depend on ``place``, the new arm.
        """
        contest = cast(Contest, state.games[0])
        arms = np.array(sorted(contest.rewards), dtype=np.int64)
        failed = np.array(sorted(contest.dropped - contest.rewards.keys()), dtype=np.int64)
        means = np.full(len(arms) + len(failed), np.nan)
        if len(arms):
            n_splits = 1 + max(split for own in contest.rewards.values() for split in own)
            table = np.full((len(arms), n_splits), np.nan)
            for row, arm in zip(table, arms.tolist(), strict=True):
                row[list(contest.rewards[arm])] = list(contest.rewards[arm].values())
            means[: len(arms)] = fit_additive_model(table, ~np.isnan(table)).mean
        return [ClosedRung(np.concatenate([arms, failed]), contest.level, means)]
