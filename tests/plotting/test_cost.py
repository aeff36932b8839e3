"""Display over time: regret."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_halving.plotting import RegretDisplay

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
