"""Models of boosting libraries that several tests of resources train."""

from __future__ import annotations

LIBRARIES = ["lightgbm", "xgboost", "catboost"]


def boosting(library, **params):
    """Return a small classifier of a library, which runs in one thread."""
    common = {"n_estimators": 20, "learning_rate": 0.1, "random_state": 0, **params}
    if library.__name__ == "lightgbm":
        return library.LGBMClassifier(n_jobs=1, verbose=-1, **common)
    if library.__name__ == "xgboost":
        return library.XGBClassifier(n_jobs=1, **common)
    quiet = {"verbose": False, "allow_writing_files": False}
    return library.CatBoostClassifier(thread_count=1, **quiet, **common)


def count_trees(model):
    if hasattr(model, "booster_"):
        return model.booster_.current_iteration()
    if hasattr(model, "get_booster"):
        return model.get_booster().num_boosted_rounds()
    return model.tree_count_
