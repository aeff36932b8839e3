"""
LightGBM, XGBoost and CatBoost in one search
============================================

Three libraries train boosted trees, and each has its own parameters. The search can also choose
the library: the space has one dict for each, and the resource is the number of trees, which all
three call ``n_estimators``. A model that goes on to the next rung keeps its trees and adds more.
Each library has its own way to continue from an earlier model, and the search uses it
automatically.

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
X = pd.get_dummies(X, drop_first=True, dtype=float)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Use one thread for each model. Trees are trained one after another, so on data of this size it
# is more efficient to run fits in parallel with ``n_jobs`` of the search.
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
print(f"{-search.score(X_test, y_test):.4f} on new rows")

# %%
# This table summarizes the candidates of each library. A library whose candidates were all
# eliminated early has few trees. This shows which library was ahead at the time, but not which
# one would be the best with all trees.
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
# Run the same search again and fit every rung from scratch: the same candidates at the same
# levels. (Scores differ slightly if a library draws rows or columns at random.) The share of
# time saved is smaller than the share of trees, since a model that continues first has to
# predict the training rows with the trees it has.
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
# Hollow marks are models with fewer trees. A small learning rate needs many trees, and has to
# survive the first rungs to get them.
ParameterDisplay.from_estimator(search, ["model", "model__learning_rate"])
plt.show()
