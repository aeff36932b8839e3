"""Searches that go on where an earlier one ended: the journal, more of a budget."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.stats import loguniform, uniform
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import make_scorer, precision_score
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from scripts import ROOT
from search.common import SEARCHES, WITH_RUNGS, small
from search.resuming import (
    GRID,
    Steady,
    X,
    Y,
    continue_and_die,
    continuing,
    fits_of,
    found,
    steady,
    table,
)
from sklearn_halving import (
    BanditSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
    policies,
)
from sklearn_halving.execution._journal import Journal, JournalError
from sklearn_halving.execution._pull_loop import LOOK_AHEAD
from sklearn_halving.policies import HOO, SuccessiveRejects
from sklearn_halving.search.preparing._checkpoint import BUDGETS, FREE
from sklearn_halving.search.preparing._content_hash import content_hash

parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def arm_of(line):
    return int(re.search(rb'"pull":\[(\d+)', line)[1])


def cut_after(path, n_pulls):
    path.write_bytes(b"".join(lines_of(path)[: 1 + n_pulls]))


# -------------------------------------------------------------------- resume is replay


@parametrize_searches
def test_a_checkpoint_changes_nothing(search_class, tmp_path):
    plain = steady(search_class).fit(X, Y)
    kept = steady(search_class, tmp_path / "j").fit(X, Y)
    assert found(kept) == found(plain)
    assert len(lines_of(tmp_path / "j")) == 1 + plain.n_fits_
    assert kept.stopped_by_ == "policy"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["j"]


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("share", [0, 0.2, 0.7, 1])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_goes_on_where_the_journal_ends(search_class, share, n_jobs, tmp_path):
    path, log = tmp_path / "j", str(tmp_path / "log")
    unbroken = steady(search_class, path).fit(X, Y)
    n_done = int(share * unbroken.n_fits_)
    cut_after(path, n_done)
    done = lines_of(path)
    estimator = Steady(log=log)
    with parallel_config("threading", n_jobs=n_jobs):
        resumed = steady(search_class, path, n_jobs=n_jobs).fit(X, Y)
    assert found(resumed) == found(unbroken)
    assert lines_of(path)[: len(done)] == done
    assert len(lines_of(path)) == 1 + unbroken.n_fits_, "every other fit was done, and once"
    # finished: nothing is left to fit but the best
    again = steady(search_class, path).fit(X, Y)
    assert table(again, with_times=True) == table(resumed, with_times=True)
    assert estimator.log == log
    assert not fits_of(log)


def test_candidates_made_on_the_way_are_made_again(tmp_path):
    path, space = tmp_path / "j", {"value": uniform(0, 0.9)}  # scores have noise, and end at 1

    def search(n_fits, policy="hoo"):
        options = {"policy": policy, "n_fits": n_fits, "checkpoint": path}
        return small(BanditSearchCV, Steady(), space, **options)

    unbroken = search(20).fit(X, Y)
    cut_after(path, 8)
    assert found(search(20).fit(X, Y)) == found(unbroken)
    # With another budget the same arm may be another candidate.
    with pytest.raises(JournalError, match=r"n_fits \(20 before, 25 now\)"):
        search(25).fit(X, Y)
    with pytest.raises(JournalError, match="policy"):
        search("auto", HOO(25)).fit(X, Y)
    space["value"] = uniform(0, 2)
    with pytest.raises(JournalError, match="param_distributions"):
        search(20).fit(X, Y)


@parametrize_searches
def test_a_search_that_stops_again_at_once_has_all_fits_of_its_journal(search_class, tmp_path):
    """Also those that come after fits that were not made any more."""
    path = tmp_path / "j"
    space = {"value": uniform(0, 0.9)}
    options = {"checkpoint": path, "cv": 3}
    small(search_class, Steady(), space, **options).fit(X, Y)
    lines = lines_of(path)
    for n_fits in range(2, len(lines) - 1, max(1, len(lines) // 12)):
        path.write_bytes(b"".join(lines[: 1 + n_fits]))
        with pytest.warns(UserWarning, match="time_budget"):
            again = small(search_class, Steady(), space, time_budget=1e-9, **options).fit(X, Y)
        assert again.n_fits_ == n_fits


def test_fits_of_later_rungs_count_although_other_fits_are_missing(tmp_path):
    """A resumed search may make new fits of one bracket before it reads those of another."""
    path = tmp_path / "j"
    space = {"value": uniform(0, 0.9)}
    options = {"checkpoint": path, "cv": 3, "brackets": "all"}
    small(HyperbandSearchCV, Steady(), space, **options).fit(X, Y)
    header, *pulls = lines_of(path)
    without_last_bracket = [line for line in pulls if arm_of(line) < 3]
    path.write_bytes(b"".join([header, *without_last_bracket]))
    with pytest.warns(UserWarning, match="time_budget"):
        again = small(HyperbandSearchCV, Steady(), space, time_budget=1e-9, **options).fit(X, Y)
    assert again.n_fits_ == len(without_last_bracket) > 0
    path.write_bytes(b"".join([header, *(line for line in pulls if arm_of(line) >= 3)]))
    with pytest.warns(UserWarning, match="time_budget"):
        again = small(HyperbandSearchCV, Steady(), space, time_budget=1e-9, **options).fit(X, Y)
    assert again.n_fits_ == len(pulls) - len(without_last_bracket) > 0


@pytest.mark.parametrize("event", ["error", "interrupt twice"])
@parametrize_searches
def test_an_exception_in_a_resumed_search_leaves_all_fits_that_a_stop_leaves(
    search_class, event, tmp_path
):
    """The first new fit fails, and the journal has fits that come after it."""
    path, log = tmp_path / "j", str(tmp_path / "log")
    n_fits = small(search_class, Steady(), GRID, refit=False).fit(X, Y).n_fits_
    estimator = Steady(log=log, event=event, at=n_fits)
    options = {"refit": False, "error_score": "raise"}
    unbroken = steady(search_class, path, estimator=estimator, **options).fit(X, Y)
    header, *pulls = lines_of(path)
    path.write_bytes(b"".join([header, *(line for line in pulls if arm_of(line) != 1)]))
    search = steady(search_class, path, estimator=estimator, **options)
    with pytest.warns(UserWarning, match="time_budget"):
        stopped = clone(search).set_params(time_budget=1e-9).fit(X, Y)
    with pytest.raises((ArithmeticError, KeyboardInterrupt)):
        search.fit(X, Y)
    assert search.n_fits_ == len(search.history_) == stopped.n_fits_ >= 1
    assert table(search) == table(stopped)
    assert search.best_params_ == stopped.best_params_
    assert found(search.fit(X, Y)) == found(unbroken)


def test_a_search_that_stops_again_at_once_does_not_draw_all_of_its_plan(tmp_path):
    path = tmp_path / "j"
    options = {"checkpoint": path, "cv": 3, "n_loops": 300, "sampler": "random"}
    space = {"value": uniform(0, 0.9)}
    estimator = Steady(log=str(tmp_path / "log"), event="interrupt", at=40)
    search = small(HyperbandSearchCV, estimator, space, refit=False, **options)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    n_done = search.n_fits_
    with pytest.warns(UserWarning, match="time_budget"):
        search.set_params(time_budget=1e-9).fit(X, Y)
    assert search.n_fits_ == n_done
    n_drawn = int(re.search(r"searched +(\d+) candidates", search.summary())[1])
    assert n_drawn <= 2 * n_done + LOOK_AHEAD < 5 * 300, "the plan has 1,500 candidates"


@parametrize_searches
def test_only_what_is_not_in_the_journal_is_fitted(search_class, tmp_path):
    path, log = tmp_path / "j", str(tmp_path / "log")
    # Logging is a parameter of the estimator here, so that both fits have it.
    search = steady(search_class, path, estimator=Steady(log=log), refit=False).fit(X, Y)
    first = fits_of(log)
    assert len(first) == search.n_fits_
    cut_after(path, search.n_fits_ - 4)
    search.fit(X, Y)
    assert sorted(fits_of(log)[len(first) :]) == sorted(first[-4:])
    search.fit(X, Y)
    assert len(fits_of(log)) == len(first) + 4


@parametrize_searches
def test_a_failed_fit_is_made_again_without_its_line(search_class, tmp_path):
    class Ill(Steady):
        is_ill = False

        def fit(self, X, y=None):
            if Ill.is_ill and self.value == 0.9:
                raise MemoryError("full")
            return super().fit(X, y)

    def search(name):
        return steady(search_class, tmp_path / name, estimator=Ill(), error_score=-1.0)

    well = search("well").fit(X, Y)
    Ill.is_ill = True
    with pytest.warns(FitFailedWarning):
        search("j").fit(X, Y)
    Ill.is_ill = False
    with pytest.warns(FitFailedWarning):
        assert found(search("j").fit(X, Y)) != found(well), "failed fits are kept"
    lines = lines_of(tmp_path / "j")
    (tmp_path / "j").write_bytes(b"".join(line for line in lines if b'"error"' not in line))
    assert found(search("j").fit(X, Y)) == found(well)


@parametrize_searches
def test_a_journal_of_another_seed_gives_no_result(search_class, tmp_path):
    """Lines of the other journal name the same fits, and were made with other candidates."""
    for name, seed in (("j", 0), ("k", 1)):
        steady(search_class, tmp_path / name, random_state=seed).fit(X, Y)
    lines, other = lines_of(tmp_path / "j"), lines_of(tmp_path / "k")
    (tmp_path / "j").write_bytes(b"".join([*lines[:3], *other[3:5], *lines[5:]]))
    with pytest.raises(JournalError, match="line 4 is damaged or from another journal"):
        steady(search_class, tmp_path / "j").fit(X, Y)


@parametrize_searches
def test_the_journal_cut_anywhere_in_its_last_lines_resumes(search_class, tmp_path):
    path = tmp_path / "j"
    unbroken = steady(search_class, path).fit(X, Y)
    whole = path.read_bytes()
    tail = sum(len(line) for line in lines_of(path)[-3:])
    for cut in range(len(whole) - tail, len(whole), 97):
        path.write_bytes(whole[:cut])
        assert found(steady(search_class, path).fit(X, Y)) == found(unbroken)


@parametrize_searches
def test_failures_train_scores_and_metrics_are_replayed_too(search_class, tmp_path):
    class Weak(Steady):
        def fit(self, X, y=None):
            if self.value == 0.3:
                raise ArithmeticError("too weak")
            return super().fit(X, y)

    def both(estimator, X, y):
        return {"a": estimator.score(X), "b": -1.0 if estimator.value < 0.6 else np.inf}

    options = {"scoring": both, "refit": "a", "return_train_score": True}
    tables = []
    for _ in range(2):
        search = steady(search_class, tmp_path / "j", estimator=Weak(), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, Y)
        tables.append(table(search, with_times=True))
    assert tables[0] == tables[1]
    assert "nan" in tables[0]
    assert "inf" in tables[0]
    assert search.history_["failed"].any()
    assert len(lines_of(tmp_path / "j")) == 1 + search.n_fits_


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("random_state", [None, np.random.MT19937, np.random.PCG64])
def test_without_a_number_the_draws_are_those_of_the_journal(search_class, random_state, tmp_path):
    def search():
        instance = None if random_state is None else np.random.RandomState(random_state(5))
        space = {"value": uniform(0, 1)}
        n = {} if search_class is HyperbandSearchCV else {"n_candidates": 4}
        kept = {"checkpoint": tmp_path / "j", "random_state": instance}
        return small(search_class, Steady(), space, **n, **kept)

    first = search()
    found_first = found(first.fit(X, Y))
    cut_after(tmp_path / "j", 5)
    np.random.rand(3)  # noqa: NPY002 - what others draw meanwhile is no matter
    assert found(search().fit(X, Y)) == found_first
    assert found(first.fit(X, Y)) == found_first, "the same object, whose state has moved on"
    with pytest.raises(JournalError, match="random_state"):  # which seeds the estimators, or not
        first.set_params(random_state=0).fit(X, Y)


# ----------------------------------------------------------- another search is refused


@parametrize_searches
def test_every_parameter_is_compared_or_may_change(search_class, tmp_path):
    search = steady(search_class, tmp_path / "j").fit(X, Y)
    with Journal(tmp_path / "j") as journal:
        compared = journal.sessions[0].fields.keys()
    assert search.get_params(deep=False).keys() - compared - FREE == set()


def test_what_may_change_is_a_parameter_of_a_search_or_a_field_of_a_policy():
    of_searches = {name for search in SEARCHES for name in signature(search).parameters}
    classes = [getattr(policies, name) for name in policies.__all__]
    of_policies = {field.name for c in classes if is_dataclass(c) for field in fields(c)}
    assert FREE - BUDGETS - of_searches == set()
    assert BUDGETS - of_searches - of_policies == set()


def other_metric(estimator, X, y):
    return 1.0


CHANGES = {
    "X": {"X": X + 1},
    "y": {"Y": 1 - Y},
    "estimator": {"estimator": Steady(seconds=1e-9)},
    "scoring": {"scoring": "accuracy"},
    "error_score": {"error_score": 0.0},
    "return_train_score": {"return_train_score": True},
    "random_state": {"random_state": 1},
    "splits": {"cv": KFold(3, shuffle=True, random_state=7)},
    "candidates": {"space": {"value": [0.3, 0.9, 0.5, 0.6]}},
}


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("name", CHANGES)
def test_a_difference_is_named_before_any_fit(search_class, name, tmp_path):
    path = tmp_path / "j"
    # All of the grid in its own order, so that with another seed nothing else differs.
    whole_grid = {"brackets": "auto", "min_resources": "auto"}
    n = whole_grid if search_class is HyperbandSearchCV else {}
    first = small(search_class, Steady(), GRID, checkpoint=path, **n).fit(X, Y)
    before, table_before = path.read_bytes(), table(first)
    change = dict(CHANGES[name])
    data = change.pop("X", X), change.pop("Y", Y)
    estimator, space = change.pop("estimator", Steady()), change.pop("space", GRID)
    search = small(search_class, estimator, space, checkpoint=path, **{**n, **change})
    with pytest.raises(JournalError, match=rf"settings differ: .*\b{name}\b.* Use the settings"):
        search.fit(*data)
    assert not hasattr(search, "cv_results_")
    assert path.read_bytes() == before
    assert table(first.fit(X, Y)) == table_before


def test_what_differs_is_told_with_values_where_they_are_short(tmp_path):
    steady(HyperbandSearchCV, tmp_path / "j", scoring="accuracy").fit(X, Y)
    other = steady(HyperbandSearchCV, tmp_path / "j", scoring="f1", factor=2)
    told = r"factor \('auto' before, 2 now\).*'accuracy' before, 'f1' now"
    with pytest.raises(JournalError, match=told):
        other.fit(X, Y)


def test_splits_drawn_anew_are_named_with_the_way_out(tmp_path):
    search = steady(HyperbandSearchCV, tmp_path / "j", cv=KFold(3, shuffle=True))
    search.fit(X, Y)
    with pytest.raises(JournalError, match="a cv that shuffles and needs a random_state"):
        search.fit(X, Y)


def test_what_cannot_be_shown_is_described_with_the_way_out(tmp_path):
    steady(HyperbandSearchCV, tmp_path / "j").fit(X, Y)
    way_out = "To start anew, delete the file or give checkpoint another path"
    with pytest.raises(JournalError, match=rf"X \(other values, rows or columns\).*{way_out}"):
        steady(HyperbandSearchCV, tmp_path / "j").fit(X + 1, Y)


def test_other_versions_are_a_warning(tmp_path):
    path = tmp_path / "j"
    search = steady(HyperbandSearchCV, path).fit(X, Y)
    with Journal(path) as journal:
        session = journal.sessions[0]
        old = session.versions | {"numpy": "1.0"}
        journal.begin(type(session)(**{**vars(session), "versions": old}))
    with pytest.warns(UserWarning, match=r"numpy 1.0 before"):
        search.fit(X, Y)
    search.fit(X, Y)  # said once


@parametrize_searches
def test_two_searches_on_one_journal_are_an_error_for_the_second(search_class, tmp_path):
    path = tmp_path / "j"
    with Journal(path), pytest.raises(JournalError, match="one search at a time"):
        steady(search_class, path).fit(X, Y)
    steady(search_class, path).fit(X, Y)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError) as info:
        steady(HyperbandSearchCV, tmp_path / "none" / "j").fit(X, Y)
    assert "checkpoint must be a file" in info.value.__notes__[0]


def test_plan_leaves_the_journal_alone(tmp_path):
    steady(HyperbandSearchCV, tmp_path / "j").plan(X, Y)
    assert not (tmp_path / "j").exists()


# ------------------------------------------------------------------------ more of a budget

EXTENSIONS = [
    (HyperbandSearchCV, {}, {"n_loops": 2}),
    (VarianceHalvingSearchCV, {"n_fits": 20, "sampler": "random"}, {"n_fits": 40}),
    (VarianceHalvingSearchCV, {"n_fits": 20, "allocation": "pooled"}, {"n_fits": 40}),
    (BanditSearchCV, {"n_fits": 12}, {"n_fits": 20}),
    (
        BanditSearchCV,
        {"policy": SuccessiveRejects(12)},
        {"policy": SuccessiveRejects(20)},
    ),
    (SEARCHES[3], {"n_fits": 6, "sampler": "random"}, {"n_fits": 12}),
]


@pytest.mark.parametrize(("search_class", "less", "more"), EXTENSIONS)
def test_a_larger_budget_extends_a_search(search_class, less, more, tmp_path):
    """The result is that of the larger search, and fits that both have are done once."""
    log, path = str(tmp_path / "log"), tmp_path / "j"
    space = {"value": uniform(0, 1)}
    common = {"refit": False, "cv": 5}
    if search_class is not HyperbandSearchCV:
        common["n_candidates"] = 4

    def search(**params):
        return small(search_class, Steady(log=log), space, **{**common, **params})

    whole = search(**{**less, **more}).fit(X, Y)
    n_whole = len(fits_of(log))
    first = search(checkpoint=path, **less).fit(X, Y)
    extended = search(checkpoint=path, **{**less, **more}).fit(X, Y)
    assert found(extended) == found(whole)
    fits = fits_of(log)[n_whole:]
    assert len(set(fits)) == len(fits), "none is done twice"
    assert first.n_fits_ < len(fits) < first.n_fits_ + whole.n_fits_
    search(checkpoint=path, **less).fit(X, Y)  # and the smaller one is in it
    assert len(fits_of(log)) == n_whole + len(fits)


@pytest.mark.filterwarnings("ignore:.* of the 50 candidates of the grid are left out")
def test_loops_over_a_grid_whose_first_candidates_would_be_others_are_refused(tmp_path):
    grid = {"value": np.linspace(0, 1, 50).tolist()}
    search = small(HyperbandSearchCV, Steady(), grid, checkpoint=tmp_path / "j").fit(X, Y)
    search.set_params(n_loops=5)
    try:
        search.fit(X, Y)
    except JournalError as error:
        assert "candidates (those of an extended search must begin with" in str(error)  # noqa: PT017
    else:  # some ways to draw from a grid do begin alike
        plain = clone(search).set_params(checkpoint=None).fit(X, Y)
        assert found(search) == found(plain)


def test_fewer_candidates_than_in_the_journal_are_refused(tmp_path):
    space = {"value": uniform(0, 1)}
    options = {"checkpoint": tmp_path / "j", "n_fits": 20}
    small(VarianceHalvingSearchCV, Steady(), space, n_candidates=4, **options).fit(X, Y)
    with pytest.raises(JournalError, match=r"candidates \(4 before, 3 now\)"):
        small(VarianceHalvingSearchCV, Steady(), space, n_candidates=3, **options).fit(X, Y)


# ------------------------------------------------------------------- models for continuation

N_BEFORE = 34
"""Fits before the scorer breaks: nine candidates on three splits, and some of the next rung."""
BOOSTING = {
    "estimator": GradientBoostingClassifier(n_estimators=18, subsample=0.5, random_state=0),
    "space": {"learning_rate": loguniform(1e-2, 1)},
    "resource": "n_estimators",
}
SGD = {
    "estimator": SGDClassifier(random_state=0),
    "space": {"alpha": loguniform(1e-5, 1)},
    "resource": "partial_fit",
    "max_resources": 18,
}


def continued(path, *, estimator, space, **params):
    params = {"scoring": fragile, "error_score": "raise", "checkpoint": path, **params}
    params["min_resources"] = 2
    return small(HyperbandSearchCV, estimator, space, **params)


FOREST = {
    "estimator": RandomForestClassifier(n_estimators=18, random_state=0),
    "space": {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
    "resource": "n_estimators",
}
N_JOBS_OF_BACKENDS = [
    *[("sequential", 1), ("threading", 1), ("threading", 2)],
    *[("loky", 1), ("loky", 2), ("multiprocessing", 1), ("multiprocessing", 2)],
]


@pytest.mark.walk
@pytest.mark.parametrize(("backend", "n_jobs"), N_JOBS_OF_BACKENDS)
@pytest.mark.parametrize("what", [BOOSTING, SGD, FOREST], ids=["boosting", "epochs", "warm start"])
def test_levels_go_on_as_in_an_unbroken_search(what, backend, n_jobs, tmp_path):
    """The models of candidates that are still in the race are trained again, level by level."""
    path = tmp_path / "j"
    unbroken = continued(None, **what).fit(X, Y)
    assert (unbroken.history_["continued_from"] > 0).any()
    search = continued(path, **what)
    break_off(search, N_BEFORE)
    with parallel_config(backend, n_jobs=n_jobs):
        resumed = search.fit(X, Y)
        assert table(resumed) == table(unbroken)
        continues = resumed.history_[N_BEFORE:].query("n_resources > 2")
        assert (continues["continued_from"] > 0).any()
        assert resumed.n_resources_spent_ > unbroken.n_resources_spent_
        cut_after(path, N_BEFORE - 10)
        assert table(search.fit(X, Y)) == table(unbroken)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["j"]


@pytest.mark.walk
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="has no SIGKILL")
@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("threading", 1), ("threading", 2), ("sequential", 1), ("loky", 2)]
)
@pytest.mark.parametrize("kills", [(4, 30), (22, 35), (29, 50)])
def test_a_killed_search_trains_its_models_again(backend, n_jobs, kills, tmp_path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sklearn_halving", "sklearn.datasets", "scipy.stats"])
    path = tmp_path / "j"
    unbroken = continuing(None).fit(X, Y)
    lines = []
    for kill_at in kills:
        process = context.Process(target=continue_and_die, args=(path, backend, n_jobs, kill_at))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert lines_of(path)[: len(lines)] == lines, "no line is written again"
        lines = [line for line in lines_of(path) if line.endswith(b"\n")]
        assert len(lines) > kill_at
    with parallel_config(backend, n_jobs=n_jobs):
        resumed = continuing(path).fit(X, Y)
    assert found(resumed)[0] == found(unbroken)[0]
    assert resumed.best_params_ == unbroken.best_params_
    assert len(lines_of(path)) == 1 + unbroken.n_fits_, "each fit has one line"


SCORINGS_LEFT = [math.inf]
"""How often `fragile` gives a score before it breaks, in this process."""


def fragile(estimator, X, y):
    SCORINGS_LEFT[0] -= 1
    if SCORINGS_LEFT[0] < 0:
        raise ZeroDivisionError("the scorer is broken")
    return estimator.score(X, y)


def break_off(search, n_fits):
    SCORINGS_LEFT[0] = n_fits
    try:
        with pytest.raises(ZeroDivisionError):
            search.fit(X, Y)
    finally:
        SCORINGS_LEFT[0] = math.inf
    assert len(search.history_) == search.n_fits_ == n_fits


# ------------------------------------------------------------------ what a search is known by


def test_equal_contents_have_equal_hashes_whatever_their_order():
    def score_above(limit):
        return lambda estimator, X, y: estimator.score(X, y) > limit

    assert content_hash({"a": 1, "b": {2, 3, 10**9}}) == content_hash({"b": {10**9, 3, 2}, "a": 1})
    assert content_hash(score_above(1)) == content_hash(score_above(1))
    assert content_hash(score_above(1)) != content_hash(score_above(2))
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None], "c": pd.Categorical(["u", "v"])})
    rebuilt = pd.concat([frame[["a"]], frame[["b"]], frame[["c"]]], axis=1)
    assert content_hash(frame) == content_hash(rebuilt)
    assert content_hash(np.asfortranarray(X)) == content_hash(X)
    assert content_hash(np.random.RandomState(0)) == content_hash(np.random.RandomState(0))
    masked = [np.ma.masked_array([1, 2, 3], mask) for mask in ([0, 0, 1], [0, 1, 0], [0, 0, 1])]
    assert content_hash(masked[0]) == content_hash(masked[2]) != content_hash(masked[1])
    itself: list[object] = [1]
    itself.append(itself)
    assert len(content_hash(itself)) == 32


def variants():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    yield from (None, 0, False, 0.0, "", b"", [], (), {}, set(), np.zeros(0), np.nan, "nan")
    yield from (["ab", "c"], ["a", "bc"], [1, 2], [1.0, 2.0], [[1], 2], np.array([1, 2]))
    yield from (X, X.astype("f4"), X[:-1], X.T, -X, np.array(["a", 1], dtype=object))
    yield from (frame, frame[["b", "a"]], frame.rename(columns={"a": "z"}), frame[::-1])
    yield from (sparse.csr_matrix(X), sparse.csc_matrix(X[:, :2]), frame["a"], frame["b"])
    yield from (DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2), uniform(0, 1))
    yield from (
        uniform(0, 2),
        len,
        max,
        np.sin,
        np.cos,
        DecisionTreeClassifier,
        KFold(3),
        KFold(4),
    )
    yield from (lambda x: x, lambda x: x + 1, make_scorer(precision_score))
    yield from (make_scorer(precision_score, pos_label=0), np.random.RandomState(0))
    yield from (np.random.RandomState(1), np.random.default_rng(0), np.random.PCG64(1))
    yield from (re.compile("a"), re.compile("b"), partial(max, 1), partial(max, 2), math, np)
    yield from (X.sum, X.max, np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2]))


def test_different_contents_have_different_hashes():
    hashes = [content_hash(value) for value in variants()]
    assert len(set(hashes)) == len(hashes)


ELSEWHERE = """
import sys
sys.path[:0] = sys.argv[1:]
from search.preparing import test_resume
from sklearn_halving.search.preparing._content_hash import content_hash
print(content_hash(*test_resume.variants(), {"a", "b", "c", frozenset("xyz")}))
"""


def test_hashes_are_the_same_in_another_process(monkeypatch):
    paths = [str(ROOT), str(ROOT / "tests")]
    hashes = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        command = [sys.executable, "-c", ELSEWHERE, *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        hashes.add(done.stdout)
    assert len(hashes) == 1


def test_searches_with_rungs_are_among_those_tested():
    assert set(WITH_RUNGS) <= set(SEARCHES)
