"""Displays of what is played in rungs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import uniform

from doubles import Known
from plotting.searches import fitted, noisy_score
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV
from sklearn_halving.plotting import BracketDisplay, RungDisplay


def curves(axes) -> list[np.ndarray]:
    """Return the lines with data, each of shape (n_rungs, 2)."""
    return [line.get_xydata() for line in axes.lines if len(line.get_xdata())]


def table_of(search, bracket: int) -> list[list[tuple[float, float]]]:
    """Return for each candidate of a bracket its rungs, from ``cv_results_``."""
    results = search.cv_results_
    rows = np.flatnonzero(results["bracket"] == bracket)
    return [
        [
            (results["n_resources"][row], results["mean_test_score"][row])
            for row in rows
            if results["candidate"][row] == candidate
        ]
        for candidate in np.unique(results["candidate"][rows])
    ]


def test_each_bracket_has_axes_of_its_own(rungs) -> None:
    display = RungDisplay.from_estimator(rungs)
    assert [axes.get_title().split("\n")[0] for axes in display.axes_] == [
        "bracket 2",
        "bracket 1",
        "bracket 0",
    ]
    for axes, bracket in zip(display.axes_, (2, 1, 0), strict=True):
        found, expected = curves(axes), table_of(rungs, bracket)
        assert len(found) == len(expected) == {2: 9, 1: 5, 0: 3}[bracket]
        for line, rows in zip(found, expected, strict=True):
            np.testing.assert_allclose(line, rows)
    assert display.ax_.get_ylabel() == "mean test score"
    assert display.figure_.get_supxlabel() == "training rows (n_samples)"


def test_candidates_without_a_score_are_counted(failing_rungs) -> None:
    display = RungDisplay.from_estimator(failing_rungs)
    results = failing_rungs.cv_results_
    without = np.isnan(results["mean_test_score"])
    n_without = len(np.unique(results["candidate"][without]))
    assert n_without > 0
    titles = [axes.get_title().split("\n")[2:] for axes in display.axes_]
    counts = [int(line.removesuffix(" without score")) for lines in titles for line in lines]
    assert sum(counts) == n_without


def test_points_of_dropped_candidates_are_hollow(grid) -> None:
    display = RungDisplay.from_estimator(grid)
    rows = grid.history_.query("n_resources == n_resources.max()")
    n_splits = rows.groupby("candidate").size()
    assert set(n_splits) == {2, 5}
    dropped = display.candidate[display.has_fewer_splits]
    assert sorted(dropped) == n_splits.index[n_splits == 2].tolist()
    hollow = [marks for axes in display.axes_ for marks in axes.collections]
    assert sum(len(marks.get_offsets()) for marks in hollow) == len(dropped)
    legend = [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]
    assert legend[-1] == "fewer splits"


def test_last_points_are_the_means_of_the_table(grid) -> None:
    """The best candidates are fitted on further splits after the rung that they passed."""
    display, results = RungDisplay.from_estimator(grid), grid.cv_results_
    last, rows = (one == one.max() for one in (display.n_resources, results["n_resources"]))
    found = dict(zip(display.candidate[last], display.score[last], strict=True))
    means = zip(results["candidate"][rows], results["mean_test_score"][rows], strict=True)
    assert found == pytest.approx(dict(means))
    # Two rungs with all rows share a box.
    assert grid.history_.groupby("rung")["n_resources"].first().duplicated().sum() == 1
    assert BracketDisplay.from_estimator(grid).lanes[0].n_candidates[-1] == len(found) > 3


def test_search_without_brackets_has_curves_too() -> None:
    """A time budget screens candidates with few steps."""
    options = {"resource": "n_steps", "max_resources": 9, "time_budget": 0.6, "random_state": 0}
    search = fitted(AdaptiveSearchCV(Known(seconds=0.002), {"quality": uniform(0, 1)}, **options))
    display, history = RungDisplay.from_estimator(search), search.history_
    (axes,) = display.axes_
    points = history.groupby(["candidate", "n_resources"]).ngroups
    assert sum(map(len, curves(axes))) == points > history["candidate"].nunique()
    means = history[history["n_resources"] == 1].groupby("candidate")["test_score"].mean()
    np.testing.assert_allclose(display.score[display.n_resources == 1], means)
    full = search.cv_results_["n_resources"] == 9
    is_last = display.n_resources == 9
    np.testing.assert_allclose(display.score[is_last], search.cv_results_["mean_test_score"][full])
    assert axes.get_xlabel() == "n_steps"


# ------------------------------------------------------------------------------ brackets


def test_lanes_are_the_rungs_of_the_table(rungs) -> None:
    display = BracketDisplay.from_estimator(rungs)
    assert [lane.n_candidates.tolist() for lane in display.lanes] == [[9, 3, 1], [5, 1], [3]]
    # Rungs with the same resource are below each other.
    assert [lane.column.tolist() for lane in display.lanes] == [[0, 1, 2], [1, 2], [2]]
    texts = [text.get_text() for text in display.ax_.texts]
    scores = [f"{lane.best_score:.4g}" for lane in display.lanes]
    assert texts == ["9", "3", "1", scores[0], "5", "1", scores[1], "3", scores[2]]
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["bracket 2", "bracket 1", "bracket 0"]
    assert display.ax_.get_xlabel() == "training rows (n_samples)"


def test_stages_have_one_lane_with_the_candidates_that_remain() -> None:
    space = {"quality": np.linspace(0, 1, 20).tolist()}
    search = fitted(BanditSearchCV(Known(), space, n_fits=80, scoring=noisy_score))
    display, stage = BracketDisplay.from_estimator(search), search.cv_results_["stage"]
    expected = [(stage >= number).sum() for number in range(stage.max() + 1)]
    assert display.lanes[0].n_candidates.tolist() == expected


def test_error_says_what_to_use_instead(ucb) -> None:
    with pytest.raises(ValueError, match="BracketDisplay shows brackets or stages"):
        BracketDisplay.from_estimator(ucb)
    with pytest.raises(ValueError, match="RungDisplay shows scores against a resource"):
        RungDisplay.from_estimator(ucb)
