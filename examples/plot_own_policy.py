"""
A policy of your own, in simulation and as a search
===================================================

A policy is a frozen dataclass, and plays a problem with a game. Three base classes have the
game: `SimplePolicy`, which decides with every reward in hand, `IndexPolicy`, which pulls the arm
with the largest index, and `PlannedPolicy`, which plans many pulls at a time. The same class plays
in `simulate`, and chooses the fits of a real search in `BanditSearchCV`.
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
    IndexPolicy,
    PlannedPolicy,
    SuccessiveRejects,
    UniformAllocation,
)
from sklearn_halving.simulation import GaussianArms, RecordedScores, simulate

# %%
# The policy
# ----------
# Only two arms matter: the one in the lead, and the one that is most likely to overtake it. The
# policy pulls whichever of the two has fewer pulls. It is an index policy that chooses between the
# two largest indices. The base class makes the first pulls, spends the budget, drops candidates
# that fail, and recommends the best mean.


@dataclass(frozen=True)
class LeaderAndRival(IndexPolicy):
    """Pull the less known of two: the best mean, and the best of the others with a bonus."""

    n_first: ClassVar[int] = 2

    n_pulls: int

    def select(self, arms, usable):
        mean = np.where(usable, arms.mean, -np.inf)
        leader = int(mean.argmax())
        hope = mean + (mean.max() - np.nanmedian(arms.mean)) / np.sqrt(arms.n)
        hope[leader] = -np.inf
        rival = int(hope.argmax())
        return rival if usable[rival] and arms.n[rival] < arms.n[leader] else leader


# %%
# Many pulls at a time
# --------------------
# A planned policy is a loop. It yields how often each arm is pulled before the next decision, and
# goes on when the rewards are known. A search makes all fits of a plan in parallel. This policy
# keeps the better half of the arms, twice.


@dataclass(frozen=True)
class TwoCuts(PlannedPolicy):
    """Pull all arms, the better half, and the better quarter, with a third of the pulls each."""

    n_pulls: int

    def play(self, game):
        for _ in range(3):
            n_each = self.n_pulls // 3 // max(game.alive.sum(), 1)
            yield game.within_splits(game.alive * n_each)
            if np.isnan(game.mean).all():  # no pull has worked
                return
            game.best = int(np.nanargmax(np.where(game.alive, game.mean, -np.inf)))
            game.alive &= game.mean >= np.nanmedian(game.mean[game.alive])


# %%
# In simulation
# -------------
# There are twenty arms, whose means are drawn again for each of a thousand problems. With the
# same seed, all policies play the same problems.
arms = GaussianArms(means=np.zeros(20), mean_sd=1, sds=2)
policies = [UniformAllocation(400), SuccessiveRejects(400), TwoCuts(400), LeaderAndRival(400)]
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
    for policy in (
        UniformAllocation(100),
        SuccessiveRejects(100),
        TwoCuts(100),
        LeaderAndRival(100),
    )
]
print(pd.DataFrame(rows)[["mistake_probability", "simple_regret", "simple_regret_error"]].round(5))
