"""Successive rejects: one arm is rejected after each phase (Audibert, Bubeck and Munos)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Shape
from sklearn_halving.policies._types import Problem, Pull, Pulls, Stage
from sklearn_halving.policies.bases._gap_rule import TIE
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._planned_pulls import PlannedPolicy, PlannedState, new_state
from sklearn_halving.policies.bases._ranking import best_known, keep_best


class Phase(NamedTuple):
    """One plan: every arm in play is pulled ``n_each`` times, then ``n_kept`` arms are kept.

    ``n_kept`` is None if the budget ends in the middle of a phase. ``revives`` is True if all
    arms are in play again after the phase.
    """

    n_each: int
    n_kept: int | None
    revives: bool = False


def phase_lengths(n_arms: int, n_pulls: int) -> tuple[int, ...]:
    """Return the number of pulls of an arm in play at the end of phases 1 to K - 1.

    ``n_k = ceil((n - K) / (log_bar(K) (K + 1 - k)))`` with ``log_bar(K) = 1/2 + sum of 1/i for
    i = 2..K``, in exact fractions.

    Examples
    --------
    >>> phase_lengths(n_arms=10, n_pulls=1000)
    (41, 46, 51, 59, 68, 82, 102, 136, 204)
    """
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    n_left = n_pulls - n_arms
    return tuple(ceil(n_left / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms))


def phases(n_arms: int, n_pulls: int) -> tuple[Phase, ...]:
    """Return the phases of one run of successive rejects. A single arm is pulled once."""
    if n_arms == 1:
        return (Phase(1, 1),)
    lengths = (0, *phase_lengths(n_arms, n_pulls))
    return tuple(Phase(b - a, n_arms - k) for k, (a, b) in enumerate(pairwise(lengths), start=1))


class PhasedPolicy(PlannedPolicy):
    """Base class of policies that play a fixed list of phases, stored in ``state.settings``."""

    def _stages(self, state: PlannedState) -> tuple[Stage, ...]:
        stages, problem = [], state.problem
        n_arms = problem.n_arms
        for phase in state.settings:
            stages.append(Stage(n_arms, n_arms * phase.n_each, problem.max_level))
            n_arms = problem.n_arms if phase.revives else phase.n_kept or n_arms
        return tuple(stages)

    def _counts(self, state: PlannedState) -> IntArray:
        n_each = np.where(contested(state), state.settings[state.step].n_each, 0)
        if state.problem.max_repetitions is not None:
            n_each = np.minimum(n_each, state.problem.max_repetitions - state.n_pulls_ever)
        return n_each

    def _conclude(self, state: PlannedState) -> None:
        phase, mean = state.settings[state.step], state.statistics.mean()
        state.best = best_known(state.alive, mean)
        if phase.n_kept is not None:
            state.alive = keep_best(mean, state.alive, phase.n_kept)
        if phase.revives:
            state.alive = ~np.isnan(state.statistics.reward_sum)


def contested(state: PlannedState) -> BoolArray:
    """Return which arms in play have a rival; a single arm counts until its first pull."""
    several: BoolArray = state.alive.sum(axis=1, keepdims=True) > 1
    if state.problem.n_arms == 1:
        several = state.n_pulls_ever == 0
    return state.alive & several


LARGEST_TABLE = 10**7
"""Largest number of arms times pulls of an arm for which `_Ahead` keeps a table of rewards."""


@dataclass
class _Ahead:
    """The survivors of a phase that are certain before all of its rewards are known.

    An arm survives if enough arms with complete rewards have smaller means, whatever the other
    rewards will be. Its pulls of the next phase can start.
    """

    all_ends: IntArray
    """Pulls of each arm in play at the end of each phase."""
    ends: IntArray
    """The same for the phases with pulls. Shape ``(n_phases,)``."""
    n_kept: IntArray
    """Arms that are in play in the next of these phases. Shape ``(n_phases,)``."""
    rewards: FloatArray
    """Shape ``(n_arms, n_most)``."""
    is_told: BoolArray
    """Shape ``(n_arms, n_most)``."""
    n_asked: IntArray
    """Shape ``(n_arms,)``."""

    @classmethod
    def of(cls, problem: Problem, plan: tuple[Phase, ...]) -> _Ahead | None:
        """Return the state before the first pull, or None if the table would be too large."""
        most = problem.max_repetitions
        ends = np.cumsum([phase.n_each for phase in plan])
        ends = ends if most is None else np.minimum(ends, most)
        is_last = np.append(ends[1:] > ends[:-1], True)
        shape = problem.n_arms, int(ends[-1])
        if shape[0] * shape[1] > LARGEST_TABLE:
            return None
        n_kept = np.array([phase.n_kept for phase in plan])
        told = np.zeros(shape, dtype=bool)
        n_asked = np.zeros(problem.n_arms, dtype=np.int64)
        return cls(ends, ends[is_last], n_kept[is_last], np.zeros(shape), told, n_asked)

    def certain_pulls(self, alive: BoolArray, end: int, n_most: int) -> list[tuple[int, int]]:
        """Return arms and repetitions of pulls after the phase that ends at ``end``."""
        pulls: list[tuple[int, int]] = []
        in_play = np.flatnonzero(alive)
        width = len(in_play)
        for phase in range(int(np.searchsorted(self.ends, end)), len(self.ends) - 1):
            end, next_end, n_kept = self.ends[phase], self.ends[phase + 1], self.n_kept[phase]
            in_play = in_play[self.is_told[in_play, :end].all(axis=1)]
            mean = self.rewards[in_play, :end].mean(axis=1)
            # NaN ranks below all numbers. Ties and infinite means wait for the end of the phase.
            in_order = np.sort(np.where(np.isnan(mean), -np.inf, mean))
            n_below = np.searchsorted(in_order, mean - TIE * np.abs(mean))
            in_play = in_play[np.isfinite(mean) & (n_below >= width - n_kept)]
            if len(in_play) < 2:  # the next phase may have no pulls
                break
            width = n_kept
            starts = np.maximum(self.n_asked[in_play], end).tolist()
            for arm, start in zip(in_play.tolist(), starts, strict=True):
                pulls.extend((arm, repetition) for repetition in range(start, next_end))
            if len(pulls) >= n_most:
                break
        return pulls[:n_most]


@dataclass(frozen=True)
class SuccessiveRejects(PhasedPolicy):
    """Reject the worst arm after each phase, so that the best arms get the most pulls.

    There are K - 1 phases. In phase k, every arm in play is pulled until it has ``n_k`` pulls
    (`phase_lengths`). Then the arm with the smallest mean is rejected. For rewards in [0, 1], the
    probability of a wrong answer is at most ``K (K - 1) / 2 exp(-(n - K) / (log_bar(K) H))``
    with ``H = sum of i / gap_i^2`` (theorem 16.4). The policy needs neither H nor the range of
    the rewards, and is a good choice for a small number of arms.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls of all arms together (n in the paper). It must be larger than the
        number of arms.

    References
    ----------
    Audibert, Bubeck and Munos. Best arm identification in multi-armed bandits. COLT 2010;
    Bandit view on noisy optimization, in Optimization for Machine Learning, 2011, Fig. 16.1.

    Examples
    --------
    >>> from sklearn_halving.policies import Problem, SuccessiveRejects
    >>> policy = SuccessiveRejects(n_pulls=10)
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=10)
    ...     print(pulls.arm)
    ...     policy.tell(state, pulls, rewards=pulls.arm / 10)
    [0 0 1 1 2 2]
    [1 2]
    >>> int(policy.recommend(state))
    2
    """

    n_pulls: int

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        check_n_pulls(self.n_pulls, problem.n_arms)
        plan = phases(problem.n_arms, self.n_pulls)
        state = new_state(problem, batch_shape, len(plan), plan)
        if not batch_shape and problem.n_arms > 2:
            state.ahead = _Ahead.of(problem, plan)
        return state

    def ask(self, state: PlannedState, max_pulls: int) -> Pulls:
        """Return up to ``max_pulls`` pulls, also of later phases for arms that surely survive."""
        ahead, plan = state.ahead, state.plan
        if ahead is None or plan is None:
            return super().ask(state, max_pulls)
        arm, repetition = plan.arm[0, plan.n_asked :], plan.repetition[0, plan.n_asked :]
        is_new = np.flatnonzero(repetition >= ahead.n_asked[arm])[: max(max_pulls, 0)]
        left = max_pulls - len(is_new)
        plan.n_asked += len(arm) if left > 0 else int(is_new.max(initial=-1)) + 1
        arm, repetition = arm[is_new], repetition[is_new]
        np.add.at(ahead.n_asked, arm, 1)
        if left > 0 and plan.n_told:
            end = int(plan.repetition.max()) + 1
            more = ahead.certain_pulls(state.alive[0], end, left)
            columns = np.array(more, dtype=np.int64).reshape(-1, 2).T
            np.add.at(ahead.n_asked, columns[0], 1)
            arm, repetition = np.append(arm, columns[0]), np.append(repetition, columns[1])
        return Pulls(arm, np.full(len(arm), state.level), repetition)

    def tell(self, state: PlannedState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, and close the plan if it is complete."""
        ahead, plan = state.ahead, state.plan
        if ahead is None or plan is None or not len(pulls):
            super().tell(state, pulls, rewards)
            return
        rewards = np.asarray(rewards, dtype=np.float64)
        ahead.rewards[pulls.arm, pulls.repetition] = rewards
        ahead.is_told[pulls.arm, pulls.repetition] = True
        is_now = pulls.repetition <= plan.repetition.max()
        super().tell(state, Pulls(*(column[is_now] for column in pulls)), rewards[is_now])

    def stage_of_pull(self, state: PlannedState, pull: Pull) -> int | None:
        """Return the stage of a pull, which may not have begun."""
        if state.ahead is None:
            return self.current_stage(state)
        return int(np.searchsorted(state.ahead.all_ends, pull.repetition, side="right"))

    def _open_step(self, state: PlannedState) -> None:
        super()._open_step(state)
        ahead, plan = state.ahead, state.plan
        if ahead is None or plan is None:
            return
        is_told = ahead.is_told[plan.arm[0], plan.repetition[0]]
        if is_told.any():
            arm, repetition = plan.arm[:, is_told], plan.repetition[:, is_told]
            rewards = ahead.rewards[arm, repetition]
            super().tell(
                state, Pulls(arm[0], np.full(len(arm[0]), state.level), repetition[0]), rewards[0]
            )


