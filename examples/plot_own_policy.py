"""
A policy of your own, in simulation and as a search
===================================================

A policy is one class with seven methods. Its decisions are based on a state object, so that the
same class can play thousands of problems at a time in `simulate` and choose the fits of a real
search in `BanditSearchCV`.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import (
    NO_ARM,
    Problem,
    Pulls,
    SuccessiveRejects,
    UniformAllocation,
    open_plan,
)
from sklearn_halving.simulation import GaussianArms, RecordedScores, simulate

# %%
# The policy
# ----------
# Only two arms matter: the one in the lead, and the one that is most likely to overtake it. The
# policy pulls whichever of the two has fewer pulls. Arrays have shape ``(n_problems, n_arms)``.
# In a search the first axis is missing, and ``axis=-1`` works for both.


@dataclass
class Tally:
    """What has been seen of each arm."""

    problem: Problem
    n_pulls: np.ndarray
    reward_sum: np.ndarray
    n_asked: int = 0
    n_told: int = 0

    def mean(self) -> np.ndarray:
        return self.reward_sum / np.maximum(self.n_pulls, 1)


@dataclass(frozen=True)
class LeaderAndRival:
    """Pull the less known of two: the best mean, and the best of the others with a bonus."""

    n_pulls: int
    n_first: int = 2
    order_free: ClassVar[bool] = False  # what comes next depends on what came before

    def plan(self, problem):
        return open_plan(problem, self.n_pulls)  # a single round

    def start(self, problem, *, batch_shape=(), seed=None):
        shape = (*batch_shape, problem.n_arms)
        return Tally(problem, np.zeros(shape, dtype=int), np.zeros(shape))

    def ask(self, state, max_pulls):
        if state.n_asked > state.n_told:  # in a search: wait for the fit under way
            nothing = np.empty((*state.n_pulls.shape[:-1], 0), dtype=int)
            return Pulls(nothing, nothing, nothing)
        arm = self._next_arm(state)[..., np.newaxis]
        repetition = np.take_along_axis(state.n_pulls, arm, axis=-1)  # the arm's next split
        state.n_asked += 1
        return Pulls(arm, np.full_like(arm, state.problem.max_level), repetition)

    def _next_arm(self, state):
        if state.n_told < self.n_first * state.problem.n_arms:
            return state.n_pulls.argmin(axis=-1)
        mean = state.mean()
        leader = mean.argmax(axis=-1)[..., np.newaxis]
        spread = mean.max(axis=-1, keepdims=True) - np.median(mean, axis=-1, keepdims=True)
        hope = mean + spread / np.sqrt(state.n_pulls)
        np.put_along_axis(hope, leader, -np.inf, axis=-1)
        pair = np.concatenate([leader, hope.argmax(axis=-1)[..., np.newaxis]], axis=-1)
        less_known = np.take_along_axis(state.n_pulls, pair, axis=-1).argmin(axis=-1)
        return np.take_along_axis(pair, less_known[..., np.newaxis], axis=-1)[..., 0]

    def tell(self, state, pulls, rewards):
        rewards = np.nan_to_num(rewards, nan=-1e9)  # a failed fit: worse than every score
        for table, change in ((state.n_pulls, 1), (state.reward_sum, rewards)):
            before = np.take_along_axis(table, pulls.arm, axis=-1)
            np.put_along_axis(table, pulls.arm, before + change, axis=-1)
        state.n_told += len(pulls)

    def is_finished(self, state):
        return state.n_told >= self.n_pulls

    def is_alive(self, state):
        return np.ones(state.n_pulls.shape, dtype=bool)

    def recommend(self, state):
        known = np.where(state.n_pulls > 0, state.mean(), -np.inf)
        return np.where(state.n_told > 0, known.argmax(axis=-1), NO_ARM)


# %%
# In simulation
# -------------
# There are twenty arms, whose means are drawn again for each of a thousand problems. With the
# same seed, all policies play the same problems.
arms = GaussianArms(means=np.zeros(20), mean_sd=1, sds=2)
policies = [UniformAllocation(400), SuccessiveRejects(400), LeaderAndRival(400)]
checkpoints = {LeaderAndRival: [50, 100, 200]}  # the others answer in the end
results = [
    simulate(policy, arms, n_problems=1000, checkpoints=checkpoints.get(type(policy), []))
    for policy in policies
]
print(pd.DataFrame([result.summary() for result in results]).round(3).to_string())

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for result in results:
    result.plot(axes)
axes.set_title("20 Gaussian arms: regret after 400 pulls")
plt.show()

# %%
# As a search
# -----------
# The same class chooses real fits: a pull is one candidate on one split.
X, y = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), SVC())
grid = {"svc__C": np.logspace(-2, 3, 5), "svc__gamma": np.logspace(-4, 0, 4)}
search = BanditSearchCV(pipeline, grid, policy=LeaderAndRival(100), random_state=0).fit(X, y)
print(f"{search.n_fits_} fits: {search.best_params_}, score {search.best_score_:.4f}")

# %%
# The scores recorded by a search are an environment for simulations. All twenty candidates on
# twenty splits each are replayed five hundred times, to see how often each policy makes the
# right choice on these data.
full = BanditSearchCV(pipeline, grid, policy="uniform", n_fits=400, random_state=1).fit(X, y)
recorded = RecordedScores.from_history(full.history_, shuffle=True, reward_range=(0, 1))
rows = [
    simulate(policy, recorded, n_problems=500).summary()
    for policy in (UniformAllocation(100), SuccessiveRejects(100), LeaderAndRival(100))
]
print(pd.DataFrame(rows)[["mistake_probability", "simple_regret", "simple_regret_error"]].round(5))
