"""What `summary` and `leaderboard` say, for every search and every end."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, uniform
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from doubles import Known as Slow
from search.common import (
    SEARCHES,
    Constant,
    Interrupting,
    Known,
    Noisy,
    data,
    interrupted,
    numbered,
    small,
)
from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.search.reporting._summary import edges
from sklearn_halving.search.reporting._summary_data import Gained
from sklearn_halving.spaces import loguniform_int, space_for

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.4, 0.6, 0.7]}


def said(search):
    """Return the summary with T for times, after a look at the lengths of the lines."""
    lines = str(search.summary()).splitlines()
    table = [line for line in lines if re.match(r"  best   | {13}", line)]
    assert len(lines) <= 12 or sum(" no. " in line for line in table) > 1
    assert max(map(len, lines)) <= 88
    assert not any(line != line.rstrip() for line in lines)
    return re.sub(r"[\d.]+ (min \d+ )?s\b", "T", "\n".join(lines))


# ------------------------------------------------------------------------- one text a search

TEXTS = {
    AdaptiveSearchCV: """\
AdaptiveSearchCV of Known()
  searched   6 candidates
  spent      9 fits, 60 % of GridSearchCV; T, refit T
  gained     not known yet: yours and the winner share 1 split; 20 full fits would tell
  ended      complete
  best       no.  fits  score    value
             3    3     0.7      0.7
             4    2     0.6      0.6
             0    1     0.5      0.5
             5    1     0.4      0.4
             1    1     0.2      0.2
  advice     try larger value; the best is at the end of a range""",
    HyperbandSearchCV: """\
HyperbandSearchCV of Known()
  searched   5 candidates; n_samples 13 to 40
  spent      18 fits (9 full), 80 % of GridSearchCV; T, refit T
  ended      complete
  best       no.  fits  rows  score    value
             4    3     40    0.7      0.7
             3    3     40    0.6      0.6
             2    6     40    0.4      0.4
             1    3     13    0.2      0.2
             0    3     13    0.1      0.1
  advice     try larger value; the best is at the end of a range""",
    BayesGapSearchCV: """\
