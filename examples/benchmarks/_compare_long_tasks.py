"""The tasks of `compare.py` with long fits, and those that run for three times as long."""

from __future__ import annotations

from _compare_data import DATA_SETS
from _compare_tasks import FAMILIES, LONG, THRICE, Task

N_LONG = 16
"""Candidates of RandomizedSearchCV: fits take a third of a second."""
SIX_SEARCHES = (
    *("HyperbandSearchCV", "VarianceHalvingSearchCV", "BayesGapSearchCV"),
    *("RandomizedSearchCV", "HalvingRandomSearchCV", "OptunaSearchCV"),
)
"""What is run on these tasks."""


def long_tasks() -> list[Task]:
    """Return eight tasks whose full fits take 0.2 to 0.6 seconds, on 5,000 to 22,000 rows."""
    sizes = [
        ("adult", "boosting", 20_000, 81),
        ("mammography", "boosting", 7800, 243),
        ("MNIST", "boosting", 5000, 27),
        ("adult", "extra trees", 15_000, 27),
        ("mammography", "extra trees", 7800, 81),
        ("MNIST", "extra trees", 5000, 27),
        ("adult", "svm", 5000, 0),
        ("adult, mixed columns", "mixed pipeline", 20_000, 0),
    ]
    return [
        Task(data, family, n_iter=N_LONG, n_rows=n_rows, amount=amount, suffix=LONG)
        for data, family, n_rows, amount in sizes
    ]


def thrice_tasks() -> list[Task]:
    """Return eight of the forty tasks with three times as many candidates: T is 3 T there."""
    names = list(DATA_SETS)[:10]
    pairs = [
        (names[i], family) for i, family in zip(range(8), 2 * list(FAMILIES)[:4], strict=True)
    ]
    return [Task(data, family, n_iter=120, suffix=THRICE) for data, family in pairs]
