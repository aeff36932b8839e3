"""MLflow's autologging: one run for a search and some for its best candidates, none for a fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

N_CHILDREN = 5
"""Number of candidates with a run, as for GridSearchCV by default."""


@contextmanager
def logged_as_a_whole(search: Any) -> Iterator[None]:
    """Log a search as MLflow logs GridSearchCV, if MLflow logs scikit-learn's estimators.

    Without this, each fit would be a run, which takes ten times as long as the fit.
    """
    if "mlflow.sklearn" not in sys.modules:
        yield
        return
    from mlflow.utils.autologging_utils import autologging_is_disabled, disable_autologging

    if autologging_is_disabled("sklearn"):
        yield
        return
    with disable_autologging():
        yield
    _log(search)


def _log(search: Any) -> None:
    import mlflow

    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        mlflow.set_tag("estimator_name", type(search).__name__)
        own = {name: str(value)[:500] for name, value in search.get_params(deep=False).items()}
        best = {f"best_{name}": value for name, value in search.best_params_.items()}
        mlflow.log_params(own | best)
        mlflow.log_metric("best_cv_score", search.best_score_)
        results = search.cv_results_
        ranks = next(column for name, column in results.items() if name.startswith("rank_test_"))
        for row in np.argsort(ranks, kind="stable")[:N_CHILDREN]:
            with mlflow.start_run(nested=True):
                mlflow.log_params(results["params"][row])
                of_row = {
                    name: float(column[row])
                    for name, column in results.items()
                    if name.startswith(("mean_", "std_", "rank_"))
                }
                mlflow.log_metrics({name: x for name, x in of_row.items() if np.isfinite(x)})
