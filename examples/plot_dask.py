"""
A search on Dask
================

A search runs on the active backend of joblib. In this example it is a Dask cluster with two
worker processes on this machine. With another address it can be a cluster of many machines. The
result is exactly the same as in one process.

Worker processes import the script that started them. Code that should run only once is therefore
in a function that is called under ``if __name__ == "__main__"``.
"""

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster
from joblib import parallel_config
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import WorkerDisplay


def mean_recall_of_the_worst(estimator, X, y):
    """Score a classifier by the digit that it reads worst; travels to the workers by itself."""
    hit = estimator.predict(X) == y
    return min(hit[y == digit].mean() for digit in np.unique(y))


# %%
# The search has no parameter for Dask. ``with`` closes the client and the cluster at the end,
# even after an error. Without ``dashboard_address=None``, the scheduler also serves a dashboard
# that shows the fits.
def search_on_cluster():
    """Run the same search in this process and on a cluster, and compare."""
    X, y = load_digits(return_X_y=True)
    space = {"C": loguniform(1e-1, 1e4), "gamma": loguniform(1e-5, 1e-1)}
    here = HyperbandSearchCV(
        SVC(), space, max_candidates=9, cv=3, scoring=mean_recall_of_the_worst, random_state=0
    )
    there = clone(here)
    here.fit(X, y)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        parallel_config("dask"),
    ):
        print(f"workers: {len(client.scheduler_info()['workers'])}")
        there.fit(X, y)
    same = np.array_equal(
        here.cv_results_["mean_test_score"], there.cv_results_["mean_test_score"]
    )
    print(f"fits: {there.n_fits_}; the same scores: {same}; best: {there.best_params_}")
    print(f"recall of the digit that is read worst: {there.best_score_:.3f}")
    return there


# %%
# X and y were sent to the cluster once. Each task contains only the number of a fit and its
# parameters. The two lanes are two workers. These fits take milliseconds, so a cluster does not
# make the search faster. Use one if fits take seconds.
if __name__ == "__main__":
    WorkerDisplay.from_estimator(search_on_cluster())
    plt.show()
