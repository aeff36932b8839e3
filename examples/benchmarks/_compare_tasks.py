"""The tasks of `compare.py`: ten data sets times four families of models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from _compare_data import DATA_SETS, N_NUMBERS, Rows, divide
from _compare_types import Params, Search
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR

N_ITER = 40
N_FOLDS = 5
LONG = ", long"
TEN, FOUR = 10, 4
"""Data sets and families of the forty tasks; what follows them is for long fits alone."""


@dataclass(frozen=True)
class Family:
    """A model, what is searched, and what a fit can be given little or much of.

    Parameters
    ----------
    classifier, regressor : callable
        Take the resource, 0 where it is rows, and return an estimator.
    resource : str
    amount : int
        Largest number of iterations; 0 where the resource is rows.
    distributions, grid : callable
        Take whether it is a regression.
    """

    classifier: Callable[[int], Any]
    regressor: Callable[[int], Any]
    resource: str
    amount: int
    distributions: Callable[[bool], Params]
    grid: Callable[[bool], dict[str, list[Any]]]


def _svm_space(is_regression: bool) -> Params:
    space = {"svm__C": loguniform(1e-2, 1e2), "svm__gamma": loguniform(1e-5, 1e1)}
    if is_regression:
        return space | {"svm__epsilon": loguniform(1e-3, 1)}
    return space | {"svm__C": loguniform(1e-2, 1e3)}


def _svm_grid(is_regression: bool) -> dict[str, list[Any]]:
    if is_regression:
        return {
            "svm__C": [0.01, 0.3, 5, 100],
            "svm__gamma": [1e-5, 1e-3, 1e-2, 0.1, 1],
            "svm__epsilon": [0.01, 0.3],
        }
    return {"svm__C": [0.01, 0.1, 1, 10, 100, 1000], "svm__gamma": [1e-5, *_powers(-4, 1), 10]}


def _powers(low: int, high: int) -> list[float]:
    return [10.0**power for power in range(low, high)]


def _boosting_space(is_regression: bool) -> Params:
    return {
        "learning_rate": loguniform(0.01, 1),
        "max_leaf_nodes": randint(2, 32),
        "min_samples_leaf": randint(1, 60),
        "l2_regularization": loguniform(1e-4, 1e2),
        "max_features": uniform(0.2, 0.8),
    }


def _boosting_grid(is_regression: bool) -> dict[str, list[Any]]:
    return {
        "learning_rate": [0.03, 0.1, 0.3],
        "max_leaf_nodes": [4, 10, 31],
        "min_samples_leaf": [5, 20],
        "max_features": [0.5, 1.0],
    }


def _trees_space(is_regression: bool) -> Params:
    return {
        "max_features": uniform(0.05, 0.95),
        "min_samples_leaf": randint(1, 30),
        "max_depth": randint(2, 25),
        "bootstrap": [False, True],
    }


def _trees_grid(is_regression: bool) -> dict[str, list[Any]]:
    return {
        "max_features": [0.1, 0.3, 0.6, 1.0],
        "min_samples_leaf": [1, 3, 10, 25],
        "max_depth": [5, 20],
        "bootstrap": [False],
    }


def _gradient_space(is_regression: bool) -> Params:
    losses = ["squared_error", "huber"] if is_regression else ["hinge", "log_loss"]
    return {
        "alpha": loguniform(1e-7, 1e0),
        "eta0": loguniform(1e-5, 1e-2 if is_regression else 1e0),
        "loss": losses,
        "penalty": ["l2", "elasticnet"],
        "average": [False, True],
    }


def _gradient_grid(is_regression: bool) -> dict[str, list[Any]]:
    steps = [1e-5, 1e-4, 1e-3, 1e-2] if is_regression else [1e-4, 1e-3, 1e-2, 1e-1]
    return {
        "alpha": [1e-6, 1e-4, 1e-3, 1e-2, 1e-1],
        "eta0": steps,
        "average": [False, True],
    }


def _mixed(_: int) -> Any:
    """Return a pipeline for the census: the first columns are numbers, the others words."""
    numbers = Pipeline([("scale", StandardScaler()), ("spline", SplineTransformer())])
    words = OneHotEncoder(handle_unknown="infrequent_if_exist")
    encode = ColumnTransformer(
        [("numbers", numbers, slice(N_NUMBERS)), ("words", words, slice(N_NUMBERS, None))]
    )
    return Pipeline([("encode", encode), ("model", LogisticRegression(max_iter=200))])


def _mixed_space(is_regression: bool) -> Params:
    return {
        "model__C": loguniform(1e-4, 1e2),
        "encode__words__min_frequency": loguniform(1e-4, 0.2),
        "encode__numbers__spline__n_knots": randint(2, 12),
        "encode__numbers__spline__degree": [1, 2, 3],
    }


def _mixed_grid(is_regression: bool) -> dict[str, list[Any]]:
    return {
        "model__C": [0.001, 0.01, 0.1, 1],
        "encode__words__min_frequency": [0.001, 0.05],
        "encode__numbers__spline__n_knots": [3, 8],
        "encode__numbers__spline__degree": [1, 3],
    }


FAMILIES: dict[str, Family] = {
    "svm": Family(
        lambda _: Pipeline([("scale", StandardScaler()), ("svm", SVC())]),
        lambda _: Pipeline([("scale", StandardScaler()), ("svm", SVR())]),
        "n_samples",
        0,
        _svm_space,
        _svm_grid,
    ),
    "boosting": Family(
        lambda n: HistGradientBoostingClassifier(
            max_iter=n, early_stopping=False, max_bins=63, random_state=0
        ),
        lambda n: HistGradientBoostingRegressor(
            max_iter=n, early_stopping=False, max_bins=63, random_state=0
        ),
        "max_iter",
        27,
        _boosting_space,
        _boosting_grid,
    ),
    "extra trees": Family(
        lambda n: ExtraTreesClassifier(n_estimators=n, random_state=0),
        lambda n: ExtraTreesRegressor(n_estimators=n, random_state=0),
        "n_estimators",
        27,
        _trees_space,
        _trees_grid,
    ),
    "sgd": Family(
        lambda n: SGDClassifier(max_iter=n, tol=None, learning_rate="invscaling", random_state=0),
        lambda n: SGDRegressor(max_iter=n, tol=None, learning_rate="invscaling", random_state=0),
        "max_iter",
        81,
        _gradient_space,
        _gradient_grid,
    ),
    "mixed pipeline": Family(_mixed, _mixed, "n_samples", 0, _mixed_space, _mixed_grid),
}

N_ROWS: dict[str, dict[str, int]] = {
    # By family: with these a random search takes some seconds, in all 40 tasks about as many.
    "svm": {
        "adult": 1000,
        "mammography": 3000,
        "phoneme": 1500,
        "MNIST": 700,
        "digits": 700,
        "wine red": 700,
        "wine white": 700,
    },
    "boosting": {
        "adult": 1000,
        "mammography": 4000,
        "phoneme": 2500,
        "MNIST": 250,
        "digits": 300,
    },
    "extra trees": {
        "adult": 800,
        "mammography": 2000,
        "phoneme": 1500,
        "MNIST": 400,
        "digits": 600,
        "wine white": 2000,
    },
    "sgd": {
        "adult": 1500,
        "mammography": 6000,
        "phoneme": 3500,
        "MNIST": 800,
        "digits": 500,
    },
}
AMOUNTS: dict[tuple[str, str], int] = {("digits", "boosting"): 9, ("digits", "sgd"): 27}
"""Where the family's number of iterations would take too long: ten classes, ten models."""


