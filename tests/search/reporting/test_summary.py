"""What `summary` says, word by word where that is possible, for every search and every end."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from search.common import SEARCHES, Interrupting, Known, data, interrupted, small
from sklearn_halving import HyperbandSearchCV
from sklearn_halving.search.reporting._statistics import edges

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.6, 0.7]}


def said(search):
    """Return the summary without the lines of times, after a look at the length of all lines."""
    text = search.summary()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 88
    assert not any(line != line.rstrip() for line in lines)
    times = r"\n +[\d.]+ (s|min) [^\n]*of fitting and scoring.*?(?=\n  \w)"
    return re.sub(times, "", text, flags=re.DOTALL).splitlines()


def test_hyperband_line_by_line():
    search = small(HyperbandSearchCV, Known(), SPACE).fit(*data())
    assert (
        "\n".join(said(search))
        == """\
HyperbandSearchCV of Known()
  searched   5 candidates; resource n_samples: 13 to 40 in a fit
  spent      18 fits; GridSearchCV would make 15 fits, 5 candidates x 3 splits
             477 training rows, as much as 11.9 full fits: 80 % of GridSearchCV
  ended      finished as planned
  brackets   candidates at n_samples: best score; * marks the winner
             bracket 1:  3 at 13: 0.5,  1 at 40: 0.5
             bracket 0:  2 at 40: 0.7*
  best       5 of 5 candidates; * marks the winner
             rank   candidate   fits   score   parameters
             1      4*          3      0.7     value=0.7
             2      3           3      0.6     value=0.6
             3      2           6      0.5     value=0.5
             5      1           3      0.2     value=0.2
             6      0           3      0.1     value=0.1
  winner     candidate 4, rank 1 of 6 in cv_results_: score 0.7 (standard deviation 0
               over 3 fits) at n_samples=40
             value=0.7
             value is at the upper end of its range: try larger values, too
             probability of being the best of the 3 finalists > 0.99
  failures   none"""
    )


@pytest.mark.parametrize("search_class", [HyperbandSearchCV])
def test_several_metrics(search_class):
    scoring = {"large": "accuracy", "other": lambda estimator, X, y: -estimator.value}
    search = small(search_class, Known(), SPACE, scoring=scoring, refit="other").fit(*data())
    text = "\n".join(said(search))
    assert "other -0.1 (standard deviation" in text
    assert "also: large 0.5" in text

    text = " ".join(search.set_params(refit=False).fit(*data()).summary().split())
    assert "winner none was chosen" in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_certainty_of_a_choice_among_two_is_not_shown(search_class):
    search = small(search_class, Known(), {"value": [0.5, 0.7]}).fit(*data())
    text = search.summary()
    assert "probability" not in text
    assert "P(best)" not in text


@pytest.mark.parametrize("search_class", [HyperbandSearchCV])
def test_failures_are_counted_with_the_first_error(search_class):
    space = [{"value": [0.1, 0.2]}, {"value": [0.3], "fails": [True]}]
    search = small(search_class, Known(), space).fit(*data())
    n_failed = int(search.history_["failed"].sum())
    text = "\n".join(said(search))
    assert (
        f"failures   {n_failed} of {search.n_fits_} fits (failed: {n_failed}); the first:" in text
    )
    assert "ArithmeticError: told to fail" in text


@pytest.mark.parametrize("method", ["predict", "score", "predict_proba", "transform"])
def test_who_predicts_after_ctrl_c_is_told_what_to_do(method):
    class Able(Interrupting):
        def predict_proba(self, X):
            return np.ones((len(X), 2)) / 2

        def transform(self, X):
            return X

    search = interrupted(HyperbandSearchCV, SPACE, Able())
    call = getattr(search, method)
    with pytest.raises(NotFittedError, match=r"Ctrl-C was pressed before .*set_params"):
        call(*(data() if method == "score" else data()[:1]))
    # What it says can be done.
    X, y = data()
    best = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    assert best.predict(X).shape == y.shape


@pytest.mark.parametrize("search_class", SEARCHES)
def test_html_has_the_diagram_of_scikit_learn_and_the_summary_below_it(search_class):
    scale = FunctionTransformer(inv_kw_args={"<script>": 1})
    search = small(search_class, make_pipeline(scale, SVC()), {"svc__C": [1, 10, 100]})
    mark = '<pre class="sklearn-halving"'
    assert mark not in search._repr_html_()
    diagram, _, panel = search.fit(*data())._repr_html_().partition(mark)
    assert search_class.__name__ in diagram
    assert "FunctionTransformer" in diagram
    assert unescape(panel.partition(">")[2]).startswith(f"{search.summary()}</pre>")
    assert "<script>" not in panel
    assert set(search._repr_mimebundle_()) == {"text/plain", "text/html"}
    with config_context(display="text"):
        assert not hasattr(search, "_repr_html_")
    del search.cv_results_  # a search with something missing is shown, too
    assert search_class.__name__ in search._repr_html_()


class Unnamed:
    """Has the repr of any object: its class and its address."""

    def method(self):
        """Be a bound method."""


def accuracy_of(estimator, X, y):
    return estimator.score(X, y)


def first_row(results):
    return int(results["rank_test_score"].argmin())


class Choosy(Known):
    """Takes any object as a parameter, and complains about lists."""

    def __init__(self, value=0.5, thing=None):
        super().__init__(value)
        self.thing = thing

    def fit(self, X, y=None):
        if isinstance(self.thing, list):
            raise TypeError(f"no use for {self.thing}")
        return super().fit(X, y)


@pytest.mark.walk
@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (accuracy_of, "accuracy_of"),
        (Unnamed(), "<Unnamed>"),
        (Unnamed().method, "<bound method Unnamed.method of <Unnamed>>"),
        (FunctionTransformer(accuracy_of), "FunctionTransformer(func=accuracy_of)"),
    ],
)
def test_objects_are_shown_by_name_and_never_by_address(search_class, thing, name):
    space = [{"value": [0.6], "thing": [thing]}, {"value": [0.1, 0.2], "thing": [[thing]]}]
    options = {"scoring": accuracy_of, "refit": first_row, "n_candidates": 4}
    if search_class is not HyperbandSearchCV:
        del options["n_candidates"]
    search = small(search_class, Choosy(thing=thing), space, **options).fit(*data())
    text = " ".join(search.summary().split())
    assert "0x" not in text
    assert text.startswith(f"{search_class.__name__} of Choosy(thing={name})"[:60])
    assert f"thing={name}" in text.partition("winner")[2]
    assert f"TypeError: no use for [{name}]" in text


@pytest.mark.parametrize(
    ("values", "side"),
    [
        ([0.3, 0.5, 0.7], "upper"),
        ([0.7, 0.8, 0.9], "lower"),
        ([0.5, 0.7, 0.9], None),
        ([0.2, 0.7], None),
        ([0.2, "0.7", 0.7], None),
        (uniform(0.2, 0.505), "upper"),
        (uniform(0.2, 0.9), None),
        (range(10**9), None),
    ],
)
def test_a_number_at_the_end_of_its_range_is_named(values, side):
    found = list(edges({"value": 0.7, "kind": "a"}, [{"value": values, "kind": ["a", "b", "c"]}]))
    assert [line.split(":")[0] for line in found] == (
        [f"value is at the {side} end of its range"] if side else []
    )


def test_the_end_of_a_long_range_is_named():
    [line] = edges({"value": 10**9}, [{"value": range(10**9, 0, -1)}])
    assert "upper end" in line


def test_limits_of_parameters_are_not_named():
    for value in (1.0, 0.997):
        assert not list(edges({"value": value}, [{"value": uniform(0.3, 0.7)}]))
