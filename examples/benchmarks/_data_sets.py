"""Real data sets, and how their rows are divided."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import DATA, load_images, load_phoneme
from sklearn.datasets import (
    fetch_openml,
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
)
from sklearn.preprocessing import OneHotEncoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _data import load_adult

MOST_TESTED = 5000
"""Test rows at most."""


class DataSet(NamedTuple):
    """Where the rows come from, and what is predicted.

    Parameters
    ----------
    load : callable
        Returns X of shape (n_samples, n_features), numbers only, and y.
    scoring : str
    is_regression : bool, default=False
    """

    load: Callable[[], tuple[Any, Any]]
    scoring: str
    is_regression: bool = False


def adult() -> tuple[Any, Any]:
    """Return the census of 32,561 people; categories become columns of 0 and 1."""
    frame, y = load_adult(must_be_real=True)
    frame = frame.drop(columns="education")  # education_num says the same
    names = list(frame.select_dtypes(exclude="number").columns)
    encoder = OneHotEncoder(min_frequency=0.01, sparse_output=False, handle_unknown="ignore")
    encoded = encoder.fit_transform(frame[names].astype(str))
    return np.hstack([frame.drop(columns=names).to_numpy(float), encoded]), np.asarray(y, int)


def mammography() -> tuple[Any, Any]:
    """Return all 11,183 spots, of which 260 are calcifications."""
    path = DATA / "mammography.csv"
    if path.exists():
        table = np.genfromtxt(path, delimiter=",", dtype=str)
        X, y = table[:, :-1].astype(float), table[:, -1]
    else:
        X, y = fetch_openml("mammography", version=1, return_X_y=True, as_frame=False)
    return X, (np.char.strip(y.astype(str), "'") == "1").astype(int)


def wine_marks(colour: str) -> tuple[Any, Any]:
    """Return wines of one colour and the marks that tasters gave them."""
    path = DATA / f"winequality-{colour}.csv"
    if not path.exists():
        name = {"red": "wine-quality-red", "white": "wine-quality-white"}[colour]
        return fetch_openml(name, version=1, return_X_y=True, as_frame=False)
    table = np.genfromtxt(path, delimiter=",")
    table = table[~np.isnan(table).any(axis=1)]
    return table[:, :-1], table[:, -1]


def images() -> tuple[Any, Any]:
    """Return MNIST's 10,000 test images, shrunk to 14 x 14 points, and which digits are odd."""
    X, y, _ = load_images(10_000, seed=0)
    side = int(np.sqrt(X.shape[1]))
    if side == 28:
        X = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    return X, y % 2


DATA_SETS: dict[str, DataSet] = {
    "adult": DataSet(adult, "roc_auc"),
    "mammography": DataSet(mammography, "average_precision"),
    "phoneme": DataSet(load_phoneme, "roc_auc"),
    "MNIST": DataSet(images, "accuracy"),
    "digits": DataSet(lambda: load_digits(return_X_y=True), "accuracy"),
    "breast cancer": DataSet(lambda: load_breast_cancer(return_X_y=True), "roc_auc"),
    "wine cultivars": DataSet(lambda: load_wine(return_X_y=True), "accuracy"),
    "wine red": DataSet(lambda: wine_marks("red"), "r2", is_regression=True),
    "wine white": DataSet(lambda: wine_marks("white"), "r2", is_regression=True),
    "diabetes": DataSet(lambda: load_diabetes(return_X_y=True), "r2", is_regression=True),
}


class Rows(NamedTuple):
    """The rows of one seed: training part and held-out part."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def divide(data: tuple[Any, Any], n_train: int, seed: int, is_regression: bool) -> Rows:
    """Return up to ``n_train`` rows to search with, and up to 5,000 others to test on.

    At least three of ten rows are held out. Columns, and the target of a regression, are
    standardised by the training rows: stochastic gradient descent is searched without a
    pipeline, for the peers that need ``partial_fit``.
    """
    X, y = data
    order = np.random.default_rng([seed, len(X)]).permutation(len(X))
    n_train = min(n_train, 7 * len(X) // 10)
    train, test = order[:n_train], order[n_train : n_train + MOST_TESTED]
    X = np.asarray(X, dtype=float)
    centre, width = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - centre) / np.where(width > 0, width, 1)
    if is_regression:
        y = (y - y[train].mean()) / y[train].std()
    return Rows(X[train], y[train], X[test], y[test])
