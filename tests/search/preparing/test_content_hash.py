"""What a search is known by: what changes a score changes the digest, and nothing else does."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from joblib import Memory
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import HyperbandSearchCV
from sklearn_halving.search.preparing._content_hash import content_hash

X, Y = load_iris(return_X_y=True)


def scorer_of(source):
    namespace = {"__name__": "users_own"}
    exec(compile(source, "users_own.py", "exec"), namespace)
    return namespace["scorer"]


SCORER = """
def scorer(estimator, X, y, cost=10.0, *, floor=0.0):
    "Says what it costs."
    return [max(floor, s * cost if s in {0.5, 1.0} else -s) for s in [estimator.score(X, y)]][0]
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cost=10.0", "cost=5.0"),
        ("floor=0.0", "floor=1.0"),
        ("s * cost", "s / cost"),
        ("-s)", "s)"),
    ],
)
def test_a_function_is_known_by_its_code_and_its_defaults(before, after):
    assert before in SCORER
    changed = content_hash(scorer_of(SCORER.replace(before, after)))
    assert changed != content_hash(scorer_of(SCORER))


def test_a_function_is_not_known_by_its_place_in_the_file():
    moved = "# a comment\n\n" + SCORER.replace("    return", "    # another\n    return")
    assert content_hash(scorer_of(moved)) == content_hash(scorer_of(SCORER))


@pytest.mark.parametrize("what", [StandardScaler(), DecisionTreeClassifier(random_state=0)])
def test_a_frozen_estimator_is_known_by_what_it_was_fitted_to(what):
    def frozen(X, y):
        return content_hash(FrozenEstimator(type(what)(**what.get_params()).fit(X, y)))

    assert frozen(X, Y) == frozen(X, Y)
    assert frozen(X, Y) != frozen(X[20:], Y[20:])


def test_where_an_estimator_runs_is_of_no_matter():
    def forest(**params):
        return content_hash({"model": RandomForestClassifier(random_state=0, **params)})

    assert forest(n_jobs=2, verbose=1) == forest(n_jobs=64)
    assert forest(max_depth=2) != forest(max_depth=64)


def test_a_logger_is_known_by_its_name():
    before = content_hash(logging.getLogger("tests.one"))
    logging.getLogger("tests.one.more").addHandler(logging.NullHandler())
    assert content_hash(logging.getLogger("tests.one")) == before
    assert content_hash(logging.getLogger("tests.two")) != before


def test_a_cache_is_not_known_by_when_it_was_made(tmp_path):
    caches = [Memory(tmp_path / "cache", verbose=0) for _ in range(2)]
    caches[1].timestamp += 1
    assert content_hash(caches[0]) == content_hash(caches[1])
    assert content_hash(caches[0]) != content_hash(Memory(tmp_path / "other", verbose=0))


def test_the_order_of_many_categories_counts():
    names = [f"c{i}" for i in range(1000)]
    swapped = [*names[:500], names[501], names[500], *names[502:]]
    columns = [pd.Series(pd.Categorical(["c0"], categories=order)) for order in (names, swapped)]
    assert content_hash(columns[0]) != content_hash(columns[1])


def test_what_lies_between_the_fields_of_a_record_does_not_count():
    kind = np.dtype([("a", "i1"), ("b", "f8")], align=True)
    raw = [np.full(3 * kind.itemsize, fill, dtype=np.uint8) for fill in (0, 255)]
    records = [part.view(kind) for part in raw]
    for record in records:
        record["a"], record["b"] = 1, [1.0, 2.0, 3.0]
    assert raw[0].tobytes() != raw[1].tobytes()
    assert content_hash(records[0]) == content_hash(records[1])
    records[1]["b"][2] = 4.0
    assert content_hash(records[0]) != content_hash(records[1])


def is_good(estimator, X, y):
    return bool(estimator.score(X, y) > 0.9)


def test_a_number_of_numpy_is_the_same_number(tmp_path):
    search = HyperbandSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": [1, 2, 3]},
        min_resources=np.int64(25),
        n_candidates=np.int64(3),
        cv=2,
        random_state=0,
        checkpoint=tmp_path / "j",
    ).fit(X, Y)
    first = search.cv_results_["mean_test_score"].tolist()
    again = search.set_params(min_resources=25, n_candidates=3).fit(X, Y)
    assert again.cv_results_["mean_test_score"].tolist() == first
    assert (tmp_path / "j").read_bytes().count(b'"session"') == 1


def test_scores_that_are_true_or_false_are_read_back(tmp_path):
    search = HyperbandSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": [1, 2, 3]},
        scoring=is_good,
        n_candidates=3,
        cv=2,
        random_state=0,
        checkpoint=tmp_path / "j",
    )
    first = search.fit(X, Y).cv_results_["mean_test_score"].tolist()
    size = (tmp_path / "j").stat().st_size
    assert search.fit(X, Y).cv_results_["mean_test_score"].tolist() == first
    assert (tmp_path / "j").stat().st_size == size
