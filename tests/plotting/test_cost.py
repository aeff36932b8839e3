"""Display over time: regret."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sklearn_halving.plotting import RegretDisplay
from sklearn_halving.plotting._candidates import _leaders_of_pulls, _leaders_of_rungs

SEARCHES = ["rungs", "adaptive", "grid", "halving", "gap", "ucb", "metrics", "failing_rungs"]


@pytest.mark.parametrize("name", SEARCHES)
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
