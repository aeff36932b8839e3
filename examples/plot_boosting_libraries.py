"""
LightGBM, XGBoost and CatBoost in one search
============================================

Three libraries grow boosted trees, and each has parameters of its own. Which suits the data is
one more choice for the search: a dict for each, and the number of trees as the resource, which
all three call ``n_estimators``. A model that goes on to the next rung keeps its trees and adds to
them, in each library by its own way to begin with an earlier model; nothing is to be set for it.

Needs ``lightgbm``, ``xgboost`` and ``catboost``.
"""

from time import process_time

import matplotlib.pyplot as plt
import pandas as pd
from _data import load_wine_quality
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from scipy.stats import loguniform, randint
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from xgboost import XGBRegressor

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import ParameterDisplay
from sklearn_halving.resources import Iterations

X, y = load_wine_quality()
X = X.assign(colour=X["colour"] == "red").astype(float)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# One thread for each model. Trees are grown one after another, and on data of this size a search
# makes better use of the cores with fits side by side, by its own ``n_jobs``.
light = LGBMRegressor(n_jobs=1, verbose=-1)
extreme = XGBRegressor(n_jobs=1)
cat = CatBoostRegressor(thread_count=1, verbose=False, allow_writing_files=False)
space = [
    {
        "model": [light],
        "model__learning_rate": loguniform(0.02, 0.5),
        "model__num_leaves": randint(4, 64),
        "model__min_child_samples": randint(5, 50),
    },
    {
        "model": [extreme],
        "model__learning_rate": loguniform(0.02, 0.5),
        "model__max_depth": randint(2, 9),
        "model__min_child_weight": loguniform(1, 30),
    },
    {
        "model": [cat],
        "model__learning_rate": loguniform(0.02, 0.5),
        "model__depth": randint(2, 8),
        "model__l2_leaf_reg": loguniform(0.3, 30),
    },
]
search = HyperbandSearchCV(
    Pipeline([("model", light)]),
    space,
    resource="model__n_estimators",
    min_resources=10,
    max_resources=320,
    factor=2,
    brackets=[5, 2],
    cv=3,
    scoring="neg_root_mean_squared_error",
    random_state=0,
)
start = process_time()
search.fit(X_train, y_train)
seconds = process_time() - start
best = search.best_params_
print(pd.Series(best | {"model": type(best["model"]).__name__}).to_string())
print(f"\nroot mean squared error: {-search.best_score_:.4f} in cross-validation, ", end="")
print(f"{-search.score(X_test, y_test):.4f} on new wines")

# %%
# What became of each library. One whose candidates were all dropped early has grown few trees;
# that says who was ahead on the way, and not who would have won after all trees.
library = {
    candidate: type(params["model"]).__name__
    for candidate, params in zip(
        search.cv_results_["candidate"], search.cv_results_["params"], strict=True
    )
}
history = search.history_.assign(library=search.history_["candidate"].map(library))
history["trees"] = history["n_resources"] - history["continued_from"]
scores = history.groupby(["library", "candidate", "bracket", "n_resources"])["test_score"].mean()
print(
    history.groupby("library")
    .agg(
        candidates=("candidate", "nunique"),
        trees_grown=("trees", "sum"),
        longest_model=("n_resources", "max"),
    )
    .assign(best_error=-scores.groupby("library").max())
    .to_string(float_format="{:.4f}".format)
)

# %%
# The same search once more, with every rung fitted from nothing: the same candidates at the same
# levels. (Where a library draws rows or columns at random, scores differ a little.) The share of
# time that is saved is not the share of trees: a model that goes on must first predict the
# training rows with the trees that it has.
again = HyperbandSearchCV(
    **{
        **search.get_params(deep=False),
        "resource": Iterations("model__n_estimators", continuation="refit"),
    }
)
start = process_time()
again.fit(X_train, y_train)
table = {
    "trees grown": [search.n_resources_spent_, again.n_resources_spent_],
    "seconds of CPU": [seconds, process_time() - start],
    "root mean squared error": [-search.best_score_, -again.best_score_],
}
index = ["continued", "from nothing"]
print(pd.DataFrame(table, index=index).to_string(float_format="{:,.4g}".format))

# %%
# Larger marks are longer models. A small learning rate needs many trees, and has to survive the
# first rungs to be given them.
ParameterDisplay.from_estimator(search, "model")
ParameterDisplay.from_estimator(search, "model__learning_rate")
plt.show()
