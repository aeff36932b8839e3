"""Columns of the table of results."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import randint, uniform
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from search.common import Noisy, numbered
from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.resources import TrainingSize

X, y = load_iris(return_X_y=True)
GRID = {"n_neighbors": [1, 5]}


@pytest.mark.parametrize(
    "search",
    [
        VarianceHalvingSearchCV(
            KNeighborsClassifier(), GRID, n_fits=240, return_train_score=True, random_state=0
        ),
        BanditSearchCV(KNeighborsClassifier(), GRID, policy="uniform", n_fits=240, random_state=0),
    ],
    ids=["variance_halving", "uniform"],
)
def test_means_are_those_of_the_fits_also_on_very_many_splits(search) -> None:
    search.fit(X, y)
    assert search.n_splits_ > 100
    results, history = search.cv_results_, search.history_
    of_candidate = history.groupby("candidate")["test_score"]
    assert results["n_fits"].tolist() == of_candidate.size().tolist()
    np.testing.assert_allclose(results["std_test_score"], of_candidate.std(ddof=0))
    assert np.isfinite(results["mean_test_score"]).all()


def test_a_candidate_with_all_splits_has_its_plain_mean_and_others_an_adjusted_one() -> None:
    noisy = Noisy(0.3, split_sd=0.2, noise_sd=0.001)
    search = AdaptiveSearchCV(noisy, {"value": uniform(0, 1)}, n_fits=60, random_state=0)
    results = search.fit(*numbered(100)).cv_results_
    mean, n_fits = results["mean_test_score"], results["n_fits"]
    plain = search.history_.groupby("candidate")["test_score"].mean().to_numpy()
    has_all = n_fits == search.n_splits_
    assert 0 < has_all.sum() < len(mean)
    np.testing.assert_allclose(mean[has_all], plain[has_all], rtol=1e-14)
    value = np.array([params["value"] for params in results["params"]])
    assert np.std(mean - value) < np.std(plain - value) / 4


# ------------------------------------------------------------------------ the table of columns

PAGE = Path(__file__).parents[3] / "docs" / "results.md"
HEAD = "| column of `cv_results_` | content |\n| --- | --- |\n"
TABLE = PAGE.read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0]
NAMES = [name for row in TABLE.splitlines() for name in re.findall("`(.+?)`", row.split("|")[1])]
PATTERNS = {
    name: re.compile(re.escape(name).replace("<i>", r"\d+").replace("<metric>", r"\w+")
                     .replace("<name>", r"\w+"))
    for name in NAMES
}  # fmt: skip


def columns_of(search_class, **params) -> set[str]:
    """Return the columns of a search of few candidates, with training scores."""
    options = {"return_train_score": True, "cv": 3, "random_state": 0, **params}
    depths = randint(1, 500) if "n_loops" in params else [1, 2, 3, 4]
    search = search_class(DecisionTreeClassifier(), {"max_depth": depths}, **options)
    return set(search.fit(X, y).cv_results_)


def test_every_column_is_in_the_table_of_the_page_and_the_other_way_round() -> None:
    several = {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy"}
    rows = TrainingSize(rescale={"min_samples_leaf": "inverse"})
    columns = (
        columns_of(HyperbandSearchCV, n_loops=2)
        | columns_of(HyperbandSearchCV, resource=rows, brackets="all")
        | columns_of(VarianceHalvingSearchCV, **several)
        | columns_of(BayesGapSearchCV, resource="n_samples")
        | columns_of(AdaptiveSearchCV)
        | columns_of(AdaptiveSearchCV, n_fits=9)
        | columns_of(BanditSearchCV, policy="successive_rejects")
    )
    found = {
        column: [name for name, pattern in PATTERNS.items() if pattern.fullmatch(column)]
        for column in columns
    }
    assert [column for column, names in found.items() if len(names) != 1] == []
    assert {name for names in found.values() for name in names} == set(NAMES)


def test_the_spread_of_a_single_score_is_not_known() -> None:
    split = [(list(range(0, 150, 2)), list(range(1, 150, 2)))]
    for search_class in (HyperbandSearchCV, VarianceHalvingSearchCV):
        search = search_class(
            KNeighborsClassifier(), GRID, cv=split, return_train_score=True, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = search.fit(X, y).cv_results_
        assert np.isfinite(results["mean_test_score"]).any()
        for side in ("test", "train"):
            assert np.isnan(results[f"std_{side}_score"]).all()
