"""Scores of a candidate on a part of the resource, for peers that leave this to their user.

What stands here is what their users write by hand: a loop over splits, and models that go on
from one amount to the next where ``warm_start`` lets them. A linear model starts anew each time:
all its epochs in one call take less time than a few calls of ``partial_fit``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _compare_types import Incumbent, Params, Search, SearchRun
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import get_scorer

FACTOR = 3
N_RUNGS = 5
"""Levels of the resource: 1, 3, 9, 27 and 81 of 81 parts."""


class Recorder:
    """Clock and counters of one search, and what it would have returned when."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._incumbents: list[Incumbent] = []
        self.n_fits = 0

    def seconds(self) -> float:
        """Return the wall time since the start."""
        return time.perf_counter() - self._started

    def saw(self, params: Params) -> None:
        """Keep what would be returned now, if it is another than before."""
        params = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in params.items()
        }
        if not self._incumbents or self._incumbents[-1].params != params:
            self._incumbents.append(Incumbent(self.seconds(), self.n_fits, params))

    def run(self, seconds: float) -> SearchRun:
        """Return all that was seen; ``seconds`` is how long the search took."""
        return SearchRun(self._incumbents, seconds, self.n_fits)


def rungs(max_resource: int) -> list[int]:
    """Return the levels, from a small part up to everything, each once."""
    parts = [max_resource / FACTOR**k for k in reversed(range(N_RUNGS))]
    return sorted({max(1, round(part)) for part in parts})


class Trained:
    """Models of one candidate, one for each split, and their scores at growing levels."""

    def __init__(self, search: Search, params: Params, seed: int, recorder: Recorder) -> None:
        self._search, self._seed, self._recorder = search, seed, recorder
        self._model = clone(search.estimator).set_params(**params)
        self._folds: list[Any] = [None] * len(search.cv)
        self._level = 0

    def score(self, level: int) -> float:
        """Train all splits up to ``level``; return the mean score, NaN where a fit failed."""
        scores = [self._score_of_fold(k, level) for k in range(len(self._folds))]
        self._level = level
        self._recorder.n_fits += len(scores)
        return float(np.mean(scores))

    def _score_of_fold(self, k: int, level: int) -> float:
        train, test = self._search.cv[k]
        X, y = self._search.X, self._search.y
        try:
            self._folds[k] = self._train(self._folds[k], X[train], y[train], level)
            return float(get_scorer(self._search.scoring)(self._folds[k], X[test], y[test]))
        except ValueError:  # too few rows of a class, or an overflow
            return float("nan")

    def _train(self, model: Any, X: Any, y: Any, level: int) -> Any:
        resource = self._search.resource
        if resource == "n_samples":
            order = stratified_order(y, is_classifier(self._model), self._seed)
            rows = order[: max(1, round(len(y) * level / self._search.max_resource))]
            return clone(self._model).fit(X[rows], y[rows])
        if not _takes_more(self._model, resource):
            return clone(self._model).set_params(**{resource: level}).fit(X, y)
        if model is None:
            model = clone(self._model).set_params(warm_start=True)
        return model.set_params(**{resource: level}).fit(X, y)


def _takes_more(model: Any, resource: str) -> bool:
    """Return whether ``warm_start`` adds iterations up to the number that is set."""
    boosting = HistGradientBoostingClassifier, HistGradientBoostingRegressor
    return resource == "n_estimators" or isinstance(model, boosting)


def stratified_order(y: Any, is_classes: bool, seed: int) -> np.ndarray:
    """Return an order of rows such that each beginning of it has the classes' shares."""
    random = np.random.default_rng([seed, len(y)])
    if not is_classes:
        return random.permutation(len(y))
    place = np.empty(len(y))
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        place[random.permutation(rows)] = (np.arange(len(rows)) + random.random()) / len(rows)
    return np.argsort(place, kind="stable")
