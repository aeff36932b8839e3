"""Many loops of Hyperband's brackets, of which a time budget plays as many as it can."""

from __future__ import annotations

import pandas as pd
from scipy.stats import uniform

from sklearn_halving import HyperbandSearchCV
from tests.search.common import Known, numbered

X, Y = numbered(60)
VALUES = {"value": uniform(0, 1)}


def search_of(space=VALUES, **params):
    defaults = {"n_candidates": 9, "cv": 3, "random_state": 0, "refit": False}
    defaults["brackets"] = "all"
    return HyperbandSearchCV(Known(), space, **{**defaults, **params})


def table_of(search, loops):
    table = pd.DataFrame(search.cv_results_)
    names = ["loop", "bracket", "iter", "n_resources", "param_value", "mean_test_score"]
    return table.loc[table["loop"] < loops, names].reset_index(drop=True)


def test_the_number_of_loops_does_not_change_the_first_ones():
    searches = [search_of(n_loops=n).fit(X, Y) for n in (2, 4)]
    pd.testing.assert_frame_equal(table_of(searches[1], 2), table_of(searches[0], 2))
    values = table_of(searches[1], 4).groupby("loop")["param_value"].agg(set)
    assert not set.intersection(*values)
    alone = search_of(n_loops=1).fit(X, Y)
    first = table_of(searches[0], 1)["mean_test_score"]
    assert first.tolist() == alone.cv_results_["mean_test_score"].tolist()


def test_a_number_of_loops_is_planned_although_there_is_a_time_budget(capsys):
    search = search_of(n_loops=2, time_budget="1h", verbose=1).fit(X, Y)
    assert search.plan(X, Y).attrs["at_most"]
    first, *_ = capsys.readouterr().out.splitlines()
    assert f"at most {search.plan(X, Y)['n_fits'].sum():,} fits" in first
