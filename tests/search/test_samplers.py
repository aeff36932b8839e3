"""Candidates that a sampler makes while the search runs."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

import sklearn_halving
from search.common import Constant, data
from search.resuming import Steady, found, table
from search.sampling import KINDS, SAMPLERS, SPACE, X, Y, sampled
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.policies import IncumbentRace
from sklearn_halving.samplers import GaussianProcessSampler, RandomSampler

THREE_SPLITS = [*KFold(3).split(X)]
search_of, race_of, halving_of, gap_of = (
    partial(sampled, kind) for kind in ("hyperband", "race", "halving", "gap")
)


class Peak(Constant):
    """Scores by the distance from one point of a cube, a little better with more rows."""

    def __init__(self, a=0.0, b=0.0, c=0, kind="x"):
        self.a = a
        self.b = b
        self.c = c
        self.kind = kind

    def fit(self, X, y=None):
        self.n_ = len(X)
        return super().fit(X, y)

    def score(self, X, y=None):
        distance = abs(self.a - 0.3) + abs(np.log10(self.b) + 2) / 4 + abs(self.c - 14) / 20
        return -distance - 0.2 * (self.kind != "y") - 1 / self.n_


PEAK = {"a": uniform(0, 1), "b": loguniform(1e-4, 1), "c": randint(0, 20), "kind": list("xyz")}


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_does_not_depend_on_the_workers(kind, sampler, backend):
    one = sampled(kind, sampler).fit(X, Y)
    with parallel_config(backend, n_jobs=3):
        several = sampled(kind, sampler).fit(X, Y)
    assert found(several) == found(one)
    assert several.summary().count("candidates") == one.summary().count("candidates")


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_plan_is_kept(sampler):
    search = search_of(sampler)
    plan = search.plan(X, Y)
    search.fit(X, Y)
    assert search.n_fits_ <= plan["n_fits"].sum()
    largest = plan["n_resources"].max()
    history = search.history_
    place = ["loop", "bracket", "rung"]
    below = history[history["n_resources"] < largest].groupby(place).size()
    planned = plan[plan["n_resources"] < largest].set_index(place)["n_fits"]
    pd.testing.assert_series_equal(below, planned.sort_index(), check_names=False)
    n_at_top = (history["n_resources"] == largest).sum()
    last = plan[plan["n_resources"] == largest]
    assert last["n_candidates"].sum() <= n_at_top <= last["n_fits"].sum()


def test_a_callable_refit_can_choose_among_all_candidates_of_the_last_rungs():
    def first(results):
        return 0

    search = search_of("gaussian_process", n_loops=6, cv=5, early_splits=1, refit=first).fit(X, Y)
    assert search.n_fits_ == search.plan(X, Y)["n_fits"].sum()


@pytest.mark.parametrize(
    ("params", "at_most"),
    [
        ({"brackets": [1, 0], "n_loops": 1}, False),
        ({"n_loops": 1}, True),  # three brackets
        ({"cv": 2}, False),
        ({"sampler": "random"}, False),
        ({"brackets": [1, 0], "n_loops": 1, "time_budget": "1h"}, True),
    ],
)
def test_the_sums_of_a_plan_are_those_of_the_search(params, at_most):
    settings = {"sampler": "gaussian_process", "cv": 5} | params
    search = search_of(settings.pop("sampler"), **settings).fit(X, Y)
    plan = search.plan(X, Y)
    assert plan.attrs["at_most"] is at_most
    assert search.n_fits_ == plan["n_fits"].sum() or at_most
    n_candidates = plan.loc[plan["rung"] == 0, "n_candidates"].sum()
    assert len(set(search.cv_results_["candidate"])) == n_candidates
    of_grid = plan["full_fits"].sum() / (n_candidates * settings["cv"])
    assert plan["of_grid_search"].sum() == pytest.approx(of_grid, abs=0.001 * len(plan))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_candidates_that_are_behind_on_one_full_fit_get_no_others(sampler):
    search = search_of(sampler, n_loops=6, cv=5, early_splits=1).fit(X, Y)
    plan, results = search.plan(X, Y), pd.DataFrame(search.cv_results_)
    assert search.n_fits_ < plan["n_fits"].sum()
    assert plan.attrs["at_most"]
    full = results[results["n_resources"] == results["n_resources"].max()]
    n_scores = full.filter(regex=r"split\d_test_score").notna().sum(axis=1)
    assert set(n_scores) == {1, 5}
    assert full["mean_test_score"].notna().all()
    ranks = full["rank_test_score"]
    assert ranks[n_scores == 5].max() < ranks[n_scores == 1].min()
    assert n_scores[search.best_index_] == 5


def test_with_one_split_or_random_candidates_all_planned_fits_are_made():
    for options in ({"cv": [next(KFold(3).split(X))]}, {"sampler": "random"}):
        search = search_of(**{"sampler": "gaussian_process", **options}).fit(X, Y)
        assert search.n_fits_ == search.plan(X, Y)["n_fits"].sum()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("kind", "at"),
    [
        *(("hyperband", at) for at in (7, 40, 90)),
        ("race", 30),
        ("halving", 30),
        ("gap", 60),
    ],
)
def test_a_search_that_was_broken_off_ends_as_one_in_one_piece(kind, at, sampler, tmp_path):
    unbroken = sampled(kind, sampler).fit(X, Y)
    path, log = tmp_path / "journal", str(tmp_path / "log")
    estimator = Steady(log=log, event="interrupt", at=at)  # at that fit, and at no later one
    broken = sampled(kind, sampler, estimator, checkpoint=path)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X, Y)
    assert broken.n_fits_ < unbroken.n_fits_
    with parallel_config("threading", n_jobs=2):
        resumed = sampled(kind, sampler, estimator, checkpoint=path).fit(X, Y)
    assert table(resumed) == table(unbroken)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_more_loops_go_on_where_the_checkpoint_ends(sampler, tmp_path):
    path = tmp_path / "journal"
    search_of(sampler, n_loops=2, checkpoint=path).fit(X, Y)
    extended = search_of(sampler, n_loops=4, checkpoint=path).fit(X, Y)
    assert table(extended) == table(search_of(sampler).fit(X, Y))


def test_the_default_is_a_gaussian_process_for_distributions(tmp_path):
    by_default = search_of("auto").fit(X, Y)
    by_name = search_of("gaussian_process", checkpoint=tmp_path / "journal").fit(X, Y)
    assert HyperbandSearchCV(Steady(), SPACE).sampler == "auto"
    assert table(by_default) == table(by_name)
    resumed = search_of("auto", checkpoint=tmp_path / "journal").fit(X, Y)
    assert table(resumed) == table(by_name)


@pytest.mark.filterwarnings("ignore:The grid has")
@pytest.mark.parametrize("brackets", ["auto", "all"])
def test_candidates_of_a_grid_are_random_by_default(brackets):
    grid = {"value": np.linspace(0, 1, 20).tolist()}
    given = {"space": grid, "n_loops": 1, "n_candidates": None, "brackets": brackets}
    by_default = search_of("auto", **given).fit(X, Y)
    assert table(by_default) == table(search_of("random", **given).fit(X, Y))


def test_a_clone_goes_on_where_the_checkpoint_ends(tmp_path):
    search = search_of("gaussian_process", n_loops=1, checkpoint=tmp_path / "journal").fit(X, Y)
    resumed = clone(search).set_params(n_loops=2).fit(X, Y)
    assert table(resumed) == table(search_of("gaussian_process", n_loops=2).fit(X, Y))


def test_another_sampler_is_another_search(tmp_path):
    path = tmp_path / "journal"
    search_of("gaussian_process", checkpoint=path).fit(X, Y)
    with pytest.raises(ValueError, match="sampler"):
        search_of(GaussianProcessSampler(min_told=5), checkpoint=path).fit(X, Y)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_candidates_gather_around_the_best(sampler):
    """The same fits as with random candidates, over five seeds, and a better winner."""
    best = {
        name: np.mean(
            [
                search_of(name, Peak(), PEAK, n_loops=8, random_state=seed).fit(X, Y).best_score_
                for seed in range(5)
            ]
        )
        for name in ("random", sampler)
    }
    assert best[sampler] > 0.6 * best["random"]


def test_candidates_of_a_bracket_are_made_of_earlier_brackets_but_the_one_before():
    seen = []

    @dataclass(frozen=True)
    class Watching:
        calls: list = field(default_factory=list, compare=False)

        def propose(self, told, n, rng):
            n_scored = sum(len(told.at_level(level)[0]) for level in range(1, 81))
            seen.append((n, len(told.candidates), n_scored))
            return RandomSampler().propose(told, n, rng)

    search = search_of(Watching(), n_loops=2, min_resources=13, factor=3).fit(X, Y)
    seen.remove((1, 0, 0))  # the trial before the search
    sizes = [n for n, *_ in seen]
    assert sum(sizes) == len({tuple(p.items()) for p in search.cv_results_["params"]})
    assert [n_made for _, n_made, _ in seen] == np.cumsum([0, *sizes[:-1]]).tolist()
    n_scored = [n for *_, n in seen]
    assert n_scored[:2] == [0, 0]
    assert (np.diff(n_scored[1:]) > 0).all()


def test_a_sampler_uses_one_thread_as_more_are_slow_for_small_matrices():
    seen = []

    class Watching:
        def propose(self, told, n, rng):
            if told.candidates:  # not in the trial before the search
                seen.extend(threadpool_info())
            return RandomSampler().propose(told, n, rng)

    with threadpool_limits(2):
        search_of(Watching()).fit(X, Y)
    assert {pool["num_threads"] for pool in seen if pool["user_api"] == "blas"} == {1}


def test_candidates_of_a_grid_that_a_sampler_leaves_out_are_counted():
    grid = {"value": np.linspace(0, 1, 400).tolist()}
    search = search_of("gaussian_process", space=grid, n_loops=1)
    with pytest.warns(UserWarning, match="At least .* of the 400 .* left out.*Without a sampler"):
        search.fit(X, Y)


@pytest.mark.filterwarnings("ignore:At least")
def test_all_of_a_grid_is_tried_before_a_candidate_comes_again():
    grid = {"value": np.linspace(0, 1, 40).tolist()}
    search = search_of("gaussian_process", space=grid, n_loops=2).fit(X, Y)
    n_arms = len(set(search.history_["candidate"]))
    assert len({p["value"] for p in search.cv_results_["params"]}) == min(40, n_arms)


@pytest.mark.filterwarnings("ignore:The grid has")
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_grid_smaller_than_a_bracket_is_no_problem(sampler):
    search = search_of(sampler, space={"value": [0.1, 0.4, 0.8, 0.9]}).fit(X, Y)
    assert search.best_params_["value"] in (0.8, 0.9)
    first = search.history_.query("loop == 0 and rung == 0 and split == 0")
    for _, of_bracket in first.groupby("bracket"):
        values = [
            search.cv_results_["params"][list(search.cv_results_["candidate"]).index(arm)]["value"]
            for arm in of_bracket["candidate"]
        ]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_conditions_and_estimators_as_values(sampler):
    features, target = make_classification(200, random_state=0)
    space = [
        {"clf": [DecisionTreeClassifier(random_state=0)], "clf__max_depth": randint(1, 9)},
        {"clf": [LogisticRegression()], "clf__C": loguniform(1e-3, 1e3)},
        {"clf": [GaussianNB()], "scale": ["passthrough", StandardScaler()]},
    ]
    pipeline = Pipeline([("scale", "passthrough"), ("clf", GaussianNB())])
    search = HyperbandSearchCV(
        pipeline, space, sampler=sampler, n_loops=3, n_candidates=9, cv=3, random_state=0
    )
    search.fit(features, target)
    assert search.best_score_ > 0.85
    assert {type(p["clf"]).__name__ for p in search.cv_results_["params"]} == {
        *("DecisionTreeClassifier", "LogisticRegression", "GaussianNB")
    }
    assert search.predict(features).shape == (200,)


def test_a_thousand_loops_cost_nothing_before_they_are_tried():
    search = search_of("gaussian_process", n_loops=1000, time_budget=3.0)
    with pytest.warns(UserWarning, match="time_budget"):
        search.fit(X, Y)
    n_loops = pd.DataFrame(search.cv_results_)["loop"].nunique()
    plan = search.plan(X, Y)
    assert len(plan) >= 3000
    of_loop = search_of("gaussian_process").plan(X, Y).drop_duplicates("bracket")
    # Three brackets run at a time, so that the next loop may have begun.
    assert search._record.n_candidates <= of_loop["n_candidates"].sum() * (n_loops + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_search_can_be_pickled(kind):
    search = sampled(kind, "gaussian_process", refit=True).fit(X, Y)
    assert found(pickle.loads(pickle.dumps(search))) == found(search)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_fits_that_fail_are_no_parents(sampler):
    class Fragile(Peak):
        def fit(self, X, y=None):
            if self.a > 0.2:
                raise ValueError("too large")
            return super().fit(X, y)

    search = search_of(sampler, Fragile(), PEAK, n_loops=8).fit(X, Y)
    history = search.history_
    late = history[history["loop"] >= 4]
    early = history[history["loop"] < 1]
    assert late["error"].notna().mean() < early["error"].notna().mean()


def test_one_bracket_has_random_candidates():
    search = search_of("gaussian_process", brackets="most_exploratory", n_loops=1).fit(X, Y)
    assert len({p["value"] for p in search.cv_results_["params"]}) == 9


@pytest.mark.parametrize("sampler", ["tpe", RandomSampler, None, 3])
def test_refuses_what_is_no_sampler(sampler):
    with pytest.raises(ValueError, match="sampler"):
        search_of(sampler).fit(X, Y)


def test_refuses_a_sampler_that_proposes_too_few():
    class Lazy:
        def propose(self, told, n, rng):
            return []

    with pytest.raises(ValueError, match="must propose"):
        search_of(Lazy()).fit(X, Y)


def test_refuses_a_parameter_that_the_estimator_lacks():
    with pytest.raises(ValueError, match="unknown"):
        search_of("auto", DecisionTreeClassifier(), {"unknown": uniform(0, 1)}).fit(*data())


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    """It may make other candidates from the same scores."""
    settings = {"cv": 5, "checkpoint": tmp_path / "journal"}
    with monkeypatch.context() as patched:
        patched.setattr(sklearn_halving, "__version__", "0.0.9")
        search_of("gaussian_process", **settings).fit(X, Y)
    with pytest.raises(ValueError, match=r"settings differ: sklearn_halving \('0.0.9' before, "):
        search_of("gaussian_process", **settings).fit(X, Y)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"random_state": 1}, r"random_state \(0 before, 1 now\)"),
        ({"sampler": "random"}, r"sampler \('gaussian_process' before, 'random' now\)"),
        ({"early_splits": "all"}, r"early_splits \('auto' before, 'all' now\)"),
        ({"cv": 4}, r"splits \([^)]*\)"),
        ({"space": {"value": uniform(0, 2)}}, "param_distributions"),
        ({"n_candidates": 5, "cv": 4}, r"n_candidates \(17 before, 5 now\); splits \([^)]*\)"),
    ],
)
def test_only_the_settings_that_were_changed_are_named(change, told, tmp_path):
    settings = {"sampler": "gaussian_process", "cv": 5, "checkpoint": tmp_path / "journal"}

    def fit(**params):
        sampled("hyperband", params.pop("sampler"), n_loops=1, **params).fit(X, Y)

    fit(**settings)
    with pytest.raises(ValueError, match=rf"these settings differ: {told}\. Use the settings"):
        fit(**settings | change)


def test_a_checkpoint_with_a_race_is_refused_without_one(tmp_path):
    path = tmp_path / "journal"
    search_of("gaussian_process", cv=5, checkpoint=path).fit(X, Y)
    with pytest.raises(ValueError, match=r"refit \('no callable' before, 'a callable' now\)"):
        search_of("gaussian_process", cv=5, checkpoint=path, refit=lambda results: 0).fit(X, Y)


# ------------------------------------------------------------------ one candidate at a time


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_race_keeps_its_budget_and_has_rows_for_what_was_tried(sampler):
    search = race_of(sampler, Peak(), PEAK).fit(X, Y)
    assert search.n_fits_ <= 80
    assert len(search.cv_results_["params"]) == search.history_["candidate"].nunique()
    assert search.cv_results_["n_fits"].min() >= 1
    assert search.cv_results_["n_fits"][search.best_index_] >= 4
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_newcomers_of_a_race_gather_around_the_best():
    best = {
        name: np.mean(
            [
                race_of(name, Peak(), PEAK, n_fits=300, random_state=seed).fit(X, Y).best_score_
                for seed in range(5)
            ]
        )
        for name in ("random", "gaussian_process")
    }
    assert best["gaussian_process"] > best["random"]


def test_a_race_over_a_grid_tries_no_candidate_twice():
    grid = {"value": np.linspace(0, 1, 12).tolist()}
    with pytest.warns(UserWarning, match="only 12 candidates"):
        search = race_of("gaussian_process", space=grid).fit(X, Y)
    values = [params["value"] for params in search.cv_results_["params"]]
    assert len(values) == len(set(values)) == 12
    assert search.best_params_["value"] == 1


def test_policies_that_choose_among_given_candidates_refuse_a_sampler():
    space = {"value": uniform(0, 1)}
    for policy in ("uniform", "hoo"):
        with pytest.raises(ValueError, match="sampler must be 'random'"):
            BanditSearchCV(Steady(), space, policy=policy, sampler="gaussian_process").fit(X, Y)


class Wrapped:
    """A policy that does not inherit from `BasePolicy`."""

    def __init__(self, policy):
        self.policy = policy

    def __getattr__(self, name):
        return getattr(vars(self)["policy"], name)


def test_a_race_that_does_not_inherit_from_the_base_class_tells_the_sampler_of_its_rungs():
    params = {"sampler": "gaussian_process", "cv": 4, "random_state": 0, "refit": False}
    race = IncumbentRace(60)
    own, wrapped = (
        BanditSearchCV(Steady(), SPACE, policy=policy, **params).fit(X, Y)
        for policy in (race, Wrapped(race))
    )
    assert found(wrapped) == found(own)


# ------------------------------- the same race in VarianceHalvingSearchCV and BayesGapSearchCV


@pytest.mark.parametrize(("n_fits", "n_made"), [(80, 80), ("auto", 50)])
def test_over_distributions_both_searches_are_the_race(n_fits, n_made):
    """By default, and the estimator's own parameters are the first candidate."""
    common = {"cv": 4, "n_fits": n_fits, "random_state": 0, "refit": False}
    halving, gap = (
        search_class(Steady(value=0.25), SPACE, **common).fit(X, Y)
        for search_class in (VarianceHalvingSearchCV, BayesGapSearchCV)
    )
    race = race_of("gaussian_process", **common, initial_candidates=[{"value": 0.25}]).fit(X, Y)
    assert table(halving) == table(gap) == table(race)
    assert halving.cv_results_["params"][0] == {"value": 0.25}
    assert halving.n_fits_ == halving.plan(X, Y)["n_fits"].sum() == n_made
    assert 0 <= halving.best_probability_ <= 1


