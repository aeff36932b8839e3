"""The HTML of a fitted search: scikit-learn's diagram, with what was found below it."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from search.common import SEARCHES, Known, data, interrupted, small
from sklearn_halving import BanditSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV
from sklearn_halving._unstable_imports import HTML_HOOK

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}
VOID = {"br", "hr", "img", "input", "link", "meta", "path", "rect", "circle"}


class Tables(HTMLParser):
    """Reads the tables of the panel, and checks that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.captions, self.winners = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            assert tag == "td" or dict(attrs)["scope"] in ("col", "row")
        elif tag == "caption":
            self.captions.append("")
        if tag in ("td", "tr") and dict(attrs).get("class") == "winner":
            self.winners.append((len(self.tables) - 1, len(self.tables[-1]) - 1))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if "caption" in self.open:
            self.captions[-1] += text
        elif "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += text


def panel(search):
    """Return the panel, which is the last section; what comes before is scikit-learn's."""
    text = search._repr_html_()
    assert text.count('<section class="sklearn-halving"') == 1
    return text[text.index('<section class="sklearn-halving"') :]


def test_brackets_are_rows_and_amounts_columns():
    search = small(HyperbandSearchCV, Known(), SPACE).fit(*data())
    text = panel(search)
    page = Tables(text)
    assert page.tables == [
        [
            ["n_samples", "13", "40"],
            ["bracket 1", "3: 0.7", "1: 0.7 ★"],
            ["bracket 0", "", "2: 0.5"],
        ],
        [["parameter", "value"], ["value", "0.7"]],
    ]
    assert page.captions == [
        "Brackets · candidates: best score",
        (
            "Winner · candidate 1, rank 1 of 6 in cv_results_: score 0.7 (standard deviation 0 "
            "over 3 fits) at n_samples=40"
        ),
    ]
    assert "probability of being the best of the finalists 1, expected regret 0" in text
    assert page.winners == [(0, 1)]


def test_stages_and_leaders_where_there_are_no_brackets():
    search = small(BanditSearchCV, Known(), SPACE).fit(*data())
    page = Tables(panel(search))
    stages, leaders, winner = page.tables
    assert stages == [
        ["stage", "candidates", "fits"],
        ["0", "4", "12"],
        ["1", "3", "3"],
        ["2", "2", "4"],
    ]
    assert leaders[0] == ["rank", "candidate", "fits", "score", "P(best)", "parameters"]
    assert leaders[1] == ["1", "3 ★", "6", "0.7", "1.00", "value=0.7"]
    assert len(leaders) == 5
    assert winner[1] == ["value", "0.7"]
    assert page.winners == [(1, 1)]


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_diagram_of_scikit_learn_stays(search_class):
    """Before `fit` nothing else is there."""
    search = small(
        search_class, make_pipeline(LogisticRegression()), {"logisticregression__C": [1, 10]}
    )
    assert "sklearn-halving" not in search._repr_html_()
    fitted = search.fit(*data())._repr_html_()
    for part in (
        "sk-top-container",
        "LogisticRegression",
        "best_estimator_",
        search_class.__name__,
    ):
        assert part in fitted
    assert "sklearn-halving" not in clone(search)._repr_html_()
    bundle = search._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "sklearn-halving" in bundle["text/html"]


def test_the_hook_is_that_of_scikit_learn():
    assert callable(getattr(BaseEstimator, HTML_HOOK))
    assert callable(getattr(GridSearchCV, HTML_HOOK))
    assert getattr(HyperbandSearchCV, HTML_HOOK) is not getattr(GridSearchCV, HTML_HOOK)


def test_users_may_ask_for_text():
    search = small(HyperbandSearchCV, Known(), SPACE).fit(*data())
    with config_context(display="text"):
        assert not hasattr(search, "_repr_html_")
        assert set(search._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("search_class", SEARCHES)
def test_text_is_escaped(search_class):
    class Named(Known):
        def __init__(self, value=0.5, name=""):
            super().__init__(value)
            self.name = name

        def fit(self, X, y=None):
            if self.value == 0.1:
                raise RuntimeError("<b>bad</b>")
            return super().fit(X, y)

    space = {"name": ["<script>alert(1)</script>"], "value": [0.1, 0.5]}
    search = small(search_class, Named(), space).fit(*data())
    text = panel(search)
    assert "<script>" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    Tables(text)


@pytest.mark.walk
@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("space", [SPACE, {"value": [0.3]}, {"value": np.linspace(0, 1, 200)}])
def test_any_number_of_candidates(search_class, space):
    search = small(search_class, Known(), space).fit(*data())
    page = Tables(panel(search))
    assert page.captions[-1].startswith("Winner · candidate")
    assert len(page.winners) == 1
    assert max(map(len, page.tables)) <= 14


@pytest.mark.parametrize("search_class", SEARCHES)
def test_after_ctrl_c(search_class):
    text = panel(interrupted(search_class, SPACE))
    assert "stopped by Ctrl-C" in text
    assert "Winner · candidate" in text
    Tables(text)


@pytest.mark.parametrize("search_class", SEARCHES)
def test_nobody_was_chosen(search_class):
    no_score = {"value": [np.nan, np.nan, np.nan]}
    assert "none: no candidate has a score" in panel(interrupted(search_class, no_score))
    several = small(search_class, Known(), SPACE, scoring=["accuracy", "f1"], refit=False)
    assert "refit=False chooses none" in panel(several.fit(*data()))


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_winner_without_a_score(search_class):
    search = small(search_class, Known(), {"value": [np.nan, np.nan]})
    with pytest.warns(UserWarning, match="first candidate is chosen"):
        text = panel(search.fit(*data()))
    assert "Winner · candidate" in text
    assert "no score" in text
    assert "score no score" not in text


@pytest.mark.walk
@pytest.mark.parametrize("broken", ["cv_results_", "_record", "best_index_", "best_estimator_"])
@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_search_with_something_missing_is_shown(search_class, broken):
    search = small(search_class, Known(), SPACE).fit(*data())
    delattr(search, broken)
    assert "sk-top-container" in search._repr_html_()


def test_results_that_a_user_has_changed_do_not_raise():
    search = small(VarianceHalvingSearchCV, Known(), SPACE).fit(*data())
    search.cv_results_ = {"mean_test_score": np.array([1.0])}
    assert "sk-top-container" in search._repr_html_()
    assert "sklearn-halving" not in search._repr_html_()


def test_many_brackets_are_not_all_shown():
    page = Tables(panel(small(HyperbandSearchCV, Known(), SPACE, n_loops=20).fit(*data())))
    assert 13 <= len(page.tables[0]) <= 14
    assert len(page.winners) == 1
