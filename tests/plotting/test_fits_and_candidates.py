"""Displays of fits and of candidates with their intervals."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.base import clone

from doubles import Known
from plotting.searches import X, adaptive_search, fitted, variance_halving
from sklearn_halving.plotting import ConfidenceDisplay, HistoryDisplay

SEARCHES = ["rungs", "adaptive", "grid", "halving", "gap", "ucb", "metrics", "failing_rungs"]


def legend(display) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("name", SEARCHES)
def test_the_best_so_far_ends_with_the_winner(name, request) -> None:
    search = request.getfixturevalue(name)
    fits = HistoryDisplay.from_estimator(search).fits
    assert len(fits) == search.n_fits_
    assert fits["candidate"].tolist() == search.history_["candidate"].tolist()
    last = fits.iloc[-1]
    assert last["best"] == search.cv_results_["candidate"][search.best_index_]
    score = "posterior_mean" if name == "gap" else f"mean_test_{search._results.metric}"
    assert last["best_score"] == search.cv_results_[score][search.best_index_]


def test_the_best_so_far_is_the_first_of_the_leaderboard_that_has_its_score(rungs) -> None:
    fits, amounts = HistoryDisplay.from_estimator(rungs).fits, rungs.history_["n_resources"]
    board = rungs.leaderboard().set_index("candidate")
    reached: list[int] = []
    for fit, amount in zip(fits.itertuples(), amounts, strict=True):
        if amount == board["n_resources"][fit.candidate]:
            reached.append(fit.candidate)
        if reached:
            best = board["rank"][reached].idxmin()
            assert (fit.best, fit.best_score) == (best, board["score"][best])
        else:
            assert np.isnan(fit.best)
    assert len(set(fits["best"].dropna())) > 1


def test_history_shows_every_fit_and_your_model(adaptive) -> None:
    display = HistoryDisplay.from_estimator(adaptive)
    points = np.concatenate([c.get_offsets() for c in display.ax_.collections])
    scores = adaptive.history_["test_score"]
    assert {tuple(p) for p in points} >= set(zip(range(1, 1 + len(scores)), scores, strict=True))
    row = adaptive.leaderboard().set_index("candidate").loc[0]
    assert row["params"]["quality"] == 0.3
    assert display.own_score == row["score"]
    assert legend(display) == ["fit", "your model", "best so far"]


def test_seconds_leave_out_the_break_before_a_resume(adaptive) -> None:
    search = fitted(clone(adaptive).set_params(warm_start=True))
    time.sleep(0.5)
    fitted(search.set_params(n_fits=60))
    seconds = HistoryDisplay.from_estimator(search, cost="seconds").fits["seconds"]
    assert (np.diff(seconds) >= 0).all()
    assert "this call gained" in str(search.summary())
    assert 0 < seconds.iloc[-1] < search.history_["ended"].max() - 0.4
    with pytest.raises(ValueError, match="cost of HistoryDisplay must be one of 'fits'"):
        HistoryDisplay.from_estimator(adaptive, cost="euros")


def test_few_bad_scores_do_not_rule_the_axis() -> None:
    search = variance_halving([-1e6, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    display = HistoryDisplay.from_estimator(search)
    low, high = display.ax_.get_ylim()
    assert -1 < low < 0.4
    assert 0.6 < high < 1
    assert "below the axis" in legend(display)
    assert min(line.get_ydata().min() for line in display.ax_.get_lines()) >= low


# ---------------------------------------------------------------------------- confidence


def test_intervals_are_mean_and_standard_error(halving) -> None:
    display = ConfidenceDisplay.from_estimator(halving)
    shown, results = display.candidates, halving.cv_results_
    mean, error = (
        results[f"{n}_test_score"][shown["candidate"]] for n in ("mean", "standard_error")
    )
    np.testing.assert_allclose(shown["score"], mean)
    np.testing.assert_allclose(shown["lower"], mean - error)
    np.testing.assert_allclose(shown["upper"], np.minimum(mean + error, 1.0))
    once = results["n_fits"][shown["candidate"]] == 1
    np.testing.assert_array_equal(np.isnan(shown["lower"]), once)
    assert shown["candidate"][0] == halving.best_index_
    labels = [label.get_text().strip() for label in display.ax_.get_yticklabels()]
    assert labels == ["quality", *(str(params["quality"]) for params in shown["params"])]


def test_posterior_has_bounds(gap) -> None:
    shown = ConfidenceDisplay.from_estimator(gap).candidates
    for name, column in {"score": "posterior_mean", "upper": "upper_bound"}.items():
        values = gap.cv_results_[column][shown["candidate"]]
        np.testing.assert_allclose(
            shown[name], np.minimum(values, 1.0 if name == "upper" else values)
        )


def test_at_most_twelve_contenders_and_your_model() -> None:
    space = {"quality": np.linspace(0.5, 0.9, 30).tolist()}
    search = adaptive_search(space, estimator=Known(quality=0.1), n_fits=40)
    display = ConfidenceDisplay.from_estimator(search)
    assert display.candidates["own"].tolist() == [False] * 11 + [True]
    assert display.ax_.get_title("right").startswith("The best 12 of ")


def test_accuracies_have_no_bound_above_one() -> None:
    def score(model, rows, y):
        return 0.7 if X[0] in rows else 1.0  # on one of three splits

    shown = ConfidenceDisplay.from_estimator(
        adaptive_search({"quality": [0.0, 0.2]}, scoring=score)
    ).candidates
    assert shown["score"].tolist() == pytest.approx([0.9, 0.9])
    assert shown["lower"].max() < 0.8
    assert shown["upper"].tolist() == [1.0, 1.0]


def test_only_the_largest_resource_is_compared(rungs) -> None:
    display = ConfidenceDisplay.from_estimator(rungs)
    results = rungs.cv_results_
    at_most = results["n_resources"] == results["n_resources"].max()
    assert set(display.candidates["candidate"]) <= set(results["candidate"][at_most])
    assert display.n_candidates == len(set(results["candidate"]))


def test_candidates_without_a_score_are_left_out(failing) -> None:
    assert not {0, 1} & set(ConfidenceDisplay.from_estimator(failing).candidates["candidate"])
