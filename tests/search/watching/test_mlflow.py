"""MLflow's autologging, which patches scikit-learn: in a process of its own."""

from __future__ import annotations

import pytest

from scripts import run_script

LOGGED = """
import os, sys

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # mlflow-skinny has no other store
import mlflow
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn_halving import HyperbandSearchCV

mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("searches")
mlflow.sklearn.autolog(log_models=False, silent=True)
model, X, y = DecisionTreeClassifier(random_state=0), *load_iris(return_X_y=True)
for search in (GridSearchCV, HyperbandSearchCV):
    with mlflow.start_run() as run:
        fitted = search(model, {"max_depth": [1, 2, 3, 4, 5, 6, 7]}, cv=3).fit(X, y)
    of_parent = f"tags.mlflow.parentRunId = '{run.info.run_id}'"
    children = mlflow.search_runs(filter_string=of_parent)
    parent = mlflow.get_run(run.info.run_id)
    assert len(children) == 5, children
    assert parent.data.params["best_max_depth"] == str(fitted.best_params_["max_depth"])
    assert parent.data.metrics["best_cv_score"] == fitted.best_score_
    assert fitted.best_score_ in children["metrics.mean_test_score"].tolist()
HyperbandSearchCV(model, {"max_depth": [1, 2]}, cv=3).fit(X, y)
assert len(mlflow.search_runs()) == 12 + 3  # a run of its own, and two candidates
mlflow.sklearn.autolog(disable=True)
HyperbandSearchCV(model, {"max_depth": [1, 2]}, cv=3).fit(X, y)
assert len(mlflow.search_runs()) == 12 + 3
"""


@pytest.mark.full
@pytest.mark.slow
def test_a_search_is_logged_as_grid_search_is_and_its_fits_are_not(tmp_path):
    done = run_script(tmp_path, LOGGED, str(tmp_path / "runs"), temp_folder=tmp_path)
    assert done.returncode == 0, done.stderr
