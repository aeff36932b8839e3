"""
A pipeline over mixed columns
=============================

The census data have numeric columns, categorical columns and missing values. The search chooses
between two kinds of model and their parameters at the same time, within its time budget. The data
remain a DataFrame throughout.
"""

from _data import load_adult
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.plotting import ConfidenceDisplay
from sklearn_halving.spaces import space_for

X, y = load_adult()
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=0.25, stratify=y, random_state=0
)

columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20, sparse_output=False),
        make_column_selector(dtype_exclude="number"),
    ),
)
pipeline = Pipeline([("columns", columns), ("model", LogisticRegression())])
models = [LogisticRegression(max_iter=500), HistGradientBoostingClassifier()]
space = space_for(pipeline, models=models)  # a list of dicts, one for each model

# %%
# The first candidate is the unmodified pipeline. New candidates are first compared on part of the
# rows, if that is cheap, and the best of them on all rows. The two workers share the cores: a fit
# in a worker uses a single thread, although boosting alone would use all of them.
search = AdaptiveSearchCV(
    pipeline, space, time_budget="20s", n_jobs=2, scoring="roc_auc", random_state=0
)
search.fit(X_train, y_train)
print(search.summary())

# %%
# The best candidates, with the standard errors of their scores:
ConfidenceDisplay.from_estimator(search)

# %%
# The budget includes the refit of the best candidate on all training rows, which predicts.
print(f"area under the curve: {search.best_score_:.4f} in cross-validation, ", end="")
print(f"{search.score(X_test, y_test):.4f} on new data")