@dataclass(frozen=True)
class Task:
    """One data set and one family; `make` gives what a seed searches and tests on."""

    data: str
    family: str
    n_iter: int = N_ITER
    n_rows: int = 0
    amount: int = 0
    suffix: str = ""

    @property
    def name(self) -> str:
        return f"{self.data}, {self.family}{self.suffix}"

    def make(self, data: tuple[Any, Any], seed: int) -> tuple[Search, Rows]:
        """Return the search problem of a seed, and its rows."""
        family, of = FAMILIES[self.family], DATA_SETS[self.data]
        n_rows = self.n_rows or N_ROWS[self.family].get(self.data, 5000)
        amount = self.amount or AMOUNTS.get((self.data, self.family), family.amount)
        rows = divide(data, n_rows, seed, of.is_regression)
        folds = KFold if of.is_regression else StratifiedKFold
        cv = list(folds(N_FOLDS, shuffle=True, random_state=seed).split(rows.X, rows.y))
        make = family.regressor if of.is_regression else family.classifier
        search = Search(
            name=self.name,
            estimator=make(amount),
            distributions=family.distributions(of.is_regression),
            grid=family.grid(of.is_regression),
            X=rows.X,
            y=rows.y,
            scoring=of.scoring,
            cv=cv,
            resource=family.resource,
            max_resource=amount or min(len(train) for train, _ in cv),
            n_iter=self.n_iter,
        )
        return search, rows


def all_tasks() -> list[Task]:
    """Return the forty tasks."""
    return [Task(data, family) for data in [*DATA_SETS][:TEN] for family in [*FAMILIES][:FOUR]]


def quick_tasks() -> list[Task]:
    """Return two tiny ones, which need no files."""
    return [
        Task("breast cancer", "svm", n_iter=6, n_rows=200),
        Task("diabetes", "sgd", n_iter=6, n_rows=200, amount=9),
    ]
