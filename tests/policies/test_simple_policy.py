"""A policy of one's own with two methods: in a simulation, in a search, and with failures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import Problem, Pull, SimplePolicy
from sklearn_halving.simulation import GaussianArms, simulate

Rewards = dict[int, np.ndarray]


@dataclass(frozen=True)
class EpsilonGreedy(SimplePolicy):
    epsilon: float = 0.3

    def next_arm(self, rewards: Rewards, rng: np.random.Generator) -> int:
        new = [arm for arm in rewards if not len(rewards[arm])]
        if new:
            return new[0]
        if rng.random() < self.epsilon:
            return int(rng.choice(list(rewards)))
        return self.choose(rewards)


class Fewest(SimplePolicy):
    def next_arm(self, rewards: Rewards, rng: np.random.Generator) -> int:
        return min(rewards, key=lambda arm: len(rewards[arm]))


def test_it_plays_in_a_simulation_and_greed_pays() -> None:
    arms = GaussianArms(means=[0.0, 0.3, 0.6, 1.0], sds=0.5)
    greedy = simulate(EpsilonGreedy(60), arms, n_problems=40, seed=1, checkpoints=[4, 60])
    even = simulate(Fewest(60), arms, n_problems=40, seed=1)
    assert greedy.mean_pulls.value == even.mean_pulls.value == 60
    first, last = greedy.checkpoint_is_mistake.mean(axis=0)
    assert last < first / 2
    assert greedy.simple_regret.value < 0.05 > even.simple_regret.value


def test_failed_arms_and_used_up_splits_are_left_out() -> None:
    seen: list[list[int]] = []

    class Spy(Fewest):
        def next_arm(self, rewards: Rewards, rng: np.random.Generator) -> int:
            seen.append(sorted(rewards))
            return super().next_arm(rewards, rng)

    policy = Spy(n_pulls=20)
    game = policy.start(Problem(n_arms=3, max_repetitions=2), seed=np.random.SeedSequence(0))
    pulled = []
    while not game.is_finished:
        [pull] = game.ask(10)
        assert not len(game.ask(10)), "waits for the reward"
        reward = np.nan if pull.arm == 0 else float(pull.arm)
        game.tell(pull, reward)
        pulled.append(pull)
    assert seen == [[0, 1, 2], [1, 2], [1, 2], [1, 2], [2]]
    assert pulled == [
        Pull(*pull) for pull in [(0, 1, 0), (1, 1, 0), (2, 1, 0), (1, 1, 1), (2, 1, 1)]
    ]
    assert game.recommend() == 2


@pytest.mark.parametrize("answer", [7, -1, None, 0.5])
def test_an_answer_that_is_no_arm_is_refused(answer: object) -> None:
    class Wrong(Fewest):
        next_arm = choose = lambda self, rewards, *rng: answer

    policy = Wrong(n_pulls=3)
    game = policy.start(Problem(n_arms=2))
    with pytest.raises(ValueError, match=r"^next_arm must return one of the arms in rewards, got"):
        game.ask(1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_it_plays_in_a_search(n_jobs: int) -> None:
    X, y = load_wine(return_X_y=True)
    grid = {"var_smoothing": np.logspace(-9, 1, 5)}
    policy = EpsilonGreedy(24, epsilon=0.2)
    search = BanditSearchCV(GaussianNB(), grid, policy=policy, random_state=0, n_jobs=n_jobs)
    with parallel_config("threading"):
        search.fit(X, y)
    assert search.n_fits_ == 24
    assert search.best_params_["var_smoothing"] < 1
    again = BanditSearchCV(GaussianNB(), grid, policy=policy, random_state=0).fit(X, y)
    assert search.history_["candidate"].tolist() == again.history_["candidate"].tolist()
    even = BanditSearchCV(GaussianNB(), grid, policy=Fewest(24), random_state=0).fit(X, y)
    assert 0 < even.best_probability_ <= 1
    split = [*range(0, 178, 2)], [1, 61, 151]
    few = BanditSearchCV(GaussianNB(), grid, policy=policy, cv=[split])
    assert few.fit(X, y).n_fits_ == 5, "each candidate once on the only split"
