"""
Every policy on the same data
=============================

`BanditSearchCV` accepts any policy, by name or as an object. In this example, each policy chooses
among twelve support vector machines on the breast cancer data with 60 fits. Policies with rungs
use the number of rows as their resource, and HOO searches the space without a list of candidates.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import BanditSearchCV, BayesGapSearchCV
from sklearn_halving.policies import (
    UCBE,
    BernsteinStopping,
    DoublingHalving,
    ExponentialGapElimination,
    FiniteHorizonHalving,
    GapE,
    GapEV,
    GrowingHyperband,
    Hyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    MedianElimination,
    SuccessiveHalving,
    UGapEb,
    UGapEc,
)

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=0)
model = make_pipeline(StandardScaler(), SVC())
grid = {"svc__C": np.logspace(-3, 3, 4), "svc__gamma": np.logspace(-4, 0, 3)}
space = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-4, 1)}
N = 60

# %%
# Most policies of single fits can be passed by name. Those that need a constant of the problem
# are passed as objects.
by_name = [
    "uniform",
    "variance_halving",
    "successive_rejects",
    "anytime_successive_rejects",
    "adaptive_ucb_e",
    "adaptive_gap_e_v",
    "adaptive_ugap_eb",
    "variance_rejects",
    "budgeted_race",
    "successive_elimination",
    "hoeffding_race",
    "bernstein_race",
    "lucb",
    "lil_ucb",
    "ucb1",
    "ucb_v",
    "moss",
    "exp3",
    "hoo",
]
objects = [
    UCBE(N, a=2.0),
    GapE(N, a=2.0),
    GapEV(N, a=0.5),
    UGapEb(N, a=2.0),
    UGapEc(epsilon=0.02, max_pulls=N),
    BernsteinStopping(epsilon=0.05, max_pulls=N),
]

# %%
# Policies with rungs count units of a resource, here rows. Two of them choose the number of
# candidates themselves.
on_rows = {"resource": "n_samples", "min_resources": 20, "cv": 3}
rungs = [
    Hyperband(),
    SuccessiveHalving(n_arms=12, budget=1000),
    DoublingHalving(budget=2000),
    InfiniteHorizonHalving(n_arms=12, budget=3000),
    FiniteHorizonHalving(n_arms=12, budget=1500),
    InfiniteHyperband(budget=4000),
    GrowingHyperband(budget=1500),
]

# %%
# Now run all searches. A policy with a confidence issues a warning if its budget ended before it
# was certain.
searches = [
    (name, BanditSearchCV(model, space if name == "hoo" else grid, policy=name, n_fits=N))
    for name in by_name
]
searches += [
    (type(policy).__name__, BanditSearchCV(model, grid, policy=policy)) for policy in objects
]
# Two policies make many fits of each candidate: give them three candidates, and an epsilon so
# large that it guarantees nothing.
few = {"svc__C": [0.1, 1, 10]}
for policy in (
    MedianElimination(epsilon=2.0, delta=0.5, max_pulls=120),
    ExponentialGapElimination(delta=0.5, initial_epsilon=16.0, max_pulls=160),
):
    searches.append((type(policy).__name__, BanditSearchCV(model, few, policy=policy)))
searches += [
    (type(policy).__name__, BanditSearchCV(model, grid, policy=policy, **on_rows))
    for policy in rungs
]
searches.append(("BayesGap", BayesGapSearchCV(model, grid, n_fits=40)))

rows = []
for name, search in searches:
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        search.set_params(random_state=0).fit(X, y)
    params = {"svc__gamma": np.nan} | search.best_params_
    rows.append(
        {
            "policy": name,
            "C": f"{params['svc__C']:.3g}",
            "gamma": f"{params['svc__gamma']:.3g}",
            "fits": search.n_fits_,
            "score": round(float(search.best_score_), 4),
            "on new data": round(search.score(X_test, y_test), 4),
            "": "not sure" if any("before it reached" in str(w.message) for w in said) else "",
            "seconds": round(time.perf_counter() - start, 2),
        }
    )
table = pd.DataFrame(rows)
print(table.to_string(index=False))

# %%
# The plot shows the fits of each policy and the score of its choice on new data. On such an easy
# data set, most choices are equally good. The policies differ in the number of fits, especially
# those with wide bounds.
table = table.sort_values(["fits", "policy"], ascending=False)
figure, axes = plt.subplots(figsize=(7, 8), layout="constrained")
dots = axes.scatter(table["fits"], table["policy"], c=table["on new data"], cmap="viridis")
axes.hlines(table["policy"], 0, table["fits"], color="grey", linewidth=0.5, zorder=0)
axes.set(xlabel="fits", xlim=(0, None))
axes.tick_params(axis="y", labelsize="small")
figure.colorbar(dots, label="accuracy of the choice on new data", shrink=0.5)
plt.show()
