"""
A search on a cluster that dies
===============================

A search runs on the active backend of joblib. Here it is a Dask cluster with two worker processes
on this machine. In the middle of the search, a worker is killed, and then the cluster is shut
down. The search is resumed from its checkpoint on a new cluster, and gives exactly the result of
a search that was not interrupted.
"""

import os
import signal
import sqlite3
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster
from joblib import parallel_config
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from sklearn_halving import HyperbandSearchCV


def mean_recall_of_the_worst(estimator, X, y):
    """Score a classifier by the digit that it reads worst; travels to the workers by itself."""
    hit = estimator.predict(X) == y
    return min(hit[y == digit].mean() for digit in np.unique(y))


# %%
# Which lines depend on the cluster
# ---------------------------------
# Only this function. Other clusters need other lines:
#
# - Slurm: ``cluster = dask_jobqueue.SLURMCluster(cores=8, processes=8, memory="32GB",
#   walltime="08:00:00")`` and ``cluster.scale(jobs=4)``.
# - Kubernetes: ``cluster = dask_kubernetes.operator.KubeCluster(name="search", image=...,
#   n_workers=32)``, with an image that contains this package.
# - A cluster that is already running: ``Client("tcp://scheduler-address:8786")`` below, and no
#   cluster.
# - Ray: ``ray.init(address="auto")`` and ``ray.util.joblib.register_ray()`` instead of a client,
#   and ``parallel_config("ray", n_jobs=-1)`` below.
def start_cluster():
    """Start a scheduler and two workers."""
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")


# %%
# The search has no parameter for the cluster. It sends the data to each worker once, and each task
# contains only the number of a fit and its parameters. Every fit that returns is written to the
# checkpoint.
def make_search(folder):
    """Return the search, with a checkpoint in the folder."""
    return HyperbandSearchCV(
        SVC(),
        {"C": loguniform(1e-1, 1e4), "gamma": loguniform(1e-5, 1e-1)},
        n_candidates=49,
        cv=3,
        scoring=mean_recall_of_the_worst,
        random_state=0,
        checkpoint=Path(folder) / "searches.db",
    )


def fit_on_cluster(search, X, y, accident=None):
    """Fit a search on a new cluster; ``accident`` is called during the search."""
    with start_cluster() as cluster, Client(cluster) as client, parallel_config("dask"):
        if accident is not None:
            threading.Thread(target=accident, args=(search, cluster, client)).start()
        search.fit(X, y)


# %%
# What goes wrong
# ---------------
# A thread kills a worker after 10 fits and ends the scheduler after 20. A killed worker costs
# nothing: the cluster starts a new one, and the fits that it had are repeated. Without a
# scheduler, ``fit`` raises a `ConnectionError` after five seconds, and keeps the results so far.
# It does the same if the process or the machine of the scheduler dies.
def end_cluster(search, cluster, client):
    """Kill a worker after 10 fits, and end the scheduler after 20."""
    wait_for_fits(search.checkpoint, 10)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    wait_for_fits(search.checkpoint, 20)
    cluster.close()


def wait_for_fits(path, n_fits):
    """Wait until a number of fits are in the checkpoint."""
    n_found = 0
    while n_found < n_fits:
        time.sleep(0.01)
        # At first, there is no file, or it is empty.
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(path)) as connection:
            n_found = connection.execute("SELECT count(*) FROM scores").fetchone()[0]


def search_despite_everything():
    """Run a search that loses its cluster, resume it, and compare it with an unbroken one."""
    X, y = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        search = make_search(folder)
        try:
            fit_on_cluster(search, X, y, end_cluster)
        except ConnectionError as error:
            print(f"ConnectionError: {error}\n")
        n_kept = search.n_fits_
        print(f"best of {n_kept} fits so far: {search.best_score_:.3f}, {search.best_params_}")
        fit_on_cluster(search, X, y)
    print(
        f"resumed: {n_kept} fits from the checkpoint, {search.n_fits_ - n_kept} on a new cluster"
    )
    unbroken = clone(search).set_params(checkpoint=None).fit(X, y)
    same = np.array_equal(
        search.cv_results_["mean_test_score"], unbroken.cv_results_["mean_test_score"]
    )
    print(f"the same scores as in one process: {same}; best: {search.best_params_}")
    print(f"recall of the digit that is read worst: {search.best_score_:.3f}")
    return search


# %%
# Each line is a fit, from its start to its end. The gap is the time without a cluster. These fits
# take milliseconds, so a cluster does not make the search faster. Use one if fits take seconds.
#
# The worker processes of a `LocalCluster` import the script that started them. Code that should
# run only once is therefore in functions that are called under ``if __name__ == "__main__"``.
if __name__ == "__main__":
    history = search_despite_everything().history_
    plt.hlines(history.index, history["started"], history["ended"])
    plt.xlabel("seconds")
    plt.ylabel("fit")
    plt.show()
