"""AdaptiveSearchCV with a time budget."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

import numpy as np
import pytest
from joblib import cpu_count, parallel_config
from scipy.stats import loguniform, uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

import sklearn_halving
from search.resuming import cut_after, fits_in
from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.execution.workers import _limits

N = 900
X, Y = np.arange(float(N)).reshape(-1, 1), np.arange(N) % 2
VALUES = {"value": uniform(0, 1)}


class Timed(ClassifierMixin, BaseEstimator):
    """A fit takes a time in proportion to its rows; the score is close to ``value``."""

    def __init__(self, value=0.5, seconds=0.02, n_units=30):
        self.value = value
        self.seconds = seconds
        self.n_units = n_units

    def fit(self, X, y):
        time.sleep(self.seconds * len(X) / N * self.n_units / 30)
        self.classes_, self.n_rows_ = np.unique(y), len(X)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def score(self, X, y):
        return self.value + 0.01 * np.sin(1e4 * self.value + X[0, 0])


def search_of(estimator=None, space=VALUES, **params):
    defaults = {"time_budget": 1.0, "random_state": 0}
    return AdaptiveSearchCV(estimator or Timed(), space, **defaults | params)


def test_the_everyday_call_finds_a_good_candidate_and_refits_it():
    search = search_of(time_budget="2s").fit(X, Y)
    assert search.stopped_by_ == "time_budget"
    assert search.best_params_["value"] > 0.8
    assert search.best_estimator_.n_rows_ == N
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.n_fits_ > 20
    assert "stopped: time_budget='2s'" in str(search.summary())
    board = search.leaderboard()
    screened = board["n_resources"] < board["n_resources"].max()
    assert board["status"][screened].str.fullmatch("(dropped at|reached) n_samples=200").all()


@pytest.mark.filterwarnings("ignore:The time_budget was enough")
@pytest.mark.parametrize(
    ("cv", "given", "n_jobs"),
    [
        (KFold(3), {}, 2),
        (GroupKFold(5), {"groups": np.arange(N) // 10}, 1),
        (TimeSeriesSplit(5), {}, 1),
    ],
)
def test_there_is_a_full_fit_to_return(cv, given, n_jobs):
    search = search_of(cv=cv, n_jobs=n_jobs, time_budget=0.6).fit(X, Y, **given)
    assert search.history_["n_resources"].max() == search.plan(X, Y, **given)["n_resources"].max()
    assert search.best_estimator_.n_rows_ == N


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cv", "seconds"),
    [(5, 0.3), (TimeSeriesSplit(5), 0.3), (ShuffleSplit(2, train_size=0.1), 1.0)],
)
def test_the_budget_includes_the_refit(cv, seconds):
    began = time.monotonic()
    search = search_of(Timed(seconds=seconds), time_budget=2.4, cv=cv).fit(X, Y)
    # A busy machine is slower than its sleep. Three more fits, or a refit that is ten times as
    # long as a fit and was not expected, would be 0.75 s longer.
    assert 2.4 - 0.9 < time.monotonic() - began < 2.4 + 0.6
    assert search.n_fits_ >= 2


def test_the_own_model_is_fitted_first_and_in_full_and_then_the_initial_candidates():
    initial = [{"value": 0.3}, {"value": 0.9}, {"value": 0.5}]
    search = search_of(initial_candidates=initial).fit(X, Y)
    first = search.history_.sort_values("started").iloc[0]
    assert (first["candidate"], first["n_resources"]) == (0, 720)
    assert search.cv_results_["params"][:3] == [{"value": 0.5}, *initial[:2]]


@pytest.mark.slow
def test_the_model_has_all_of_the_resource_although_there_was_time_for_part_of_it():
    given = {"resource": "n_units", "initial_candidates": [{"value": 0.7}, {"value": 0.9}]}
    with pytest.warns(UserWarning, match="enough to fit 2 candidates in full"):
        search = search_of(Timed(seconds=0.6), time_budget=1.8, **given).fit(X, Y)
    assert search.best_estimator_.n_units == 30
    assert search.best_params_["n_units"] == 30


class FailsInFull(Timed):
    def fit(self, X, y):
        if len(X) == 720 and self.value != 0.5:
            raise ArithmeticError("too many rows")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:[\\s\\S]*fits (failed|so far)", "ignore:One or more")
def test_full_fits_that_failed_are_no_reason_for_more_time():
    search = search_of(FailsInFull(seconds=0.002)).fit(X, Y)  # any other warning is an error
    assert search.best_params_ == {"value": 0.5}
    assert search.history_.query("n_resources == 720")["candidate"].nunique() > 3


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"n_fits": 2}, "n_fits=2 is too few to try 3 candidates. Set n_fits, for example to 15"),
        ({"n_candidates": 200}, "n_fits=50 is too few to try 200 candidates.* to 1000"),
        ({"n_fits": 3, "n_candidates": 9}, ""),
        ({"n_fits": 2, "n_candidates": 2}, ""),
        ({"n_candidates": 50}, ""),
    ],
)
def test_a_budget_of_too_few_fits_is_warned_of(given, wanted):
    search = search_of(Timed(seconds=0), time_budget=None, **given)
    with pytest.warns(UserWarning, match=wanted) if wanted else nullcontext():
        search.plan(X, Y)


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        ({"min_resources": 100}, "set time_budget without n_fits"),
        ({"fits_in_flight": 2, "time_budget": 1}, "set n_fits"),
    ],
)
def test_what_a_budget_has_no_use_for_is_refused_with_the_budget_that_has(given, way_out):
    with pytest.raises(ValueError, match=f"must be None for .*Leave it out, or {way_out}"):
        search_of(**{"time_budget": None, **given}).plan(X, Y)


def test_full_fits_are_no_rungs_in_which_training_could_continue():
    search = AdaptiveSearchCV(LogisticRegression(), {"C": uniform(1, 2)}, n_fits=9, cv=3)
    search.set_params(resource="max_iter", max_resources=30).plan(X, Y)  # without a warning


def test_a_small_space_is_tried_whole_and_the_search_is_complete():
    grid = {"value": [0.1, 0.2, 0.9, 0.4]}
    search = search_of(Timed(seconds=0.001), grid, time_budget="1h").fit(X, Y)
    assert search.stopped_by_ == "policy"
    assert search.best_params_ == {"value": 0.9}
    full = search.history_.query("n_resources == 720")
    assert full.groupby("candidate").size().tolist() == [5] * 5  # with the own model
    assert "ended      complete" in str(search.summary())


def test_n_candidates_limits_the_search():
    search = search_of(Timed(seconds=0.001), n_candidates=7, time_budget="1h").fit(X, Y)
    assert len(search.cv_results_["params"]) == 7


@pytest.mark.slow
def test_a_resume_uses_all_known_fits(tmp_path):
    path = tmp_path / "journal"
    search = search_of(checkpoint=path, n_jobs=2)
    with parallel_config("threading"):  # other workers may take seconds to start
        search.fit(X, Y)
    n_kept = len(fits_in(path)) // 2
    cut_after(path, n_kept)
    again = search.set_params(n_jobs=1).fit(X, Y)
    # No known fit was left aside, and none was made again.
    assert len(fits_in(path)) == again.n_fits_ > n_kept


def test_each_session_goes_on_where_the_one_before_ended(tmp_path):
    search, n_fits = search_of(Timed(seconds=0.1), checkpoint=tmp_path / "j", time_budget=1.0), [0]
    for n_jobs in (1, 2, 1):
        with parallel_config("threading"):
            n_fits.append(search.set_params(n_jobs=n_jobs).fit(X, Y).n_fits_)
        assert n_fits[-1] > n_fits[-2]
    # If other decisions were made than in the first session, scores are those of others.
    values = dict(zip(*map(search.cv_results_.get, ("candidate", "param_value")), strict=True))
    scores, candidates = search.history_["test_score"], search.history_["candidate"]
    assert scores.tolist() == pytest.approx(candidates.map(values).tolist(), abs=0.0101)


@pytest.mark.slow
def test_the_time_of_a_call_starts_from_what_is_known(tmp_path):
    own = {"checkpoint": tmp_path / "journal", "cv": 3}
    first = search_of(Timed(seconds=0), time_budget=None, n_fits=9, **own).fit(X, Y)
    second = search_of(Timed(seconds=0), time_budget=0.5, **own).fit(X, Y)
    known = second.history_.head(9)
    assert known["test_score"].tolist() == first.history_["test_score"].tolist()
    assert second.n_fits_ > 9
    assert second.cv_results_["params"][0] == {"value": Timed().value}, "your own model is first"


def test_the_plan_says_what_the_time_decides():
    plan = search_of().plan(X, Y)
    assert plan["n_resources"].tolist() == [720, 200, 720]
    assert plan["n_fits"].isna().tolist() == [False, True, True]
    assert plan["at_most"].all()
    assert "seconds" not in plan


def test_a_measured_fit_says_how_many_the_time_can_hold():
    plan = search_of(Timed(seconds=0.05)).plan(X, Y, measure=True)
    took, _, rest = plan["seconds"]
    assert took >= 0.04
    assert plan["n_fits"][2] == plan["n_candidates"][2] == round(rest / took)
    assert 1 - 2.5 * took < took + rest <= 1 - 1.2 * took, "less the time of the refit"


class Unlimited(Timed):
    """Goes on until it converges, which takes for ever for large values."""

    def __init__(self, value=0.5, seconds=0.02, n_units=30, max_iter=-1):
        super().__init__(value, seconds, n_units)
        self.max_iter = max_iter

    def fit(self, X, y):
        time.sleep(self.seconds * self.value / 30)
        return super().fit(X, y)

    def score(self, X, y):
        return -abs(self.value - 20)


FAR_APART = {"value": [1, 5, 10, 15, 20, 25, 1e7, 1e8, 1e9]}


@pytest.fixture
def processes(monkeypatch):
    """Return the list of the processes of guarded fits, to which each is added at its start."""
    start, started = _limits._started, []

    def starting(handles):
        process, pipe = start(handles)
        started.append(process)
        return process, pipe

    monkeypatch.setattr(_limits, "_started", starting)
    return started


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The time_budget was enough")  # on a busy machine
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_fits_that_are_alike_start_no_process(processes, backend):
    with parallel_config(backend, n_jobs=2):
        search_of(Unlimited(), {"value": loguniform(0.1, 10)}).fit(X, Y)
    assert not processes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The time_budget was enough")  # on a busy machine
@pytest.mark.parametrize("backend", ["sequential", "threading"])
@pytest.mark.parametrize("budget", [1.0, 6.0])
def test_a_fit_without_end_does_not_keep_the_search_from_ending(
    processes, backend, budget, monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = np.tile(X, 400) if backend == "sequential" else X  # 3 MB are mapped by the process
    began = time.monotonic()
    with parallel_config(backend, n_jobs=2):
        search = search_of(Unlimited(), FAR_APART, time_budget=budget).fit(data, Y)
    assert time.monotonic() - began < budget + 0.8
    assert search.n_fits_ > 3
    assert search.best_params_["value"] < 100
    assert search.history_["outcome"].isin(["ok", "abandoned"]).all()
    is_abandoned = search.history_["outcome"] == "abandoned"
    assert is_abandoned.sum() == len(search.history_) - search.n_fits_ > 0
    assert f"{is_abandoned.sum()} fit" in str(search.summary())
    assert bool(processes) == (budget > 3), "without the time to start one, it is not tried"
    assert all(process.poll() is not None for process in processes), "none is left"
    assert not [*tmp_path.iterdir()], "nor a file"


class Layers(Timed):
    """A fit takes a time in proportion to the product of the sizes of its layers."""

    def __init__(self, hidden_layer_sizes=(4,), seconds=0.01):
        super().__init__(seconds=seconds)
        self.hidden_layer_sizes = hidden_layer_sizes

    def fit(self, X, y):
        time.sleep(self.seconds * np.prod(self.hidden_layer_sizes))
        return super().fit(X, y)

    def score(self, X, y):
        return float(np.prod(self.hidden_layer_sizes))


@pytest.mark.filterwarnings("ignore:The time_budget was enough")
def test_larger_layers_take_longer():
    began = time.monotonic()
    sizes = [(2,), (4,), (5,), (2, 2), (6,), (30, 30)]
    search = search_of(Layers(), {"hidden_layer_sizes": sizes}, time_budget=2.0).fit(X, Y)
    assert time.monotonic() - began < 2.0 + 1.5, "one fit takes 9 seconds"
    assert search.best_params_["hidden_layer_sizes"] != (30, 30)


def search_of_paper(name, space, **params):
    given = {"n_fits": 40} if name != "HyperbandSearchCV" else {"resource": "n_samples"}
    given |= {"policy": "successive_rejects"} if name == "BanditSearchCV" else {}
    kind = getattr(sklearn_halving, name)
    return kind(Unlimited(), space, random_state=0, **given | params)


PAPERS = ["HyperbandSearchCV", "VarianceHalvingSearchCV", "BayesGapSearchCV", "BanditSearchCV"]


@pytest.mark.filterwarnings("ignore:The (search was stopped|time_budget was enough)")
@pytest.mark.parametrize("name", PAPERS)
def test_no_fit_without_end_keeps_the_search_of_a_paper_from_ending(name):
    began = time.monotonic()
    search = search_of_paper(name, {"value": [1.0, 5.0, 20.0, *np.geomspace(1e6, 1e9, 6)]})
    # The first fit of a search is waited for.
    first = [{"value": 1.0}] if "initial_candidates" in search.get_params() else None
    search.set_params(time_budget=1.5, initial_candidates=first).fit(X, Y)
    assert time.monotonic() - began < 1.5 + 0.8
    assert search.best_params_["value"] <= 20
    assert (search.history_["outcome"] == "abandoned").any()
    assert search.stopped_by_ == "time_budget"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_budget_too_small_for_anything_returns_the_own_model_and_says_what_a_fit_takes(n_jobs):
    with (
        parallel_config("threading"),
        pytest.warns(UserWarning, match="enough to fit 1 candidate in full.* took 0.[3-9]"),
    ):
        search = search_of(Timed(seconds=0.4), time_budget=0.05, n_jobs=n_jobs).fit(X, Y)
    assert search.best_params_ == {"value": 0.5}
    assert search.best_estimator_.n_rows_ == N


@pytest.mark.filterwarnings("ignore:Hyperband")
@pytest.mark.parametrize("name", PAPERS)
def test_a_budget_too_small_for_a_paper_returns_a_model_and_says_what_a_fit_takes(name):
    with pytest.warns(UserWarning, match="A full fit t(ook|akes)"):
        search = search_of_paper(name, {"value": uniform(0.1, 0.9)}, time_budget=0.01).fit(X, Y)
    assert search.n_fits_ == 1
    assert search.best_estimator_.n_rows_ == N


TYPED_IN = """
import os, signal, sys, threading, time
import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.execution.workers import _limits

