"""Recorded learning curves: what AdaptiveSearchCV's plan for a grid costs, and what it loses.

LCDB 1.1 has error rates of 27 learners at growing numbers of training rows. Every search runs
through its public interface, on an estimator whose score is the recorded validation curve at the
number of rows that it was fitted on, plus noise of the recorded size for each split. Regret is the
recorded test error of the learner that was chosen, less that of the best learner of the grid, both
at all rows. The data sets at even places of the sorted list were looked at when the plan was made;
those at odd places are fresh.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _common import DATA, Report, one_thread, parse_options
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold

from sklearn_halving import AdaptiveSearchCV

FOLDER = DATA / "lcdb"
N_SPLITS = 5
GRIDS = (3, 6, 12, 27)
MOST_ROWS = 65_536
"""Larger data sets are cut here, so that a search of a second is not spent on its row numbers."""
FEWEST_LEARNERS = 20
FILE = "swap_curves.csv"
ILL_BEHAVED = 0.02
"""A learner whose error at all rows is so much above its least error is ill-behaved."""


@dataclass
class Curves:
    """The learners of a data set at sizes up to ``n_rows``."""

    data_set: int
    is_fresh: bool
    n_rows: int
    log_rows: list[np.ndarray]
    validation: list[np.ndarray]
    deviation: list[np.ndarray]
    test: np.ndarray

    def at(self, learner: int, n_rows: int) -> tuple[float, float]:
        """Return mean and standard deviation of the validation error."""
        x = np.log(n_rows)
        columns = (self.validation[learner], self.deviation[learner])
        mean, deviation = (np.interp(x, self.log_rows[learner], c) for c in columns)
        return float(mean), float(deviation)

    def is_ill_behaved(self, learner: int) -> bool:
        """Return whether more rows made the learner worse."""
        curve = self.validation[learner]
        return bool(curve[-1] > curve.min() + ILL_BEHAVED)


class Recorded(BaseEstimator):
    """Scores what was recorded for a learner at the number of rows that it is fitted on."""

    def __init__(self, curves: Curves | None = None, seed: int = 0, learner: int = 0) -> None:
        self.curves = curves
        self.seed = seed
        self.learner = learner

    def __sklearn_clone__(self) -> Recorded:
        """Return a copy that shares the curves."""
        return Recorded(self.curves, self.seed, self.learner)

    def fit(self, X: Any, y: Any = None) -> Recorded:
        """Take the number of rows."""
        self.n_rows_ = len(X)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the accuracy; the first test row tells the split."""
        mean, deviation = self.curves.at(self.learner, self.n_rows_)
        split = int(X[0, 0]) * N_SPLITS // (self.curves.n_rows * 5 // 4)
        rng = np.random.default_rng([self.seed, self.learner, self.n_rows_, split])
        return 1 - mean - deviation * rng.standard_normal()


def load(quick: bool) -> Iterator[Curves]:
    """Yield the curves of each data set."""
    meta = json.loads((FOLDER / "meta.json").read_text())
    anchors = np.array(meta["anchors"])
    learners = [i for i, name in enumerate(meta["learners"]) if name != "DummyClassifier"]
    n_repeats = 25  # on which the recorded standard errors are based
    for place, number in enumerate(sorted(meta["dataset_ids"])):
        if quick and place % 26:
            continue
        with gzip.open(FOLDER / f"{number}.json.gz") as file:
            table = np.array(json.load(file), dtype=float)[learners]
        known = np.isfinite(table[:, 0]).all(axis=-1) & (anchors <= MOST_ROWS)
        top = np.flatnonzero(known.sum(axis=0) >= FEWEST_LEARNERS).max()
        rows, validation, deviation, test = [], [], [], []
        for errors, is_known in zip(table, known, strict=True):
            if not is_known[top]:
                continue
            use = np.flatnonzero(is_known[: top + 1])
            spread = np.sqrt(n_repeats) * errors[1, use, 1]
            rows.append(np.log(anchors[use]))
            validation.append(errors[0, use, 1])
            deviation.append(np.where(np.isfinite(spread), spread, np.nanmean(spread)))
            test.append(errors[0, top, 2])
        yield Curves(
            number, place % 2 == 1, int(anchors[top]), rows, validation, deviation, np.array(test)
        )


OURS = "AdaptiveSearchCV"
SEARCHES = {
    "GridSearchCV": GridSearchCV,
    OURS: partial(AdaptiveSearchCV, random_state=0),
    "HalvingGridSearchCV": partial(HalvingGridSearchCV, random_state=0),
}


