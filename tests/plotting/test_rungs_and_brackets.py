"""Displays of what is played in rungs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import uniform

from doubles import Known
from plotting.searches import X, Y, adaptive_search
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import BracketDisplay, HistoryDisplay, ParameterDisplay, RungDisplay


def curves(axes) -> list[np.ndarray]:
    """Return the lines, each of shape (n_rungs, 2)."""
    return [line.get_xydata() for line in axes.lines]


def test_each_bracket_has_axes_of_its_own(rungs) -> None:
    display, results = RungDisplay.from_estimator(rungs), rungs.cv_results_
    for axes, bracket, size in zip(display.axes_, (2, 1, 0), (9, 5, 3), strict=True):
        assert axes.get_title() == f"bracket {bracket}"
        assert len(curves(axes)) == size
        rows = results["bracket"] == bracket
        columns = results["n_resources"][rows], results["mean_test_score"][rows]
        found = np.concatenate(curves(axes))
        order = [
            np.lexsort((table[:, 1], table[:, 0])) for table in (found, np.transpose(columns))
        ]
        np.testing.assert_allclose(found[order[0]], np.transpose(columns)[order[1]])
    assert display.axes_[0].get_ylabel() == "mean test score"
    assert display.axes_[0].get_xlabel() == "training rows (n_samples)"


def test_candidates_with_fewer_splits_are_hollow(grid) -> None:
    rungs = RungDisplay.from_estimator(grid).rungs
    n_splits = grid.history_.query("n_resources == n_resources.max()").groupby("candidate").size()
    assert set(n_splits) == {2, 5}
    assert set(rungs["candidate"][rungs["is_partial"]]) == set(n_splits.index[n_splits == 2])
    lanes = BracketDisplay.from_estimator(grid).lanes
    assert lanes["score"].tolist() == [grid.best_score_]  # not that of two lucky splits


def test_last_points_are_the_means_of_the_table(grid) -> None:
    """The best candidates are fitted on further splits after the rung that they passed."""
    rungs, results = RungDisplay.from_estimator(grid).rungs, grid.cv_results_
    last = rungs[rungs["n_resources"] == rungs["n_resources"].max()]
    rows = results["n_resources"] == results["n_resources"].max()
    means = zip(results["candidate"][rows], results["mean_test_score"][rows], strict=True)
    assert dict(zip(last["candidate"], last["score"], strict=True)) == pytest.approx(dict(means))
    # Two rungs have all rows, and a box each.
    by_rung = grid.history_.groupby("rung")
    assert by_rung["n_resources"].first().duplicated().sum() == 1
    boxes = BracketDisplay.from_estimator(grid).boxes
    assert boxes["n_candidates"].tolist() == by_rung["candidate"].nunique().tolist()


def test_search_without_brackets_has_curves_too() -> None:
    """A time budget screens candidates with few steps."""
    options = {"resource": "n_steps", "max_resources": 9, "time_budget": 0.6, "n_fits": None}
    model = Known(seconds=0.002)
    search = adaptive_search({"quality": uniform(0, 1)}, model, scoring=None, cv=None, **options)
    display, history = RungDisplay.from_estimator(search), search.history_
    (axes,) = display.axes_
    points = history.groupby(["candidate", "n_resources"]).ngroups
    assert sum(map(len, curves(axes))) == points > history["candidate"].nunique()
    rungs = display.rungs
    means = history[history["n_resources"] == 1].groupby("candidate")["test_score"].mean()
    np.testing.assert_allclose(rungs["score"][rungs["n_resources"] == 1], means)
    assert axes.get_xlabel() == "n_steps"
    with pytest.raises(ValueError, match="does not have; use HistoryDisplay"):
        BracketDisplay.from_estimator(search)
    shown = ParameterDisplay.from_estimator(search, "quality").candidates
    assert sorted(shown["candidate"]) == sorted(set(history["candidate"]))
    assert all(list(params) == ["quality"] for params in shown["params"])


def test_lanes_are_the_rungs_of_the_table(rungs) -> None:
    display = BracketDisplay.from_estimator(rungs)
    lanes = [boxes for _, boxes in display.boxes.groupby("lane", sort=False)]
    assert [boxes["n_candidates"].tolist() for boxes in lanes] == [[9, 3, 1], [5, 1], [3]]
    # Rungs with the same resource are below each other.
    assert [boxes["place"].tolist() for boxes in lanes] == [[0, 1, 2], [1, 2], [2]]
    texts = [text.get_text() for text in display.ax_.texts]
    scores = [f"{score:.4g}" for score in display.lanes["score"]]
    assert texts == ["9", "3", "1", scores[0], "5", "1", scores[1], "3", scores[2]]
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["bracket 2", "bracket 1", "bracket 0"]
    assert display.lanes["has_winner"].sum() == 1


def test_stages_are_one_lane(halving) -> None:
    (n_candidates,) = [
        b["n_candidates"] for _, b in BracketDisplay.from_estimator(halving).boxes.groupby("lane")
    ]
    stage = halving.cv_results_["stage"]
    assert n_candidates.tolist() == [(stage >= one).sum() for one in range(stage.max() + 1)]


def test_a_search_that_is_interrupted_in_its_first_rung_is_drawn():
    """The only candidate with all its fits so far has no score."""
    scores = iter([np.nan, *np.linspace(0.1, 0.9, 10)])

    def score(estimator, X, y):
        found = next(scores)
        if found == 0.9:
            raise KeyboardInterrupt
        return found

    options = {"brackets": [0], "n_candidates": 9, "cv": 5, "random_state": 0}
    search = HyperbandSearchCV(Known(), {"quality": uniform(0, 1)}, scoring=score, **options)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.history_["candidate"].tolist() == [*range(9), 0]
    texts = [text.get_text() for text in BracketDisplay.from_estimator(search).ax_.texts]
    assert texts == ["9", "no score on all splits"]
    assert len(HistoryDisplay.from_estimator(search).fits) == search.n_fits_ == 10