class Endless(RegressorMixin, BaseEstimator):
    def __init__(self, seconds=0.01, max_iter=-1):
        self.seconds, self.max_iter = seconds, max_iter
    def fit(self, X, y):
        self.model_ = HistGradientBoostingRegressor(max_iter=2).fit(X, y)  # OpenMP
        time.sleep(self.seconds)
        return self
    def predict(self, X):
        return self.model_.predict(X)

def press_twice():
    while not any(process.is_busy for process in _limits.PROCESSES.processes):
        time.sleep(0.05)
    time.sleep(2)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)

X = np.random.default_rng(0).random((100, 2))
space = {"seconds": [0.01, 0.02, 1000.0, 1001.0, 1002.0]}
search = AdaptiveSearchCV(Endless(), space, time_budget=60, random_state=0)
threading.Thread(target=press_twice, daemon=True).start()
try:
    with parallel_config(sys.argv[1], n_jobs=2):
        search.fit(X, X[:, 0])
except KeyboardInterrupt:
    is_kept = (search.history_["outcome"] == "ok").all() and search.n_fits_ > 1
    print(search.stopped_by_, is_kept, _limits.PROCESSES.processes)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="another signal")
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_ctrl_c_ends_a_guarded_fit_of_an_estimator_that_was_typed_in(backend):
    command = [sys.executable, "-", backend]
    done = subprocess.run(command, input=TYPED_IN, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["interrupt", "True", "[]"]


def test_the_refit_has_the_threads_of_the_fits_and_the_model_those_that_were_asked_for():
    forest = Threads(n_jobs=-1)
    with parallel_config("threading", n_jobs=2):
        search = search_of(forest, {"value": [0.1, 0.2]}).fit(X, Y)
    assert search.best_estimator_.n_jobs == -1
    assert search.best_estimator_.n_used_ == max(1, cpu_count() // 2)


class Threads(Timed):
    def __init__(self, value=0.5, seconds=0.02, n_units=30, n_jobs=None):
        super().__init__(value, seconds, n_units)
        self.n_jobs = n_jobs

    def fit(self, X, y):
        self.n_used_ = self.n_jobs
        return super().fit(X, y)
