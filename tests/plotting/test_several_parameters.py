"""Displays of several parameters: importance and pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform, uniform

from doubles import Known
from plotting.searches import X, Y, hyperband
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.plotting import BracketDisplay, ImportanceDisplay, ParameterPairDisplay

SPACE = {"quality": uniform(0, 1), "seconds": loguniform(1e-9, 1e-6), "n_steps": [1, 2, 3]}


@pytest.fixture(scope="module")
def search():
    return hyperband(SPACE)


def test_only_the_parameter_that_decides_the_score_is_important(search):
    display = ImportanceDisplay.from_estimator(search)
    assert sorted(display.parameter) == ["n_steps", "quality", "seconds"]
    assert display.parameter[0] == "quality"
    assert display.importance[0] > 5 * display.importance[1]
    assert (np.diff(display.importance) <= 0).all()
    assert len(display.ax_.patches) == 3


def test_a_pair_shows_every_candidate_on_the_scale_of_its_parameter(search):
    display = ParameterPairDisplay.from_estimator(search, ("seconds", "quality"))
    n_candidates = len(set(search.cv_results_["candidate"].tolist()))
    assert len(display.score) == n_candidates
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "linear")
    assert display.ax_.get_xlabel() == "seconds"
    winner = display.axes[1].position[display.best]
    assert winner.tolist() == [search.best_params_["quality"]]
    kinds = [type(artist).__name__ for artist in display.ax_.collections]
    assert kinds == ["TriContourSet", "PathCollection", "PathCollection"]
    display.figure_.canvas.draw()


def test_a_pair_is_that_of_the_most_important_parameters_by_default(search):
    display = ParameterPairDisplay.from_estimator(search)
    ranking = ImportanceDisplay.from_estimator(search).parameter
    assert {axis.name for axis in display.axes} == set(ranking[:2])


def test_the_default_pair_is_one_that_candidates_share():
    spaces = [{"quality": uniform(0, 1)}, {"n_steps": [1, 2], "seconds": [1e-9, 1e-8]}]
    display = ParameterPairDisplay.from_estimator(hyperband(spaces))
    assert {axis.name for axis in display.axes} == {"n_steps", "seconds"}


def test_a_search_that_is_interrupted_in_its_first_rung_is_drawn():
    """The only candidate with all its fits so far has no score."""
    scores = iter([np.nan, *np.linspace(0.1, 0.9, 10)])

    def score(estimator, X, y):
        found = next(scores)
        if found == 0.9:
            raise KeyboardInterrupt
        return found

    options = {"brackets": [0], "n_candidates": 9, "cv": 5, "random_state": 0}
    search = HyperbandSearchCV(Known(), SPACE, scoring=score, **options)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.history_["candidate"].tolist() == [*range(9), 0]
    ImportanceDisplay.from_estimator(search)
    ParameterPairDisplay.from_estimator(search)
    texts = [text.get_text() for text in BracketDisplay.from_estimator(search).ax_.texts]
    assert texts == ["9", "no score on all splits"]
