"""Estimators whose answer is known by construction, and what the engine tests need around them.

Everything is at module level: workers in other processes import it from here.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_info

from sklearn_halving.execution._types import Candidate, EvaluationTask, Fold, ListedFolds
from sklearn_halving.resources import Resource


class Known(ClassifierMixin, BaseEstimator):
    """Scores ``quality`` minus what is missing to ``full`` training, whatever the data.

    It is trained in steps (see `Steps`), or in one go by ``fit``, which counts as ``n_steps``.

    Parameters
    ----------
    quality : float
        The score after full training.
    n_steps : int
        How far ``fit`` trains.
    seconds : float
        How long a step takes; with ``tail`` > 0 times a Pareto number with mean 1, the same
        for the same quality and number of steps.
    fails_at : int or None
        Raise in training once there are more steps than this.
    ballast : int
        Number of floats in the fitted model, written to at every step.
    """

    def __init__(
        self,
        quality: float = 0.0,
        n_steps: int = 1,
        seconds: float = 0.0,
        tail: float = 0.0,
        fails_at: int | None = None,
        ballast: int = 0,
    ) -> None:
        self.quality = quality
        self.n_steps = n_steps
        self.seconds = seconds
        self.tail = tail
        self.fails_at = fails_at
        self.ballast = ballast

    def fit(self, X: Any, y: Any = None) -> Known:
        return self.train_to(self.n_steps, 0, len(X))

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> Known:
        if previous_level == 0:
            self.log_: list[tuple[int, int]] = []
            self.ballast_ = np.zeros(self.ballast)
        elif self.log_[-1][1] != previous_level:
            raise AssertionError(f"continues at {previous_level}, but was at {self.log_[-1][1]}")
        if self.fails_at is not None and level > self.fails_at:
            raise ValueError(f"cannot be trained to {level} steps")
        if self.seconds:
            time.sleep(self.seconds * (level - previous_level) * self._slowness(level))
        self.ballast_ += level - previous_level
        self.log_.append((previous_level, level))
        self.classes_ = np.array([0, 1])
        self.n_rows_ = n_rows
        return self

    def _slowness(self, level: int) -> float:
        if not self.tail:
            return 1.0
        rng = np.random.default_rng([abs(hash(self.quality)), level])
        return float((rng.pareto(self.tail) + 1) * (self.tail - 1) / self.tail)

    def predict(self, X: Any) -> np.ndarray:
        return np.zeros(len(X), dtype=int)

    def score(self, X: Any, y: Any = None) -> float:
        if self.ballast and not (self.ballast_ == self.log_[-1][1]).all():
            raise AssertionError("the ballast was not trained along")
        return self.quality - 1 / self.log_[-1][1]


class Unpicklable(Known):
    """Cannot leave its process once it is fitted."""

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> Unpicklable:
        super().train_to(level, previous_level, n_rows)
        self.lock_ = (step for step in range(level))
        return self


class Lossy(Known):
    """Can be pickled when it is fitted, but not unpickled."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "log_" in state:
            raise ValueError("this pickle is damaged")
        super().__setstate__(state)


class Faulty(Known):
    """Goes wrong in training where its quality is a key of ``faults``.

    The value says how: "raise", "crash" or "kill" (its process, itself or as the system does),
    "kill once" (only the first time, of which a file in the folder ``marks`` bears witness),
    "hang", "hang in C" (holding the lock of the interpreter), "memory" (takes 64 GB), "slow",
    or, in scoring, "nan".
    """

    def __init__(
        self,
        quality: float = 0.0,
        n_steps: int = 1,
        faults: dict[float, str] | None = None,
        marks: str = "",
    ) -> None:
        super().__init__(quality, n_steps)
        self.faults = faults
        self.marks = marks

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> Faulty:
        fault = (self.faults or {}).get(self.quality)
        if fault == "raise":
            raise ValueError("a fault")
        if fault == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "kill" or (fault == "kill once" and self._is_first(level, n_rows)):
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hang":
            time.sleep(1000)
        if fault == "hang in C":
            ctypes.PyDLL(None).sleep(1000)
        if fault == "memory":
            self.large_ = np.ones(2**33)
        if fault == "slow":
            time.sleep(0.2)
        super().train_to(level, previous_level, n_rows)
        return self

    def _is_first(self, level: int, n_rows: int) -> bool:
        mark = Path(self.marks, f"{self.quality} {level} {n_rows}")
        is_first = not mark.exists()
        mark.touch()
        return is_first

    def score(self, X: Any, y: Any = None) -> float:
        if (self.faults or {}).get(self.quality) == "nan":
            return np.nan
        return super().score(X, y)


