"""Twenty to a hundred fits: how good is what a search chooses, and what does it cost beside them?

    python examples/benchmarks/few_fits.py [--quick] [--seeds N] [--only TEXT]
        [--one-split-skopt N] [--output FILE.md]

`BayesGapSearchCV` against RandomizedSearchCV, BayesSearchCV of scikit-optimize and OptunaSearchCV
(TPE) of optuna-integration, all with their defaults, without a refit, in one process and one
thread. All get the same number of *fits*: five folds leave a fifth as many candidates as one
split with a fifth of the rows for testing. The peers decide candidate by candidate and know of no
end, so that their first 20 and 50 fits are those of shorter searches; BayesGapSearchCV, which
knows its number of fits, searches anew for each. Each seed draws the rows, the splits and the
candidates anew.

The true score of parameters is the mean over 12 models, trained on rows drawn from all of the
data, as many as in a search's split, and tested on up to 1,000 others. The regret is the
distance to the best true score known: that of any choice of any search, and of 30 random
candidates. So that tasks can be averaged, it is given in percent of the distance from there to
the median of the 30. Overhead is the wall time of a search less that of fitting and scoring,
times the share of the CPU that the process had meanwhile, which other work may take from it.

BayesSearchCV on a single split would take most of the time: ``--one-split-skopt 2`` runs it for
the first two seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from _common import Report, one_thread
from _few_fits_tasks import N_TESTED, QUICK_NAMES, TASKS, Task, rows_of
from _peer_spaces import for_optuna, for_skopt
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    KFold,
    ParameterSampler,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from sklearn_halving import BayesGapSearchCV

N_FITS = (20, 50, 100)
N_FOLDS = 5
N_RANDOM = 30
PEERS = {
    "skopt": "scikit-optimize, and so BayesSearchCV",
    "optuna_integration": "optuna-integration, and so OptunaSearchCV",
}
Params = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What a search chose after each number of fits, and what it cost.

    Parameters
    ----------
    params : dict of int to dict
    overhead : dict of int to float
        Seconds a fit beside the fit.
    """

    params: dict[int, Params]
    overhead: dict[int, float]


@dataclass(frozen=True)
class Inputs:
    """What one search gets."""

    task: Task
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    seed: int

    def options(self) -> Params:
        """What all searches take."""
        return {"scoring": self.task.scoring, "random_state": self.seed, "refit": False}

    def cv(self, n_splits: int) -> Any:
        """Return one split, or folds."""
        stratified = is_classifier(self.task.model)
        if n_splits == 1:
            single = StratifiedShuffleSplit if stratified else ShuffleSplit
            return single(1, test_size=1 / N_FOLDS, random_state=self.seed)
        folds = StratifiedKFold if stratified else KFold
        return folds(n_splits, shuffle=True, random_state=self.seed)


def bayes_gap(inputs: Inputs, n_fits: tuple[int, ...], **options: Any) -> Found:
    """Search anew for each number of fits."""
    params, overhead = {}, {}
    for n in n_fits:
        search = BayesGapSearchCV(
            inputs.task.model, inputs.task.space, n_fits=n, **inputs.options(), **options
        )
        wall, share = _time_of(search, inputs)
        within = float(search.history_[["fit_time", "score_time"]].to_numpy().sum())
        params[n] = search.cv_results_["params"][search.best_index_]
        overhead[n] = share * (wall - within) / n
    return Found(params, overhead)


