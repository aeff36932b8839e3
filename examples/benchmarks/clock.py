"""AdaptiveSearchCV with a time budget, against random search and TPE in the same time.

The clock is virtual: the time of each fit is measured once and recorded, and the searches get the
recorded times. A budget is a number of full fits on one split, and includes the refit. Random
search and TPE use five folds, and try at least one candidate. Choices on real tables are fitted to
five training sets of four fifths of the rows, and scored on rows that no search sees. On
surrogates, 0 is the best of 3,000 random candidates and 1 their median. A task counts as worse if
random search is ahead by more than two standard errors over at least three seeds. Such tasks are
repeated with ten other seeds. A table has signal if the best of eight random candidates is above
their median by 0.03. The estimator as it is ("own") is the first candidate of AdaptiveSearchCV. No
rule was chosen on the seeds of the report.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from _common import DATA, Report, one_thread, parse_options
from _peer_spaces import for_optuna
from _tables import table_task
from _yahpo_peers import suggested
from _yahpo_surrogates import scenario_at
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone

from sklearn_halving.policies import BudgetedRace, Problem
from sklearn_halving.samplers import GaussianProcessSampler, Space
from sklearn_halving.search.preparing._candidates import SampledCandidates
from sklearn_halving.search.preparing._space import SearchSpace, own_candidate
from sklearn_halving.spaces import space_for

BUDGETS, FOLDS, REFIT = (3, 10, 30, 100, 300), 5, 1.25
MOST = 10_000
"""The most candidates that a search may create."""
FIRST_SEED, REPEATED = 400, range(100, 110)
"""The first seed of the report, and the seeds of repeated tasks."""
LEAST_SIGNAL = 0.03
LARGEST = {0.5: 30, 0.06: 100}
"""The largest number of full fits on tables where a fit takes so many seconds."""
TABLES = (
    *("vehicle svm 500", "cmc boosting 800", "concrete forest 600", "diabetes svm 450"),
    *("segment svm 1400", "space_ga svm 1200", "colic neighbours 220", "halloffame forest 800"),
    *("delta.ailerons svm 1500", "optdigits neighbours 2500", "cylinder.bands svm 320"),
    *("energy boosting 450", "soybean svm 370", "car svm 1000", "anneal forest 500"),
    *("letter neighbours 4000", "page.blocks svm 2500", "house8L neighbours 3000"),
    *("mushroom svm 1500", "tic-tac-toe svm 550", "pol neighbours 3000", "bike forest 2000"),
    *("cpu.small boosting 5000", "pbcseq forest 1000", "authorship svm 500", "gas svm 1500"),
    *("mv boosting 8000", "house8L boosting 8000", "puma32H boosting 5000", "bike boosting 8000"),
    *("pbcseq forest 1000 groups", "pbcseq neighbours 1000 groups"),
    *("bike neighbours 3000 time", "bike boosting 5000 time"),
)
SPACES = {
    "svm": {"C": loguniform(0.1, 1e3), "gamma": loguniform(1e-4, 1)},
    "forest": {"max_features": uniform(0.05, 0.95), "min_samples_leaf": randint(1, 17)},
    "neighbours": {"n_neighbors": randint(1, 51), "weights": ["uniform", "distance"], "p": [1, 2]},
    "boosting": {
        "learning_rate": loguniform(0.02, 0.3),
        "max_leaf_nodes": randint(3, 64),
        "min_samples_leaf": randint(2, 61),
        "max_features": uniform(0.3, 0.7),
    },
}
Fit = Callable[[dict[str, Any], float, int], tuple[float, float]]
"""Returns score and seconds of parameters, with a share of the resource on a split."""


class Table:
    """A model on some rows of a real table, with recorded fits."""

    def __init__(self, name: str, seed: int, folder: Path, *, is_auto: bool = False) -> None:
        table, model, n_rows, *order = name.split()
        self._task = task = table_task(table, model, int(n_rows), seed, *order)
        self.space = {task.prefix + key: values for key, values in SPACES[model].items()}
        if is_auto:
            self.space = space_for(task.pipeline, task.X, task.y)
        self.first = [own_candidate(task.pipeline, SearchSpace(self.space))]
        self._seed, self._folds = seed, task.folds(FOLDS, seed)
        self._training_sets = replace(task, order="").folds(FOLDS, seed + 500)
        self.refit_cost = len(task.y) / len(self._folds[0][0])
        n_classes = len(np.unique(task.y)) if task.has_classes else 0
        self.n_train = min(len(inside) for inside, _ in self._folds)
        least = max(200, 10 * n_classes, task.X.shape[1], -(-self.n_train // 9))
        self.low = least if 3 * least <= self.n_train else None
        self._path = folder / f"{name.replace(' ', '_')}_{seed}.jsonl"
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self._known = {key: tuple(found) for key, found in map(json.loads, lines)}

    def fit(self, params: dict[str, Any], share: float, split: int) -> tuple[float, float]:
        """Return score and seconds; negative splits are the training sets of the test scores."""
        n = round(share * self.n_train)
        key = repr((sorted(params.items()), n, split))
        if key not in self._known:
            X, y = self._task.X, self._task.y
            X_test, y_test = self._task.X_test, self._task.y_test
            if split < 0:
                inside, _ = self._training_sets[-1 - split]
            while split >= len(self._folds):  # shuffled once more
                self._folds += self._task.folds(FOLDS, self._seed + 1000 * len(self._folds))
            if split >= 0:
                inside, outside = self._folds[split]
                inside = np.random.default_rng(split).permutation(inside)[
                    : n if share < 1 else None
                ]
                X_test, y_test = X.iloc[outside], y[outside]
            began = time.process_time()
            model = clone(self._task.pipeline).set_params(**params).fit(X.iloc[inside], y[inside])
            score = float(model.score(X_test, y_test))
            self._known[key] = score, time.process_time() - began
            with self._path.open("a") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]

    def loss(self, params: dict[str, Any]) -> float:
        """Return how far the mean test score is below 1, in points."""
        scores = [self.fit(params, 1.0, -1 - i)[0] for i in range(FOLDS)]
        return 100 - 100 * float(np.mean(scores))


class Surrogate:
    """A surrogate with the noise of a split, where a part of a fit costs ``fixed`` at least."""

    n_train, low, refit_cost = 27, 3, REFIT

    def __init__(self, scenario: str, data_set: str, fixed: float, seed: int) -> None:
        self.scenario, self._data_set = scenario_at(str(DATA / "yahpo" / scenario)), data_set
        self._fixed, self._seed = fixed, seed
        self.space = self.scenario.space
        self.first: list[dict[str, Any]] = []  # parameters of their own are not known
        rng, drawn = np.random.default_rng(99), Space.of(self.space)
        values = self._value([drawn.draw(rng) for _ in range(3000)], 27)
        self._best, self._median = values.max(), float(np.median(values))

    def _value(self, candidates: list[dict[str, Any]], level: int) -> np.ndarray:
        scale = 100 if self.scenario.name == "lcbench" else 1
        return self.scenario.accuracy(self._data_set, candidates, level) / scale

    def fit(self, params: dict[str, Any], share: float, split: int) -> tuple[float, float]:
        """Return score and seconds."""
        [value] = self._value([params], round(27 * share))
        own = np.random.default_rng(
            [self._seed, crc32(repr(sorted(params.items())).encode()), split]
        )
        shared = np.random.default_rng([self._seed, split])
        noise = 0.006 * own.standard_normal() + 0.01 * shared.standard_normal()
        return float(value + noise), self._fixed + (1 - self._fixed) * share

    def loss(self, params: dict[str, Any]) -> float:
        """Return the regret."""
        [value] = self._value([params], 27)
        return float((self._best - value) / (self._best - self._median))


Found = tuple[dict[str, Any], float]
"""The parameters that a search chose, and the seconds that it used."""


def adaptive(task: Any, budget: float, n_workers: int, seed: int) -> Found:
    """Play the policy of AdaptiveSearchCV with a time budget."""
    policy = BudgetedRace(
        screening_level=task.low,
        pulls_in_flight=n_workers,
        refit_cost=task.refit_cost,
        baseline=0,
    )
    game = policy.start(Problem(MOST, task.low or task.n_train, task.n_train, FOLDS))
    space = SearchSpace(task.space, task.first)
    candidates = SampledCandidates(game, MOST, space, GaussianProcessSampler(), [seed])
    running: list[Any] = []
    now, n_asked = 0.0, 0
    while not game.is_finished:
        for pull in game.ask(n_workers - len(running)):
            candidates.ensure(pull.arm)
            found = task.fit(
                candidates[pull.arm].params, pull.level / task.n_train, pull.repetition
            )
            n_asked += 1
            heapq.heappush(running, (now + found[1], n_asked, pull, found))
        now, _, pull, (score, seconds) = heapq.heappop(running)
        game.record_time(pull, seconds, budget - now, n_workers)
        game.tell(pull, score)
    chosen = candidates[game.recommend()].params
    return chosen, now + task.refit_cost * task.fit(chosen, 1.0, 0)[1]


def on_five_folds(
    ask: Callable[[], Any],
    tell: Callable[[Any, float], None],
    task: Any,
    budget: float,
    n_workers: int,
) -> Found:
    """Play a search that fits each candidate on five folds."""
    best: tuple[float, dict[str, Any], float] = (-np.inf, {}, 0.0)
    free, n = [0.0] * n_workers, 0
    while True:
        handle, params = ask()
        scores, seconds = zip(
            *(task.fit(params, 1.0, split) for split in range(FOLDS)), strict=True
        )
        to_refit = task.refit_cost * seconds[0]
        if n and min(free) + sum(seconds) / n_workers + max(best[2], to_refit) > budget:
            return best[1], max(free) + best[2]
        for spent in seconds:
            heapq.heapreplace(free, free[0] + spent)
        n += 1
        tell(handle, float(np.mean(scores)))
        if np.mean(scores) > best[0]:
            best = float(np.mean(scores)), params, to_refit


def random_search(task: Any, budget: float, n_workers: int, seed: int) -> Found:
    """Play random search."""
    space, rng = Space.of(task.space), np.random.default_rng(seed)
    return on_five_folds(
        lambda: (None, space.draw(rng)), lambda handle, score: None, task, budget, n_workers
    )


def tpe(task: Any, budget: float, n_workers: int, seed: int) -> Found:
    """Play Optuna's TPE."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask() -> Any:
        if isinstance(task, Surrogate):
            trial = study.ask()
            return trial, suggested(trial, task.scenario)
        trial = study.ask(for_optuna(task.space))
        return trial, trial.params

    return on_five_folds(ask, study.tell, task, budget, n_workers)


