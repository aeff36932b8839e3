"""VarianceHalvingSearchCV: budgets, common splits, what is reported, early stops, resources."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, PredefinedSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

from search.common import FITS, Constant, Known, Recording, data, numbered
from sklearn_halving import BanditSearchCV, RepeatedLearningTesting, VarianceHalvingSearchCV
from sklearn_halving.policies import VarianceHalving

TREE = {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8]}
KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}
ALLOCATIONS = ["likelihood", "pooled", "ucb", "uniform"]


class Noisy(Constant):
    """Scores its value, plus what the test rows are worth, plus noise of its own."""

    def __init__(self, value=0.0, split_sd=0.0, noise_sd=0.0):
        self.value = value
        self.split_sd = split_sd
        self.noise_sd = noise_sd

    def score(self, X, y=None):
        rows = [int(row) for row in X[:, 0]]
        of_split = np.random.default_rng(rows).normal()
        own = np.random.default_rng([*rows, int(1e6 * self.value)]).normal()
        return self.value + self.split_sd * of_split + self.noise_sd * own


def tree_search(**params):
    tree = DecisionTreeClassifier(random_state=0)
    return VarianceHalvingSearchCV(tree, TREE, **{"random_state": 0, **params})


# ------------------------------------------------------------------------------------- budget


@pytest.mark.filterwarnings("ignore:n_fits=.* is too small for allocation='ucb'")
@pytest.mark.parametrize("allocation", ALLOCATIONS)
@pytest.mark.parametrize("n_fits", [24, 25, 40, 61])
def test_the_budget_is_spent_and_never_exceeded(allocation, n_fits):
    search = tree_search(n_fits=n_fits, allocation=allocation).fit(*data())
    assert search.n_fits_ == len(search.history_) == search.cv_results_["n_fits"].sum()
    assert search.n_fits_ + search.n_fits_left_ == n_fits
    assert 0 <= search.n_fits_left_ <= 2  # three stages share it evenly


@pytest.mark.parametrize(("allocation", "n_pulls"), [("likelihood", 40), ("pooled", 39)])
def test_as_many_fits_as_grid_search_by_default(allocation, n_pulls):
    # three stages share 40 pulls, 5 for each of 8 candidates
    assert tree_search(allocation=allocation).fit(*data()).n_fits_ == n_pulls


def test_enough_fits_for_every_stage_by_default():
    grid = {"value": np.linspace(0, 1, 64)}
    search = VarianceHalvingSearchCV(Known(), grid, allocation="uniform").fit(*data())
    assert search.n_fits_ == 6 * 64  # six stages; 5 * 64 would be too few


def test_a_budget_below_the_minimum_names_the_minimum():
    with pytest.raises(ValueError, match=r"n_fits=23 is too small.*is 24"):
        tree_search(n_fits=23, allocation="pooled").fit(*data())
    assert tree_search(n_fits=24, allocation="pooled").fit(*data()).n_fits_ == 24


def test_plan_is_what_fit_does():
    search = tree_search(n_fits=48, allocation="uniform")
    plan = search.plan(*data())
    assert plan.columns.tolist() == ["stage", "n_candidates", "n_fits"]
    assert plan.attrs["at_most"]
    search.fit(*data())
    stage, n_pulls = search.cv_results_["stage"], search.cv_results_["n_fits"]
    assert plan["n_fits"].sum() == n_pulls.sum() == 48
    assert plan["n_candidates"].tolist() == [(stage >= s).sum() for s in range(3)] == [8, 4, 2]
    assert sorted(n_pulls) == [2] * 4 + [6] * 2 + [14] * 2


def test_splits_that_come_to_an_end():
    X, y = data()
    search = tree_search(cv=PredefinedSplit(np.arange(60) % 2)).fit(X, y)
    assert search.n_splits_ == 2
    assert search.cv_results_["n_fits"].max() == 2
    assert search.n_fits_ <= 16
    assert search.n_fits_ + search.n_fits_left_ == 16  # not 40: there are no more
    assert search.plan(X, y)["n_fits"].sum() == 16
    with pytest.raises(ValueError, match=r"n_fits=17 is too large for .*2 splits of cv"):
        tree_search(n_fits=17, cv=PredefinedSplit(np.arange(60) % 2)).fit(X, y)
    assert tree_search(cv=TimeSeriesSplit(3)).fit(X, y).n_splits_ == 3


# ----------------------------------------------------------------------------- what is reported


def test_the_table():
    X, y = data()
    search = tree_search(n_fits=48, return_train_score=True).fit(X, y)
    table = search.cv_results_
    assert len(table["params"]) == 8  # one row a candidate
    scores = np.column_stack([table[f"split{j}_test_score"] for j in range(search.n_splits_)])
    n_pulls = (~np.isnan(scores)).sum(axis=1)
    np.testing.assert_array_equal(n_pulls, table["n_fits"])
    for row, n in enumerate(n_pulls):  # the j-th fit of a candidate is on split j
        assert not np.isnan(scores[row, :n]).any()
    np.testing.assert_allclose(np.nanstd(scores, axis=1), table["std_test_score"])
    of_two = n_pulls >= 2
    variance = np.nanvar(scores[of_two], axis=1, ddof=1)
    # Nadeau and Bengio (2003): 12 rows are tested, 48 are trained on
    expected = np.sqrt((1 / n_pulls[of_two] + 12 / 48) * variance)
    np.testing.assert_allclose(table["standard_error_test_score"][of_two], expected)
    assert np.isnan(table["standard_error_test_score"][~of_two]).all()
    assert "standard_error_train_score" in table
    assert table["rank_test_score"][search.best_index_] == 1
    assert table["probability_best"].sum() == pytest.approx(1)
    assert search.best_probability_ == table["probability_best"][search.best_index_]
    assert search.best_regret_ >= 0
    assert search.best_corrected_score_ <= search.best_score_ + 1e-12


def test_equal_splits_give_plain_means():
    X, y = data()
    cv = PredefinedSplit(np.arange(60) % 3 // 2 - 1)  # one split
    table = tree_search(cv=cv).fit(X, y).cv_results_
    assert set(table["n_fits"]) == {1}
    np.testing.assert_array_equal(table["mean_test_score"], table["split0_test_score"])
    search = tree_search(n_fits=240, allocation="uniform", cv=3).fit(X, y)
    table, last = search.cv_results_, search.cv_results_["stage"] == 2
    assert len(set(table["n_fits"][last])) == 1
    assert search.best_score_ == table["mean_test_score"][last].max()


def test_means_make_up_for_easy_and_hard_splits():
    # without noise of their own, candidates differ by just their values on every split
    X, y = numbered(60)
    values = [0.1, 0.12, 0.3, 0.31, 0.32, 0.33, 0.34, 0.35]
    search = VarianceHalvingSearchCV(
        Noisy(split_sd=1.0), {"value": values}, allocation="pooled", random_state=0
    ).fit(X, y)
    assert len(set(search.cv_results_["n_fits"])) > 1
    assert search.best_params_ == {"value": 0.35}
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means - means[0], np.array(values) - 0.1, atol=1e-6)
    assert search.best_probability_ > 0.99


def test_later_stages_rank_first():
    search = tree_search(allocation="uniform", n_fits=24).fit(*data())
    table = search.cv_results_
    for stage in range(2):
        later = table["rank_test_score"][table["stage"] > stage]
        assert later.max() < table["rank_test_score"][table["stage"] <= stage].min()


def test_clear_candidates_get_few_fits_and_close_ones_many():
    X, y = numbered(80)
    values = [0.0, 0.1, 0.2, 0.3, 0.95, 0.96]
    search = VarianceHalvingSearchCV(
        Noisy(noise_sd=0.05), {"value": values}, n_fits=120, random_state=0
    ).fit(X, y)
    n_pulls = search.cv_results_["n_fits"]
    assert n_pulls[:4].max() < 10 < n_pulls[4:].min()
    assert search.best_params_["value"] >= 0.95


def test_too_few_repeated_splits_say_nothing_of_how_sure_the_choice_is():
    X, y = numbered(80)
    grid = {"value": np.arange(20) / 20}
    search = VarianceHalvingSearchCV(Noisy(noise_sd=0.1), grid, n_fits=22, random_state=0)
    search.fit(X, y)
    assert np.isnan(search.cv_results_["probability_best"]).all()
    assert np.isnan([search.best_probability_, search.best_regret_]).all()
    search.set_params(n_fits=100).fit(X, y)
    assert 0 < search.best_probability_ < 1


class LuckyAtFirst(Noisy):
    """The first candidate is the best on the first two splits, and the worst on all others."""

    seen: ClassVar[list] = []

    def score(self, X, y=None):
        if self.value > 0:
            return 0.6 + 0.01 * super().score(X, y)
        rows = X[:, 0].tolist()
        if rows not in self.seen:
            self.seen.append(rows)
        return 0.9 if self.seen.index(rows) < 2 else 0.2


@pytest.mark.parametrize("n_candidates", [10, 20, 40])
def test_a_candidate_that_was_lucky_at_first_is_found_out(n_candidates):
    X, y = numbered(80)
    LuckyAtFirst.seen.clear()
    grid = {"value": np.arange(n_candidates) / n_candidates}
    search = VarianceHalvingSearchCV(LuckyAtFirst(noise_sd=1), grid, random_state=0).fit(X, y)
    assert search.best_params_["value"] > 0
    assert search.best_score_ > 0.55
    assert search.cv_results_["n_fits"][0] < search.n_fits_ / 4


def test_more_training_rows_than_needed_do_not_widen_the_error():
    X, y = numbered(100)
    grid = {"value": [0.5, 0.51]}
    errors = []
    for train_size in (0.1, 0.9):
        cv = RepeatedLearningTesting(train_size=train_size, test_size=0.1)
        search = VarianceHalvingSearchCV(Noisy(noise_sd=0.1), grid, cv=cv, random_state=0)
        table = search.fit(X, y).cv_results_
        scores = np.array([table[f"split{j}_test_score"][0] for j in range(search.n_splits_)])
        n, variance = table["n_fits"][0], np.nanvar(scores, ddof=1)
        assert table["standard_error_test_score"][0] == pytest.approx(
            np.sqrt((1 / n + 10 / 90) * variance)
        )
        errors.append(table["standard_error_test_score"][0])
    assert 0.3 < errors[0] / errors[1] < 3


def test_an_infinite_score_is_the_best():
    X, y = data()

    def scoring(estimator, X, y):
        return np.inf if estimator.max_depth == 2 else 0.5

    with pytest.warns(UserWarning, match="non-finite"):
        search = tree_search(scoring=scoring).fit(X, y)
    assert search.best_params_ == {"max_depth": 2}
    assert search.best_probability_ == 1
    assert search.best_regret_ == 0


# ---------------------------------------------------------------------------------- early stops


@pytest.mark.parametrize("allocation", ["likelihood", "pooled"])
def test_stops_when_the_leader_is_clear(allocation):
    X, y = numbered(80)
    params = {"n_fits": 200, "allocation": allocation, "random_state": 0}
    estimator, grid = Noisy(noise_sd=0.02), {"value": [0.1, 0.2, 0.3, 0.9]}
    whole = VarianceHalvingSearchCV(estimator, grid, **params).fit(X, y)
    stopped = VarianceHalvingSearchCV(estimator, grid, stop_probability=0.95, **params).fit(X, y)
    assert whole.n_fits_ >= 199
    assert stopped.n_fits_ < 100
    assert stopped.n_fits_left_ == 200 - stopped.n_fits_
    assert stopped.best_params_ == whole.best_params_ == {"value": 0.9}
    assert stopped.best_probability_ >= 0.95


def test_stops_when_the_difference_does_not_matter():
    X, y = numbered(80)
    estimator, grid = Noisy(noise_sd=0.01), {"value": [0.500, 0.501, 0.502, 0.503]}
    search = VarianceHalvingSearchCV(estimator, grid, n_fits=200, random_state=0)
    assert search.set_params(tolerance=0.05).fit(X, y).n_fits_ < 100
    assert search.set_params(tolerance=1e-4).fit(X, y).n_fits_ == 200


# -------------------------------------------------------------------------------------- splits


def test_a_fifth_of_the_rows_is_tested_by_default():
    X, y = load_iris(return_X_y=True)
    search = VarianceHalvingSearchCV(DecisionTreeClassifier(), TREE, random_state=0)
    history = search.fit(X, y).history_
    assert set(history["n_test"]) == {30}
    assert set(history["n_train"]) == {120}
    cv = RepeatedLearningTesting(train_size=0.1, test_size=0.1)
    history = search.set_params(cv=cv).fit(X, y).history_
    assert set(history["n_test"]) == set(history["n_train"]) == {15}


def test_groups_stay_together_by_default():
    X, y = numbered(60)
    groups = np.arange(60) // 6
    FITS.clear()
    VarianceHalvingSearchCV(Recording(), KNOWN, random_state=0).fit(X, y, groups=groups)
    for rows in FITS.rows[:-1]:
        assert set(np.bincount(groups[rows], minlength=10)) <= {0, 6}


def test_reshuffled_folds():
    X, y = numbered(60)
    search = VarianceHalvingSearchCV(Recording(), KNOWN, cv=GroupKFold(2), random_state=0)
    FITS.clear()
    search.fit(X, y, groups=np.arange(60) // 6)
    assert search.n_splits_ > 2
    assert len({tuple(rows) for rows in FITS.rows[:-1]}) == search.n_splits_


# ----------------------------------------------------------------------------------- candidates


def test_number_of_candidates():
    X, y = data()
    space = {"value": uniform(0, 1)}

    def n_candidates(space, **params):
        params |= {"sampler": "random", "random_state": 0}
        search = VarianceHalvingSearchCV(Known(), space, **params).fit(X, y)
        return len(search.cv_results_["params"])

    assert n_candidates(space) == 10
    assert n_candidates(space, n_fits=100) == 50
    assert n_candidates(space, n_fits=100, allocation="pooled") == 20
    assert n_candidates(space, n_fits=100, allocation="uniform") == 20
    assert n_candidates(space, n_fits=640, allocation="uniform") == 91  # 7 stages of 91
    assert n_candidates(space, n_candidates=7) == 7
    assert n_candidates(KNOWN, n_candidates=3) == 3
    with pytest.warns(UserWarning, match="only 4 candidates, fewer than n_candidates=9"):
        assert n_candidates(KNOWN, n_candidates=9) == 4


def test_a_single_candidate_is_evaluated():
    X, y = data()
    search = tree_search()
    search.param_distributions = {"max_depth": [3]}
    search.fit(X, y)
    assert search.n_fits_ == 5
    assert search.best_probability_ == 1
    assert 0.5 < search.best_score_ <= 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
def test_a_candidate_that_fails_is_out():
    X, y = data()
    space = [{"fails": [True], "value": [0.9]}, {"value": [0.1, 0.2, 0.3]}]
    search = VarianceHalvingSearchCV(Known(), space, random_state=0).fit(X, y)
    assert search.best_params_ == {"value": 0.3}
    assert search.cv_results_["probability_best"][0] == 0
    assert search.cv_results_["n_fits"][0] <= 3


# ------------------------------------------------------------------------------------ resources


def test_a_fixed_level():
    X, y = data()
    search = tree_search(resource="n_samples", max_resources=20).fit(X, y)
    assert set(search.history_["n_train"]) == {20}
    assert set(search.cv_results_["n_resources"]) == {20}
    with pytest.raises(ValueError, match="max_resources=20 must come with a resource"):
        tree_search(max_resources=20).fit(X, y)


def test_a_level_that_grows_from_stage_to_stage():
    X, y = data(120)
    search = tree_search(resource="n_samples", min_resources=12, allocation="uniform", n_fits=48)
    plan = search.plan(X, y)
    search.fit(X, y)
    assert plan["n_resources"].tolist() == [12, 34, 96]
    table = search.cv_results_
    np.testing.assert_array_equal(table["n_resources"], np.array([12, 34, 96])[table["stage"]])
    assert set(search.history_["n_train"]) == {12, 34, 96}
    assert search.n_fits_ == 48
    top = table["n_resources"] == 96
    assert table["probability_best"][~top].sum() == 0
    with pytest.raises(ValueError, match="likelihood"):
        search.set_params(allocation="likelihood").fit(X, y)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_fits": 0}, "'n_fits' parameter"),
        ({"allocation": "best"}, "'allocation' parameter"),
        ({"stop_probability": 0.4}, "'stop_probability' parameter"),
        ({"tolerance": -1}, "'tolerance' parameter"),
        ({"allocation": "known"}, "'allocation' parameter"),
    ],
)
def test_bad_input_is_refused_before_any_fit(params, message):
    X, y = numbered(60)
    FITS.clear()
    search = VarianceHalvingSearchCV(Recording(), {"value": np.arange(8) / 8}, **params)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert len(FITS) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delta": 0}, "^delta must"),
        ({"delta": 1.0}, "^delta must"),
        ({"allocation": "known"}, "reward_variances must be given"),
        ({"reward_variances": [1.0] * 8}, "reward_variances must be given"),
        ({"allocation": "known", "reward_variances": [1.0] * 3}, "one value for each of the 8"),
        ({"allocation": "known", "reward_variances": [-1.0] * 8}, "not negative"),
    ],
)
def test_bad_fields_of_the_policy_are_refused_before_any_fit(fields, message):
    X, y = numbered(60)
    FITS.clear()
    with pytest.raises(ValueError, match=message):
        BanditSearchCV(
            Recording(), {"value": np.arange(8) / 8}, policy=VarianceHalving(90, **fields)
        ).fit(X, y)
    assert len(FITS) == 0


def test_splits_that_come_to_an_end_are_too_few_for_stages_of_their_own():
    X, y = numbered(60)
    policy = VarianceHalving(40, "uniform", keep_pulls=False)
    search = BanditSearchCV(
        Recording(), {"value": np.arange(8) / 8}, policy=policy, cv=TimeSeriesSplit(5)
    )
    FITS.clear()
    with pytest.raises(ValueError, match="keep_pulls"):
        search.fit(X, y)
    assert len(FITS) == 0


def test_too_few_fits_to_adapt_are_warned_of():
    with pytest.warns(UserWarning, match=r"too small for allocation='ucb'.*n_fits=315"):
        tree_search(allocation="ucb", n_fits=60).fit(*data())
    tree_search(allocation="ucb", n_fits=315).fit(*data())


def test_known_variances_steer():
    X, y = data()
    variances = [1.0] * 7 + [100.0]
    policy = VarianceHalving(90, "known", reward_variances=variances)
    tree = DecisionTreeClassifier(random_state=0)
    search = BanditSearchCV(tree, TREE, policy=policy, random_state=0).fit(X, y)
    n_pulls = search.cv_results_["n_fits"]
    assert n_pulls[7] > 2 * n_pulls[:7].min()


def test_too_few_fits_are_refused_in_the_words_of_a_search():
    search = VarianceHalvingSearchCV(Known(), {"value": list(range(6))}, n_fits=3)
    with pytest.raises(ValueError, match=r"too small for 6 candidates .*that works is 6") as error:
        search.fit(*numbered(60))
    assert "arms" not in str(error.value)


def test_a_sampler_is_of_no_use_if_all_candidates_can_be_compared():
    search = VarianceHalvingSearchCV(Known(), {"value": [1, 2, 3]}, sampler="gaussian_process")
    with pytest.warns(UserWarning, match="only 3 candidates, and 50 fits are enough"):
        search.plan(*numbered(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.set_params(param_distributions={"value": list(range(40))}).plan(*numbered(60))