@dataclass
class Outcome:
    """What a search chose, and the rows it trained on, as a share of GridSearchCV's."""

    regret: float
    units: float


def run(search_class: Any, curves: Curves, learners: list[int], seed: int) -> Outcome:
    """Search a grid of learners."""
    n_rows = curves.n_rows * 5 // 4
    X = np.arange(n_rows, dtype=np.int32)[:, np.newaxis]
    search = search_class(
        Recorded(curves, seed), {"learner": learners}, cv=KFold(N_SPLITS), refit=False
    )
    search.fit(X, np.zeros(n_rows))
    results = search.cv_results_
    rows = np.array(results.get("n_resources", np.full(len(learners), curves.n_rows)))
    n_fits = np.zeros(len(rows))
    for split in range(N_SPLITS):
        n_fits += np.isfinite(results[f"split{split}_test_score"])
    if isinstance(search, HalvingGridSearchCV):
        rows = rows * 4 // 5
    n_grid = len(learners) * N_SPLITS
    chosen = results["params"][search.best_index_]["learner"]
    return Outcome(
        float(curves.test[chosen] - curves.test[learners].min()),
        float((n_fits * rows).sum() / (n_grid * curves.n_rows)),
    )


Cases = dict[str, list[tuple[Curves, int, bool, Outcome]]]


def row_of(title: str, outcomes: Cases, select: Any) -> list[str]:
    """Return mean regrets over the cases that ``select`` takes, and what ours saves and loses."""
    chosen = {
        name: [(curves.data_set, o) for curves, k, ill, o in cases if select(curves, k, ill)]
        for name, cases in outcomes.items()
    }
    regret = {name: np.array([o.regret for _, o in own]) for name, own in chosen.items()}
    difference = regret[OURS] - regret["GridSearchCV"]
    of_set: dict[int, list[float]] = {}
    for (data_set, _), d in zip(chosen[OURS], difference, strict=True):
        of_set.setdefault(data_set, []).append(float(d))
    error = np.std([np.mean(values) for values in of_set.values()]) / np.sqrt(len(of_set))
    cost = np.mean([o.units for _, o in chosen[OURS]])
    cells = [f"{regret[name].mean():.4f}" for name in SEARCHES]
    return [title, *cells, f"{difference.mean():+.4f} ({error:.4f})", f"{cost:.2f}"]


def main() -> None:
    """Run all searches on all grids, and report."""
    options = parse_options(__doc__, seeds=5)
    if not FOLDER.is_dir():
        print(
            f"No learning curves in {FOLDER}. Copy docs/data of github.com/"
            "learning-curve-research/LCDB-1.1 to the folder lcdb/ of SKLEARN_HALVING_DATA, each "
            "data set as <number>.json.gz, with meta.json.",
            file=sys.stderr,
        )
        return
    report = Report("Recorded learning curves (LCDB 1.1)", options)
    outcomes: Cases = {name: [] for name in SEARCHES}
    with one_thread():
        for curves in load(options.quick):
            for n_learners in GRIDS:
                for seed in range(options.seeds):
                    rng = np.random.default_rng([curves.data_set, n_learners, seed])
                    learners = rng.permutation(len(curves.test))[:n_learners].tolist()
                    ill = any(map(curves.is_ill_behaved, learners))
                    for name, search_class in SEARCHES.items():
                        outcome = run(search_class, curves, learners, seed)
                        outcomes[name].append((curves, n_learners, ill, outcome))
    parts = {
        "all": lambda c, k, ill: True,
        "fresh data sets": lambda c, k, ill: c.is_fresh,
        "data sets that were looked at": lambda c, k, ill: not c.is_fresh,
        **{f"grids of {n}": lambda c, k, ill, n=n: k == n for n in GRIDS},
        "8,000 rows and more, all learners": lambda c, k, ill: c.n_rows >= 8000 and k == 27,
        "grids with ill-behaved curves": lambda c, k, ill: ill,
        "grids without": lambda c, k, ill: not ill,
    }
    rows = [
        row_of(title, outcomes, select)
        for title, select in parts.items()
        if any(select(c, k, ill) for c, k, ill, _ in outcomes["GridSearchCV"])
    ]
    columns = " | ".join(["regret", *SEARCHES, "difference", "cost"])
    report.table("Regret, and cost of ours over that of GridSearchCV", columns, rows, FILE)


if __name__ == "__main__":
    main()
