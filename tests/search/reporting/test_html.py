"""The HTML of a fitted search: scikit-learn's diagram, with what was found below it."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from search.common import SEARCHES, Known, data, interrupted, small
from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV
from sklearn_halving._unstable_imports import HTML_HOOK

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}


def panel(search):
    """Return what comes below scikit-learn's diagram."""
    text = search._repr_html_()
    assert text.count('<pre class="sklearn-halving"') == 1
    return text[text.index('<pre class="sklearn-halving"') :]


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_panel_is_the_summary(search_class):
    search = small(search_class, Known(), SPACE).fit(*data())
    head, _, rest = panel(search).partition(">")
    assert head.startswith("<pre ")
    assert unescape(rest).startswith(f"{search.summary()}</pre>")


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


@pytest.mark.parametrize("search_class", SEARCHES)
def test_after_ctrl_c(search_class):
    assert "stopped by Ctrl-C" in panel(interrupted(search_class, SPACE))


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_winner_without_a_score(search_class):
    search = small(search_class, Known(), {"value": [np.nan, np.nan]})
    with pytest.warns(UserWarning, match="first candidate is chosen"):
        text = panel(search.fit(*data()))
    assert "winner     candidate" in text
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
