"""
More and more random features
=============================

A kernel machine on all pairs of rows is slow; a linear model on random features comes near to it,
the nearer the more features there are. That number is a resource: with few features one sees which
width of the kernel and which penalty are hopeless, and only the good are given many. Fits have all
rows from the beginning. What they learned with few features is of no use to another draw of more,
so every rung is fitted anew.
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
# ``max_resources`` is left out: it is then the value that the pipeline has, 810 features.
search = HyperbandSearchCV(
    pipeline, space, resource="rbfsampler__n_components", cv=3, max_candidates=27, random_state=0
)
print(search.plan(X_train, y_train).to_string(index=False))

# %%
# Beside it RandomizedSearchCV, whose fits all have 810 features, and are as many as make the same
# number of features together. Mind the seconds: a fit with 30 features costs more than 30 of 810
# parts, since rows are scaled, scored and looked after in each. Few features pay where fits are
# long, and these are short.
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
# What counts is whether those which are ahead with few features are ahead with many. A line may
# fall where there come to be about as many features as rows, if the penalty is small.
RungDisplay.from_estimator(search)

# %%
# The kernel's width decides: with one that is far off, no number of features helps.
ParameterDisplay.from_estimator(search, "rbfsampler__gamma")
plt.show()
