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
    LUCB,
    AdaptiveUGapEb,
    AsynchronousBrackets,
    BayesGap,
    DoublingHalving,
    FiniteHorizonHalving,
    GridHalving,
    GrowingHyperband,
    Hyperband,
    InfiniteHorizonHalving,
    InfiniteHyperband,
    SuccessiveHalving,
    VarianceHalving,
)
from sklearn_halving.resources import TrainingSize
from sklearn_halving.search import candidate_covariance, candidate_features

X, Y = numbered(120)
R = 81
"""The largest resource, as in Table 1 of Hyperband's paper."""

each_space = pytest.mark.parametrize("kind", ["grid", "distributions"])


class Scored(Constant):
    """Scores ``value`` with noise that depends on the value and on the split.

    With ``falls``, the score falls as the amount grows. With ``noisiest``, the noise is in
    proportion to the value, and the score is the same for all values on average.
    """

    def __init__(self, value=0.5, amount=R, noise=0.0, falls=False, noisiest=False):
        self.value = value
        self.amount = amount
        self.noise = noise
        self.falls = falls
        self.noisiest = noisiest

    def score(self, X, y=None):
        value = float(self.value)
        noise = np.random.default_rng([int(1e9 * value), int(X[:, 0].sum())]).normal()
        if self.noisiest:
            return 0.5 + 0.1 * value**2 * noise
        return value + self.noise * noise - 2 * self.falls * self.amount / R


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


def starts(search):
    """Return the number of candidates with which each bracket of the plan starts."""
    plan = search.plan(X, Y)
    return plan.loc[plan["rung"] == 0, "n_candidates"].tolist()


# -------------------------------------------------------------------------------- Hyperband


@each_space
def test_schedule_table_1(kind):
    search = played(Hyperband(schedule_rule="table_1"), kind)
    assert starts(search) == [81, 27, 9, 6, 5]
    table = search.cv_results_
    first = [table["n_resources"][table["bracket"] == s].min() for s in (4, 3, 2, 1, 0)]
    assert first == [1, 3, 9, 27, 81]
    assert search.n_fits_ == search.plan(X, Y)["n_fits"].sum()


@each_space
@pytest.mark.parametrize(("select", "level"), [("all_rungs", 1), ("max_resources", R)])
def test_select(select, level, kind):
    search = played(Hyperband(select=select), kind, estimator=Scored(falls=True))
    assert search.cv_results_["n_resources"][search.best_index_] == level


@each_space
def test_min_candidates(kind):
    assert starts(played(Hyperband(), kind)) == [81, 34, 15, 8, 5]
    search = played(Hyperband(min_candidates=9), kind)
    assert starts(search) == [81, 34, 15]
    assert set(search.cv_results_["bracket"]) == {4, 3, 2}


@each_space
def test_asynchronous_promotion(kind):
    brackets = Hyperband(brackets="most_exploratory")
    waits, at_once = played(brackets, kind), played(AsynchronousBrackets(brackets), kind)
    assert at_once.plan(X, Y).equals(waits.plan(X, Y))
    assert at_once.n_fits_ == waits.n_fits_
    assert waits.history_["n_resources"].is_monotonic_increasing
    assert not at_once.history_["n_resources"].is_monotonic_increasing


