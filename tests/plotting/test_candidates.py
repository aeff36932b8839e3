"""Displays with a mark or a bar for each candidate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.tree import DecisionTreeClassifier

from plotting.searches import hyperband, variance_halving
from sklearn_halving.plotting import ConfidenceDisplay, ParameterDisplay, PullsDisplay


def test_candidates_are_in_the_order_of_ranks(halving) -> None:
    display = PullsDisplay.from_estimator(halving)
    ranks = halving.cv_results_["rank_test_score"][display.candidate]
    assert (np.diff(ranks) >= 0).all()
    assert display.best.tolist() == [True] + [False] * 5
    assert display.candidate[0] == halving.best_index_
    top, bottom = display.ax_.get_ylim()[::-1]
    assert top < 0 < 5 < bottom  # best on top


def test_labels_give_way_to_numbers_of_ranks(hundreds, halving) -> None:
    few, many = (PullsDisplay.from_estimator(search) for search in (halving, hundreds))
    assert [t.get_text() for t in few.ax_.get_yticklabels()] == few.labels
    places = [int(t.get_text()) for t in many.ax_.get_yticklabels()]
    assert places[0] == 1
    assert len(places) < 12
    assert many.ax_.get_ylabel() == "200 candidates, best first"


# ---------------------------------------------------------------------------- confidence


def test_intervals_are_mean_and_standard_error(halving) -> None:
    display = ConfidenceDisplay.from_estimator(halving, n_errors=2)
    mean = halving.cv_results_["mean_test_score"][display.candidate]
    error = halving.cv_results_["standard_error_test_score"][display.candidate]
    np.testing.assert_allclose(display.mean, mean)
    np.testing.assert_allclose(display.lower, mean - 2 * error)
    np.testing.assert_allclose(display.upper, mean + 2 * error)
    assert "± 2 standard error" in display.ax_.get_legend_handles_labels()[1]
    assert display.gap is None


def test_only_the_largest_resource_is_compared(rungs) -> None:
    display = ConfidenceDisplay.from_estimator(rungs)
    results = rungs.cv_results_
    at_most = results["n_resources"] == results["n_resources"].max()
    assert sorted(display.candidate) == sorted(results["candidate"][at_most])
    n_others = len(set(results["candidate"])) - at_most.sum()
    assert display.n_left_out == n_others > 0
    assert display.ax_.get_title(loc="right").startswith(f"{n_others} candidates")


def test_posterior_and_gap(gap) -> None:
    display = ConfidenceDisplay.from_estimator(gap)
    results = gap.cv_results_
    np.testing.assert_allclose(display.mean, results["posterior_mean"][display.candidate])
    others = np.arange(6) != gap.best_index_
    expected = results["upper_bound"][others].max() - results["lower_bound"][gap.best_index_]
    assert display.gap == pytest.approx(expected)
    assert f"gap {expected:.3g}" in display.ax_.get_legend_handles_labels()[1]


def test_one_fit_has_no_interval(halving, failing) -> None:
    once = halving.cv_results_["n_fits"] == 1
    display = ConfidenceDisplay.from_estimator(halving)
    np.testing.assert_array_equal(np.isnan(display.lower), once[display.candidate])
    assert once.any() == ("one score: no interval" in display.ax_.get_legend_handles_labels()[1])
    without_score = ConfidenceDisplay.from_estimator(failing)
    assert not {0, 1} & set(without_score.candidate)
    assert without_score.n_left_out == 2


@pytest.mark.parametrize("n_errors", [0, -1, float("nan")])
def test_width_must_be_positive(halving, n_errors) -> None:
    with pytest.raises(ValueError, match="n_errors of ConfidenceDisplay must be positive"):
        ConfidenceDisplay.from_estimator(halving, n_errors=n_errors)


# ----------------------------------------------------------------------------- parameter


def marks(display) -> np.ndarray:
    """Return the places of all marks, shape (n_candidates, 2)."""
    places = [c.get_offsets() for c in display.ax_.collections]
    return np.concatenate([p for p in places if len(p)])


def test_marks_are_values_and_scores(halving) -> None:
    display = ParameterDisplay.from_estimator(halving)
    found = marks(display)
    expected = np.column_stack([(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), mean_scores(halving)])
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], expected)
    assert display.ax_.get_xlabel() == "quality"
    assert display.ax_.get_xscale() == "linear"


def mean_scores(search) -> np.ndarray:
    return search.cv_results_["mean_test_score"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (loguniform(1e-4, 1e2), "log"),
        ([0.001, 0.01, 0.1, 1.0], "log"),
        ([1, 5, 10, 15, 20, 25], "linear"),
        ([0.0, 0.001, 1.0], "linear"),
        ([-10, -1, 1], "linear"),
        ([10.0, 20.0], "linear"),
    ],
)
def test_scale_suits_the_values(values, expected) -> None:
    search = hyperband({"quality": values}, brackets=None)
    assert ParameterDisplay.from_estimator(search).ax_.get_xscale() == expected


def test_categories_have_places_and_names() -> None:
    values = ["best", "random"]
    tree = DecisionTreeClassifier()
    search = variance_halving(
        {"splitter": values, "max_depth": [None, 3, 10]}, estimator=tree, scoring="accuracy"
    )
    names = {}
    for parameter in ("splitter", "max_depth"):
        display = ParameterDisplay.from_estimator(search, parameter)
        names[parameter] = [text.get_text() for text in display.ax_.get_xticklabels()]
        x = marks(display)[:, 0]
        assert len(np.unique(np.round(x))) == len(names[parameter])
        assert (np.abs(x - np.round(x)) < 0.35).all()
        assert len(np.unique(x)) == len(x)  # beside each other, not on top
    assert names == {"splitter": ["best", "random"], "max_depth": ["3", "10", "None"]}


def test_candidates_that_lack_the_parameter_are_left_out() -> None:
    space = [{"quality": [0.1, 0.2]}, {"n_steps": [2, 3, 4]}]
    search = variance_halving(space)
    display = ParameterDisplay.from_estimator(search, "quality")
    assert display.n_left_out == 3
    assert display.ax_.get_title(loc="right") == "3 candidates left out"
    assert sorted(display.values) == [0.1, 0.2]


def test_parameter_must_be_known(halving) -> None:
    with pytest.raises(ValueError, match=r"must be one of 'quality', got 'depth'"):
        ParameterDisplay.from_estimator(halving, "depth")
    two = variance_halving({"quality": [0.1, 0.2], "n_steps": [1, 2]})
    with pytest.raises(ValueError, match=r"must be one .*, got None"):
        ParameterDisplay.from_estimator(two)


def test_one_candidate_that_diverged_does_not_rule_the_axis() -> None:
    search = variance_halving([-1e6, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    display = ParameterDisplay.from_estimator(search)
    low, high = display.ax_.get_ylim()
    assert -1 < low < 0.1
    assert 0.6 < high < 1
    assert "1 score below the axis" in display.ax_.get_title(loc="right")


# -------------------------------------------------------------------------------- labels