@pytest.mark.parametrize("search_class", [VarianceHalvingSearchCV, BayesGapSearchCV])
def test_own_parameters_that_are_not_in_the_space_are_no_candidate(search_class):
    search = search_class(Steady(value=7.0), SPACE, n_fits=20, cv=4, refit=False).fit(X, Y)
    assert all(0 <= params["value"] <= 1 for params in search.cv_results_["params"])


@pytest.mark.filterwarnings("ignore:There are only 3 candidates")
@pytest.mark.parametrize("of", [halving_of, race_of, gap_of])
@pytest.mark.parametrize(("cv", "n_splits"), [(4, 25), (30, 30), (None, 25), (THREE_SPLITS, 3)])
def test_a_winner_has_at_most_25_splits_or_those_that_cv_stands_for(of, cv, n_splits):
    space = {"value": [0.1, 0.2, 0.9]}
    search = of("gaussian_process", space=space, cv=cv, n_fits=3 * n_splits).fit(X, Y)
    assert search.cv_results_["n_fits"][search.best_index_] == n_splits


@pytest.mark.parametrize("of", [halving_of, gap_of])
def test_an_initial_candidate_outside_of_the_space_may_win(of):
    search = of("gaussian_process", initial_candidates=[{"value": 1.5}]).fit(X, Y)
    assert search.best_params_ == {"value": 1.5}
    assert search.cv_results_["params"][0] == {"value": 1.5}
    assert "1 of them initial" in search.summary()


