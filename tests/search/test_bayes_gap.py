"""BayesGapSearchCV: few fits for many candidates, what is reported, kernels, determinism."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, PredefinedSplit

from search.common import Constant, numbered
from sklearn_halving import BanditSearchCV, BayesGapSearchCV
from sklearn_halving.policies import BayesGap

GRID = {"a": np.logspace(-3, 3, 8), "b": [0, 1, 2, 3, 4], "c": ["x", "y", "z", "w"]}
"""160 candidates."""
X, Y = numbered(60)


class Surface(Constant):
    """Scores a smooth function of its parameters, plus a split's worth, plus noise."""

    def __init__(self, a=1.0, b=0.0, c="x", noise=0.0, fails_above=np.inf):
        self.a = a
        self.b = b
        self.c = c
        self.noise = noise
        self.fails_above = fails_above

    def fit(self, X, y=None):
        if self.a > self.fails_above:
            raise ArithmeticError("told to fail")
        return super().fit(X, Y)

    def score(self, X, y=None):
        rows = [int(row) for row in X[:, 0]]
        of_split = np.random.default_rng(rows).normal()
        own = np.random.default_rng([*rows, *map(ord, f"{self.a}{self.b}{self.c}")]).normal()
        return value_of(self) + 2 * self.noise * of_split + self.noise * own


def value_of(params):
    """Return the score without noise: between 0 and 1."""
    if isinstance(params, dict):
        params = Surface(**params)
    distance = (np.log10(params.a) - 1) ** 2 / 4 + (params.b - 3) ** 2 / 8
    return {"x": 0.8, "y": 1.0, "z": 0.6, "w": 0.7}[params.c] * float(np.exp(-distance))


def surface_search(grid=GRID, noise=0.0, **params):
    params = {"random_state": 0, "n_fits": 30} | params
    return BayesGapSearchCV(Surface(noise=noise), grid, **params)


def column(search, name):
    return search.cv_results_[name]


# ------------------------------------------------------------------------------ the choice


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern"])
def test_twenty_fits_for_160_candidates_beat_random_search(kernel):
    values = np.array([value_of(params) for params in ParameterGrid(GRID)])
    rng = np.random.default_rng(0)
    ours, random = [], []
    for seed in range(12):
        search = surface_search(noise=0.03, n_fits=20, kernel=kernel, random_state=seed)
        search.set_params(refit=False).fit(X, Y)
        ours.append(values.max() - value_of(search.best_params_))
        drawn = rng.choice(160, 20, replace=False)
        random.append(values.max() - values[drawn].max())  # even if it knew the values
    assert np.mean(random) > 0.1
    assert np.mean(ours) < 0.4 * np.mean(random)
    assert np.median(ours) <= 0.02


@pytest.mark.parametrize(
    "acquisition", ["bayesgap", "thompson", "bayes_ucb", "gp_ucb", "ei", "pi"]
)
def test_every_acquisition_plays_its_budget(acquisition):
    search = surface_search(acquisition=acquisition, n_fits=25, noise=0.02).fit(X, Y)
    assert search.n_fits_ == column(search, "n_fits").sum() == 25
    assert len(search.regret_bounds_) == (25 if acquisition == "bayesgap" else 0)
    assert value_of(search.best_params_) > 0.5


# ------------------------------------------------------------------------------- the table


