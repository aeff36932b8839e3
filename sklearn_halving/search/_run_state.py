"""The state of a running `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from sklearn_halving._formatting import budget_text, counted, raised
from sklearn_halving._typing import Estimator, Params
from sklearn_halving._unstable_joblib import count_workers
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._known_fits import KnownFits
from sklearn_halving.execution._prices import Prices
from sklearn_halving.execution._pull_loop import PullLog
from sklearn_halving.execution._store import FitKey, FitStore
from sklearn_halving.execution._types import End, EvaluationTask, Outcome, PullLimits
from sklearn_halving.policies._arrays import BoolArray
from sklearn_halving.policies._protocol import (
    Believes,
    Guarantees,
    PlaysStages,
    StopsEarly,
    alive_arms,
)
from sklearn_halving.policies._types import Belief, Pull
from sklearn_halving.policies.bases._base_policy import is_outside
from sklearn_halving.resources._boosters import fix_rounds
from sklearn_halving.resources._resources import is_number_of_rounds
from sklearn_halving.search._parameters import Reward, SharedParameters
from sklearn_halving.search.preparing._candidates import SampledCandidates
from sklearn_halving.search.preparing._plan import Prepared

N_COMPARED = 2
"""Least number of common splits on which two candidates can be as good within the noise."""
N_SILENT = 3
"""Warn during the search after this many failures, if several candidates failed."""
N_NEW = 10
"""Warn, too, if one candidate has a score, and this number of others failed."""
IN_WORDS = {"interrupt": "Ctrl-C", "callback": "a callback", "error": "an exception"}
"""Reasons for the end of a search that are not rules of a policy or a budget."""
RESUME = "Call fit again to go on. Finished fits are not made again."


@dataclass
class RunLog(PullLog):
    """All outcomes so far, with the stage of each pull if the policy has stages.

    Parameters
    ----------
    game : object
        The game, which may have stages.
    working, failing : set[int]
        The candidates with a score, and those with a fit that failed or was not scored.
    is_said : bool
        Whether the warning was given.
    """

    game: Any = field(kw_only=True)
    stages: dict[Pull, int] = field(default_factory=dict)
    working: set[int] = field(default_factory=set)
    failing: set[int] = field(default_factory=set)
    is_said: bool = False

    def record(self, outcome: Outcome) -> None:
        """Add an outcome. A stage ends after the policy has been told all of its pulls."""
        super().record(outcome)
        if isinstance(self.game, PlaysStages):
            self.stages[outcome.pull] = self.game.stage
        error = outcome.problem
        (self.failing if error else self.working).add(outcome.pull.arm)
        if error and not self.is_said and len(self.working) < 2:
            self._report(error)

    def _report(self, error: str) -> None:
        """Warn if the fits that failed suggest that all others will fail."""
        others, n_fits, but = self.failing - self.working, len(self.outcomes), ""
        self.is_said = n_fits >= N_SILENT and len(others) > 1
        if self.working:
            self.is_said, but = len(others) >= N_NEW, f", but for candidate {min(self.working)},"
            n_fits = sum(pull.arm in others for pull in self.outcomes)
        if self.is_said:
            warn_user(
                f"All {n_fits} fits so far{but} have failed or could not be scored, the last one "
                f"with {raised(error)}. The search goes on; Ctrl-C ends it.",
                FitFailedWarning,
            )


@dataclass(frozen=True)
class Answer:
    """What a policy says at the end: its choice, which arms are in play, and what it believes.

    The choice is a negative number if there is none, and a policy without a model has no belief.
    """

    best: int
    is_in_play: BoolArray
    belief: Belief | None


@dataclass(frozen=True)
class Run(Prepared):
    """What is known before the first pull, and the log of a running `fit`.

    Parameters
    ----------
    task : EvaluationTask
        The task of the workers.
    log : RunLog
        The outcomes so far.
    prices : Prices
        The times of the fits, and the time budget.
    budget : str
        The time budget as the user wrote it; empty if there is none.
    n_workers : int
        Number of workers of the backend.
    known : KnownFits or None
        The fits that are not made again, if there is a checkpoint or a warm start.
    known_first : list of pairs of Pull and FitKey
        The known fits that a policy that plans by time is told at the start.
    """

    task: EvaluationTask
    log: RunLog
    prices: Prices
    budget: str
    n_workers: int
    known: KnownFits | None
    known_first: list[tuple[Pull, FitKey]]

    def answer(self) -> Answer:
        """Return what the policy says at the end, which it is asked once."""
        belief = self.game.belief() if isinstance(self.game, Believes) else None
        alive = alive_arms(self.game, self.plan.problem.n_arms)
        return Answer(self.best_arm, alive, belief)

    @property
    def reward(self) -> Reward:
        """Function that returns the reward of an outcome."""
        return self.setup.inputs.reward

    def end(self, reason: str) -> End:
        """Return why the search ended: by its budget if that plans it, or has cut it short."""
        rules: Sequence[str] = ()
        if reason == "policy":
            rules = self.game.ended_by() if isinstance(self.game, StopsEarly) else ()
            is_short = self.plan.uses_time or self.log.abandoned
            reason = "time_budget" if is_short and not rules else reason
        is_early = reason != "policy"
        return End(reason, IN_WORDS.get(reason, self.budget) if is_early else " or ".join(rules))

    def stopped_message(self, end: End) -> str:
        """Return the message of a search that was stopped: what it did, and how to resume it."""
        fits = counted(len(self.outcomes), "fit")
        candidates = counted(len({outcome.pull.arm for outcome in self.outcomes}), "candidate")
        way_out = "" if self.known is None else f" {RESUME}"
        choice = "None of them has a score, so none is chosen."
        if self.telling:
            choice = "The best of those with a score is chosen."
        return (
            f"The search was stopped by {end.text} after {fits} of {candidates}. {choice}{way_out}"
        )

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """All outcomes at the end, sorted by pull: sums do not depend on which returned first."""
        return [self.log.outcomes[pull] for pull in sorted(self.log.outcomes)]

    @cached_property
    def telling(self) -> set[tuple[int, int]]:
        """The levels and splits on which a candidate has a score. Others say nothing."""
        return {o.pull[1:] for o in self.outcomes if not np.isnan(self.reward(o))}

    @cached_property
    def overlap(self) -> float:
        """How much the training sets overlap, which limits what more splits can tell.

        The ratio ``n_test / n_train`` of Nadeau and Bengio is for training sets that contain all
        rows outside the test set. Smaller training sets overlap less, so they must not increase
        it.
        """
        n_test = float(np.mean([outcome.n_test for outcome in self.outcomes]))
        return n_test / max(1.0, self.setup.splits.n_rows - n_test)

    @cached_property
    def best_arm(self) -> int:
        """The arm that the policy recommends at the end, or one that is as good."""
        return self.refittable(self.recommended())

    def refittable(self, best: int) -> int:
        """Return an arm; if there is no time to refit it, another that is as good, if any."""
        can_refit = self.prices.can_refit
        if can_refit(best):
            return best
        top, scores = self.plan.problem.max_level, dict[int, dict[int, float]]()
        for (arm, level, split), outcome in self.log.outcomes.items():
            if level == top:
                scores.setdefault(arm, {})[split] = self.reward(outcome)
        lost = {
            arm: _lost(scores.get(best, {}), own) for arm, own in scores.items() if can_refit(arm)
        }
        arm = min(lost, key=lambda arm: (lost[arm], arm), default=best)
        return arm if lost.get(arm, inf) < inf else best

    def recommended(self) -> int:
        """Return the arm that the policy recommends now.

        Of arms with the same scores on common splits, a model may prefer any; the first is taken.
        """
        arm = int(self.game.recommend())
        if not isinstance(self.game, Believes):
            return arm
        scores: dict[int, dict[tuple[int, ...], float]] = {arm: {}}
        for pull, outcome in self.log.outcomes.items():
            scores.setdefault(pull.arm, {})[pull[1:]] = self.reward(outcome)
        best = scores[arm].items()
        return min(a for a, own in scores.items() if a == arm or (best and best <= own.items()))

    @property
    def metric(self) -> str:
        """The name of the metric that guides the search."""
        return self.reward.metric_of(next(iter(self.log.outcomes.values())).test_scores)


def begin_run(
    search: SharedParameters,
    prepared: Prepared,
    task: EvaluationTask,
    store: FitStore | None,
    limits: PullLimits,
    times: tuple[float, float],
) -> Run:
    """Return a search that can run. ``times`` are its beginning and its deadline."""
    setup, plan, candidates = prepared.setup, prepared.plan, prepared.candidates
    cost = setup.splits.refit_cost if search.refit else 0.0
    known, first = None if store is None else KnownFits(task, store, limits), []
    if known is not None and plan.uses_time and isinstance(candidates, SampledCandidates):
        first = candidates.start_with(known, plan.problem, setup.inputs.reward)
    return Run(
        **vars(prepared),
        task=task,
        log=RunLog(game=prepared.game),
        prices=Prices(
            search.estimator.get_params(),
            plan.problem.max_level,
            *times,
            refit_cost=cost,
            plans_time=plan.uses_time,
        ),
        budget=budget_text(search.time_budget),
        n_workers=count_workers(search.n_jobs),  # later, a cluster may not answer
        known=known,
        known_first=first,
    )


def _lost(best: dict[int, float], other: dict[int, float]) -> float:
    """Return what is lost by another arm; infinity if it is not as good within the noise."""
    common = best.keys() & other.keys()
    if len(common) < N_COMPARED:
        return inf
    lost = np.array([best[split] - other[split] for split in sorted(common)])
    error = lost.std(ddof=1) / len(lost) ** 0.5
    return float(lost.mean()) if lost.mean() <= error else inf


def fix_rounds_of_winner(
    estimator: Estimator, task: EvaluationTask, outcomes: Sequence[Outcome], row: tuple[int, int]
) -> tuple[int, Params]:
    """Set the number of rounds of a booster that stopped early; return level and fit parameters.

    It is the median number of rounds on all splits of a row, which is an arm and a level. The
    refit uses all rows of the data, so that none are left to decide when to stop.
    """
    rounds = [
        outcome.n_rounds
        for outcome in outcomes
        if outcome.pull[:2] == row and outcome.n_rounds is not None
    ]
    if not rounds:
        return row[1], task.fit_params
    n_rounds = round(float(np.median(rounds)))
    counts_rounds = any(map(is_number_of_rounds, task.resource.params_at(row[1])))
    level = n_rounds if counts_rounds else row[1]
    return level, fix_rounds(estimator, n_rounds, task.fit_params)


def report_doubt(run: Run) -> None:
    """Warn if scores are outside of the range that a policy assumes, or its choice is in doubt."""
    policy, reward_range = run.policy, run.plan.reward_range
    rewards = np.array([run.reward(outcome) for outcome in run.outcomes])
    outside = rewards[is_outside(reward_range, rewards)]
    if len(outside):
        warn_user(
            f"{len(outside)} scores are outside reward_range={reward_range}, such as "
            f"{outside[0]:.6g}, so the confidence bounds of the policy are not valid. Give a "
            "policy object with the reward_range of the score."
        )
    if not run.game.is_finished or not isinstance(run.game, Guarantees):
        return
    if not run.game.is_confident():
        warn_user(
            f"{type(policy).__name__} used its {len(run.outcomes)} fits before it reached its "
            "confidence level, so the choice is not guaranteed. Give it more fits."
        )