class CountsPickles(Known):
    """Counts how often it is pickled in this process."""

    n_pickled: ClassVar[int] = 0

    def __getstate__(self) -> dict[str, Any]:
        type(self).n_pickled += 1
        return super().__getstate__()


class ReportsItsSurroundings(Known):
    """Scores 1 if it finds the configuration and the warning filter that the tests set."""

    def score(self, X: Any, y: Any = None) -> float:
        try:
            warnings.warn("seen by the filter", UserWarning, stacklevel=1)
            is_filtered = False
        except UserWarning:
            is_filtered = True
        return float(get_config()["assume_finite"]) + 10 * float(is_filtered)


class ParallelInside(Known):
    """Uses joblib in ``fit``, as forests do."""

    def train_to(self, level: int, previous_level: int, n_rows: int = 0) -> ParallelInside:

        squares = Parallel(n_jobs=2)(delayed(pow)(i, 2) for i in range(4))
        if squares != [0, 1, 4, 9]:
            raise AssertionError(squares)
        super().train_to(level, previous_level, n_rows)
        return self


class CountsThreads(Known):
    """Remembers how many threads ``fit`` may use: by its parameter, and by BLAS and OpenMP."""

    def __init__(self, quality: float = 0.0, n_jobs: int | None = -1) -> None:
        super().__init__(quality)
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Known:
        self.threads_ = {pool["user_api"]: pool["num_threads"] for pool in threadpool_info()}
        return super().fit(X, y)


def threads_of(estimator: Any, X: Any, y: Any) -> dict[str, int]:
    """Score by the numbers of threads while fitting, scoring, and as a parameter (0 for None)."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    params = last.get_params()
    return {
        "score": estimator.score(X, y),
        "param": params.get("n_jobs", params.get("thread_count")) or 0,
        "scoring": max(pool["num_threads"] for pool in threadpool_info()),
        "fit": max(getattr(last, "threads_", {"": 0}).values()),
    }


class Steps(Resource):
    """A resource: a level is a number of training steps of `Known`, which continue."""

    name = "steps"
    subsamples_rows = False

    def level_range(self, estimator: Any, n_train: int, n_rows_needed: int) -> tuple[int, int]:
        return 1, 9

    def can_continue(self, estimator: Any) -> bool:
        return True

    def train(
        self,
        estimator: Known,
        X: Any,
        y: Any,
        level: int,
        previous_level: int,
        fit_params: dict[str, Any],
    ) -> Known:
        return estimator.train_to(level, previous_level, len(X))


def own_score(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator.score(X, y))


def first_feature(estimator: Any, X: Any, y: Any) -> float:
    """Score by the data alone: equal only if the same rows arrived."""
    return float(np.sum(X[:, 0] * np.arange(1, len(X) + 1)) + np.sum(y) + estimator.n_rows_)


def fails_for_negative_quality(estimator: Any, X: Any, y: Any) -> float:
    if estimator.quality < 0:
        raise ZeroDivisionError("the scorer fails")
    return own_score(estimator, X, y)


def make_task(
    estimator: Known,
    qualities: Any,
    *,
    n_splits: int = 2,
    n_rows: int = 12,
    n_features: int = 1,
    scorer: Any = own_score,
    max_level: int = 9,
    **options: Any,
) -> EvaluationTask:
    """Return a task in which arm i has the i-th quality."""
    rng = np.random.default_rng(0)
    X, y = rng.random((n_rows, n_features)), np.arange(n_rows) % 2
    rows = np.arange(n_rows)
    folds = [Fold(rows[rows % n_splits != i], rows[rows % n_splits == i]) for i in range(n_splits)]
    return EvaluationTask(
        estimator=estimator,
        X=X,
        y=y,
        candidates=tuple(
            Candidate.of(arm, {"quality": float(quality)}) for arm, quality in enumerate(qualities)
        ),
        splits=ListedFolds(tuple(folds), tuple(range(n_splits))),
        resource=Steps(),
        scorer=scorer,
        n_repetitions=n_splits,
        max_level=max_level,
        config=get_config(),
        **options,
    )