def test_the_table():
    search = surface_search(noise=0.05).fit(X, Y)
    n_pulls, mean = column(search, "n_fits"), column(search, "mean_test_score")
    assert len(n_pulls) == 160
    assert (n_pulls == 0).sum() > 10
    assert n_pulls.sum() == 30 == search.n_fits_
    assert search.n_fits_left_ == 0
    np.testing.assert_array_equal(np.isnan(mean), n_pulls == 0)
    np.testing.assert_array_equal(np.isnan(column(search, "split0_test_score")), n_pulls == 0)
    posterior, sd = column(search, "posterior_mean"), column(search, "posterior_sd")
    assert np.isfinite(posterior).all()
    assert (sd > 0).all()
    assert sd[n_pulls > 0].mean() < sd[n_pulls == 0].mean()
    lower, upper = column(search, "lower_bound"), column(search, "upper_bound")
    np.testing.assert_allclose((lower + upper) / 2, posterior)
    width = (upper - posterior) / sd
    np.testing.assert_allclose(width, width[0])
    assert width[0] > 1
    rank = column(search, "rank_test_score")
    assert rank[search.best_index_] == 1
    assert (posterior[np.argsort(rank)] == np.sort(posterior)[::-1]).all()
    assert posterior[search.best_index_] == posterior.max()
    assert not hasattr(search, "best_probability_")  # of the scores, not of the model
    assert "probability_best" not in search.cv_results_
    assert (search.regret_bounds_ > 0).all()
    assert search.regret_bounds_.shape == (30,)
    for j in range(search.n_splits_):  # every candidate's j-th fit is on split j
        assert (n_pulls[~np.isnan(column(search, f"split{j}_test_score"))] > j).all()


@pytest.mark.walk
@pytest.mark.parametrize("n_pulls", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize("pulls_in_flight", [1, 4])
def test_the_winner_was_fitted(n_pulls, pulls_in_flight):
    for seed in range(4):
        search = surface_search(
            n_fits=n_pulls,
            random_state=seed,
            noise=0.1 * (seed % 2),
            fits_in_flight=pulls_in_flight,
        ).fit(X, Y)
        assert search.n_fits_ == column(search, "n_fits").sum() == n_pulls
        best = search.best_index_
        assert column(search, "n_fits")[best] > 0
        assert search.best_score_ == column(search, "mean_test_score")[best]
        assert np.isfinite(search.best_score_)
        assert column(search, "rank_test_score")[best] == 1


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_candidates_that_fail_rank_last():
    search = surface_search()
    search.estimator.set_params(fails_above=200)
    with pytest.warns(FitFailedWarning, match="told to fail"):
        search.fit(X, Y)
    failed = (column(search, "n_fits") > 0) & np.isnan(column(search, "mean_test_score"))
    rank = column(search, "rank_test_score")
    assert 0 < failed.sum() <= 8  # of 30: the corner of 40 candidates in which all fail is left
    assert set(rank[failed]) == {160 - failed.sum() + 1}
    assert rank[~failed].max() <= 160 - failed.sum()
    assert value_of(search.best_params_) > 0.5


# -------------------------------------------------------------------- budgets and candidates


@pytest.mark.parametrize(("n_candidates", "n_fits"), [(3, 15), (20, 100), (21, 100), (500, 100)])
def test_a_small_grid_gets_the_fits_of_grid_search(n_candidates, n_fits):
    grid = {"b": np.linspace(0, 1, n_candidates).tolist()}
    plan = surface_search(grid, cv=None, n_fits=None).plan(X, Y)
    assert plan["n_fits"].tolist() == [n_fits]


def test_splits_that_come_to_an_end():
    cv = PredefinedSplit(np.arange(60) % 2)
    search = surface_search({"b": [2, 3, 4]}, cv=cv, n_fits=None).fit(X, Y)
    assert column(search, "n_fits").tolist() == [2, 2, 2]
    assert search.n_fits_left_ == 0
    assert search.plan(X, Y)["n_fits"].tolist() == [6]
    with pytest.raises(ValueError, match="n_fits=7 is too large for"):
        surface_search({"b": [2, 3, 4]}, cv=cv, n_fits=7).fit(X, Y)


# ----------------------------------------------------------------------------- reproducibility


def test_a_model_without_numbers_is_warned_of():
    categories = {"c": ["x", "y", "z", "w"], "a": ["1", "2"]}
    for space in (categories, categories | {"b": [None, 1, 2]}):
        with pytest.warns(UserWarning, match="No numeric parameter varies"):
            surface_search(space).plan(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface_search(categories | {"b": [0, 1, 2]}).plan(X, Y)
        policy = BayesGap(30, covariance=np.eye(8))
        BanditSearchCV(Surface(), categories, policy=policy, random_state=0).plan(X, Y)
