"""Displays over time: regret and workers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from sklearn_halving.plotting import RegretDisplay, WorkerDisplay
from sklearn_halving.plotting._cost import (
    SCORING,
    _lanes,
    _leaders_of_pulls,
    _leaders_of_rungs,
    _without_pauses,
)
from sklearn_halving.plotting._drawing import OTHERS


@pytest.mark.parametrize("name", ["rungs", "halving", "gap", "ucb", "metrics", "failing_rungs"])
def test_regret_ends_with_the_winner(name, request) -> None:
    search = request.getfixturevalue(name)
    display = RegretDisplay.from_estimator(search)
    assert display.leader[-1] == search.cv_results_["candidate"][search.best_index_]
    assert display.cost[-1] == search.n_fits_
    assert (np.diff(display.cost) >= 0).all()
    assert (display.regret >= 0).all()
    assert display.regret.min() == 0
    np.testing.assert_allclose(display.score + display.regret, display.score.max())


@pytest.mark.parametrize("cost", ["fits", "resources", "seconds"])
def test_cost_of_the_whole_search(rungs, cost) -> None:
    history = rungs.history_
    expected = {
        "fits": rungs.n_fits_,
        "resources": rungs.n_resources_spent_,
        "seconds": (history["fit_time"] + history["score_time"]).sum(),
    }
    display = RegretDisplay.from_estimator(rungs, cost=cost)
    assert display.cost[-1] == pytest.approx(expected[cost])
    assert display.line_.get_xdata()[-1] == display.cost[-1]


def test_wrong_choices(halving) -> None:
    with pytest.raises(ValueError, match="cost of RegretDisplay must be one of 'fits'"):
        RegretDisplay.from_estimator(halving, cost="euros")
    with pytest.raises(ValueError, match="quantity of RegretDisplay"):
        RegretDisplay.from_estimator(halving, quantity="loss")
    with pytest.raises(ValueError, match="does not have; use cost='fits'"):
        RegretDisplay.from_estimator(halving, cost="resources")


def history_of(candidates: np.ndarray, scores: np.ndarray, levels: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"candidate": candidates, "score": scores, "n_resources": levels})


def test_leader_of_rungs_has_all_its_splits_and_the_most_resource() -> None:
    nan = float("nan")
    #                    0 done at 1;  2 better;  1 NaN;     0 at 3, first split, second
    candidates = np.array([0, 0, 2, 2, 1, 1, 0, 0])
    levels = np.array([1, 1, 1, 1, 1, 1, 3, 3])
    scores = np.array([0.5, 0.7, 0.9, 0.8, 1.0, nan, 0.1, 0.2])
    found = _leaders_of_rungs(history_of(candidates, scores, levels))
    assert found.tolist() == [-1, 0, 0, 2, 2, 2, 2, 0]


def test_leader_of_pulls_is_not_a_lucky_first_split() -> None:
    scores = np.array([0.98, 1.0, 0.98, 0.2, 0.98])
    candidates = np.array([0, 1, 0, 2, 0])
    # Mean of all 0.828: 0 has (2.94 + 0.828) / 4 = 0.942, and 1 has (1 + 0.828) / 2 = 0.914.
    found = _leaders_of_pulls(history_of(candidates, scores, np.zeros(5)))
    assert found.tolist() == [0, 1, 1, 0, 0]


# ------------------------------------------------------------------------------- workers


def test_every_fit_is_on_the_timeline(rungs) -> None:
    display = WorkerDisplay.from_estimator(rungs)
    history = rungs.history_
    assert len(display.start) == rungs.n_fits_
    assert display.fit_time.sum() == pytest.approx(history["fit_time"].sum())
    assert display.start[0] == 0
    colors = [to_hex(bar.get_facecolor()) for bar in display.ax_.patches]
    for color in (OTHERS, SCORING):
        assert colors.count(color) == rungs.n_fits_
    assert display.ax_.get_xlabel() == "seconds"


def test_one_process_is_one_lane(halving) -> None:
    assert not WorkerDisplay.from_estimator(halving).lane.any()


spans = st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 50)), min_size=1, max_size=30).map(
    sorted
)


@given(spans)
@settings(max_examples=60)
def test_lanes_hold_one_fit_at_a_time_and_are_as_few_as_possible(found) -> None:
    start, seconds = np.array(found).T
    lanes, end = _lanes(start, seconds), start + seconds
    for lane in np.unique(lanes):
        inside = np.flatnonzero(lanes == lane)
        assert (start[inside[1:]] >= end[inside[:-1]] - 2e-3).all()
    most = max(((start <= t) & (end > t + 1e-3)).sum() for t in start)
    assert len(np.unique(lanes)) == lanes.max() + 1 == max(most, 1)


def test_long_pauses_are_cut_out() -> None:
    started = np.array([1000.0, 1010.0, 90000.0, 90020.0])
    start, pauses = _without_pauses(started, np.full(4, 10.0))
    assert start.tolist() == [0, 10, 20, 40]
    assert pauses.tolist() == [20]
    # Ten seconds without a fit are not a pause where the work takes half a minute ...
    assert not len(_without_pauses(np.array([0.0, 30.0]), np.array([20.0, 20.0]))[1])
    # ... and what runs at the same time is no pause at all.
    start, pauses = _without_pauses(np.array([0.0, 1.0, 500.0]), np.array([600.0, 2.0, 1.0]))
    assert start.tolist() == [0, 1, 500]
    assert not len(pauses)
