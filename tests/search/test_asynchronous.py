"""A search with asynchronous promotions can do what it can with synchronous ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, uniform
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from search.common import Known, numbered
from sklearn_halving import BanditSearchCV
from sklearn_halving.plotting import BracketDisplay, RungDisplay
from sklearn_halving.policies import AsynchronousBrackets, Hyperband

X, Y = numbered(180)
DIGITS = load_digits(n_class=3, return_X_y=True)
KEY = ["candidate", "n_resources", "split"]


class Noisy(Known):
    """Scores its value, and on few rows a number that says less about it."""

    def score(self, X, y=None):
        noise = np.sin(1000 * self.value + self.n_rows_) / self.n_rows_
        return super().score(X, y) + noise


BRACKETS = Hyperband(max_candidates=27, early_repetitions=2)


def search_of(estimator=None, space=None, brackets=BRACKETS, *, waits=False, **params):
    policy = brackets if waits else AsynchronousBrackets(brackets)
    estimator, space = estimator or Noisy(), space or {"value": uniform(0, 1)}
    defaults = {
        "sampler": "gaussian_process",
        "resource": "n_samples",
        "min_resources": 4,
        "cv": 3,
        "random_state": 0,
    }
    return BanditSearchCV(estimator, space, policy=policy, **{**defaults, **params})


def digits_search(**params):
    """Return a search whose models continue training."""
    sgd = SGDClassifier(random_state=0)
    space = {"alpha": loguniform(1e-6, 1e2)}
    params = {"resource": "partial_fit", "max_resources": 9, "min_resources": 1, **params}
    return search_of(sgd, space, **params)


def fits_of(search):
    columns = [*KEY, "test_score", "continued_from"]
    history = search.history_
    columns = [column for column in columns if column in history]
    return history[columns].sort_values(KEY).reset_index(drop=True)


def assert_same(first, second):
    pd.testing.assert_frame_equal(fits_of(first), fits_of(second))
    assert first.best_params_ == second.best_params_
    for name in ("candidate", "iter", "mean_test_score"):
        np.testing.assert_array_equal(first.cv_results_[name], second.cv_results_[name])


def test_other_candidates_go_on_with_the_same_plan():
    asynchronous, synchronous = search_of(), search_of(waits=True)
    plan = asynchronous.plan(X, Y)
    pd.testing.assert_frame_equal(plan, synchronous.plan(X, Y))
    for search in (asynchronous, synchronous):
        search.fit(X, Y)
        sizes = pd.DataFrame(search.cv_results_).groupby(["bracket", "n_resources"]).size()
        expected = plan.set_index(["bracket", "n_resources"])["n_candidates"].sort_index()
        assert sizes.sort_index().tolist() == expected.tolist()
    assert asynchronous.n_fits_ == plan["n_fits"].sum() >= synchronous.n_fits_
    fitted = [set(map(tuple, s.history_[KEY].to_numpy())) for s in (asynchronous, synchronous)]
    assert fitted[0] != fitted[1]
    table = pd.DataFrame(asynchronous.cv_results_)
    at_the_top = table[table["n_resources"] == table["n_resources"].max()]
    assert asynchronous.best_score_ == at_the_top["mean_test_score"].max()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"brackets": replace(BRACKETS, n_loops=2, early_repetitions=1)},
        {"brackets": replace(BRACKETS, select="all_rungs")},
        {"brackets": replace(BRACKETS, n_loops=2), "sampler": "random"},
        {"space": {"value": np.linspace(0, 1, 40).tolist()}, "sampler": "random"},
        {"initial_candidates": [{"value": 0.5}]},
    ],
    ids=["default", "loops", "all_rungs", "random", "grid", "initial"],
)
def test_the_result_is_the_same_for_any_workers_and_after_a_resume(params, tmp_path):
    path = tmp_path / "journal"
    alone = search_of(checkpoint=path, **params).fit(X, Y)
    with parallel_config("threading", n_jobs=4):
        assert_same(search_of(**params).fit(X, Y), alone)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    resumed = search_of(checkpoint=path, n_jobs=2, **params).fit(X, Y)
    assert_same(resumed, alone)


def test_a_checkpoint_of_the_other_promotion_is_refused(tmp_path):
    path = tmp_path / "journal"
    brackets = Hyperband(max_candidates=3)
    search_of(checkpoint=path, brackets=brackets, waits=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"these settings differ: policy\."):
        search_of(checkpoint=path, brackets=brackets).fit(X, Y)


def test_models_continue_training(tmp_path):
    path = tmp_path / "journal"
    search = digits_search(checkpoint=path).fit(*DIGITS)
    history = search.history_
    continued = history["continued_from"]
    assert (continued > 0).any()
    is_above = history["n_resources"] > 1
    assert set(continued[is_above & (continued > 0)]) <= {1, 3}
    with parallel_config("threading", n_jobs=2):
        assert_same(digits_search().fit(*DIGITS), search)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_candidates_that_fail_leave_smaller_rungs_and_the_counts_are_right(capsys):
    space = {"value": uniform(0, 1), "nan_below": [0, 30, 1000, 1000, 1000, 1000]}
    widest = replace(BRACKETS, brackets="most_exploratory")
    search = search_of(space=space, verbose=1, brackets=widest)
    with pytest.warns(UserWarning, match="fewer candidates than planned"):
        search.fit(X, Y)
    assert search.n_fits_ < search.plan(X, Y)["n_fits"].sum()
    assert np.isfinite(search.best_score_)
    last = capsys.readouterr().out.splitlines()[-2:]
    assert f"{search.n_fits_} of {search.n_fits_} fits" in last[0]
    assert f"Done: {search.n_fits_} fits" in last[1]


def test_a_time_budget_keeps_what_is_known():
    search = search_of(brackets=replace(BRACKETS, n_loops=1000), time_budget=3.0)
    # Threads: starting worker processes on a busy machine can take longer than the budget.
    with (
        parallel_config("threading", n_jobs=2),
        pytest.warns(UserWarning, match="stopped by time_budget"),
    ):
        search.fit(X, Y)
    assert search.stopped_by_ == "time_budget"
    assert search.cv_results_["n_resources"][search.best_index_] == 120


def test_progress_summary_and_displays_show_it(capsys):
    search = search_of(verbose=2).fit(X, Y)
    assert "bracket 3, rung 1:" in capsys.readouterr().out
    assert str(search.n_fits_) in str(search.summary())
    RungDisplay.from_estimator(search)
    BracketDisplay.from_estimator(search)


@pytest.mark.parametrize("brackets", ["all", replace(BRACKETS, races=True)])
def test_brackets_that_cannot_be_promoted_are_refused(brackets):
    with pytest.raises(ValueError, match=r"^brackets must (be a policy|compare all candidates)"):
        search_of(brackets=brackets)