def own(task: Any, budget: float, n_workers: int, seed: int) -> Found:
    """Return the parameters of the estimator as it is."""
    return task.first[0], 0.0


SEARCHES = {"adaptive": adaptive, "random": random_search, "TPE": tpe}


@dataclass(frozen=True)
class Play:
    """A task with a seed, and the mean time of its full fits."""

    name: str
    task: Any
    full: float
    seed: int
    largest: float = np.inf
    """Largest budget in full fits."""
    signal: float = np.inf
    """How far the best of eight random candidates is above their median."""


def played(
    plays: list[Play], budget: int, n_workers: int, searches: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[float]]:
    """Return the losses of all searches, and the share of the time that the first one used."""
    losses: dict[str, list[float]] = {name: [] for name in searches}
    used = []
    for play in plays:
        for name, search in searches.items():
            params, seconds = search(play.task, budget * play.full, n_workers, play.seed)
            losses[name].append(play.task.loss(params))
            used.append(seconds / (budget * play.full))
    return pd.DataFrame(losses, index=[play.name for play in plays]), used[:: len(searches)]


def worse(table: pd.DataFrame) -> list[str]:
    """Return the tasks on which random search is ahead of the first search by two errors."""
    gain = (table["random"] - table.iloc[:, 0]).groupby(level=0)
    is_worse = (gain.mean() < -2 * gain.sem()) & (gain.size() > 2)
    return list(is_worse.index[is_worse])