@each_space
@pytest.mark.parametrize(
    "policy",
    [
        SuccessiveHalving(n_arms=9, budget=2000),
        InfiniteHorizonHalving(n_arms=9, budget=2000),
        FiniteHorizonHalving(n_arms=9, budget=2000),
        InfiniteHyperband(budget=5000),
        GrowingHyperband(budget=5000),
        GridHalving(n_arms=12, n_repetitions=2),
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


@each_space
def test_doubling_halving(kind):
    search = played(DoublingHalving(budget=2000), kind, n=9)
    levels = search.history_["n_resources"]
    assert levels.max() == R
    assert levels.nunique() > 5
    assert levels.sum() <= 2 * 2000  # the budget is that of a split


@each_space
def test_rescale(kind):
    rows = TrainingSize(rescale={"value": "inverse"})
    policy = Hyperband(max_candidates=3)
    search = search_with(policy, kind, resource=rows, min_resources=20, cv=2).fit(X, Y)
    table = search.cv_results_
    assert len(set(table["n_resources"])) == 2
    np.testing.assert_allclose(
        table["rescaled_value"].astype(float),
        table["param_value"].astype(float) * table["n_resources"].max() / table["n_resources"],
    )


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
@pytest.mark.parametrize(("delta", "adapts"), [(0.05, False), (0.5, True)])
def test_delta(delta, adapts, kind):
    """It is the number of fits of each candidate that delta asks for, 13 or 4."""
    policy = VarianceHalving(8 * 3 * 12, "ucb", delta=delta)
    search = search_with(policy, kind, n=8, estimator=Scored(noisiest=True)).fit(X, Y)
    n_fits = fits_of_stage(search, 0)
    assert bool(np.ptp(n_fits) > 1) is adapts
    if adapts:
        value = search.cv_results_["param_value"].astype(float)
        assert n_fits.argmax() == value.argmax()


@each_space
@pytest.mark.parametrize("keep_pulls", [True, False])
def test_keep_pulls(keep_pulls, kind):
    """The winner is chosen by the scores of all stages, or by those of the last one."""
    policy = VarianceHalving(120, "uniform", keep_pulls=keep_pulls, common_splits=False)
    for seed in range(20):
        search = search_with(policy, kind, n=8, estimator=Scored(noisiest=True))
        history = search.set_params(random_state=seed).fit(X, Y).history_
        last = history[history["stage"] == history["stage"].max()]
        of_all = history[history["candidate"].isin(last["candidate"])]
        by_last = last.groupby("candidate")["test_score"].mean().idxmax()
        by_all = of_all.groupby("candidate")["test_score"].mean().idxmax()
        if by_last != by_all:
            break
    chosen = search.cv_results_["candidate"][search.best_index_]
    assert by_last != by_all
    assert chosen == (by_all if keep_pulls else by_last)


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


def candidates_of(kind, space, n):
    """Return the candidates of a grid in its order, or some that are drawn."""
    return list(
        ParameterGrid(space) if kind == "grid" else ParameterSampler(space, n, random_state=0)
    )


def gap_search(kind, covariance_of, n_fits=8, space=None, split_variance=0.25, **params):
    """Return a fitted search with BayesGap over 16 candidates, with a covariance of them."""
    values = np.linspace(0, 1, 16).tolist() if kind == "grid" else uniform()
    space = space or {"value": values}
    candidates = candidates_of(kind, space, 16)
    covariance = covariance_of(candidates, space)
    policy = BayesGap(n_fits, covariance, split_variance=split_variance, **params)
    given = {} if kind == "grid" else {"initial_candidates": candidates, "n_candidates": 16}
    search = BanditSearchCV(Scored(noise=0.01), space, policy=policy, random_state=0, **given)
    return search.fit(X, Y)


def spread_of_unknown(search):
    """Return the standard deviation of the posterior of the candidates without a fit."""
    table = search.cv_results_
    return table["posterior_sd"][table["n_fits"] == 0]


@each_space
def test_epsilon(kind):
    exact, tolerant = (
        gap_search(kind, candidate_covariance, epsilon=e, beta="printed") for e in (0.0, 0.5)
    )
    for search in (exact, tolerant):
        table = search.cv_results_
        assert {"posterior_mean", "posterior_sd", "lower_bound", "upper_bound"} <= set(table)
        assert len(table["params"]) == 16
        assert search.n_fits_ == 8
        assert search.best_params_["value"] > 0.8
        assert search.regret_bounds_.shape == (8,)

    def width(search):
        return (search.cv_results_["upper_bound"] - search.cv_results_["lower_bound"]).mean()

    assert width(tolerant) > width(exact)


@each_space
def test_noise(kind):
    low, high = (
        gap_search(kind, a_kernel, noise_variance=noise, split_variance=0.0, standardize=False)
        for noise in (1e-6, 1.0)
    )
    known, unsure = (s.cv_results_["posterior_sd"].min() for s in (low, high))
    assert known < 0.1 < unsure


def a_kernel(candidates, space):
    return RBF(0.2)(candidate_features(candidates, space))


def a_function(candidates, space):
    value = candidate_features(candidates, space)
    return np.exp(-((value - value.T) ** 2) / 0.08)


def independent(candidates, space):
    return np.eye(len(candidates))


@each_space
@pytest.mark.parametrize("covariance_of", [a_kernel, a_function, independent])
def test_a_covariance_of_the_user(covariance_of, kind):
    """Candidates without a fit are only known from others, if these are correlated."""
    search = gap_search(kind, covariance_of)
    assert search.n_fits_ == 8
    knows_more = bool(np.ptp(spread_of_unknown(search)) > 1e-6)
    assert knows_more is (covariance_of is not independent)


# ---------------------------------------------------------- confidence bounds on the scores


@each_space
@pytest.mark.parametrize("policy", ["adaptive_ugap_eb", AdaptiveUGapEb(60)])
def test_ugap(policy, kind):
    budget = {"n_fits": 60} if isinstance(policy, str) else {}
    search = search_with(policy, kind, **budget).fit(X, Y)
    table = search.cv_results_
    assert search.n_fits_ == 60
    assert table["n_fits"].min() >= 1
    assert table["n_fits"][search.best_index_] > np.median(table["n_fits"])
    assert search.best_params_["value"] == table["param_value"].astype(float).max()


@each_space
def test_confidence_and_reward_range(kind):
    """Less confidence and a narrower range need fewer fits."""

    def n_fits(**fields):
        policy = LUCB(max_pulls=5000, **fields)
        search = search_with(policy, kind, n=2, refit=False, random_state=1).fit(X, Y)
        assert search.stopped_by_ == "policy"
        return search.n_fits_

    unsure = n_fits(delta=0.5, reward_range=(0, 1))
    assert unsure < n_fits(delta=0.01, reward_range=(0, 1))
    assert unsure < n_fits(delta=0.5, reward_range=(0, 1.5))
    assert n_fits(delta=0.5) == unsure  # an accuracy is from 0 to 1
