"""
Groups and time series
======================

Rows that belong together must not be in both the training and the test set: the rows of one
writer, patient or machine, or the past of a time series and its future. As in ``GridSearchCV``,
use ``groups`` and scikit-learn's splitters to ensure this. If rows are the resource, the search
also has to select the rows of a cheap fit. It adds one group after the other, so that at most one
is split, and uses the most recent rows of a time series.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import cbook
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import RungDisplay
from sklearn_halving.resources import TrainingSize

# %%
# Groups: the hands of thirteen writers
# -------------------------------------
# Thirteen people wrote these digits, apparently one after the other. The file does not say who
# wrote what. In this example, thirteen blocks of successive rows stand for the writers, which is
# accurate enough to show the effect. A model that will read the digits of new writers should be
# tested on new writers.
X, y = load_digits(return_X_y=True)
writer = np.arange(len(y)) * 13 // len(y)
space = {"C": loguniform(1e-1, 1e3), "gamma": loguniform(1e-5, 1e-1)}
search = HyperbandSearchCV(SVC(), space, min_resources=140, random_state=0)
shuffled = clone(search).set_params(cv=KFold(5, shuffle=True, random_state=0)).fit(X, y)
by_writer = clone(search).set_params(cv=GroupKFold(5)).fit(X, y, groups=writer)
print(f"score on shuffled rows:  {shuffled.best_score_:.4f}")
print(f"score on other writers:  {by_writer.best_score_:.4f}")

# %%
# The first score is higher, but too optimistic for new writers. In the second search, a cheap
# fit has the rows of one or two writers instead of a few rows of each; ``min_resources`` is
# large enough for at least one of them. Folds of groups differ in size. The rows of a rung are
# counted in the smallest fold, and larger folds have proportionally more.
print(by_writer.plan(X, y, groups=writer).to_string(index=False))
fits = by_writer.history_
rows_of_fits = fits.groupby("n_resources")["n_train"].agg(["min", "max"])
print("\nrows that the fits of each rung had:")
print(rows_of_fits.to_string())

# %%
# Time: how much will be traded tomorrow?
# ---------------------------------------
# The data are four years of one share, from a file that comes with matplotlib. The target is the
# logarithm of the next day's volume. The features are volumes, ranges and returns of the days so
# far.
prices = pd.DataFrame(cbook.get_sample_data("goog.npz")["price_data"])
volume = np.log(prices["volume"])
change = np.log(prices["adj_close"]).diff()
spread = np.log(prices["high"] / prices["low"])
features = {f"volume {lag} days ago": volume.shift(lag) for lag in range(10)}
features |= {f"change {lag} days ago": change.shift(lag).abs() for lag in range(5)}
features |= {f"spread {lag} days ago": spread.shift(lag) for lag in range(5)}
days = pd.DataFrame({**features, "target": volume.shift(-1)}).dropna()
X_days, y_days = days.drop(columns="target"), days["target"]

# %%
# Each split trains on an interval of time and tests on the next one. The training intervals
# become longer from split to split, and the rows of a rung grow proportionally. A rung with
# fewer rows contains only the most recent ones. The panels therefore show whether the distant
# past is useful.
ridge = make_pipeline(StandardScaler(), Ridge())
penalty = {"ridge__alpha": loguniform(1e-3, 1e5)}
in_time = HyperbandSearchCV(
    ridge,
    penalty,
    cv=TimeSeriesSplit(5),
    scoring="neg_root_mean_squared_error",
    resource=TrainingSize(rescale={"ridge__alpha": "proportional"}),
    random_state=0,
).fit(X_days, y_days)
print(f"best alpha: {in_time.best_params_['ridge__alpha']:.3g}")
print(f"error of a day's log volume: {-in_time.best_score_:.3f}, ", end="")
print(f"where the volume itself varies by {y_days.std():.3f}")
RungDisplay.from_estimator(in_time)

# %%
# The table shows the rows of each split. Later splits train on more rows.
print(
    in_time.history_.pivot_table(
        index="n_resources", columns="split", values="n_train"
    ).to_string()
)

# %%
# The model for tomorrow is the refit on all days.
tomorrow = in_time.predict(X_days.tail(1))[0]
print(f"expected volume of the day after the file's end: {np.exp(tomorrow):,.0f} shares")
plt.show()