def gains(table: pd.DataFrame) -> list[str]:
    """Return the mean losses of the other searches minus that of the first one."""
    means = table.groupby(level=0).mean()
    found = (means[other] - means.iloc[:, 0] for other in table.columns[1:])
    return [f"{gain.mean():+.3f} ({gain.sem():.3f})" for gain in found]


def rows_of(
    plays: list[Play],
    budgets: Sequence[int],
    n_workers: int,
    searches: Mapping[str, Any],
    repeat: Callable[[str], Iterable[Play]],
) -> Iterator[list[Any]]:
    """Yield rows for each budget: mean losses, differences, and the time that was used.

    If the estimators as they are belong to the searches, there are rows of the tasks with signal
    and of the others, and the mean of what was lost against them, in which no gain counts.
    """
    ours = next(iter(searches))
    signals = pd.Series([p.signal for p in plays], [p.name for p in plays]).groupby(level=0).mean()
    two = {name: searches[name] for name in (ours, "random")}
    for budget in budgets:
        chosen = [play for play in plays if budget <= play.largest]
        table, used = played(chosen, budget, n_workers, searches)
        flagged = worse(table)
        again = [
            name for name in flagged if worse(played([*repeat(name)], budget, n_workers, two)[0])
        ]
        print(f"worse: {flagged}, again: {again}", file=sys.stderr)
        has_signal = np.array(table.index.map(signals) >= LEAST_SIGNAL)
        parts = {"": has_signal | True}
        if "own" in searches:
            parts |= {", with signal": has_signal, ", flat": ~has_signal}
        for title, is_in in parts.items():
            if not is_in.any():
                continue
            part, names = table[is_in], set(table.index[is_in])
            row = [f"{budget:g} full fits{title}", len(names), float(part[ours].mean())]
            row += gains(part)
            if "own" in searches:
                row.append(float((part[ours] - part["own"]).clip(lower=0).mean()))
            flags = f"{len(names & {*flagged})}, {len(names & {*again})}"
            row.append(flags if len(part) > 2 * len(names) else "-")
            low, high = np.quantile(np.array(used)[is_in], [0.05, 0.95])
            yield [*row, f"{low:.2f} to {high:.2f}"]


