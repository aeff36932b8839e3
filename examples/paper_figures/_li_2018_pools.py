"""Recorded configurations for `li_2018.py`: errors and costs at every level of the resource."""

from __future__ import annotations

import gzip
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _data import data_folder


@dataclass(frozen=True)
class Images:
    """Rows of pixels in [0, 1], in three parts."""

    X: np.ndarray
    y: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    name: str

    def held_out(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the validation and the test set."""
        return [(self.X_validation, self.y_validation), (self.X_test, self.y_test)]


@dataclass(frozen=True)
class Pool:
    """Errors and costs of many random configurations, each of shape (n_configurations, n_levels).

    Parameters
    ----------
    levels : tuple of int
        Units of the resource.
    validation, test : ndarray
        Errors.
    cost : ndarray
        What it costs to bring a configuration to a level from scratch.
    """

    levels: tuple[int, ...]
    validation: np.ndarray
    test: np.ndarray
    cost: np.ndarray


def load_images(n_train: int, *, quick: bool) -> Images:
    """Return the MNIST test images at half their resolution, or the digits of scikit-learn."""
    folder = data_folder()
    if quick or folder is None or not (folder / "mnist").is_dir():
        X, y, name = *load_digits(return_X_y=True), "digits"
        X = X / 16
    else:
        with gzip.open(folder / "mnist" / "t10k-images-idx3-ubyte.gz") as file:
            pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 14, 2, 14, 2)
        with gzip.open(folder / "mnist" / "t10k-labels-idx1-ubyte.gz") as file:
            y = np.frombuffer(file.read(), np.uint8, offset=8).astype(int)
        X, name = pixels.mean(axis=(2, 4)).reshape(len(y), -1) / 255, "MNIST"
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    n_train = min(n_train, len(y) // 2)
    n_validation = n_train + min(1000, (len(y) - n_train) // 3)
    parts = np.split(np.arange(min(len(y), n_validation + 3000)), [n_train, n_validation])
    return Images(*(a for rows in parts for a in (X[rows], y[rows])), name)


def record_network(n: int, levels: tuple[int, ...], images: Images) -> Pool:
    """Train networks by SGD: learning rate, batch size and layer sizes as in Table 2."""
    rng = np.random.default_rng(1)
    tables = np.full((2, n, len(levels)), np.nan)
    for i in range(n):
        second = int(rng.integers(10, 61))
        model = MLPClassifier(
            (int(rng.integers(5, second + 1)), second),
            solver="sgd",
            alpha=0.0,
            momentum=0.0,
            learning_rate_init=10 ** rng.uniform(-3, -1),
            batch_size=min(int(10 ** rng.uniform(1, 3)), len(images.X)),
            random_state=i,
        )
        classes = np.unique(images.y)
        for epoch in range(1, levels[-1] + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.partial_fit(images.X, images.y, classes=classes)
            if epoch in levels:
                tables[:, i, levels.index(epoch)] = _errors(model.predict, images)
    return Pool(levels, *tables, cost=np.tile(np.array(levels, dtype=float), (n, 1)))


def record_kernel(n: int, levels: tuple[int, ...], images: Images) -> Pool:
    """Solve regularised least squares on the first rows: the space of Table 4, C by the rows."""
    rng = np.random.default_rng(2)
    targets = np.where(images.y[:, np.newaxis] == np.arange(10), 1.0, -1.0)
    rows = []
    for _ in range(n):
        scale, (low, high) = _scaler(rng, with_none=False), (-3, 5)
        kernel = rng.choice(["rbf", "poly", "sigmoid"])
        regularisation = 10 ** rng.uniform(low, high)
        params = {"gamma": 10 ** rng.uniform(-5, 1)}
        if kernel != "rbf":
            params["coef0"] = rng.uniform(-1, 1)
        if kernel == "poly":
            params["degree"] = int(rng.integers(2, 6))
        row = []
        for level in levels:
            start = time.process_time()
            X = scale.fit_transform(images.X[:level])
            gram = pairwise_kernels(X, metric=kernel, **params)
            gram[np.diag_indices(level)] += level / regularisation
            weights = _solved(gram, targets[:level])
            wrong, seconds = [], 0.0
            for part, y in images.held_out():
                similar = pairwise_kernels(scale.transform(part), X, metric=kernel, **params)
                scores = np.nan_to_num(similar @ weights)
                wrong.append(float((scores.argmax(axis=1) != y).mean()))
                seconds = seconds or time.process_time() - start  # the test set is not paid for
            row.append((*wrong, seconds))
        rows.append(row)
    return Pool(levels, *np.moveaxis(np.array(rows), 2, 0))


def record_features(n: int, levels: tuple[int, ...], images: Images) -> Pool:
    """Fit ridge classifiers on random features: the space of Table 5, lambda by the features."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(n):
        scale = _scaler(rng, with_none=True)
        penalty, gamma = 10 ** rng.uniform(-3, 5), 10 ** rng.uniform(-5, 1)
        row = []
        for level in levels:
            start = time.process_time()
            features = RBFSampler(gamma=gamma, n_components=level, random_state=i)
            X = features.fit_transform(scale.fit_transform(images.X))
            model = RidgeClassifier(alpha=penalty / level, solver="cholesky").fit(X, images.y)
            wrong, seconds = [], 0.0
            for part, y in images.held_out():
                wrong.append(1 - model.score(features.transform(scale.transform(part)), y))
                seconds = seconds or time.process_time() - start  # the test set is not paid for
            row.append((*wrong, seconds))
        rows.append(row)
    return Pool(levels, *np.moveaxis(np.array(rows), 2, 0))


def _scaler(rng: np.random.Generator, *, with_none: bool) -> Any:
    scalers = [MinMaxScaler(), StandardScaler(), Normalizer()]
    scalers += [FunctionTransformer()] if with_none else []
    return scalers[rng.integers(len(scalers))]


def _solved(gram: np.ndarray, targets: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a kernel that is no kernel, such as most sigmoids
        try:
            return solve(gram, targets)
        except (np.linalg.LinAlgError, ValueError):
            return np.zeros_like(targets)


def _errors(predict: Callable[[np.ndarray], np.ndarray], images: Images) -> list[float]:
    return [float((predict(X) != y).mean()) for X, y in images.held_out()]
