"""Estimators that count what they are trained, and packages that must not be missing in CI."""

from __future__ import annotations

import importlib
import os
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from resources.boosting import LIBRARIES


class CountingEpochs(ClassifierMixin, BaseEstimator):
    """Counts the calls of ``partial_fit``, and those that came with classes."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def partial_fit(self, X, y=None, classes=None):
        if classes is not None:
            self.classes_ = np.asarray(classes)
            self.told_classes_ = getattr(self, "told_classes_", 0) + 1
        self.units_ = getattr(self, "units_", 0) + 1
        time.sleep(self.seconds)
        return self


class CountingWarmStart(BaseEstimator):
    """Counts iterations; with ``warm_start`` those that ``max_iter`` says are added."""

    def __init__(self, max_iter=100, warm_start=False):
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(self, X, y=None):
        before = getattr(self, "units_", 0) if self.warm_start else 0
        self.units_ = before + self.max_iter
        self.seen_ = [*getattr(self, "seen_", []), (self.max_iter, self.warm_start)]
        return self


@pytest.fixture
def counting_epochs():
    return CountingEpochs


@pytest.fixture
def counting_warm_start():
    return CountingWarmStart


@pytest.fixture
def need():
    """Import a package; skip without it, but not in CI, where every test must run."""

    def import_or_skip(name):
        try:
            return importlib.import_module(name)
        except ImportError:
            if os.environ.get("CI"):
                pytest.fail(f"{name} is not installed, and in CI every test must run")
            pytest.skip(f"{name} is not installed")

    return import_or_skip


@pytest.fixture(params=LIBRARIES)
def library(request, need):
    return need(request.param)
