"""Displays of parameters: slices and pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform, uniform
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from doubles import Known
from plotting.searches import adaptive_search, hyperband, variance_halving
from sklearn_halving.plotting import ConfidenceDisplay, ParameterDisplay, ParameterPairDisplay

SPACE = {"quality": uniform(0, 1), "tail": loguniform(1e-9, 1e-6), "n_steps": [1, 2, 3]}


def marks(axes) -> np.ndarray:
    """Return the places of all points, shape (n_points, 2)."""
    return np.concatenate([c.get_offsets() for c in axes.collections if len(c.get_offsets())])


def test_all_parameters_are_in_one_figure() -> None:
    search = hyperband(SPACE)
    display = ParameterDisplay.from_estimator(search)
    assert [axes.get_xlabel() for axes in display.axes_] == sorted(SPACE)
    assert {axes.figure for axes in display.axes_} == {display.figure_}
    for name, axes in zip(sorted(SPACE), display.axes_, strict=True):
        best = search.best_params_[name], search.best_score_
        assert any(np.allclose(mark, best) for mark in marks(axes))
    assert display.axes_[0].get_shared_y_axes().joined(display.axes_[0], display.axes_[2])


def test_marks_are_values_and_scores(halving) -> None:
    display = ParameterDisplay.from_estimator(halving)
    assert display.axes_ == [display.ax_]
    found = {x: y for x, y in marks(display.ax_).round(6).tolist() if y > 0.05}
    scores = halving.cv_results_["mean_test_score"].round(6)
    assert set(zip([0.4, 0.5, 0.6], scores[3:].tolist(), strict=True)) <= set(found.items())


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
    space = {"splitter": ["best", "random"], "max_depth": [None, 3, 10]}
    search = variance_halving(space, estimator=DecisionTreeClassifier(), scoring="accuracy")
    display = ParameterDisplay.from_estimator(search, ["max_depth", "splitter"])
    names = [[text.get_text() for text in ax.get_xticklabels()] for ax in display.axes_]
    assert names == [["3", "10", "None"], ["best", "random"]]
    assert display.axes_[0].get_ylabel() == "mean test accuracy"


def test_a_word_among_numbers_has_a_place_of_its_own() -> None:
    """Such as gamma="scale" of the estimator as it is."""
    tree = DecisionTreeClassifier(max_features="sqrt")
    space = {"max_features": uniform(0.1, 0.9)}
    search = adaptive_search(space, estimator=tree, scoring="accuracy", n_fits=40)
    axes = ParameterDisplay.from_estimator(search).ax_
    labels = axes.get_xticklabels(minor=True)
    assert [text.get_text() for text in labels] == ["sqrt"]
    assert axes.get_xticks(minor=True)[0] > 1


@pytest.mark.parametrize("value", [1, 1e-9, 0.0, "gini", None, True])
def test_a_parameter_with_one_value_is_drawn(value) -> None:
    """Warnings are errors: an axis has two different ends."""
    search = variance_halving([{"tail": [value], "quality": [0.1, 0.2]}, {"quality": [0.3]}])
    display = ParameterDisplay.from_estimator(search)
    display.figure_.canvas.draw()
    assert [axes.get_xlabel() for axes in display.axes_] == ["quality", "tail"]
    low, high = display.axes_[1].get_xlim()
    assert low < high


def test_zero_has_a_place_of_its_own_beside_a_logarithmic_scale() -> None:
    """The default of many penalties is 0."""
    space = {"tail": loguniform(1e-9, 1e-6)}
    search = adaptive_search(space, estimator=Known(tail=0.0), n_fits=40)
    axes = ParameterDisplay.from_estimator(search).ax_
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels(minor=True)] == ["0"]
    assert 0 < axes.get_xticks(minor=True)[0] < 1e-9


def test_parameter_must_be_known(halving) -> None:
    with pytest.raises(ValueError, match=r"must be one of 'quality', got 'depth'"):
        ParameterDisplay.from_estimator(halving, "depth")


def test_your_model_is_marked(adaptive) -> None:
    display = ParameterDisplay.from_estimator(adaptive)
    assert {"your model", "winner"} <= set(display.axes_[0].get_legend_handles_labels()[1])


def test_your_model_is_named_once_if_it_wins() -> None:
    search = adaptive_search({"quality": uniform(0, 0.2)}, estimator=Known(quality=0.9))
    labels = ParameterDisplay.from_estimator(search).ax_.get_legend_handles_labels()[1]
    assert "winner: your model" in labels
    assert "your model" not in labels


# -------------------------------------------------------------------------------- pairs


def test_a_pair_shows_every_candidate_on_the_scale_of_its_parameter() -> None:
    search = hyperband(SPACE)
    display = ParameterPairDisplay.from_estimator(search, ("tail", "quality"))
    assert len(display.candidates) == len(set(search.cv_results_["candidate"].tolist()))
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "linear")
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("tail", "quality")
    best = search.best_params_["tail"], search.best_params_["quality"]
    winner = display.ax_.collections[-1]
    assert winner.get_label() == "winner"
    np.testing.assert_allclose(winner.get_offsets(), [best])
    with pytest.raises(ValueError, match="be two parameters that candidates share"):
        ParameterPairDisplay.from_estimator(search, ("quality", "depth"))


def test_the_default_pair_is_one_that_candidates_share(families) -> None:
    display = ParameterPairDisplay.from_estimator(families)
    assert set(display.parameters) == {"n_steps", "ballast"}
    assert len(display.candidates) == 6


def test_models_are_shown_by_their_names() -> None:
    models = [DecisionTreeClassifier(max_depth=1), GaussianNB()]
    pipe, space = Pipeline([("model", DummyClassifier())]), {"model": models}
    search = variance_halving(space, estimator=pipe, scoring="accuracy")
    axes = ParameterDisplay.from_estimator(search).ax_
    names = [text.get_text() for text in axes.get_xticklabels()]
    assert names == ["DecisionTreeClassifier", "GaussianNB"]
    axes = ConfidenceDisplay.from_estimator(search).ax_
    names = {text.get_text().strip() for text in axes.get_yticklabels()}
    assert names <= {"model", "DecisionTreeClassifier", "GaussianNB"}
