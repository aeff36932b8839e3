"""Searches on surrogates of real runs that others made: how good is the choice after so many fits?

    python examples/benchmarks/yahpo.py [--quick] [--seeds N] [--noise] [--only TEXT]
        [--output FILE.md]

YAHPO Gym (Pfisterer et al. 2022) predicts the accuracy of neural networks (lcbench), trees
(rbv2_rpart) and xgboost (rbv2_xgboost) for any parameters and any share of the epochs or rows.
Estimators whose score asks it go through the public API of each search. Data sets are those of
the published suite that the three surrogates have, and two others with an even number of each;
parameters of searches were never looked at on these. Four on which small levels are known to
mislead have a table of their own. The data are read from ../shared/data/yahpo, or from the folder
yahpo in SKLEARN_HALVING_DATA; needs the extra bench.

The regret of a choice is 0 for the best of 20,000 random candidates (or of all that any search
tried, if that is better) and 1 for their median, by the surrogate's full accuracy. A full fit
costs 1, a fit on a share of the resource that share. Searches that can be stopped at any time are
run once, and looked at on the way; the others are run anew for each budget. TPE is Optuna's, with
``multivariate=True`` and ``group=True``, and has 200 full fits.

With ``--noise`` there are five splits, scores have the noise of splits, budgets are five times as
many fits on single splits, and regrets are those of the true accuracy. All searches but Hyperband
and the race fit each candidate on all five; Hyperband has one split in early rungs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from _common import DATA, Report, one_thread, parse_options
from _yahpo_surrogates import LARGEST, NUMBERS, Scenario, Surrogate, scenario_at
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV

from sklearn_halving import BanditSearchCV, BayesGapSearchCV, HyperbandSearchCV

BUDGETS = (25, 50, 100, 200)
SUITE = {
    "lcbench": ["167168", "189873", "189906"],
    "rbv2_rpart": ["14", "40499"],
    "rbv2_xgboost": ["12", "1501", "16", "40499"],
}
MISLEADING = {"lcbench": ["189866"], "rbv2_rpart": ["1050", "4134"], "rbv2_xgboost": ["1050"]}
N_EVEN = 2
"""Other data sets of each surrogate, spread over those with an even number."""
N_REFERENCE = 20_000
N_OF_BAYES_GAP = 500
"""Candidates of BayesGapSearchCV, among which it chooses those that it fits."""
OF_LOOP = 4 + 11 / 3 + 4 + 4
"""Full fits of one loop of Hyperband over the levels 1, 3, 9 and 27 on one split."""

Params = dict[str, Any]
Try = tuple[Params, float, float, float]
"""Parameters, share of the full resource, score, cost in full fits; in the order of the fits."""
Runner = Callable[["Task", int], list[Params | None]]


class Task:
    """One data set of one surrogate."""

    def __init__(self, scenario: Scenario, data_set: str, noise: int | None) -> None:
        self.scenario, self.data_set = scenario, data_set
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
        return [float(budget * self.n_splits) for budget in BUDGETS]

    def quality(self, candidates: list[Params]) -> np.ndarray:
        """Return the accuracy of full fits."""
        return self.scenario.accuracy(self.data_set, candidates, LARGEST)


# ------------------------------------------------------------------------------ the searches


def hyperband(**options: Any) -> Runner:
    """Return Hyperband, as many loops as the largest budget needs."""

    def run(task: Task, seed: int) -> list[Params | None]:
        of_loop = OF_LOOP if task.n_splits == 1 else 3 * OF_LOOP
        search = HyperbandSearchCV(
            task.estimator,
            task.scenario.space,
            resource="level",
            min_resources=1,
            max_resources=LARGEST,
            n_loops=int(np.ceil(task.budgets[-1] / of_loop)) + 1,
            early_splits=1,
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


def random_search(times: int) -> Runner:
    """Return RandomizedSearchCV with so many times the fits."""

    def run(task: Task, seed: int) -> list[Params | None]:
        cost = task.n_splits / times
        return choices([(params, 1.0, score, cost) for params, score in drawn(task, seed)], task)

    return run


@lru_cache(maxsize=1)
def drawn(task: Task, seed: int) -> list[tuple[Params, float]]:
    """Return the candidates of the longest random search: the shorter ones have the first."""
    search = RandomizedSearchCV(
        task.estimator,
        task.scenario.space,
        n_iter=BUDGETS[-1] * 4,
        cv=task.cv,
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)
    results = search.cv_results_
    return list(zip(results["params"], results["mean_test_score"], strict=True))


def tpe(task: Task, seed: int) -> list[Params | None]:
    """Return what Optuna's TPE chooses, on the mean of the splits."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tries: list[Try] = []

    def objective(trial: Any) -> float:
        params = _suggested(trial, task.scenario)
        estimator = Surrogate(task.scenario, task.data_set, noise=task.estimator.noise, **params)
        estimator.fit(task.X)
        score = float(np.mean([estimator.score(task.X[test]) for _, test in task.cv]))
        tries.append((params, 1.0, score, float(task.n_splits)))
        return score

    sampler = optuna.samplers.TPESampler(multivariate=True, group=True, seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=BUDGETS[-1])
    return choices(tries, task)


