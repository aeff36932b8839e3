"""Candidates that a sampler makes while the search runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from search.common import SEARCHES, Constant, small
from search.resuming import Steady, found, table
from search.sampling import KINDS, SAMPLERS, SPACE, X, Y, sampled
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.samplers import RandomSampler

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


# ------------------------------------------------------------------ one candidate at a time


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_race_keeps_its_budget_and_has_rows_for_what_was_tried(sampler):
    search = race_of(sampler, Peak(), PEAK).fit(X, Y)
    assert search.n_fits_ <= 80
    assert len(search.cv_results_["params"]) == search.history_["candidate"].nunique()
    n_fits, probability = search.cv_results_["n_fits"], search.cv_results_["probability_best"]
    assert n_fits.min() >= 1
    assert n_fits[search.best_index_] >= 4
    assert (np.isnan(probability) == (2 * n_fits < n_fits.max())).all()
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_policies_that_choose_among_given_candidates_refuse_a_sampler():
    space = {"value": uniform(0, 1)}
    for policy in ("uniform", "hoo"):
        with pytest.raises(ValueError, match="sampler='gaussian_process' must be left out"):
            BanditSearchCV(Steady(), space, policy=policy, sampler="gaussian_process").fit(X, Y)


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


def test_only_one_search_has_no_auto():
    for search_class in SEARCHES:
        search = small(search_class, Steady(), SPACE, sampler="auto")
        if search_class is BanditSearchCV:
            with pytest.raises(ValueError, match="Only BanditSearchCV has no 'auto'"):
                search.plan(X, Y)
        else:
            search.plan(X, Y)


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
