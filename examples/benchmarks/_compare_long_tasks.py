"""The tasks of `compare.py` with long fits."""

from __future__ import annotations

from _compare_tasks import LONG, Task

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
