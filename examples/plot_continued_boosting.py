"""
Boosting that continues from rung to rung
=========================================

This example predicts the quality of wine. The resource is the number of boosted trees. A model
that reaches the next rung keeps its trees and grows more, so no tree is trained twice. The
preprocessing steps of the pipeline are fitted once for each candidate and fold.
"""

import pandas as pd
from _data import load_wine_quality
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import RungDisplay

X, y = load_wine_quality()
columns = make_column_transformer(
    (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude="number")),
    remainder="passthrough",
)
pipeline = Pipeline([("columns", columns), ("trees", GradientBoostingRegressor())])
space = {
    "trees__learning_rate": loguniform(0.02, 0.5),
    "trees__max_depth": randint(2, 7),
    "trees__subsample": uniform(0.5, 0.5),
    "trees__max_features": uniform(0.2, 0.8),
}

search = HyperbandSearchCV(
    pipeline,
    space,
    resource="trees__n_estimators",
    max_resources=81,
    n_candidates=49,
    scoring="neg_root_mean_squared_error",
    cv=KFold(3, shuffle=True, random_state=0),
    random_state=0,
)
print(search.plan(X, y).to_string(index=False))

# %%
# The score increases with the number of trees, at a different rate for each candidate.
search.fit(X, y)
RungDisplay.from_estimator(search)

# %%
# Each row of ``history_`` is one fit; ``continued_from`` is the number of trees it started with.
print(pd.Series(search.best_params_).to_string())
print(f"\nroot mean squared error: {-search.best_score_:.3f}")

history = search.history_
refitted = history["n_resources"].sum()
print(f"trees grown: {search.n_resources_spent_:,}; without continuing: {refitted:,}")
