"""Many loops of Hyperband's brackets, of which a time budget plays as many as it can."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import randint, uniform

from sklearn_halving import BanditSearchCV, HyperbandSearchCV
from sklearn_halving.policies import Hyperband
from tests.search.common import Known, numbered

X, Y = numbered(60)
VALUES = {"value": uniform(0, 1)}
ignore_stop = pytest.mark.filterwarnings("ignore:The search was stopped by time_budget")


def search_of(space=VALUES, **params):
    defaults = {"n_candidates": 9, "cv": 3, "random_state": 0, "refit": False}
    defaults["brackets"] = "all"
    return HyperbandSearchCV(Known(), space, **{**defaults, **params})


def table_of(search, loops):
    table = pd.DataFrame(search.cv_results_)
    names = ["loop", "bracket", "iter", "n_resources", "param_value", "mean_test_score"]
    return table.loc[table["loop"] < loops, names].reset_index(drop=True)


@pytest.mark.slow
@ignore_stop
@pytest.mark.filterwarnings("ignore:.*are left out", "ignore:The grid has")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"space": {"value": np.linspace(0, 1, 40).tolist()}, "brackets": "all"},
        pytest.param(
            {"space": {"value": uniform(0, 1), "nan_below": randint(0, 3)}}, marks=pytest.mark.full
        ),
        {"sampler": "gaussian_process"},
    ],
)
def test_loops_are_played_until_the_time_is_up(params):
    params = {"n_loops": 5000, **params}
    search = search_of(time_budget=2.0, **params).fit(X, Y)
    assert search.stopped_by_ == "time_budget"
    assert search.n_fits_ > 0
    assert np.isfinite(search.best_score_)
    assert search.cv_results_["candidate"][search.best_index_] >= 0


@ignore_stop
@pytest.mark.slow
def test_candidates_are_drawn_when_their_loop_starts():
    search = search_of(n_loops=1000, time_budget=4.0).fit(X, Y)
    loops = pd.DataFrame(search.cv_results_)["loop"].nunique()
    assert search._record.n_candidates <= 17 * (loops + 1)


def test_the_number_of_loops_does_not_change_the_first_ones():
    searches = [search_of(n_loops=n).fit(X, Y) for n in (2, 4)]
    pd.testing.assert_frame_equal(table_of(searches[1], 2), table_of(searches[0], 2))
    values = table_of(searches[1], 4).groupby("loop")["param_value"].agg(set)
    assert not set.intersection(*values)
    alone = search_of(n_loops=1).fit(X, Y)
    first = table_of(searches[0], 1)["mean_test_score"]
    assert first.tolist() == alone.cv_results_["mean_test_score"].tolist()


def test_the_result_does_not_depend_on_the_number_of_workers():
    tables = [table_of(search_of(n_loops=3, n_jobs=n).fit(X, Y), 3) for n in (1, 2)]
    pd.testing.assert_frame_equal(*tables)


@ignore_stop
@pytest.mark.slow
def test_a_finished_search_goes_on_until_the_time_is_up(tmp_path):
    path = tmp_path / "journal"
    first = search_of(n_loops=3, checkpoint=path).fit(X, Y)
    with pytest.raises(ValueError, match="candidates"):
        search_of(n_loops=2, checkpoint=path).fit(X, Y)
    again = search_of(n_loops=1000, time_budget=5.0, checkpoint=path).fit(X, Y)
    assert again.n_fits_ > first.n_fits_
    assert set(first.history_["started"]) <= set(again.history_["started"])
    pd.testing.assert_frame_equal(table_of(again, 3), table_of(first, 3))


def test_a_number_of_loops_is_planned_although_there_is_a_time_budget(capsys):
    search = search_of(n_loops=2, time_budget="1h", verbose=1).fit(X, Y)
    assert search.plan(X, Y).attrs["at_most"]
    first, *_ = capsys.readouterr().out.splitlines()
    assert f"at most {search.plan(X, Y)['n_fits'].sum():,} fits" in first


def test_loops_of_a_policy_object_are_not_timed(capsys):
    policy = Hyperband(n_loops=2, max_candidates=3)
    options = {"resource": "n_samples", "min_resources": 13, "cv": 3, "random_state": 0}
    BanditSearchCV(Known(), VALUES, policy=policy, verbose=1, **options).fit(X, Y)
    first = capsys.readouterr().out.splitlines()[0]
    assert "totalling" in first
    assert "time budget" not in first
