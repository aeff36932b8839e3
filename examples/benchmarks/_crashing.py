"""A search of logged fits for `crash.py`: in a module of its own, workers import it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

N_ROWS = 90
X = np.column_stack([np.arange(N_ROWS), np.random.default_rng(0).random(N_ROWS)])
Y = np.arange(N_ROWS) % 2
SPACE = {"value": uniform(0, 1)}  # no two candidates are equal, so that a fit is one pull
SEARCHES = {
    "Hyperband": (HyperbandSearchCV, {"cv": 3, "min_resources": 6}),
    "variance halving": (VarianceHalvingSearchCV, {"n_candidates": 12}),
    "successive rejects": (BanditSearchCV, {"policy": "successive_rejects", "n_candidates": 12}),
    "BayesGap": (BayesGapSearchCV, {"n_candidates": 12, "n_fits": 60}),
}


class Logged(ClassifierMixin, BaseEstimator):
    """Scores its value and some noise that depends on its rows; logs that a fit begins."""

    def __init__(self, value: float = 0.5, log: str = "", seconds: float = 0.005) -> None:
        self.value = value
        self.log = log
        self.seconds = seconds

    def fit(self, X: Any, y: Any) -> Logged:
        """Write a line, and wait."""
        rows = np.asarray(X)[:, 0].astype(int)
        with Path(self.log).open("a") as file:
            file.write(f"{self.value} {hash(tuple(rows.tolist()))}\n")
        time.sleep(self.seconds)
        self.noise_ = 0.05 * float(np.sin(rows.sum()))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the first class for all."""
        return np.full(len(X), self.classes_[0])

    def score(self, X: Any, y: Any) -> float:
        """Return the value and the noise."""
        return self.value + self.noise_


def make_search(name: str, folder: Path) -> Any:
    """Return a search with its journal in the folder."""
    kind, params = SEARCHES[name]
    path = folder / "journal"
    estimator = Logged(log=str(folder / "log"))
    return kind(estimator, SPACE, checkpoint=path, refit=False, random_state=0, **params)


def run_until_killed(name: str, folder: Path, backend: str, seconds: float) -> None:
    """Fit, and be killed so many seconds after the first new fit has begun."""
    log = folder / "log"
    size = log.stat().st_size if log.exists() else 0

    def kill() -> None:
        while not (log.exists() and log.stat().st_size > size):
            time.sleep(0.0005)
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    with parallel_config(backend, n_jobs=1 if backend == "sequential" else 2):
        make_search(name, folder).fit(X, Y)
