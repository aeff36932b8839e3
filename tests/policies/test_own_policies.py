"""What a policy of one's own takes: 25 lines from scratch, 15 lines for a planned one."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import NO_ARM, BasePolicy, PlannedPolicy, Pull, open_plan
from sklearn_halving.simulation import GaussianArms, simulate


@dataclass(frozen=True)
class Softmax(BasePolicy):
    n_pulls: int

    def plan(self, problem):
        return open_plan(problem, self.n_pulls, window=1)

    def start(self, problem, seed=None):
        return SoftmaxGame(self, problem, np.random.default_rng(seed))


class SoftmaxGame:
    def __init__(self, policy, problem, rng):
        self.policy, self.problem, self.rng = policy, problem, rng
        self.sums, self.counts = np.zeros((2, problem.n_arms))

    is_finished = property(lambda self: self.counts.sum() >= self.policy.n_pulls)

    def ask(self, max_pulls):
        weights = np.exp(5 * self.sums / np.maximum(self.counts, 1))
        arm = int(self.rng.choice(len(weights), p=weights / weights.sum()))
        return [Pull(arm, self.problem.max_level, int(self.counts[arm]))]

    def tell(self, pull, reward):
        self.sums[pull.arm] += reward
        self.counts[pull.arm] += 1

    def out(self):
        return []

    def recommend(self):
        return (
            int((self.sums / np.maximum(self.counts, 1)).argmax()) if self.counts.any() else NO_ARM
        )


@dataclass(frozen=True)
class TwoRounds(PlannedPolicy):
    n_pulls: int

    def play(self, game):
        yield game.alive * (self.n_pulls // 2 // game.n_arms)
        game.alive = game.mean >= np.nanmedian(game.mean)
        yield game.alive * (self.n_pulls // 2 // game.alive.sum())
        game.best = int(np.nanargmax(game.mean))


def n_lines(*classes: type) -> int:
    text = "".join(map(inspect.getsource, classes))
    return sum(bool(line.strip()) for line in text.splitlines())


@pytest.mark.parametrize(
    ("policy", "classes", "most"),
    [(Softmax(60), (Softmax, SoftmaxGame), 25), (TwoRounds(60), (TwoRounds,), 15)],
    ids=["from scratch", "planned"],
)
def test_it_runs_in_a_simulation_and_in_a_search(policy: Any, classes: Any, most: int) -> None:
    assert n_lines(*classes) <= most
    result = simulate(policy, GaussianArms([0.0, 0.5, 3.0], sds=0.5), n_problems=50)
    assert result.mistake_probability.value < 0.1
    X, y = load_wine(return_X_y=True)
    grid = {"var_smoothing": [1e-9, 1e-3, 10.0]}
    search = BanditSearchCV(GaussianNB(), grid, policy=policy, random_state=0).fit(X, y)
    assert 40 < search.n_fits_ <= 60
    assert search.best_params_["var_smoothing"] < 1
