"""
More and more random features
=============================

Kernel machines on all pairs of rows are slow. A linear model on random features approximates
them, and the approximation improves with the number of features. This number is a resource: a few
features are enough to see which kernel widths and penalties are poor, and only good candidates
get many features. All fits use all rows. A model for a few features cannot be extended to another
draw of more features, so every rung is fitted anew.
"""

from time import process_time

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import ParameterDisplay, RungDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

features = RBFSampler(n_components=810, random_state=0)
pipeline = make_pipeline(MinMaxScaler(), features, RidgeClassifier())
space = {
    "rbfsampler__gamma": loguniform(1e-4, 1e1),
    "ridgeclassifier__alpha": loguniform(1e-6, 1e2),
}

# %%
# ``max_resources`` is not set. It is then the value in the pipeline, 810 features.
search = HyperbandSearchCV(
    pipeline, space, resource="rbfsampler__n_components", cv=3, n_candidates=49, random_state=0
)
print(search.plan(X_train, y_train).to_string(index=False))

# %%
# For comparison, RandomizedSearchCV makes fits with 810 features, and as many of them as have
# the same number of features in total. Note the seconds: a fit with 30 features costs more than
# 30/810 of a full fit, since each fit also scales rows and computes scores. A small number of
# features saves more time if fits are long. These are short.
start = process_time()
search.fit(X_train, y_train)
seconds = process_time() - start
n_iter = round(search.n_resources_spent_ / (810 * 3))
plain = RandomizedSearchCV(pipeline, space, n_iter=n_iter, cv=3, random_state=0)
start = process_time()
plain.fit(X_train, y_train)
plain_seconds = process_time() - start

table = {
    "candidates": [search.history_["candidate"].nunique(), n_iter],
    "features": [search.n_resources_spent_, n_iter * 810 * 3],
    "seconds of CPU": [seconds, plain_seconds],
    "accuracy in cross-validation": [search.best_score_, plain.best_score_],
    "accuracy on new digits": [one.score(X_test, y_test) for one in (search, plain)],
}
index = ["HyperbandSearchCV", "RandomizedSearchCV"]
print(pd.DataFrame(table, index=index).round(4).T.to_string(float_format="{:,.10g}".format))
print(f"\n{pd.Series(search.best_params_).to_string()}")

# %%
# The plot shows whether the best candidates with few features are also the best with many. If
# the penalty is small, a line may fall where the number of features is close to the number of
# rows.
RungDisplay.from_estimator(search)

# %%
# The kernel width is decisive. If it is far from the best value, more features do not help.
ParameterDisplay.from_estimator(search, "rbfsampler__gamma")
plt.show()