def peer(
    make: Callable[[Inputs, Any, int], Any], n_splits: int, inputs: Inputs, n_fits: tuple[int, ...]
) -> Found:
    """Search once, for the largest number; what came first is what shorter searches see."""
    search = make(inputs, inputs.cv(n_splits), n_fits[-1] // n_splits)
    wall, share = _time_of(search, inputs)
    table = search.cv_results_ if not hasattr(search, "trials_") else _table_of_trials(search)
    score, candidates = np.asarray(table["mean_test_score"]), table["params"]
    best = {n: candidates[int(np.nanargmax(score[: n // n_splits]))] for n in n_fits}
    times = np.asarray(table["mean_fit_time"]) + np.asarray(table["mean_score_time"])
    seconds = share * (wall - n_splits * float(times.sum()))
    return Found(best, {n_fits[-1]: seconds / n_fits[-1]})


def _time_of(search: Any, inputs: Inputs) -> tuple[float, float]:
    """Search; return the seconds, and the share of them in which this process was running."""
    started, started_cpu = time.perf_counter(), time.process_time()
    search.fit(inputs.X, inputs.y)
    wall = time.perf_counter() - started
    return wall, min(1.0, (time.process_time() - started_cpu) / wall)


def _table_of_trials(search: Any) -> dict[str, Any]:
    names = ("mean_test_score", "mean_fit_time", "mean_score_time")
    table = {name: [trial.user_attrs[name] for trial in search.trials_] for name in names}
    return {**table, "params": [trial.params for trial in search.trials_]}


def make_random(inputs: Inputs, cv: Any, n: int) -> Any:
    """Return scikit-learn's search of n random candidates."""
    task = inputs.task
    return RandomizedSearchCV(task.model, task.space, n_iter=n, cv=cv, **inputs.options())


def make_skopt(inputs: Inputs, cv: Any, n: int) -> Any:
    """Return scikit-optimize's search."""
    from skopt import BayesSearchCV

    space = for_skopt(inputs.task.space)
    return BayesSearchCV(inputs.task.model, space, n_iter=n, cv=cv, **inputs.options())


def make_optuna(inputs: Inputs, cv: Any, n: int) -> Any:
    """Return Optuna's search; its sampler is TPE."""
    import optuna
    from optuna_integration import OptunaSearchCV

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = for_optuna(inputs.task.space)
    return OptunaSearchCV(inputs.task.model, space, cv=cv, n_trials=n, **inputs.options())


@dataclass(frozen=True)
class Way:
    """A search; peers need a library, and may be left out from some seed on."""

    run: Callable[[Inputs, tuple[int, ...]], Found]
    library: str = ""
    n_seeds: int = 10**6


def ways(n_one_split_skopt: int) -> dict[str, Way]:
    """Return all that is compared."""

    def of(make: Any, n_splits: int, library: str = "", n_seeds: int = 10**6) -> Way:
        return Way(lambda *given: peer(make, n_splits, *given), library, n_seeds)

    found = {
        "BayesGapSearchCV": Way(bayes_gap),
        "BayesGapSearchCV, n_candidates=1000": Way(lambda *a: bayes_gap(*a, n_candidates=1000)),
        "RandomizedSearchCV, one split": of(make_random, 1),
        "RandomizedSearchCV, five folds": of(make_random, N_FOLDS),
        "OptunaSearchCV, one split": of(make_optuna, 1, "optuna_integration"),
        "OptunaSearchCV, five folds": of(make_optuna, N_FOLDS, "optuna_integration"),
        "BayesSearchCV, one split": of(make_skopt, 1, "skopt", n_one_split_skopt),
        "BayesSearchCV, five folds": of(make_skopt, N_FOLDS, "skopt"),
    }
    return {name: way for name, way in found.items() if way.n_seeds}


# ------------------------------------------------------------------------------ true scores


@dataclass
class Truth:
    """True scores of parameters, each measured once, all on the same rows."""

    task: Task
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    n_models: int
    scores: dict[str, float] = field(default_factory=dict)

    def of(self, params: Params) -> float:
        """Return the mean score of models with these parameters."""
        key = repr(sorted(params.items()))
        if key not in self.scores:
            self.scores[key] = float(np.mean([self._one(params, j) for j in range(self.n_models)]))
        return self.scores[key]

    def _one(self, params: Params, j: int) -> float:
        order = np.random.default_rng([j, 2014]).permutation(len(self.X))
        n_train = self.task.n_rows * (N_FOLDS - 1) // N_FOLDS
        train, test = order[:n_train], order[n_train : n_train + N_TESTED]
        model = clone(self.task.model).set_params(**params).fit(self.X[train], self.y[train])
        return float(get_scorer(self.task.scoring)(model, self.X[test], self.y[test]))


@dataclass
class Outcome:
    """All searches of a task: true scores of the choices, and the yardsticks.

    Parameters
    ----------
    score : dict of (str, int) to list of float
        By way and number of fits, one for each seed.
    overhead : dict of (str, int) to list of float
    median_random : float
    best : float
    """

    score: dict[tuple[str, int], list[float]]
    overhead: dict[tuple[str, int], list[float]]
    median_random: float
    best: float

    def regret(self, way: str, n: int) -> np.ndarray:
        """Return the distances to the best, shape (n_seeds,)."""
        return self.best - np.array(self.score[way, n])

    def relative(self, way: str, n: int) -> np.ndarray:
        """Return them in percent of the median random candidate's."""
        return 100 * self.regret(way, n) / (self.best - self.median_random)


def run_task(
    task: Task, data: tuple[Any, Any], found: dict[str, Way], options: argparse.Namespace
) -> Outcome:
    """Run all searches with all seeds."""
    (X, y), n_fits = data, options.n_fits
    truth = Truth(task, X, y, options.n_models)
    sampled = ParameterSampler(task.space, options.n_random, random_state=0)
    random = [truth.of(params) for params in sampled]
    score: dict[tuple[str, int], list[float]] = {}
    overhead: dict[tuple[str, int], list[float]] = {}
    for seed in range(options.seeds):
        rows = rows_of(task, len(X), seed)
        inputs = Inputs(task, X[rows], y[rows], seed)
        for name, way in found.items():
            if seed >= way.n_seeds:
                continue
            one = way.run(inputs, n_fits)
            for n, params in one.params.items():
                score.setdefault((name, n), []).append(truth.of(params))
            for n, seconds in one.overhead.items():
                overhead.setdefault((name, n), []).append(seconds)
    return Outcome(score, overhead, float(np.median(random)), max(truth.scores.values()))


# ------------------------------------------------------------------------------- the report


def write_regrets(report: Report, outcomes: dict[str, Outcome], n: int, names: list[str]) -> None:
    """Print the mean regret of each way on each task, and over all tasks."""
    rows = []
    for name in names:
        each = [outcome.relative(name, n) for outcome in outcomes.values()]
        # Tasks are given: the error is that of rows, splits and candidates.
        variances = [one.var(ddof=1) / len(one) if len(one) > 1 else np.nan for one in each]
        error = np.sqrt(np.sum(variances)) / len(each)
        cells = [f"{one.mean():.1f}" for one in each]
        mean = f"**{np.mean([one.mean() for one in each]):.1f}** ({error:.1f})"
        rows.append([name, len(each[0]), *cells, mean])
    columns = " | ".join([f"{n} fits", "seeds", *outcomes, "mean (s.e.)"])
    title = f"Regret after {n} fits, percent of the median random candidate's"
    report.table(title, columns, rows)


def write_against(report: Report, outcomes: dict[str, Outcome], n_fits: tuple[int, ...]) -> None:
    """Print the difference to the first way, task by task with the same seeds."""
    names = list(dict.fromkeys(name for name, _ in next(iter(outcomes.values())).score))
    own, rows = names[0], []
    for name in names[1:]:
        cells = []
        for n in n_fits:
            means, variances = [], []
            for outcome in outcomes.values():
                theirs = outcome.relative(name, n)
                extra = theirs - outcome.relative(own, n)[: len(theirs)]
                means.append(extra.mean())
                variances.append(extra.var(ddof=1) / len(extra) if len(extra) > 1 else np.nan)
            error = np.sqrt(np.sum(variances)) / len(means)
            wins = sum(mean > 0 for mean in means)
            cells.append(f"{np.mean(means):+.1f} ({error:.1f}), {wins} of {len(means)}")
        rows.append([name, *cells])
    report.write(
        f"By how much more regret than {own}, on the same seeds (standard error of the mean over "
        f"tasks), and on how many tasks {own} has less.",
        "",
    )
    columns = " | ".join(["search", *(f"{n} fits" for n in n_fits)])
    report.table("Against BayesGapSearchCV", columns, rows)


def write_overhead(report: Report, outcomes: dict[str, Outcome], n_fits: tuple[int, ...]) -> None:
    """Print milliseconds a fit, median over tasks and seeds."""
    keys = dict.fromkeys(key for outcome in outcomes.values() for key in outcome.overhead)
    rows = []
    for name in dict.fromkeys(name for name, _ in keys):
        cells = []
        for n in n_fits:
            of_tasks = [outcome.overhead.get((name, n), []) for outcome in outcomes.values()]
            values = [1e3 * value for one in of_tasks for value in one]
            cells.append(f"{np.median(values):.1f} (to {max(values):.1f})" if values else "")
        rows.append([name, *cells])
    columns = " | ".join(["milliseconds a fit: median (largest)", *(f"{n} fits" for n in n_fits)])
    report.table("Overhead", columns, rows)


def parse() -> argparse.Namespace:
    """Return the options."""
    from pathlib import Path

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one task, one seed, 10 and 20 fits")
    parser.add_argument("--seeds", type=int, default=None, help="repetitions (5)")
    parser.add_argument("--only", default="", help="leave out tasks without this in the name")
    parser.add_argument("--search", default="", help="leave out searches without this in the name")
    parser.add_argument("--one-split-skopt", type=int, default=0, metavar="N", help="seeds of it")
    parser.add_argument("--output", type=Path, help="Markdown file for the report")
    options = parser.parse_args()
    options.seeds = options.seeds or (1 if options.quick else 5)
    options.n_fits = (5, 10) if options.quick else N_FITS
    options.n_models, options.n_random = (2, 4) if options.quick else (12, N_RANDOM)
    return options


def main() -> None:
    """Run all tasks; print regrets, then overhead."""
    options = parse()
    report = Report("Few fits", options)
    report.write((__doc__ or "").partition("[--output FILE.md]\n\n")[2])
    missing = [name for name in PEERS if find_spec(name) is None]
    for name in missing:
        report.write(
            f"**{PEERS[name]}, is not installed and is missing below.** "
            "`pip install 'sklearn-halving[bench]'` installs it.",
            "",
        )
    found = {
        name: way
        for name, way in ways(options.one_split_skopt).items()
        if way.library not in missing and options.search in name
    }
    if not found:
        raise SystemExit(f"No search that is installed has {options.search!r} in its name.")
    outcomes: dict[str, Outcome] = {}
    started = time.perf_counter()
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in QUICK_NAMES if options.quick else TASKS:
            data = TASKS[name].load() if options.only in name else None
            if data is None:
                if options.only in name:
                    report.write(f"**No data for {name}** in SKLEARN_HALVING_DATA.", "")
                continue
            outcomes[name] = run_task(TASKS[name], data, found, options)
            one, seconds = outcomes[name], time.perf_counter() - started
            report.write(
                f"- {name}, {TASKS[name].scoring}: best known {one.best:.4f}, median of random "
                f"candidates {one.median_random:.4f} ({seconds:.0f} s so far)"
            )
    report.write("")
    if outcomes:
        for n in options.n_fits:
            write_regrets(report, outcomes, n, list(found))
        write_against(report, outcomes, options.n_fits)
        write_overhead(report, outcomes, options.n_fits)
    report.write(f"Took {time.perf_counter() - started:.0f} s.")
    report.save()


if __name__ == "__main__":
    main()