@dataclass(frozen=True)
class AnytimeSuccessiveRejects(PhasedPolicy):
    """Successive rejects in runs of increasing length, which can be stopped at any time.

    The first run ends after n pulls, where n is a power of two. Then all arms are in play again,
    a second run with another n pulls ends at time 2n, and so on. The mean of an arm is over all
    of its pulls in all runs. ``n_pulls`` only determines when the policy stops. Earlier decisions
    do not depend on it.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls. It must be at least the smallest power of two that is larger than
        the number of arms.

    References
    ----------
    Audibert, Bubeck and Munos. Bandit view on noisy optimization, in Optimization for Machine
    Learning, 2011, section 16.3.1.2.

    Examples
    --------
    >>> from sklearn_halving.policies import AnytimeSuccessiveRejects, Problem
    >>> policy = AnytimeSuccessiveRejects(n_pulls=8)
    >>> state = policy.start(Problem(n_arms=3))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=10)
    ...     print(pulls.arm, pulls.repetition)
    ...     policy.tell(state, pulls, rewards=pulls.arm / 10)
    [0 1 2] [0 0 0]
    [0 1 2] [1 1 1]
    """

    n_pulls: int

    def _first_state(self, problem: Problem, batch_shape: Shape) -> PlannedState:
        first = _first_run(problem.n_arms)
        least = first if problem.n_arms > 1 else 1
        check_budget("n_pulls", self.n_pulls, least, f"for a first run with {problem.n_arms} arms")
        plan = _runs(problem.n_arms, self.n_pulls) if problem.n_arms > 1 else phases(1, 1)
        return new_state(problem, batch_shape, len(plan), plan)

    def is_alive(self, state: PlannedState) -> BoolArray:
        """Return which arms may still be pulled: all valid arms before the last run."""
        alive = state.alive
        if any(phase.revives for phase in state.settings[state.step :]):
            alive = ~np.isnan(state.statistics.reward_sum)
        return alive.reshape(*state.batch_shape, -1).copy()


