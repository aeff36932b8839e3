"""What `yahpo.py` compares: each search on one data set of a surrogate, and what it chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from _yahpo_surrogates import LARGEST, Scenario, Surrogate
from sklearn.base import BaseEstimator
from sklearn.model_selection import RandomizedSearchCV

from sklearn_halving import (
    AdaptiveSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

BUDGETS = (25, 50, 100, 200)
OF_LOOP = 4 + 11 / 3 + 4 + 4
"""Full fits of one loop of Hyperband over the levels 1, 3, 9 and 27 on one split.

With more splits in the last rung it is the least, since the race there may drop any newcomer.
"""

Params = dict[str, Any]
Try = tuple[Params, float, float, float]
"""Parameters, share of the full resource, score, cost in full fits; in the order of the fits."""
Runner = Callable[["Task", int], list[Params | None]]


class Task:
    """One data set of one surrogate."""

    def __init__(
        self,
        scenario: Scenario,
        data_set: str,
        noise: int | None,
        fits: tuple[int, ...] = BUDGETS,
    ) -> None:
        self.scenario, self.data_set, self.fits = scenario, data_set, fits
        self.n_splits = 1 if noise is None else 5
        self.estimator = Surrogate(scenario, data_set, noise=noise)
        rows = np.arange(4 * self.n_splits)
        self.X, self.y = (rows // 4).reshape(-1, 1).astype(float), rows % 2
        self.cv = [
            (np.flatnonzero(rows // 4 != split) if self.n_splits > 1 else rows, test)
            for split, test in enumerate(np.split(rows, self.n_splits))
        ]

    @property
    def budgets(self) -> list[float]:
        """In fits on single splits."""
        return [float(budget * self.n_splits) for budget in self.fits]

    def quality(self, candidates: list[Params]) -> np.ndarray:
        """Return the accuracy of full fits."""
        return self.scenario.accuracy(self.data_set, candidates, LARGEST)

    def mean_score(self, params: Params, level: int = LARGEST) -> float:
        """Return the mean score of the splits, as searches see it."""
        own = {"data_set": self.data_set, "level": level, "noise": self.estimator.noise}
        estimator = Surrogate(self.scenario, **own, **params).fit(self.X)
        return float(np.mean([estimator.score(self.X[test]) for _, test in self.cv]))


def hyperband(**options: Any) -> Runner:
    """Return Hyperband, as many loops as the largest budget needs."""

    def run(task: Task, seed: int) -> list[Params | None]:
        search = HyperbandSearchCV(
            task.estimator,
            task.scenario.space,
            resource="level",
            min_resources=1,
            max_resources=LARGEST,
            n_loops=int(np.ceil(task.budgets[-1] / OF_LOOP)) + 1,
            cv=task.cv,
            refit=False,
            random_state=seed,
            **options,
        ).fit(task.X, task.y)
        params = dict(
            zip(search.cv_results_["candidate"], search.cv_results_["params"], strict=True)
        )
        history = search.history_
        columns = (history["candidate"], history["n_resources"], history["test_score"])
        tries = [
            (_own(params[arm]), level / LARGEST, score, level / LARGEST)
            for arm, level, score in zip(*columns, strict=True)
        ]
        return choices(tries, task)

    return run


def random_search(task: Task, seed: int) -> list[Params | None]:
    """Return the choices of RandomizedSearchCV."""
    search = RandomizedSearchCV(
        task.estimator,
        task.scenario.space,
        n_iter=task.fits[-1],
        cv=task.cv,
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)
    results = search.cv_results_
    tried = zip(results["params"], results["mean_test_score"], strict=True)
    return choices([(params, 1.0, score, task.n_splits) for params, score in tried], task)


def anew(
    task: Task, budgets: Iterable[float], make: Callable[[int], BaseEstimator]
) -> list[Params | None]:
    """Return what a search chooses that is made and run anew for each budget."""
    searches = (make(int(budget)).set_params(cv=task.cv, refit=False) for budget in budgets)
    return [_own(search.fit(task.X, task.y).best_params_) for search in searches]


def of_budget(search: type[BaseEstimator], n_drawn: int | None = None) -> Runner:
    """Return a search run anew for each budget, with so many candidates for each fit."""

    def run(task: Task, seed: int) -> list[Params | None]:
        def make(budget: int) -> BaseEstimator:
            own = {"n_fits": budget, "random_state": seed}
            if n_drawn is not None:
                own["n_candidates"] = n_drawn * budget
            return search(task.estimator, task.scenario.space, **own)

        return anew(task, task.budgets, make)

    return run


def halving(task: Task, seed: int) -> list[Params | None]:
    """Return what scikit-learn's halving chooses, anew for each budget."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingRandomSearchCV

    def make(budget: int) -> HalvingRandomSearchCV:
        return HalvingRandomSearchCV(
            task.estimator,
            task.scenario.space,
            resource="level",
            min_resources=1,
            max_resources=LARGEST,
            n_candidates=int(budget * LARGEST / 4),
            random_state=seed,
        )

    return anew(task, task.fits, make)


SEARCHES: dict[str, Runner] = {
    "AdaptiveSearchCV": of_budget(AdaptiveSearchCV),
    "HyperbandSearchCV": hyperband(),
    "BayesGapSearchCV": of_budget(BayesGapSearchCV, n_drawn=4),
    "VarianceHalvingSearchCV": of_budget(VarianceHalvingSearchCV),
    "HalvingRandomSearchCV": halving,
    "RandomizedSearchCV": random_search,
}
FOR_NOISE = [name for name in SEARCHES if name.startswith("VarianceHalving")]
"""Searches that use more splits for some candidates, so that one split makes no sense."""


def _own(params: Params) -> Params:
    """Return the parameters without the resource."""
    return {name: value for name, value in params.items() if name != "level"}


def choices(tries: Iterable[Try], task: Task) -> list[Params | None]:
    """Return the choice at each budget: the best mean among those with the most of all.

    The most splits at the largest share of the resource; None before the first fit.
    """
    scores: dict[str, list[float]] = {}
    params_of: dict[str, Params] = {}
    best: list[Params | None] = []
    spent, largest = 0.0, 0.0
    budgets = list(task.budgets)

    def chosen() -> Params | None:
        if not scores:
            return None
        most = max(map(len, scores.values()))
        known = {key: np.mean(of) for key, of in scores.items() if len(of) == most}
        return params_of[max(known, key=lambda key: known[key])]

    for params, share, score, cost in tries:
        while budgets and spent + cost > budgets[0] + 1e-9:
            best.append(chosen())
            budgets.pop(0)
        spent += cost
        if share > largest:
            largest = share
            scores.clear()
        if share == largest:
            key = repr(sorted(params.items()))
            params_of[key] = params
            scores.setdefault(key, []).append(score)
    return best + [chosen()] * len(budgets)
