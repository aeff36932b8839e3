"""Candidates that a sampler makes while the search runs."""

from __future__ import annotations

from dataclasses import dataclass, field

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

from search.common import Constant
from search.resuming import Steady, found, table
from search.sampling import KINDS, SAMPLERS, SPACE, X, Y, sampled
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV
from sklearn_halving.samplers import RandomSampler


class Peak(Constant):
    """Scores by the distance from one point of a cube, a little better with more rows."""

    def __init__(self, a=0.0, b=1.0, c=0, kind="x"):
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


@pytest.mark.walk
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_does_not_depend_on_the_workers(kind, sampler, backend):
    one = sampled(kind, sampler).fit(X, Y)
    with parallel_config(backend, n_jobs=2):
        several = sampled(kind, sampler).fit(X, Y)
    assert found(several) == found(one)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(("kind", "at"), [("adaptive", 7), ("in flight", 40), ("race", 30)])
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


def test_a_sampler_is_told_the_scores_of_all_candidates_before():
    seen = []

    @dataclass(frozen=True)
    class Watching:
        calls: list = field(default_factory=list, compare=False)

        def propose(self, told, n, rng):
            seen.append((n, len(told.candidates), len(told.at_level(1)[0])))
            return RandomSampler().propose(told, n, rng)

    search = sampled("adaptive", Watching(), n_fits=40).fit(X, Y)
    seen.remove((1, 0, 0))  # the trial before the search
    sizes = [n for n, *_ in seen]
    assert 1 + sum(sizes) == len(search.cv_results_["params"])
    assert [n_made for _, n_made, _ in seen] == (1 + np.cumsum([0, *sizes[:-1]])).tolist()
    assert [n_scored for *_, n_scored in seen] == [n_made for _, n_made, _ in seen]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_conditions_and_estimators_as_values(sampler):
    features, target = make_classification(200, random_state=0)
    space = [
        {"clf": [DecisionTreeClassifier(random_state=0)], "clf__max_depth": randint(1, 9)},
        {"clf": [LogisticRegression()], "clf__C": loguniform(1e-3, 1e3)},
        {"clf": [GaussianNB()], "scale": ["passthrough", StandardScaler()]},
    ]
    pipeline = Pipeline([("scale", "passthrough"), ("clf", GaussianNB())])
    search = AdaptiveSearchCV(pipeline, space, sampler=sampler, n_fits=40, cv=3, random_state=0)
    search.fit(features, target)
    assert search.best_score_ > 0.85
    assert {type(p["clf"]).__name__ for p in search.cv_results_["params"]} == {
        *("DecisionTreeClassifier", "LogisticRegression", "GaussianNB")
    }
    assert search.predict(features).shape == (200,)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_keeps_its_budget_and_has_rows_for_what_was_tried(kind, sampler):
    search = sampled(kind, sampler, Peak(), PEAK).fit(X, Y)
    assert search.n_fits_ == search.full_fits_ == KINDS[kind][1]["n_fits"]
    assert len(search.cv_results_["params"]) == search.history_["candidate"].nunique()
    n_fits, probability = search.cv_results_["n_fits"], search.cv_results_["probability_best"]
    assert n_fits.min() >= 1
    of_winner = n_fits[search.best_index_]
    assert of_winner >= n_fits.max() / 2
    assert (np.isnan(probability) == (n_fits < of_winner)).all()
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_policies_that_choose_among_given_candidates_refuse_a_sampler():
    space = {"value": uniform(0, 1)}
    for policy in ("uniform", "hoo"):
        with pytest.raises(ValueError, match="sampler='gaussian_process' must be left out"):
            BanditSearchCV(Steady(), space, policy=policy, sampler="gaussian_process").fit(X, Y)


@dataclass
class Fixed:
    """Proposes the same candidates each time."""

    made: list

    def propose(self, told, n, rng):
        return self.made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sampler", "space", "message"),
    [
        ("gaussian_process", [*[SPACE] * 9, {"value": [0.1], "wrong": [1, 2]}], "'wrong'"),
        *((Fixed(made), SPACE, "must propose 1 dicts") for made in ([], None, 5, [{1: 2}])),
        (Fixed([{"wrong": 1}]), SPACE, "Invalid parameter 'wrong'"),
    ],
)
def test_a_sampler_that_cannot_propose_is_refused_before_any_fit(
    kind, sampler, space, message, tmp_path
):
    log = tmp_path / "log"
    estimator = Steady(value="not in the space", log=str(log))
    with pytest.raises(ValueError, match=message):
        sampled(kind, sampler, estimator, space).fit(X, Y)
    assert not log.exists()
