"""The checks for policies, samplers and resources of others find planted mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import (
    NO_ARM,
    BasePolicy,
    BudgetedRace,
    IndexPolicy,
    Plan,
    Problem,
    Pull,
    open_plan,
)
from sklearn_halving.resources import Iterations, WholeFit
from sklearn_halving.samplers import RandomSampler, Told
from sklearn_halving.testing import check_policy, check_resource, check_sampler

# ------------------------------------------------------------------------------- policies


@dataclass
class InTurn:
    """A game that pulls the arms in turn."""

    policy: Any
    problem: Problem
    rewards: dict[Pull, float] = field(default_factory=dict)
    n_asked: int = 0

    @property
    def is_finished(self) -> bool:
        return len(self.rewards) == self.policy.n_pulls

    def next_pull(self) -> Pull:
        split, arm = divmod(self.n_asked, self.problem.n_arms)
        return Pull(arm, self.problem.max_level, split)

    def ask(self, max_pulls: int) -> Any:
        pulls = []
        while len(pulls) < max_pulls and self.n_asked < self.policy.n_pulls:
            pulls.append(self.next_pull())
            self.n_asked += 1
        return pulls

    def tell(self, pull: Pull, reward: float) -> None:
        self.rewards[pull] = reward

    def out(self) -> Any:
        return []

    def recommend(self) -> int:
        known = {pull: reward for pull, reward in self.rewards.items() if reward == reward}
        return max(known, key=lambda pull: (known[pull], pull)).arm if known else NO_ARM


@dataclass(frozen=True)
class Correct(BasePolicy):
    """A policy without a mistake; those below have one each."""

    n_pulls: int = 20
    order_free: ClassVar[bool] = True
    Game: ClassVar[type] = InTurn

    def plan(self, problem: Problem) -> Plan:
        return open_plan(problem, self.n_pulls)

    def start(self, problem: Problem, seed: Any = None) -> Any:
        return self.Game(self, problem)


class EndsEarly(Correct):
    class Game(InTurn):
        @property
        def is_finished(self) -> bool:
            return self.n_asked == self.policy.n_pulls


class LastIsBest(Correct):
    class Game(InTurn):
        def recommend(self) -> int:
            known = [pull for pull, reward in self.rewards.items() if reward > 0.5]
            return known[-1].arm if known else super().recommend()


class WrongShape(Correct):
    class Game(InTurn):
        def out(self) -> Any:
            return np.zeros((1, self.problem.n_arms), dtype=bool)


class CountsFromOne(Correct):
    class Game(InTurn):
        def next_pull(self) -> Pull:
            arm, level, split = super().next_pull()
            return Pull(arm + 1, level, split)


class AsksForLists(Correct):
    class Game(InTurn):
        def ask(self, max_pulls: int) -> Any:
            return [list(pull) for pull in super().ask(max_pulls)]


class AlwaysFirstSplit(Correct):
    class Game(InTurn):
        def next_pull(self) -> Pull:
            return super().next_pull()._replace(repetition=0)


class Remembers(Correct):
    n_games: ClassVar[int] = 0

    def start(self, problem: Problem, seed: Any = None) -> Any:
        Remembers.n_games += 1
        return InTurn(replace(self, n_pulls=10 + Remembers.n_games % 2), problem)


class PullsWhatIsOut(Correct):
    class Game(InTurn):
        def out(self) -> Any:
            return [0] if self.n_asked else []


class TooMany(Correct):
    def plan(self, problem: Problem) -> Plan:
        return open_plan(problem, self.n_pulls - 1)


class LikesFailures(Correct):
    class Game(InTurn):
        def recommend(self) -> int:
            return 0


class RecommendsOnce(Correct):
    class Game(InTurn):
        def recommend(self) -> int:
            best = super().recommend()
            self.rewards[Pull(4, self.problem.max_level, 0)] = 2.0
            return best


class AnyBatch(Correct):
    class Game(InTurn):
        def ask(self, max_pulls: int) -> Any:
            return super().ask(10)


class Waits(Correct):
    class Game(InTurn):
        def ask(self, max_pulls: int) -> Any:
            return super().ask(max_pulls) if self.n_asked < 10 else []


class OnlyFirst(Correct):
    class Game(InTurn):
        def next_pull(self) -> Pull:
            return Pull(0, self.problem.max_level, self.n_asked)


class ForgetsLast(Correct):
    class Game(InTurn):
        def next_pull(self) -> Pull:
            split, arm = divmod(self.n_asked, self.problem.n_arms - 1)
            return Pull(arm, self.problem.max_level, split)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda: OnlyFirst(10), r"never pulls arms \[1, 2, 3, 4\] of 5"),
        (ForgetsLast, r"never pulls arms \[4\] of 5, though its budget is enough"),
        (EndsEarly, r"finished with \d+ pulls in flight.* Let is_finished wait"),
        (LastIsBest, "come in another order. Set order_free to False"),
        (WrongShape, r"out\(\) .*Return a list of arms from 0 to 4, or a mask of shape \(5,\)"),
        (CountsFromOne, "must ask for arms from 0 to 4, got 5"),
        (AsksForLists, r"asks for \[0, 9, 0\]. Return Pull\(arm, level, repetition\)"),
        (AlwaysFirstSplit, r"Pull\(.*\) twice. Its j-th pull is repetition j"),
        (Remembers, "plays differently the second time. Keep what changes in the game"),
        (PullsWhatIsOut, r"asks for Pull\(.*, whose arm is in out"),
        (TooMany, "asks for more than the 19 pulls it plans"),
        (LikesFailures, "recommends 0. Recommend an arm that did not fail"),
        (RecommendsOnce, "plays differently the second time.* change nothing in recommend"),
        (AnyBatch, r"answers ask\(\d\) with 10 pulls"),
        (Waits, "is not finished, but neither asks nor waits"),
    ],
)
def test_finds_the_mistake_of_a_policy(policy: Callable[[], Correct], message: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=message):
        check_policy(policy())


def test_a_correct_policy_passes() -> None:
    check_policy(Correct())
    check_policy(Correct(7), Problem(3, max_repetitions=4), seed=3)
    check_policy(Correct(3))  # too few pulls for five arms
    check_policy(BudgetedRace())  # is told times


def test_an_index_without_a_budget_would_never_end_and_is_refused() -> None:
    class Greedy(IndexPolicy):
        def index(self, arms: Any) -> Any:
            return arms.mean

    search = BanditSearchCV(RandomForestClassifier(9), {"max_depth": [1, 2]}, policy=Greedy())
    message = "'Greedy' object has no attribute 'n_pulls'"
    with pytest.raises(AttributeError, match=message):
        check_policy(Greedy())
    with pytest.raises(AttributeError, match=message):
        search.fit(np.eye(9), [0, 1, 0] * 3)


def test_a_class_is_no_policy() -> None:
    with pytest.raises(TypeError, match="got the class Correct"):
        check_policy(Correct)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- samplers


class Sampled:
    """A sampler without a mistake; those below have one each."""

    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Sequence[dict[str, Any]]:
        return RandomSampler().propose(told, n, rng)


class OneLess(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        return super().propose(told, n - 1, rng)


class Outside(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        return [params | {"a": 1e9} for params in super().propose(told, n, rng)]


class Repeats(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        return told.candidates[:n] or super().propose(told, n, rng)


class Adds(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        proposed = super().propose(told, n, rng)
        told.keys.update(told.space.key(params) for params in proposed)
        return proposed


class OwnRandomness(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        return super().propose(told, n, np.random.default_rng())


class LatestScore(Sampled):
    def propose(self, told: Told, n: int, rng: np.random.Generator) -> Any:
        arms, _ = told.at_level(1)
        return super().propose(told, n, np.random.default_rng(arms[-1:]))


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (OneLess, "proposes 4 candidates instead of n=5"),
        (Outside, "which is outside of the space"),
        (Repeats, "twice, or one of told.keys"),
        (Adds, "changes told. The search adds candidates"),
        (OwnRandomness, "for the same scores.* Use no randomness but rng"),
        (LatestScore, "told in another order.* sort by arm or score"),
    ],
)
def test_finds_the_mistake_of_a_sampler(sampler: Any, message: str) -> None:
    check_sampler(Sampled())
    with pytest.raises(AssertionError, match=message):
        check_sampler(sampler())
    with pytest.raises(AssertionError, match="must be an object with the method propose"):
        check_sampler(sampler)


# ------------------------------------------------------------------------------ resources


class Halves(Iterations):
    def to_level(self, amount: float) -> int:
        return round(amount / 2)


class Zero(Iterations):
    def level_range(self, estimator: Any, n_train: int, n_rows_needed: int) -> Any:
        return 0, 9


class Sets(Iterations):
    def can_continue(self, estimator: Any) -> bool:
        estimator.set_params(warm_start=True)
        return True


class NoNumber(Iterations):
    def to_amount(self, level: int) -> float:
        return float("nan")


class KeepsParameter(Iterations):
    def params_at(self, level: int) -> dict[str, Any]:
        return {}


class GrowsTooMuch(Iterations):
    def train(
        self, estimator: Any, X: Any, y: Any, level: int, previous_level: int, p: Any
    ) -> Any:
        return super().train(estimator, X, y, level + previous_level, previous_level, p)


class Randomly(BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        self.value_ = np.random.default_rng().random()
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.value_)


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (Halves, "has the amounts .* and to_level lead back"),
        (NoNumber, "has the amounts .* Let amounts grow with levels"),
        (Zero, "has the level range 0, 9. Return whole numbers"),
        (Sets, "changes the estimator"),
        (
            KeepsParameter,
            r"changes parameters of the estimator that params_at\(\d\) does not have",
        ),
        (GrowsTooMuch, "another model through the levels"),
    ],
)
def test_finds_the_mistake_of_a_resource(resource: Any, message: str) -> None:
    forest = RandomForestClassifier(9, random_state=0)
    with pytest.raises(AssertionError, match=message):
        check_resource(resource("n_estimators"), forest)


def test_the_answers_of_a_resource_are_those_that_a_search_accepts() -> None:
    class NoTarget(Iterations):
        def for_target(self, y: Any) -> Any:
            return None

    with pytest.raises(ValueError, match=r"for_target.* must be of type Resource"):
        check_resource(NoTarget("n_estimators"), RandomForestClassifier(9, random_state=0))


def test_training_that_cannot_be_repeated_is_said_to_be_inexact() -> None:
    with pytest.raises(AssertionError, match=r"another model .* use exact=False"):
        check_resource(WholeFit(), Randomly())
    check_resource(WholeFit(), Randomly(), exact=False)
