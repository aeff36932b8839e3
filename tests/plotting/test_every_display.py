"""What holds for every display and every search."""

from __future__ import annotations

import sys

import pytest
from scipy.stats import uniform
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from doubles import Known
from plotting.searches import X, Y, hyperband, two_metrics
from sklearn_halving import HyperbandSearchCV, plotting

DISPLAYS = [getattr(plotting, name) for name in plotting.__all__]
SEARCHES = [
    *("adaptive", "rungs", "grid", "halving", "gap", "ucb", "metrics"),
    *("families", "single", "hundreds", "failing", "failing_rungs"),
]

every_display = pytest.mark.parametrize("display_class", DISPLAYS)


def suits(display_class, search) -> bool:
    results = search.cv_results_
    names = [f"param_{name}" for name in ("quality", "n_steps") if f"param_{name}" in results]
    n_candidates = len(set(results["candidate"].tolist()))
    return {
        "BracketDisplay": "bracket" in results or "stage" in results,
        "RungDisplay": len(set(results.get("n_resources", [1]))) > 1,
        "ParameterDisplay": n_candidates > 1,
        "ParameterPairDisplay": len(names) > 1 and n_candidates > 1,
    }.get(display_class.__name__, True)


@pytest.mark.walk
@every_display
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_search_is_drawn_or_another_display_is_named(
    display_class, name, style, request, pyplot
) -> None:
    """Warnings are errors here, those of a layout that does not fit among them."""
    search = request.getfixturevalue(name)
    if not suits(display_class, search):
        with pytest.raises(ValueError, match=f"{display_class.__name__} shows") as caught:
            display_class.from_estimator(search)
        display_class = getattr(plotting, str(caught.value).rpartition("; use ")[2].rstrip("."))
    with pyplot.style.context(style):
        display = display_class.from_estimator(search)
        display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    assert any(axes.get_title(loc) for axes in display.figure_.axes for loc in ("left", "right"))
    assert all(axes.get_xlabel() for axes in getattr(display, "axes_", [display.ax_]))


@every_display
@pytest.mark.parametrize("has_grid", [True, False])
def test_axes_given_are_used(display_class, has_grid, metrics, pyplot) -> None:
    figure, (left, right) = pyplot.subplots(ncols=2)
    if not has_grid:
        right.remove()
        right = figure.add_axes((0.6, 0.1, 0.3, 0.8))
    display = display_class.from_estimator(metrics, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    drawn = getattr(display, "axes_", [right])
    assert all(axes.has_data() for axes in drawn)
    assert min(axes.get_position().x0 for axes in drawn) > 0.5
    assert not left.has_data()
    assert pyplot.get_fignums() == [figure.number]
    again = pyplot.subplots()[1]
    assert display.plot(ax=again) is display
    assert display.ax_ is again


@every_display
def test_not_fitted(display_class) -> None:
    search = HyperbandSearchCV(Known(), {"quality": [0.1]})
    with pytest.raises(NotFittedError, match=f"{display_class.__name__} .* Call fit first"):
        display_class.from_estimator(search)
    search = GridSearchCV(Known(), {"quality": [0.1, 0.2]}).fit(X, Y)
    with pytest.raises(TypeError, match="got GridSearchCV"):
        display_class.from_estimator(search)


@every_display
def test_matplotlib_is_missing(display_class, metrics, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    name = display_class.__name__
    with pytest.raises(ImportError, match=rf"{name}.*pip install sklearn-halving\[plot\]"):
        display_class.from_estimator(metrics)


@every_display
def test_metric_that_steers_is_the_default(display_class, metrics) -> None:
    for metric, (named, other) in {None: ("loss", "gain"), "gain": ("gain", "loss")}.items():
        display = display_class.from_estimator(metrics, metric=metric)
        texts = [t.get_text() for t in display.figure_.findobj(lambda a: hasattr(a, "get_text"))]
        assert any(named in text for text in texts)
        assert not any(other in text for text in texts)
    with pytest.raises(ValueError, match=r"metric of .* one of 'gain', 'loss', got 'f1'"):
        display_class.from_estimator(metrics, metric="f1")


@every_display
def test_no_winner_without_refit(display_class) -> None:
    """Several metrics and no refit: nothing says which candidate is the best."""
    space = {"quality": uniform(0, 1), "n_steps": [1, 2, 3]}
    search = hyperband(space, scoring=two_metrics, refit=False)
    display = display_class.from_estimator(search)
    labels = [one for ax in display.figure_.axes for one in ax.get_legend_handles_labels()[1]]
    assert not any("winner" in label for label in labels)
    display.figure_.canvas.draw()