BayesGapSearchCV of Known()
  searched   5 candidates, 4 fitted
  spent      25 fits; T, refit T
  ended      complete
  best       no.  fits  score    value
             4    11    0.7      0.7
             3    12    0.6      0.6
             1    1     0.2      0.2
             0    1     0.1      0.1
  advice     try larger value; the best is at the end of a range""",
}


@pytest.mark.parametrize("search_class", TEXTS)
def test_the_whole_text(search_class):
    assert said(small(search_class, Known(), SPACE).fit(*data())) == TEXTS[search_class]


# ---------------------------------------------------------------------- whatever was searched


class Moody(Constant):
    """Fails in several ways, with long messages, and has long parameters."""

    def __init__(self, value=0.5, mood="good", **others):
        self.value = value
        self.mood = mood

    def fit(self, X, y=None):
        if self.mood == "fit":
            raise ArithmeticError("told to fail, " * 20)
        if self.mood == "memory":
            raise MemoryError("told to need more")
        return super().fit(X, y)

    def score(self, X, y=None):
        if self.mood == "score":
            raise LookupError("told to have no score\nand to say so on two lines")
        return self.value


def pipeline(n_steps):
    scale = FunctionTransformer(inv_kw_args={"a key of some length": list(range(50))})
    steps = [(f"a_step_with_a_long_name_{i}", scale) for i in range(n_steps)]
    return Pipeline([*steps, ("model", SVC())])


FAMILIES = [
    {"model": [SVC()], "model__C": [1e-9, 1 / 3, 1e9], "model__gamma": [1e-9, 1e9 / 3]},
    {"model": [LogisticRegression(max_iter=500)], "model__C": [1e-9, 1 / 3, 1e9]},
    {"model": [DecisionTreeClassifier(random_state=0)], "model__max_depth": range(1, 9)},
]
MOODS = {"value": [0.1, 0.3, 0.5, 0.7], "mood": ["good", "fit", "score", "memory"]}
METRICS = {"scoring": ["accuracy", "balanced_accuracy"]}
CASES = {
    "many candidates": (Known(), {"value": np.linspace(0, 1, 200).tolist()}, {}),
    "failures of several kinds": (Moody(), MOODS, {}),
    "every score fails": (Moody(mood="score"), {"value": [0.1, 0.2, 0.3]}, {}),
    "several metrics": (SVC(), {"C": [1, 2, 3]}, METRICS | {"refit": "balanced_accuracy"}),
    "nothing is chosen": (SVC(), {"C": [1, 2, 3]}, METRICS | {"refit": False}),
    "families": (pipeline(1), FAMILIES, {}),
    "a huge estimator": (pipeline(20), FAMILIES, {}),
    "long values": (Moody(), {"mood": [["x" * 200, n] for n in range(5)]}, {}),
    "no refit": (Known(), SPACE, {"refit": False}),
}


@pytest.mark.walk
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_summary_is_short_and_the_leaderboard_complete(search_class, case):
    estimator, space, params = CASES[case]
    search = small(search_class, estimator, space, **params).fit(*data(120))
    text = said(search)
    assert text.startswith(search_class.__name__)
    assert ("failures" in text) == search.history_["failed"].any()
    check_leaderboard(search)


def check_leaderboard(search):
    """One row for each candidate, the chosen one first, full fits before partial ones."""
    board, history = search.leaderboard(), search.history_
    metric = board.columns[2]
    fitted = set(history["candidate"])
    assert set(board["candidate"]) <= fitted
    assert board["candidate"].is_unique
    texts = {repr(params) for params in search.cv_results_["params"]}
    assert len(board) <= len(texts)
    assert board["rank"].tolist() == list(range(1, len(board) + 1))
    assert (board["n_fits"] == board["candidate"].map(history["candidate"].value_counts())).all()
    results = search.cv_results_
    for row in board.head(20).to_dict("records"):
        own = results["candidate"] == row["candidate"]
        if "n_resources" in row:
            own &= results["n_resources"] == row["n_resources"]
        mean = results[f"mean_test_{metric}"][own]
        assert row[metric] == mean[0] or np.isnan(row[metric])
    if hasattr(search, "best_index_"):
        assert board["candidate"][0] == results["candidate"][search.best_index_]
        assert board["status"][0] == "chosen"
    scored = board[1:].dropna(subset=[metric])
    assert set(scored.index) == set(range(1, len(scored) + 1)), "those without a score come last"
    if "n_resources" in board:
        assert scored["n_resources"].is_monotonic_decreasing


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_resumed_search_says_how_many_of_its_fits_were_known(search_class, tmp_path):
    search = small(search_class, Known(), SPACE, checkpoint=tmp_path / "journal").fit(*data())
    once, n = said(search), search.n_fits_
    known = re.sub(rf"{n} fits( \((\d+) full\))?", rf"{n} fits (\2 full, {n} known)", once)
    assert said(search.fit(*data())) == known.replace("( full, ", "(")


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_search_that_was_interrupted(search_class):
    search = interrupted(search_class, SPACE)
    assert "  ended      stopped: Ctrl-C; nothing was refitted\n" in said(search)
    assert not search.leaderboard()["status"].str.startswith("dropped").any()
    check_leaderboard(search)


# --------------------------------------------------------------------- yours against the winner


def gained(search):
    return re.search(r"  gained     (.*)", said(search))[1]


@pytest.mark.parametrize(
    ("space", "params"),
    [({"value": uniform(0, 1)}, {"n_fits": 40}), ({"value": [0.2, 0.3, 0.4, 0.9]}, {})],
    ids=["distribution", "grid"],
)
def test_yours_against_the_winner_on_common_splits(space, params):
    noisy = Noisy(0.3, split_sd=0.2, noise_sd=0.05)
    search = AdaptiveSearchCV(noisy, space, random_state=0, **params).fit(*numbered(500))
    values = [each["value"] for each in search.cv_results_["params"]]
    own, winner = search.cv_results_["candidate"][[values.index(0.3), search.best_index_]]
    full = search.history_[search.history_["n_train"] == search.history_["n_train"].max()]
    scores = full.pivot_table(index="split", columns="candidate", values="test_score")
    common = scores[[own, winner]].dropna()
    assert len(common) > 2
    yours, best = common.mean()
    difference = common[winner] - common[own]
    error = difference.std() * np.sqrt(1 / len(common) + 1 / 4)
    score, plain = (f"{each:.4g}" for each in (search.best_score_, scores[winner].mean()))
    where = (
        f"splits ({score} {f'on all {scores[winner].count()}' if score == plain else 'adjusted'})"
    )
    assert gained(search) == (
        f"yours {yours:.4g}, winner {best:.4g}: {difference.mean():+.2g} ({error:.2g}) "
        f"on {len(common)} {'common splits' if score == f'{best:.4g}' else where}"
    )


@pytest.mark.parametrize(
    ("estimator", "space", "text"),
    [
        (Known(0.7), SPACE, "nothing: your own model is the best, score 0.7"),
        (Known(0.9), SPACE, "nothing: your own model is the best, score 0.9"),
        (
            Known(fails=True),
            [{"value": [0.1, 0.2, 0.3], "fails": [False]}],
            "not known: your own model has no score, winner 0.3",
        ),
    ],
)
def test_no_gain(estimator, space, text):
    search = small(AdaptiveSearchCV, estimator, space).fit(*data())
    assert gained(search) == text
    assert ("advice" in said(search)) == estimator.fails


def test_what_more_time_would_gain_is_said_if_the_budget_was_used_up():
    def outlook(n_fits, estimator, **space):
        space = {"value": uniform(0, 1)} | space
        search = AdaptiveSearchCV(estimator, space, n_fits=n_fits, random_state=0)
        return said(search.fit(*numbered(100))).partition("  outlook    ")[2].partition("\n")[0]

    noisy = Noisy(0.3, 0.1, 0.1)
    few = r"(\d) candidates? in full, too few to judge more time"
    assert int(re.fullmatch(few, outlook(8, noisy))[1]) < 8
    for some_fail in ({"estimator": noisy}, {"estimator": Moody(), "mood": ["good", "fit"]}):
        text = outlook(60, **some_fail)
        pattern = r"best after (\d+) of (\d+) candidates in full; the last half gained ([\d.e-]+)"
        n_tried, n_full, gained = map(float, re.fullmatch(pattern, text).groups())
        assert 1 <= n_tried <= n_full
        assert (gained == 0) == (n_tried <= n_full // 2)


def test_no_advice_for_a_choice_that_beats_nobody():
    search = small(AdaptiveSearchCV, Known(0.5), {"value": [0.7] * 4 + [0.6, 0.5]})
    assert "advice" in said(search.fit(*data()))
    constant = {"value": [0.5], "nan_below": [5, 6, 7, 8]}
    search = small(HyperbandSearchCV, Known(), constant).fit(*data())
    assert "advice" not in said(search)


# -------------------------------------------------------------------------------- leaderboard


def test_a_candidate_has_one_row_although_its_resource_is_a_parameter():
    search = HyperbandSearchCV(
        LogisticRegression(), {"C": [0.01, 0.1, 1, 10, 100]}, resource="max_iter", brackets="all",
        min_resources=10, max_resources=90, cv=3, random_state=0,
    )  # fmt: skip
    search.fit(*data())
    board = search.leaderboard()
    assert len(board) == 5
    assert list(board.columns[-2:]) == ["C", "params"]
    assert str(search.summary()).count("max_iter ") == 2, "as the resource, not as a parameter"
    check_leaderboard(search)


def test_equal_candidates_count_once():
    space = [{"value": [0.1, 0.7, 0.3]}, {"value": [0.7, 0.1, 0.2]}]
    board = small(HyperbandSearchCV, Known(), space).fit(*data()).leaderboard()
    assert sorted(board["value"]) == [0.1, 0.2, 0.3, 0.7]
    assert board["status"][0] == "chosen"


def test_ways_to_fail():
    space = {"mood": ["good", "fit", "score", "memory"]}
    search = small(BanditSearchCV, Moody(), space, n_fits=12).fit(*data())
    status = search.leaderboard().set_index("mood")["status"].to_dict()
    failed = {"fit": "failed", "score": "scorer_failed", "memory": "memory"}
    assert status == {"good": "chosen"} | failed
    kinds = re.search(r"  failures   \d+ fits \((.*?)\)", said(search))[1]
    assert {kind.partition(":")[0] for kind in kinds.split(", ")} == set(failed.values())


# ------------------------------------------------------------------------------------- HTML


@pytest.mark.parametrize("search_class", SEARCHES)
def test_html_has_the_diagram_of_scikit_learn_and_the_summary_below_it(search_class):
    scale = FunctionTransformer(inv_kw_args={"<script>": 1})
    search = small(search_class, make_pipeline(scale, SVC()), {"svc__C": [1, 10, 100]})
    mark = '<pre class="sklearn-halving"'
    assert mark not in search._repr_html_()
    diagram, _, panel = search.fit(*data())._repr_html_().partition(mark)
    assert "white-space: pre; font-family: monospace" in panel.partition(">")[0], "for nbconvert"
    assert search_class.__name__ in diagram
    assert "FunctionTransformer" in diagram
    assert unescape(panel.partition(">")[2]).startswith(f"{search.summary()}</pre>")
    assert search.summary()._repr_html_() in search._repr_html_()
    n_candidates = len(search.leaderboard())
    assert f"<summary>{n_candidates} candidates</summary>" in panel
    assert panel.count("<tr") == 1 + n_candidates
    assert "<script" not in panel
    assert set(search._repr_mimebundle_()) == {"text/plain", "text/html"}
    with config_context(display="text"):
        assert not hasattr(search, "_repr_html_")
    del search.cv_results_  # a search with something missing is shown, too
    assert search_class.__name__ in search._repr_html_()


def test_the_table_in_html_sorts_and_copies_without_other_files():
    board = small(HyperbandSearchCV, Known(), SPACE).fit(*data())._repr_html_()
    table = board[board.index("<details><summary>5 candidates") :]
    sort, copy = (unescape(re.search(rf'<{tag} [^>]*onclick="([^"]*)"', table)[1]) for tag in
                  ("table", "button"))  # fmt: skip
    assert "localeCompare" in sort
    assert "clipboard" in copy
    assert "<td>dropped at n_samples=13</td>" in table
    assert not re.search("<script|src=|href=", table)


def test_html_of_a_leaderboard_whose_values_are_html():
    values = ["<b>good", "<b>better", "<b>best", np.arange(3), None]
    space = [{"mood": values}, {"value": [0.1]}]
    html = small(VarianceHalvingSearchCV, Moody(mood="<b>good"), space).fit(*data())._repr_html_()
    assert "<td>&lt;b&gt;best</td>" in html
    assert "<b>best" not in html
    assert "<td>[0 1 2]</td>" in html
    assert "<td>None</td>" in html


# ---------------------------------------------------------------------------- names of objects


class Unnamed:
    """Has the repr of any object: its class and its address."""

    def method(self):
        """Be a bound method."""


def accuracy_of(estimator, X, y):
    return estimator.score(X, y)


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
    ("thing", "name", "short"),
    [
        (accuracy_of, "accuracy_of", "accuracy_of"),
        (Unnamed(), "<Unnamed>", "<Unnamed>"),
        (Unnamed().method, "<bound method Unnamed.method of <Unnamed>>", "method"),
        (
            FunctionTransformer(accuracy_of),
            "FunctionTransformer(func=accuracy_of)",
            "FunctionTransformer",
        ),
    ],
)
def test_objects_are_shown_by_name_and_never_by_address(search_class, thing, name, short):
    space = [
        {"value": [0.6, 0.5], "thing": [thing, None]},
        {"value": [0.1, 0.2], "thing": [[thing]]},
    ]
    search = small(search_class, Choosy(thing=thing), space, scoring=accuracy_of).fit(*data())
    text = str(search.summary())
    assert "0x" not in text
    assert text.startswith(f"{search_class.__name__} of Choosy(thing={name}"[:60])
    assert f" {short}" in text.partition("  best ")[2]
    assert f"TypeError: no use for [{name}]"[:50] in text


def test_models_of_the_same_class_are_told_apart():
    space = {"model": [SVC(kernel="linear"), SVC(C=3.0), DecisionTreeClassifier()]}
    pipe = Pipeline([("model", SVC())])
    text = str(small(VarianceHalvingSearchCV, pipe, space).fit(*data()).summary())
    shown = text.partition("  best ")[2]
    assert "SVC(kernel='linear')" in shown
    assert "SVC(C=3.0)" in shown


def test_all_parameters_that_differ_are_shown_below_each_other_if_they_are_many():
    space = space_for(make_pipeline(HistGradientBoostingClassifier(max_iter=5)))
    space["histgradientboostingclassifier__max_iter"] = [2, 3, 4, 5, 6]
    search = small(VarianceHalvingSearchCV, make_pipeline(HistGradientBoostingClassifier()), space)
    headers = [line.split() for line in said(search.fit(*data())).splitlines() if " no. " in line]
    assert headers[0][:4] == ["best", "no.", "fits", "score"]
    names = [name for header in headers for name in header]
    assert set(search.leaderboard().loc[:, "status":"params"].columns[1:-1]) <= set(names)
    assert len(headers) > 1


# ------------------------------------------------------------------------------- figures


@pytest.mark.walk
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_figures_are_data_and_say_what_the_search_says(search_class, case):
    estimator, space, params = CASES[case]
    search = small(search_class, estimator, space, **params).fit(*data(120))
    summary = search.summary()
    figures = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert figures["search"] == search_class.__name__
    assert figures["spent"]["n_fits"] == search.n_fits_
    assert figures["spent"]["refit_seconds"] == getattr(search, "refit_time_", None)
    assert figures["failures"]["n_fits"] == search.history_["failed"].sum()
    assert not figures["ended"]["stopped_by"]
    scores = [row["score"] for row in figures["best"]]
    assert scores == search.leaderboard().iloc[:5, 2].dropna().tolist()
    row = pd.json_normalize(summary.to_dict())
    assert len(row) == 1
    assert row["spent.n_fits"][0] == search.n_fits_


def test_all_figures_are_documented():
    search = small(AdaptiveSearchCV, Known(), SPACE, resource="n_samples").fit(*data())
    summary = search.summary()
    figures, text = summary.to_dict(), summary.to_dict.__doc__.partition("Returns")[2]
    words = [re.findall(r"``(\w+)``", entry) for entry in text.split("\n            - ")]
    expected = [[name for name, value in figures.items() if isinstance(value, str)]]
    for name, line in figures.items():
        if name not in expected[0]:
            expected.append([name, *(line[0] if isinstance(line, list) else line)])
    assert sorted(map(sorted, words)) == sorted(map(sorted, expected))


def test_the_gain_in_figures_and_in_text():
    search = AdaptiveSearchCV(
        Noisy(0.3, split_sd=0.2, noise_sd=0.05),
        {"value": uniform(0, 1)},
        n_fits=40,
        random_state=0,
    )
    summary = search.fit(*numbered(500)).summary()
    found = summary.gained
    assert found.gain == pytest.approx(found.winner - found.yours)
    start = f"yours {found.yours:.4g}, winner {found.winner:.4g}: {found.gain:+.2g} "
    assert f"{start}({found.standard_error:.2g}) on {found.n_splits} " in str(summary)
    assert figures_without_own_model().gained.gain is None


def figures_without_own_model():
    return small(HyperbandSearchCV, Known(), SPACE).fit(*data()).summary()


def test_numbers_of_numpy_look_as_those_of_python():
    values = [(np.float64(0.25), np.int64(3)), (np.float64(0.5), np.int64(4)), np.str_("a")]
    space = {"mood": values, "value": np.array([0.5, 0.25])}
    summary = small(VarianceHalvingSearchCV, Moody(np.float64(0.5)), space).fit(*data()).summary()
    text = str(summary)
    assert "np." not in text
    assert "(0.25, 3)" in text
    params = summary.to_dict()["best"][0]["params"]
    assert type(params["value"]) is float
    assert "np." not in repr(params)


def test_no_line_is_cut_at_a_number():
    """The line ``gained`` is longest with long scores and many splits."""
    line = Gained(
        "score", 0.95021, yours=-123456.7, winner=-123456.1, gain=0.6123, standard_error=0.0123,
        n_splits=1234567,
    )  # fmt: skip
    summary = figures_without_own_model()
    text = str(replace(summary, gained=line))
    assert " ".join(str(line).split()) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 88


# ------------------------------------------------------------------------------- before the refit


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


# ------------------------------------------------------------------------------ ends of ranges


@pytest.mark.parametrize(
    ("values", "value", "side"),
    [
        ([0.3, 0.5, 0.7], 0.7, "larger"),
        ([0.7, 0.8, 0.9], 0.7, "smaller"),
        ([0.5, 0.7, 0.9], 0.7, None),
        ([0.2, 0.7], 0.7, None),
        ([0.2, "0.7", 0.7], 0.7, None),
        (uniform(0.2, 0.505), 0.7, "larger"),
        (uniform(0.2, 0.9), 0.7, None),
        (uniform(0.3, 0.7), 0.997, None),  # 1 is the limit of many parameters
        (uniform(0.3, 0.7), 1.0, None),
        (range(10**9), 0.7, None),
        (loguniform_int(4, 20), 4, "smaller"),
        (loguniform_int(4, 20), 19, None),
        (range(10**9, 0, -1), 10**9, "larger"),
    ],
)
def test_a_number_at_the_end_of_its_range_is_named(values, value, side):
    found = edges({"value": value, "kind": "a"}, [{"value": values, "kind": ["a", "b", "c"]}])
    assert list(found) == ([f"{side} value"] if side else [])


def test_the_range_is_that_of_the_dict_which_has_the_winner():
    spaces = [{"kind": ["a"], "C": [0.1, 0.5, 5]}, {"kind": ["b"], "C": [0.5, 0.6, 0.7]}]
    assert not list(edges({"kind": "a", "C": 0.5}, spaces))
    assert list(edges({"kind": "b", "C": 0.5}, spaces)) == ["smaller C"]


def test_a_parameter_may_have_the_name_of_a_column_of_the_leaderboard():
    class Timed(Known):
        def __init__(self, value=0.5, seconds=1):
            super().__init__(value)
            self.seconds = seconds

    space = {"value": [0.1, 0.2], "seconds": [1, 2]}
    board = small(AdaptiveSearchCV, Timed(), space).fit(*data()).leaderboard()
    assert {"seconds", "param_seconds"} <= {*board.columns}


def test_an_overrun_of_the_time_budget_is_said():
    search = AdaptiveSearchCV(Slow(seconds=1.2), {"quality": uniform(0, 1)}, time_budget=0.1)
    with pytest.warns(UserWarning, match="too few to compare"):
        spent = str(search.fit(*data()).summary())
    assert re.search(r"; [\d.]+ s, refit [\d.]+ s, [\d.]+ s over the time budget", spent)


# ---------------------------------------------------------------------------- what splits say


class Reversed(Known):
    """Scores that the first of the unshuffled folds orders the other way."""

    def fit(self, X, y):
        self.sign_ = 1 if X[:, 0].min() > 0 else -1
        return super().fit(X, y)

    def score(self, X, y):
        return self.sign_ * self.value


def test_splits_that_contradict_each_other_are_named_and_noise_is_not():
    X, y = numbered(100)
    for estimator, space, is_said in (
        (Reversed(0.5), {"value": uniform(0, 1)}, True),
        (Noisy(0.3, 0.1, 0.1), {"value": uniform(0, 1)}, False),
    ):
        search = AdaptiveSearchCV(estimator, space, n_fits=80, cv=KFold(5), random_state=0)
        summary = search.fit(X, y).summary()
        assert ("opposite ways" in str(summary)) == is_said
        assert (summary.splits.rank_correlation is not None) == is_said


def test_a_gain_is_the_difference_of_two_means_of_cross_val_score_and_the_winner_is_complete():
    X, y = load_iris(return_X_y=True)
    for n_fits, seed in itertools.product((20, 40, 60), range(3)):
        search = AdaptiveSearchCV(SVC(), {"C": loguniform(0.1, 1e3)}, n_fits=n_fits,
                                  random_state=seed).fit(X, y)  # fmt: skip
        gained, chosen = search.summary().gained, SVC(**search.best_params_)
        assert search.cv_results_["n_fits"][search.best_index_] == 5
        mean = cross_val_score(chosen, X, y).mean()
        assert search.best_score_ == pytest.approx(mean, abs=1e-12)
        if n_fits >= 40 and gained.n_splits is not None:
            own = cross_val_score(SVC(), X, y).mean()
            assert gained.n_splits == 5
            assert gained.gain == pytest.approx(mean - own, abs=1e-12)


def test_a_gain_needs_three_common_splits():
    X, y = load_iris(return_X_y=True)
    search = AdaptiveSearchCV(SVC(), {"C": loguniform(0.1, 1e3)}, n_fits=8, random_state=0)
    gained = search.fit(X, y).summary().gained
    assert gained.gain is None
    assert str(gained).startswith("not known yet")
