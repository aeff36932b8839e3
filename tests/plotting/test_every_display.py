"""What holds for every display and every search."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from doubles import Known
from plotting.searches import X, Y, hyperband, two_metrics
from scripts import ROOT
from sklearn_halving import HyperbandSearchCV, plotting
from sklearn_halving.plotting import (
    BracketDisplay,
    ImportanceDisplay,
    ParameterPairDisplay,
    PullsDisplay,
    RungDisplay,
)

DISPLAYS = [getattr(plotting, name) for name in plotting.__all__]
HARD_TO_LAY_OUT = ["single", "hundreds", "failing", "failing_rungs"]
SEARCHES = ["adaptive", "grid", "halving", "gap", "ucb", *HARD_TO_LAY_OUT]

every_display = pytest.mark.parametrize("display_class", DISPLAYS)
# Most of these searches have one parameter.
every_display_of_one = pytest.mark.parametrize(
    "display_class", [one for one in DISPLAYS if one is not ParameterPairDisplay]
)


def suits(display_class, search) -> bool:
    if display_class is RungDisplay:
        return "n_resources" in search.cv_results_
    if display_class is BracketDisplay:
        return "bracket" in search.cv_results_ or "stage" in search.cv_results_
    if display_class is ImportanceDisplay:
        return len(search.cv_results_["candidate"]) > 1
    return display_class is not ParameterPairDisplay


@every_display
def test_attributes_that_all_displays_share_are_documented(display_class) -> None:
    assert "\nax_ : matplotlib Axes\n" in display_class.__doc__
    assert "\nfigure_ : matplotlib Figure\n" in display_class.__doc__


@pytest.mark.walk
@every_display
@pytest.mark.parametrize("name", SEARCHES)
def test_search_is_drawn(display_class, name, request) -> None:
    """Warnings are errors here, those of a layout that does not fit among them."""
    search = request.getfixturevalue(name)
    if not suits(display_class, search):
        with pytest.raises(
            ValueError,
            match=f"{display_class.__name__} shows .* does not have; .*(Pulls|Parameter)",
        ):
            display_class.from_estimator(search)
        return
    display = display_class.from_estimator(search)
    assert isinstance(display, display_class)
    assert display.ax_.figure is display.figure_
    assert display.ax_.get_xlabel() or display.figure_.get_supxlabel()
    if name in HARD_TO_LAY_OUT:
        display.figure_.canvas.draw()


@every_display_of_one
def test_axes_given_are_used(display_class, rungs, pyplot) -> None:
    figure, (left, right) = pyplot.subplots(ncols=2)
    display = display_class.from_estimator(rungs, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert right.get_xlabel()
    assert right.has_data()
    assert not left.has_data()
    assert pyplot.get_fignums() == [figure.number]


@every_display_of_one
def test_display_can_be_drawn_again(display_class, rungs, pyplot) -> None:
    display = display_class.from_estimator(rungs)
    first = display.ax_
    axes = pyplot.subplots()[1]
    assert display.plot(ax=axes) is display
    assert display.ax_ is axes
    assert display.ax_ is not first


@every_display
def test_not_fitted(display_class) -> None:
    search = HyperbandSearchCV(Known(), {"quality": [0.1]})
    with pytest.raises(NotFittedError, match=f"{display_class.__name__} .* Call fit first"):
        display_class.from_estimator(search)


@every_display
def test_search_of_another_package(display_class) -> None:
    search = GridSearchCV(Known(), {"quality": [0.1, 0.2]}).fit(X, Y)
    with pytest.raises(TypeError, match="got GridSearchCV"):
        display_class.from_estimator(search)


@every_display_of_one
def test_matplotlib_is_missing(display_class, rungs, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    name = display_class.__name__
    with pytest.raises(ImportError, match=rf"{name}.*pip install sklearn-halving\[plot\]"):
        display_class.from_estimator(rungs)


def test_import_leaves_matplotlib_alone() -> None:
    code = (
        "import sklearn_halving, sys; first = 'sklearn_halving.plotting' in sys.modules;"
        "import sklearn_halving.plotting; print(first, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["False", "False"]


@every_display_of_one
def test_metric_that_steers_is_the_default(display_class, metrics) -> None:
    display = display_class.from_estimator(metrics)
    other = display_class.from_estimator(metrics, metric="gain")
    text = [artist.get_text() for artist in display.figure_.findobj(match=is_text)]
    if display_class is not PullsDisplay:  # which names no metric
        assert any("loss" in one for one in text)
        assert not any("gain" in one for one in text)
    assert type(other) is display_class
    with pytest.raises(ValueError, match=r"metric of .* one of 'gain', 'loss', got 'f1'"):
        display_class.from_estimator(metrics, metric="f1")


def is_text(artist) -> bool:
    return hasattr(artist, "get_text")


@every_display_of_one
def test_no_winner_without_refit(display_class) -> None:
    """Several metrics and no refit: nothing says which candidate is the best."""
    search = hyperband(scoring=two_metrics, refit=False, brackets=[0], n_candidates=None)
    assert not hasattr(search, "best_index_")
    display = display_class.from_estimator(search)
    labels = display.ax_.get_legend_handles_labels()[1]
    assert not any("winner" in label for label in labels)
    display.figure_.canvas.draw()