def check_n_pulls(n_pulls: int, n_arms: int) -> None:
    least = n_arms + 1 if n_arms > 1 else 1
    check_budget("n_pulls", n_pulls, least, f"to compare {n_arms} arms in {n_arms - 1} phases")


def _first_run(n_arms: int) -> int:
    return 1 << n_arms.bit_length()  # the smallest power of two that is larger


def _runs(n_arms: int, n_pulls: int) -> tuple[Phase, ...]:
    """Return the phases of all runs. The last run is cut off when the budget is spent."""
    plan: list[Phase] = []
    n_run, n_left = _first_run(n_arms), n_pulls
    n_end = n_run
    while True:
        for phase, width in zip(phases(n_arms, n_run), range(n_arms, 1, -1), strict=True):
            n_each = min(phase.n_each, n_left // width)
            n_left -= n_each * width
            if n_each < phase.n_each:
                return (*plan, Phase(n_each, None)) if n_each else _without_last_revival(plan)
            plan.append(phase)
        # The next run ends after twice as many pulls.
        plan[-1] = plan[-1]._replace(revives=True)
        n_run, n_end = n_end, 2 * n_end


def _without_last_revival(plan: list[Phase]) -> tuple[Phase, ...]:
    """Return the plan without reviving arms after its last phase."""
    return (*plan[:-1], plan[-1]._replace(revives=False))