def bayes_gap(task: Task, seed: int) -> list[Params | None]:
    """Return what BayesGapSearchCV chooses, anew for each budget."""
    return [
        _own(
            BayesGapSearchCV(
                task.estimator,
                task.scenario.space,
                n_pulls=int(budget),
                n_candidates=N_OF_BAYES_GAP,
                cv=task.cv,
                refit=False,
                random_state=seed,
            )
            .fit(task.X, task.y)
            .best_params_
        )
        for budget in task.budgets
    ]


def race(**options: Any) -> Runner:
    """Return the race against the incumbent, run anew for each budget."""

    def run(task: Task, seed: int) -> list[Params | None]:
        return [
            _own(
                BanditSearchCV(
                    task.estimator,
                    task.scenario.space,
                    policy="incumbent_race",
                    n_pulls=int(budget),
                    n_candidates=int(budget),
                    cv=task.cv,
                    refit=False,
                    random_state=seed,
                    **options,
                )
                .fit(task.X, task.y)
                .best_params_
            )
            for budget in task.budgets
        ]

    return run


def halving(task: Task, seed: int) -> list[Params | None]:
    """Return what scikit-learn's halving chooses, anew for each budget."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingRandomSearchCV

    return [
        _own(
            HalvingRandomSearchCV(
                task.estimator,
                task.scenario.space,
                resource="level",
                min_resources=1,
                max_resources=LARGEST,
                n_candidates=int(budget * LARGEST / 4),
                cv=task.cv,
                refit=False,
                random_state=seed,
            )
            .fit(task.X, task.y)
            .best_params_
        )
        for budget in BUDGETS
    ]


SEARCHES: dict[str, Runner] = {
    "HyperbandSearchCV": hyperband(),
    'HyperbandSearchCV, "random"': hyperband(sampler="random"),
    'HyperbandSearchCV, "kernel_density"': hyperband(sampler="kernel_density"),
    "BayesGapSearchCV": bayes_gap,
    "BanditSearchCV, race": race(),
    'BanditSearchCV, race, "evolution"': race(sampler="evolution"),
    "Optuna TPE": tpe,
    "HalvingRandomSearchCV": halving,
    "RandomizedSearchCV": random_search(1),
    "RandomizedSearchCV, 2 times": random_search(2),
    "RandomizedSearchCV, 4 times": random_search(4),
}


def _own(params: Params) -> Params:
    """Return the parameters without the resource."""
    return {name: value for name, value in params.items() if name != "level"}


def _suggested(trial: Any, scenario: Scenario) -> Params:
    """Return the parameters of a trial, those that a parent switches off left out."""
    spaces, params = scenario.space, {}
    by_name = {p["name"]: p for p in scenario.parameters}
    names = list(spaces[0])
    if len(spaces) > 1:
        parent = names[0]
        params[parent] = trial.suggest_categorical(parent, by_name[parent]["choices"])
        [names] = [list(space)[1:] for space in spaces if space[parent] == [params[parent]]]
    for name in names:
        p = by_name[name]
        if p["type"] == "categorical":
            params[name] = trial.suggest_categorical(name, p["choices"])
        elif p["type"] == "uniform_int":
            params[name] = trial.suggest_int(name, p["lower"], p["upper"], log=p["log"])
        else:
            params[name] = trial.suggest_float(name, p["lower"], p["upper"], log=p["log"])
    return params


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


# ------------------------------------------------------------------------------ the tables


def data_sets(scenario: Scenario, quick: bool) -> list[str]:
    """Return those of the suite, and a few others with an even number."""
    suite, misleading = SUITE[scenario.name], MISLEADING[scenario.name]
    if quick:
        return suite[:1]
    even = [name for name in scenario.data_sets if int(name) % 2 == 0]
    others = [name for name in even if name not in (*suite, *misleading)]
    return suite + others[:: max(1, len(others) // 5)][:N_EVEN]


def regrets(task: Task, seeds: int, only: str) -> Iterator[tuple[str, int, list[float], float]]:
    """Yield (search, seed, regret at each budget, seconds)."""
    sampler = ParameterSampler(task.scenario.space, N_REFERENCE, random_state=0)
    reference = task.quality(list(sampler))
    found = []
    for name, run in SEARCHES.items():
        if only not in name:
            continue
        for seed in range(seeds):
            start = time.perf_counter()
            chosen = run(task, seed)
            seconds = time.perf_counter() - start
            known = [params or {} for params in chosen]
            worst = float(reference.min())
            quality = [float(task.quality([params])[0]) if params else worst for params in known]
            found.append((name, seed, quality, seconds))
    best = max([reference.max(), *(max(quality) for *_, quality, _ in found)])
    median = float(np.median(reference))
    for name, seed, quality, seconds in found:
        yield name, seed, [(best - q) / (best - median) for q in quality], seconds


def summarise(
    report: Report, title: str, table: dict[str, dict[str, list[list[float]]]], scale: int
) -> None:
    """Write mean regrets over data sets, best at 100 full fits first, with standard errors."""
    rows = []
    for name, of_task in table.items():
        means = np.array([np.mean(runs, axis=0) for runs in of_task.values()])
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.zeros(4)
        cells = [f"{m:.3f} ({e:.3f})" for m, e in zip(means.mean(axis=0), error, strict=True)]
        rows.append((means.mean(axis=0)[2], [name, *cells]))
    columns = " | ".join(["search", *(f"{budget * scale} fits" for budget in BUDGETS)])
    report.table(title, columns, [cells for _, cells in sorted(rows, key=lambda row: row[0])])


def wins(table: dict[str, dict[str, list[list[float]]]], peer: str) -> Iterator[list[Any]]:
    """Yield, for each search, on how many data sets it is better and worse than the peer."""
    for name, of_task in table.items():
        if name == peer or peer not in table:
            continue
        cells: list[Any] = [name]
        for place in range(len(BUDGETS)):
            ours = [np.mean(runs, axis=0)[place] for runs in of_task.values()]
            theirs = [np.mean(runs, axis=0)[place] for runs in table[peer].values()]
            difference = np.subtract(ours, theirs)
            cells.append(f"{(difference < -1e-4).sum()} / {(difference > 1e-4).sum()}")
        yield cells


def main() -> None:
    options = parse_options(__doc__, seeds=3, noise="scores with the noise of five splits")
    if not (DATA / "yahpo").is_dir():
        print(f"No surrogates in {DATA / 'yahpo'}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    report = Report("Surrogates of YAHPO Gym", options)
    scale = 5 if options.noise else 1
    tables: list[dict[str, dict[str, list[list[float]]]]] = [{}, {}]
    seconds: dict[str, list[float]] = {}
    warnings.simplefilter("ignore")
    for folder in ["rbv2_xgboost"] if options.quick else sorted(NUMBERS):
        scenario = scenario_at(str(DATA / "yahpo" / folder))
        named = [(name, 0) for name in data_sets(scenario, options.quick)]
        named += [] if options.quick else [(name, 1) for name in MISLEADING[folder]]
        for name, kind in named:
            task = Task(scenario, name, noise=1 if options.noise else None)
            for search, _, of_budget, taken in regrets(task, options.seeds, options.only):
                of_search = tables[kind].setdefault(search, {})
                of_search.setdefault(f"{folder} {name}", []).append(of_budget)
                seconds.setdefault(search, []).append(taken)
            report.write(f"{folder} {name} is done")
    report.write("")
    titles = ("Mean normalised regret", "Where small levels mislead")
    for title, table in zip(titles, tables, strict=True):
        if table:
            n_tasks = len(next(iter(table.values())))
            summarise(report, f"{title}: {n_tasks} data sets", table, scale)
    columns = " | ".join(["search", *(f"{budget * scale} fits" for budget in BUDGETS)])
    report.table("Data sets better / worse than TPE", columns, wins(tables[0], "Optuna TPE"))
    rows = [[name, f"{np.mean(taken):.1f}"] for name, taken in seconds.items()]
    report.table("Seconds for all budgets of one data set", "search | seconds", rows)
    report.save()


if __name__ == "__main__":
    with one_thread():
        main()
