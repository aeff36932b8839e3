"""Real tables as tasks: a model in a pipeline, rows to train on, and rows to test on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

MODELS: dict[str, tuple[Any, Any]] = {
    "svm": (SVC(), SVR()),
    "forest": (
        RandomForestClassifier(50, random_state=0),
        RandomForestRegressor(50, random_state=0),
    ),
    "neighbours": (KNeighborsClassifier(), KNeighborsRegressor()),
    "boosting": (
        HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        HistGradientBoostingRegressor(early_stopping=False, random_state=0),
    ),
    "neural network": (
        MLPClassifier(max_iter=100, random_state=0),
        MLPRegressor(max_iter=100, random_state=0),
    ),
    "linear": (LogisticRegression(max_iter=300), Ridge()),
}
ONE_HOT = ("svm", "neighbours", "neural network", "linear")
N_TEST = 6000


@dataclass
class TableTask:
    """A model in a pipeline, and the rows of a table. Numeric targets have mean 0, variance 1."""

    pipeline: Any
    prefix: str
    """The prefix of the parameters of the model."""
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    has_classes: bool
    order: str = ""
    groups: np.ndarray | None = None

    def folds(self, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return shuffled folds; for time order, the latest first."""
        if self.order == "groups":
            by_group = GroupKFold(n_folds, shuffle=True, random_state=seed)
            return list(by_group.split(self.X, self.y, self.groups))
        if self.order == "time":
            return list(TimeSeriesSplit(n_folds).split(self.X))[::-1]
        kind = StratifiedKFold if self.has_classes else KFold
        return list(kind(n_folds, shuffle=True, random_state=seed).split(self.X, self.y))


def table_task(table: str, model: str, n_rows: int, seed: int, order: str = "") -> TableTask:
    """Return a model on ``n_rows`` rows of a table, but at most 60 % of them.

    With ``order="groups"``, the first column is the group, and the test rows are of other groups.
    With ``"time"``, the first two columns are year and month, and the test rows follow.
    """
    frame = pd.read_csv(DATA / "tables" / f"{table}.csv.gz")
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    has_classes = not (pd.api.types.is_numeric_dtype(y) and y.nunique() > 20)
    target = pd.factorize(y)[0] if has_classes else ((y - y.mean()) / y.std()).to_numpy()
    rng = np.random.default_rng(seed)
    rows, groups = rng.permutation(len(y)), pd.factorize(X.iloc[:, 0])[0]
    if order == "groups":
        rows = np.argsort(rng.permutation(groups.max() + 1)[groups], kind="stable")
    elif order == "time":
        rows = np.lexsort((X.iloc[:, 1], X.iloc[:, 0]))[rng.integers(len(y) // 4) :]
    train, test = np.split(rows[: n_rows + N_TEST], [min(n_rows, len(y) * 6 // 10)])
    if order == "groups":
        test = test[groups[test] != groups[train[-1]]]
    numbers = make_column_selector(dtype_include=np.number)
    texts = make_column_selector(dtype_exclude=np.number)
    codes: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if model in ONE_HOT:
        codes = OneHotEncoder(handle_unknown="ignore", max_categories=20, sparse_output=False)
    encoder = make_column_transformer((codes, texts), (SimpleImputer(), numbers))
    pipeline = make_pipeline(encoder, StandardScaler(), MODELS[model][0 if has_classes else 1])
    prefix = f"{pipeline.steps[-1][0]}__"
    data = X.iloc[train], target[train], X.iloc[test], target[test]
    return TableTask(pipeline, prefix, *data, has_classes, order, groups[train])