def surrogates(n_sets: int) -> list[str]:
    """Return the names of surrogates."""
    return [
        f"{scenario} {data_set}"
        for scenario in ("lcbench", "rbv2_rpart", "rbv2_xgboost")
        for data_set in scenario_at(str(DATA / "yahpo" / scenario)).data_sets[: 2 * n_sets]
        if int(data_set) % 2 == 0
    ]


def surrogate_plays(name: str, seeds: Iterable[int], fixed: float) -> Iterator[Play]:
    """Yield a surrogate in which a part of a fit costs ``fixed`` at least."""
    for seed in seeds:
        task = Surrogate(*name.split(), fixed, seed)
        yield Play(name, task, 1.0, seed + 100 * int(name.split()[1]))


def table_plays(name: str, seeds: Iterable[int], *, is_auto: bool) -> Iterator[Play]:
    """Yield a real table, with the mean time of a full fit of eight random candidates."""
    folder = Path.home() / ".cache" / "sklearn_halving" / "clock"
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        table = Table(name, seed, folder, is_auto=is_auto)
        rng, space = np.random.default_rng(5), Space.of(table.space)
        scores, seconds = zip(*(table.fit(space.draw(rng), 1.0, 0) for _ in range(8)), strict=True)
        full, signal = float(np.mean(seconds)), max(scores) - float(np.median(scores))
        largest = next((n for least, n in LARGEST.items() if full >= least), np.inf)
        yield Play(name, table, full, seed + crc32(name.encode()) % 10**6, largest, signal)


def main() -> None:
    texts = {"tables": "part of the names of the tables", "budgets": "such as 3,10,30"}
    options = parse_options(__doc__, seeds=4, texts=texts, auto="ready spaces", two="two workers")
    report = Report("A time budget", options)
    if not (DATA / "tables").exists():
        print(f"No tables in {DATA}: nothing to do. Set SKLEARN_HALVING_DATA.")
        return
    budgets = BUDGETS[:2] if options.quick else BUDGETS
    if options.budgets:
        budgets = tuple(map(int, options.budgets.split(",")))
    n_workers, suffix = 1 + options.two, "_auto" * options.auto + "_2" * options.two
    columns = "{} | tasks | adaptive | random - adaptive | TPE - adaptive{} | worse, again"
    columns += " | time used"
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    with one_thread():
        for fixed in (0.05, 0.7) if options.only in "surrogates" else ():
            play = partial(surrogate_plays, fixed=fixed)
            plays = [
                p for name in surrogates(1 if options.quick else 5) for p in play(name, seeds)
            ]
            repeat = partial(play, seeds=REPEATED)
            rows = rows_of(plays, budgets, n_workers, SEARCHES, repeat)
            title = f"Surrogates, {fixed:g} of a fit is fixed"
            file = f"time_budget_surrogates_{fixed:g}.csv"
            report.table(title, columns.format("regret", ""), rows, file)
        names = [name for name in TABLES if options.tables in name][: 1 if options.quick else None]
        if options.only in "tables":
            play = partial(table_plays, is_auto=options.auto)
            plays = [p for name in names for p in play(name, seeds)]
            repeat = partial(play, seeds=REPEATED)
            rows = rows_of(plays, budgets, n_workers, SEARCHES | {"own": own}, repeat)
            columns = columns.format("points lost", " | own - adaptive | lost against own")
            report.table("Real tables", columns, rows, f"time_budget{suffix}.csv")


if __name__ == "__main__":
    main()