@pytest.mark.parametrize(
    ("search_class", "params"),
    [
        (VarianceHalvingSearchCV, {"allocation": "pooled"}),
        (VarianceHalvingSearchCV, {"stop_probability": 0.9}),
        (VarianceHalvingSearchCV, {"tolerance": 0.1}),
        (BayesGapSearchCV, {"kernel": "matern"}),
        (BayesGapSearchCV, {"acquisition": "ei"}),
        (BayesGapSearchCV, {"beta": 2.0}),
    ],
)
def test_what_a_race_does_not_have_is_for_drawn_candidates(search_class, params):
    [(name, _)] = params.items()
    options = {"n_fits": 40, "cv": 4, "random_state": 0, "refit": False, **params}
    by_default = search_class(Steady(), SPACE, **options).fit(X, Y)
    drawn = search_class(Steady(), SPACE, **options, sampler="random").fit(X, Y)
    assert table(by_default) == table(drawn)
    with pytest.raises(ValueError, match=f"{name}=.* cannot be combined with sampler='gauss"):
        search_class(Steady(), SPACE, **options, sampler="gaussian_process").fit(X, Y)


@dataclass
class Fixed:
    """Proposes the same candidates each time."""

    made: list

    def propose(self, told, n, rng):
        return self.made


@pytest.mark.parametrize("of", [halving_of, race_of, gap_of])
@pytest.mark.parametrize(
    ("sampler", "space", "message"),
    [
        ("gaussian_process", [*[SPACE] * 9, {"value": [0.1], "wrong": [1, 2]}], "'wrong'"),
        (Fixed([]), SPACE, "must propose 1 dicts"),
        (Fixed([{"wrong": 1}]), SPACE, "Invalid parameter 'wrong'"),
    ],
)
def test_a_sampler_that_cannot_propose_is_refused_before_any_fit(
    of, sampler, space, message, tmp_path
):
    log = tmp_path / "log"
    estimator = Steady(value="not in the space", log=str(log))
    with pytest.raises(ValueError, match=message):
        of(sampler, estimator, space).fit(X, Y)
    assert not log.exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of", [halving_of, gap_of])
def test_candidates_that_fail_do_not_win(of):
    class Fragile(Steady):
        def fit(self, X, y=None):
            if self.value > 0.5:
                raise ArithmeticError("told to fail")
            return super().fit(X, y)

    search = of("gaussian_process", Fragile(value=1.0)).fit(X, Y)
    assert 0.3 < search.best_params_["value"] <= 0.5
    failed = np.isnan(search.cv_results_["mean_test_score"])
    assert failed.any()
    assert (search.cv_results_["n_fits"][failed] <= 2).all()


@pytest.mark.parametrize("of", [halving_of, gap_of])
def test_a_part_of_a_grid_is_searched_without_duplicates(of):
    grid = {"value": np.linspace(0, 1, 60).tolist()}
    search = of("gaussian_process", space=grid, n_candidates=30).fit(X, Y)
    values = [params["value"] for params in search.cv_results_["params"]]
    assert 10 < len(values) == len(set(values)) <= 30
    assert search.best_params_["value"] > 0.9
