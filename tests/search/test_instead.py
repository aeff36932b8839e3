"""What a search has no parameter for is a field of a policy object, and BanditSearchCV fits it.

Each test asserts what the field is for, over a grid and over distributions.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import uniform
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import ParameterGrid, ParameterSampler

from search.common import Constant, numbered
from sklearn_halving import BanditSearchCV, VarianceHalvingSearchCV
from sklearn_halving.policies import (
    BayesGap,
    FiniteHorizonHalving,
    GridHalving,
    GrowingHyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    SuccessiveHalving,
    VarianceHalving,
)
from sklearn_halving.search import candidate_features

X, Y = numbered(120)
R = 81
"""The largest resource, as in Table 1 of Hyperband's paper."""

each_space = pytest.mark.parametrize("kind", ["grid", "distributions"])


class Scored(Constant):
    """Scores ``value`` with noise that depends on the value and on the split."""

    def __init__(self, value=0.5, amount=R, noise=0.0):
        self.value = value
        self.amount = amount
        self.noise = noise

    def score(self, X, y=None):
        value = float(self.value)
        noise = np.random.default_rng([int(1e9 * value), int(X[:, 0].sum())]).normal()
        return value + self.noise * noise


def search_with(policy, kind, n=12, estimator=None, **params):
    """Return a search over ``n`` values of a grid, or over a distribution of values."""
    space = {"value": np.linspace(0, 1, n).tolist() if kind == "grid" else uniform()}
    own = {}
    if "resource" not in params and kind == "distributions":
        own["n_candidates"] = n
    return BanditSearchCV(
        estimator or Scored(), space, policy=policy, **{"random_state": 0, **own, **params}
    )


def played(policy, kind, **params):
    """Return a fitted search over 1, 2, ... 81 units of a resource, with two splits."""
    amounts = {"resource": "amount", "min_resources": 1, "cv": 2}
    return search_with(policy, kind, **{"n": 200, **amounts, **params}).fit(X, Y)


# -------------------------------------------------------------------------------- Hyperband


@each_space
@pytest.mark.parametrize(
    "policy",
    [
        SuccessiveHalving(n_arms=9, budget=2000),
        InfiniteHorizonHalving(n_arms=9, budget=2000),
        FiniteHorizonHalving(n_arms=9, budget=2000),
        InfiniteHyperband(budget=5000),
        GrowingHyperband(budget=5000),
        GridHalving(n_arms=12),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_other_brackets(policy, kind):
    """Their budgets are large enough for more than the largest resource, which is the limit."""
    search = played(policy, kind, n=12 if isinstance(policy, GridHalving) else 500)
    table, plan = pd.DataFrame(search.cv_results_), search.plan(X, Y)
    assert table["n_resources"].max() == R
    assert search.n_fits_ == plan["n_fits"].sum()
    if hasattr(policy, "budget"):  # for each split, with each rung from scratch
        assert (plan["n_candidates"] * plan["n_resources"]).sum() <= policy.budget
    rung = table[["bracket", "iter", *(["loop"] if "loop" in table else [])]]
    same = (rung == rung.loc[search.best_index_]).all(axis=1)
    assert search.best_score_ == table.loc[same, "mean_test_score"].max()


# ----------------------------------------------------------------------- variance halving


def fits_of_stage(search, stage):
    """Return the fits of each candidate in a stage, shape (n_candidates,)."""
    history = search.history_
    candidates = history.loc[history["stage"] == stage, "candidate"]
    return np.bincount(candidates, minlength=len(search.cv_results_["params"]))


@each_space
def test_reward_variances(kind):
    variances = np.full(12, 0.01)
    variances[3] = 0.25
    policy = VarianceHalving(240, "known", reward_variances=variances)
    n_fits = fits_of_stage(search_with(policy, kind).fit(X, Y), 0)
    assert n_fits[3] > 3 * np.delete(n_fits, 3).max()
    with pytest.raises(ValueError, match="reward_variances"):
        search_with(policy, kind, n=5).fit(X, Y)


@each_space
def test_stop_probability_knows_the_overlap_of_the_splits(kind):
    estimator = Scored(noise=0.05)
    rule = {"stop_probability": 0.9}
    search = search_with(VarianceHalving(400, **rule), kind, estimator=estimator).fit(X, Y)
    of_independent = VarianceHalving(400, overlap=0.0, **rule)
    sooner = search_with(of_independent, kind, estimator=estimator).fit(X, Y)
    candidates = {} if kind == "grid" else {"n_candidates": 12}
    same = VarianceHalvingSearchCV(
        estimator, search.param_distributions, n_fits=400, random_state=0, **rule, **candidates
    ).fit(X, Y)
    assert search.n_fits_ == same.n_fits_ < 400
    assert search.best_params_ == same.best_params_
    assert sooner.n_fits_ < search.n_fits_


# ------------------------------------------------------------------------------- BayesGap


def gap_search(kind, covariance_of):
    """Return a fitted search with BayesGap over 16 candidates, with a covariance of them."""
    space = {"value": np.linspace(0, 1, 16).tolist() if kind == "grid" else uniform()}
    grid = kind == "grid"
    candidates = list(
        ParameterGrid(space) if grid else ParameterSampler(space, 16, random_state=0)
    )
    policy = BayesGap(8, covariance_of(candidates, space), split_variance=0.25)
    given = {} if grid else {"initial_candidates": candidates, "n_candidates": 16}
    search = BanditSearchCV(Scored(noise=0.01), space, policy=policy, random_state=0, **given)
    return search.fit(X, Y)


def a_kernel(candidates, space):
    return RBF(0.2)(candidate_features(candidates, space))


def independent(candidates, space):
    return np.eye(len(candidates))


@each_space
@pytest.mark.parametrize("covariance_of", [a_kernel, independent])
def test_a_covariance_of_the_user(covariance_of, kind):
    """Candidates without a fit are only known from others, if these are correlated."""
    search = gap_search(kind, covariance_of)
    assert search.n_fits_ == 8
    spread = search.cv_results_["posterior_sd"][search.cv_results_["n_fits"] == 0]
    assert bool(np.ptp(spread) > 1e-6) is (covariance_of is not independent)
