"""
Stopping and resuming a search
==============================

With ``checkpoint``, every completed fit is written to a file. A search that was stopped resumes
from this file. Here, its time budget stops it; Ctrl-C or a crash would have the same effect. No
fit is repeated, and the result is the same as for an uninterrupted search.
"""

import sqlite3
import tempfile
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.plotting import HistoryDisplay

X, y = load_digits(return_X_y=True)
space = {"C": loguniform(1e-2, 1e4), "gamma": loguniform(1e-6, 1e1)}
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "searches.db"
# ``n_fits`` plans the search, even if there is a time budget. The result does not depend on how
# often the search is stopped.
search = AdaptiveSearchCV(SVC(), space, n_fits=60, random_state=0, checkpoint=path)


def n_in_file():
    """Return how many fits the file has."""
    with closing(sqlite3.connect(path)) as connection:
        return len(pd.read_sql("SELECT * FROM scores", connection))


# %%
# The first evening
# -----------------
# Half a second is not enough. The search still has a result: ``fit`` returns, the best candidate
# so far is refitted, and a warning reports what was not done.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    search.set_params(time_budget=0.5).fit(X, y)
for warning in said:
    print(warning.message)
print(f"stopped by {search.stopped_by_}; fits in the file: {n_in_file()}")

# %%
# The second evening
# ------------------
# Run the same search again, possibly in another process. The time limits and the number of
# workers may differ. If something that affects the scores differs, it is another search.
n_before = n_in_file()
search.set_params(time_budget=None).fit(X, y)
print(f"stopped by {search.stopped_by_}; fits in all: {search.n_fits_}, ", end="")
print(f"{n_in_file() - n_before} of them new")

# %%
# To check the result, run the same search without interruption and without a file.
whole = clone(search).set_params(checkpoint=None).fit(X, y)
columns = ["mean_test_score", "rank_test_score", "param_C", "n_fits"]
same = all(np.array_equal(whole.cv_results_[name], search.cv_results_[name]) for name in columns)
print(f"the same table: {same}; the same winner: {whole.best_params_ == search.best_params_}")

# %%
# The third evening
# -----------------
# Was it enough? The file knows what was fitted on these data, so another search can use it: with a
# few seconds more, in a larger space, all candidates so far are known at the start.
space["C"] = loguniform(1e-2, 1e6)
longer = AdaptiveSearchCV(SVC(), space, time_budget=2, random_state=0, checkpoint=path)
longer.fit(X, y)
print(f"fits in all: {longer.n_fits_}; mean score {search.best_score_:.4f} before, ", end="")
print(f"{longer.best_score_:.4f} now")

# %%
# The history shows the fits of both evenings. Each has the time at which it was made, so the
# longest pause is between the two evenings.
HistoryDisplay.from_estimator(search)
history = search.history_.sort_values("started")
pauses = (history["started"] - history["ended"].shift()).fillna(0)
print(f"the longest time between two fits: {pauses.max():.2f} s, after {pauses.argmax()} fits")

# %%
# A search with other scores has fits of its own in the same file. A warning says what differs.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    clone(search).set_params(scoring="f1_macro").fit(X, y)
print(said[0].message)
print(f"fits in the file: {n_in_file()}")
folder.cleanup()
