"""BanditSearchCV: every policy by name or as an object, also one of the user's own."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from games import Greedy
from search.common import FITS, Known, Noisy, Recording, data, numbered
from search.resuming import cut_after
from sklearn_halving import BanditSearchCV
from sklearn_halving.policies import (
    UCB1,
    AsynchronousBrackets,
    BudgetedRace,
    Hyperband,
    UniformAllocation,
)
from sklearn_halving.search._bandit import NAMES

KNOWN = {"value": [0.1, 0.2, 0.3, 0.9]}
ignore_doubt = pytest.mark.filterwarnings("ignore:.*before it reached its confidence")


def search_by(policy, estimator=None, space=KNOWN, **params):
    estimator = Known() if estimator is None else estimator
    return BanditSearchCV(estimator, space, policy=policy, **{"random_state": 0, **params})


@ignore_doubt
@pytest.mark.parametrize("name", sorted({*NAMES} - {"hoo"}))
def test_every_named_policy_finds_the_best_within_the_budget(name):
    search = search_by(name, n_fits=80).fit(*data())
    assert search.best_params_ == {"value": 0.9}
    assert search.best_score_ == pytest.approx(0.9)
    assert search.n_fits_ <= 80
    n_in_all = search.n_fits_ + search.n_fits_left_
    assert n_in_all == (20 if name == "budgeted_race" else 80)  # on each of five splits once
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.cv_results_["n_fits"].min() >= 1


def test_asynchronous_promotion_gives_the_same_for_any_workers_and_after_a_resume(tmp_path):
    X, y = load_wine(return_X_y=True)
    space = {"max_depth": list(range(1, 13)), "min_samples_leaf": [1, 2, 4, 8]}
    searches = [
        BanditSearchCV(
            DecisionTreeClassifier(random_state=0),
            space,
            resource="n_samples",
            min_resources=18,
            policy=AsynchronousBrackets(Hyperband(n_candidates=17, early_repetitions=2)),
            cv=3,
            n_jobs=n_jobs,
            checkpoint=tmp_path / f"{n_jobs}.db",
            random_state=0,
        ).fit(X, y)
        for n_jobs in (1, 2)
    ]
    first, second = searches
    assert first.n_fits_ <= first.plan(X, y)["n_fits"].sum()
    results = first.cv_results_
    assert results["n_resources"][first.best_index_] == results["n_resources"].max()
    assert len(set(first.history_["n_resources"])) > 1
    columns = ["candidate", "n_resources", "split", "test_score"]
    expected = first.history_[columns].sort_values(columns[:3]).reset_index(drop=True)
    found = second.history_[columns].sort_values(columns[:3]).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)

    cut_after(tmp_path / "1.db", first.n_fits_ // 2)
    resumed = clone(first).fit(X, y)
    assert resumed.n_fits_ == first.n_fits_
    assert resumed.best_params_ == first.best_params_


def test_a_race_creates_as_many_candidates_as_its_own_budget_allows():
    search = search_by(BudgetedRace(200), space={"value": uniform()}).fit(*data())
    assert search.n_fits_ == 200
    assert len(search.cv_results_["params"]) > 50


@pytest.mark.parametrize("seed", range(4))
def test_candidates_with_the_full_scores_of_the_winner_are_compared(seed):
    noisy = Noisy(noise_sd=0.05, split_sd=0.05)
    policy, rows = BudgetedRace(60, screening_level=100), {"resource": "n_samples"}
    search = search_by(policy, noisy, {"value": uniform()}, random_state=seed, **rows)
    results = search.fit(*numbered(1000)).cv_results_
    n_full = np.sum([~np.isnan(results[f"split{i}_test_score"]) for i in range(5)], axis=0)
    is_compared = ~np.isnan(results["probability_best"])
    np.testing.assert_array_equal(is_compared, n_full >= n_full[search.best_index_])


def test_a_policy_of_the_users_own():
    search = search_by(Greedy(5)).fit(*data())
    assert search.n_fits_ == 5
    assert search.cv_results_["n_fits"].tolist() == [1, 1, 1, 2]
    assert search.best_params_ == {"value": 0.9}


def test_a_confidence_that_was_not_reached_is_warned_of():
    X, y = data()
    close = {"value": [0.50, 0.51]}
    with pytest.warns(UserWarning, match="LUCB used its 10 fits before it reached its confidence"):
        search_by("lucb", space=close).fit(X, y)
    clear = search_by("lucb", space={"value": [0.0, 1.0]}, n_fits=500).fit(X, y)
    assert clear.n_fits_ < 500
    assert clear.best_params_ == {"value": 1.0}


# ------------------------------------------------------------------------------------ bad input


def test_the_range_of_the_score():
    X, y = numbered(60)
    FITS.clear()
    with pytest.raises(ValueError, match="reward_range"):
        search_by("lucb", Ridge(), {"alpha": [1, 2]}).fit(X, y.astype(float))
    with pytest.raises(ValueError, match="reward_range"):
        search_by("lucb", Recording(), scoring="neg_log_loss").fit(X, y)
    assert len(FITS) == 0
    assert search_by("ucb1", scoring="f1_macro").fit(*data()).n_fits_ == 20
    several = {"scoring": ["neg_log_loss", "accuracy"], "space": {"max_depth": [1, 2]}}
    tree = DecisionTreeClassifier(random_state=0)
    assert search_by("ucb1", tree, refit="accuracy", **several).fit(*data()).n_fits_ == 10
    with pytest.raises(ValueError, match="reward_range"):
        search_by("ucb1", tree, refit="neg_log_loss", **several).fit(*data())
    ridge = search_by(UCB1(10, reward_range=(-2, 1)), Ridge(), {"alpha": [1, 2]})
    assert ridge.fit(X, y.astype(float)).n_fits_ == 10
    space = {"value": [0.1, 1.5]}
    with pytest.warns(UserWarning, match=r"outside reward_range=\(0.0, 1.0\), such as 1.5"):
        search_by("ucb1", space=space).fit(*data())


@pytest.mark.parametrize(
    ("policy", "params", "message"),
    [
        ("best", {}, "policy must be one of 'adaptive_gap_e_v'"),
        (BudgetedRace(), {}, "time_budget must be given for policy=BudgetedRace"),
        (BudgetedRace(9, screening_level=9), {}, "resource must be given for policy=BudgetedRace"),
        ("budgeted_race", {"resource": "n_samples", "min_resources": 9}, "min_resources=9 must"),
        ("ucb1", {"min_resources": 9}, "min_resources=9 must be left out for policy='ucb1'"),
        (UniformAllocation, {}, "policy must be one of .*, or an object"),
        (7, {}, "policy must be one of .*, or an object"),
        (UniformAllocation(12), {"n_fits": 9}, "n_fits=9 must be left out"),
        ("uniform", {"n_fits": 3}, "^policy='uniform' with n_fits=3: .* too small .* works is 4"),
        ("lucb", {"n_fits": 3}, "^policy='lucb' with n_fits=3: .* too small .* works is 4"),
        ("hoeffding_race", {"n_fits": 3}, "^policy='hoeffding_race' with n_fits=3: n_rounds must"),
        ("successive_rejects", {"cv": [(range(40), range(40, 60))]}, "cv with more splits"),
        (UniformAllocation(3), {}, "n_pulls=3 is too small"),
    ],
)
def test_bad_input_is_refused_before_any_fit(policy, params, message):
    FITS.clear()
    with pytest.raises(ValueError, match=message):
        search_by(policy, Recording(), **params).fit(*numbered(60))
    assert len(FITS) == 0


def test_every_name_is_in_the_documentation():
    documented = inspect.getdoc(BanditSearchCV)
    listed = documented.partition("policy : str")[2].partition("n_candidates :")[0]
    assert set(re.findall(r'``"(\w+)"``', listed)) == set(NAMES)


@pytest.mark.parametrize("policy", ["ucb1", "successive_rejects"])
def test_a_budget_too_small_for_a_huge_grid_is_refused_before_the_grid_is_listed(policy):
    grid = {name: np.linspace(0.01, 0.99, 500) for name in ("alpha", "l1_ratio", "eta0")}
    search = BanditSearchCV(SGDClassifier(), grid, policy=policy, n_fits=50, scoring="accuracy")
    with pytest.raises(ValueError, match=r"=50 is too small to .* 125000000 "):
        search.fit(*data())


def test_a_policy_that_plans_its_candidates_refuses_another_number_of_them():
    policy = Hyperband(n_candidates=4)
    search = BanditSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, 3, 4]}, policy=policy)
    with pytest.raises(ValueError, match="n_candidates=3 must be left out for policy=Hyperband"):
        search.set_params(n_candidates=3, resource="n_samples").fit(*data(240))
