"""Is the estimator as it was given worth one candidate?

    python examples/benchmarks/defaults.py [--quick] [--seeds N] [--only TEXT] [--output FILE.md]

HyperbandSearchCV over distributions, with its default parameters, is run twice on each task: as it
is, and with ``initial_candidates=[{}]``, which tries the estimator as it was given first. The
winners and the estimator with its default parameters are compared on rows that no search has seen.
The loss of a row is 1 for a wrong class, and the squared error for a regression, whose target has
the variance 1. A search counts as worse than the defaults if its mean loss is larger by more than
two standard errors of the mean difference.

A second table is about rules that keep the defaults unless the winner is better by a margin. The
scores of the winner of the search as it is are compared with those of the defaults on the same
splits, which takes five more fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _common import Report, one_thread, parse_options
from _compare_data import DATA_SETS, Rows, divide
from families import families
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_halving import HyperbandSearchCV

MOST_ROWS = 600
TASKS = (
    ("adult", "linear"),
    ("adult", "forest, wide"),
    ("phoneme", "neighbours"),
    ("phoneme", "boosting, wide"),
    ("digits", "support vectors"),
    ("breast cancer", "linear"),
    ("wine cultivars", "neighbours"),
    ("wine red", "forest, wide"),
    ("wine white", "boosting"),
    ("diabetes", "support vectors"),
)
QUICK_TASKS = (("breast cancer", "linear"), ("diabetes", "support vectors"))
WIDE = {
    "forest, wide": {
        "model__max_depth": randint(1, 30),
        "model__min_samples_leaf": randint(1, 60),
        "model__min_samples_split": randint(2, 60),
        "model__bootstrap": [True, False],
    },
    "boosting, wide": {
        "model__learning_rate": loguniform(1e-3, 1),
        "model__max_leaf_nodes": randint(2, 128),
        "model__min_samples_leaf": randint(1, 200),
        "model__max_features": uniform(0.1, 0.9),
    },
}
"""More parameters, in ranges in which most candidates are worse than the defaults."""
SEARCHES: dict[str, dict[str, Any]] = {"as it is": {}, "with": {"initial_candidates": [{}]}}
RULES = {
    "unless its mean is higher": 0.0,
    "unless it is higher by half a standard error": 0.5,
    "unless it is higher by a standard error": 1.0,
    "unless it is higher by 1.65 standard errors": 1.65,
}
"""How many standard errors, of the paired difference over splits, the winner must be ahead."""
N_ERRORS = 2.0


class Outcome(NamedTuple):
    """Mean test loss of each search minus that of the defaults, and its standard error."""

    excess: dict[str, float]
    error: dict[str, float]

    def is_worse(self, name: str) -> bool:
        """Return whether a search is worse than the defaults by more than two errors."""
        return self.excess[name] > N_ERRORS * self.error[name]

    def add(self, name: str, difference: np.ndarray) -> None:
        """Add the differences of test losses of a search."""
        self.excess[name] = float(difference.mean())
        self.error[name] = float(difference.std(ddof=1) / np.sqrt(len(difference)))


def lead(search: HyperbandSearchCV, pipeline: Pipeline, rows: Rows) -> float:
    """Return by how many standard errors of the difference the winner leads the defaults."""
    results, n_splits = search.cv_results_, search.n_splits_
    of_winner = [results[f"split{i}_test_score"][search.best_index_] for i in range(n_splits)]
    gain = of_winner - cross_val_score(pipeline, rows.X, rows.y, cv=n_splits)
    error = gain.std(ddof=1) / np.sqrt(n_splits)
    return float(gain.mean() / max(error, 1e-12))  # the error is 0 if all gains are equal


def losses(model: Any, rows: Rows, is_regression: bool) -> np.ndarray:
    """Return the loss of each test row."""
    predicted = model.predict(rows.X_test)
    wrong = (predicted - rows.y_test) ** 2 if is_regression else predicted != rows.y_test
    return np.asarray(wrong, dtype=float)


def compare(data: str, family: str, seed: int) -> Outcome:
    """Run both searches on a task, and apply the rules to the search as it is."""
    of = DATA_SETS[data]
    rows = divide(of.load(), MOST_ROWS, seed, of.is_regression)
    space = families(of.is_regression)[family.removesuffix(", wide")] | WIDE.get(family, {})
    (model,) = space.pop("model")
    pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
    of_defaults = losses(clone(pipeline).fit(rows.X, rows.y), rows, of.is_regression)
    outcome = Outcome({}, {})
    for name, options in SEARCHES.items():
        search = HyperbandSearchCV(pipeline, space, random_state=seed, **options)
        found = losses(search.fit(rows.X, rows.y), rows, of.is_regression) - of_defaults
        outcome.add(name, found)
        if not options:
            leads = lead(search, pipeline, rows)
            for rule, n_errors in RULES.items():
                outcome.add(rule, found if leads > n_errors else np.zeros_like(found))
    return outcome


def _with_error(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.4f} ({error:.4f})"


def main() -> None:
    """Print the table."""
    options = parse_options(__doc__, seeds=3)
    report = Report("The estimator's defaults as a candidate", options)
    outcomes: list[Outcome] = []

    def row(name: str, of_task: list[Outcome]) -> list[Any]:
        gains = [one.excess["as it is"] - one.excess["with"] for one in of_task]
        columns = [_with_error([one.excess[search] for one in of_task]) for search in SEARCHES]
        n_worse = [str(sum(one.is_worse(search) for one in of_task)) for search in SEARCHES]
        return [name, *columns, _with_error(gains), " / ".join(n_worse)]

    def table() -> Iterator[list[Any]]:
        for data, family in QUICK_TASKS if options.quick else TASKS:
            if options.only not in f"{data}, {family}":
                continue
            of_task = [compare(data, family, seed) for seed in range(options.seeds)]
            outcomes.extend(of_task)
            yield row(f"{data}, {family}", of_task)
        yield row(f"all, {len(outcomes)} searches each", outcomes)

    def rules() -> Iterator[list[Any]]:
        for name in ("as it is", *RULES):
            change = [one.excess[name] - one.excess["as it is"] for one in outcomes]
            n_worse = sum(one.is_worse(name) for one in outcomes)
            n_better = sum(one.excess[name] < -N_ERRORS * one.error[name] for one in outcomes)
            excess = _with_error([one.excess[name] for one in outcomes])
            yield [name, str(n_worse), str(n_better), excess, _with_error(change)]

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = (
            "task | search as it is - defaults | search with the defaults - defaults "
            "| gain by the candidate | worse than the defaults, as it is / with"
        )
        report.table("Test losses, with standard errors", columns, table())
    columns = "the defaults stay | worse than them | better | mean difference | mean change"
    report.table("Rules that keep the defaults", columns, rules())
    report.save()


if __name__ == "__main__":
    main()
