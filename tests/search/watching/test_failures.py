"""Failed fits, and searches that were stopped."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from traceback import format_exc

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from search.common import SEARCHES, Constant, Interrupting, Known, data, numbered, small
from sklearn_halving import AdaptiveSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV
from sklearn_halving._formatting import raised


@pytest.mark.parametrize(
    ("score", "complaint"),
    [
        (0.5 + 1j, "1j"),
        (np.complex128(1j), "1j"),
        ({"real": 0.5, "complex": 1j}, "1j"),
        ({}, "{}"),
    ],
)
def test_a_score_that_is_no_real_number_ends_the_search_at_its_first_fit(score, complaint):
    calls = []

    def score_of(estimator, X, y):
        calls.append(score)
        return score

    search = HyperbandSearchCV(
        Known(), {"value": list(range(9))}, scoring=score_of, cv=KFold(2), refit=False,
        random_state=0,
    )  # fmt: skip
    with pytest.raises(ValueError, match=f"scoring must return .* got .*{complaint}"):
        search.fit(*numbered(108))
    assert len(calls) == 1


class Broken(Known):
    """Fails with the same last line from several places, or with a word of its own."""

    def fit(self, X, y=None):
        if self.value > 0.5:
            raise RuntimeError("cannot fit")
        if self.value > 0.1:
            raise RuntimeError("cannot fit")
        if self.fails:
            raise ArithmeticError("another error")
        return super().fit(X, y)


class Unprintable(Known):
    """Fails with a text that no file and no terminal can hold."""

    def fit(self, X, y=None):
        if self.value > 0.5:
            raise ValueError("\ud800")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_an_error_with_half_a_character_does_not_break_the_tables():
    search = HyperbandSearchCV(Unprintable(), {"value": [0.2, 0.9]}, cv=2, random_state=0)
    history = search.fit(*numbered(60)).history_
    assert history["error"].dropna().str.endswith("ValueError: \\ud800\n").all()
    assert r"ValueError: \ud800" in str(search.summary()).encode().decode()


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_there_is_one_entry_for_each_kind_of_error():
    grid = [{"value": [0.0, 0.3, 0.9]}, {"value": [0.05], "fails": [True]}]
    search = VarianceHalvingSearchCV(Broken(), grid, cv=3, n_fits=12, random_state=0)
    with pytest.warns(FitFailedWarning) as caught:
        search.fit(*numbered(60))
    (text,) = [str(w.message) for w in caught if w.category is FitFailedWarning]
    history = search.history_.set_index("candidate")["failed"]
    assert f"{history.sum()} fits failed out of a total of {len(history)}." in text
    assert text.count("Traceback") == 2
    entry = "fits failed with the following error, the first of candidate"
    assert f"{history[[1, 2]].sum()} {entry} 1, {{'value': 0.3}}:\n" in text
    assert f"{history[3].sum()} {entry} 3, {{'fails': True, 'value': 0.05}}:\n" in text
    assert "min_resources" not in text


class Talkative(Known):
    """Fails with messages of several lines, whose last lines are equal, or are fragments."""

    def fit(self, X, y=None):
        cause = KeyError("a cause") if self.value > 0.5 else None
        text = f"cannot fit with {self.value > 0.5}:\n  'Transit'\n  see the manual"
        raise ArithmeticError(text) from cause


@pytest.mark.filterwarnings("ignore:All 3 fits so far")
def test_errors_of_several_lines_keep_their_type_and_count_as_different():
    search = VarianceHalvingSearchCV(Talkative(), {"value": [0.1, 0.9]}, cv=2, n_fits=4)
    with pytest.raises(ValueError, match="All the 4 fits failed") as caught:
        search.fit(*numbered(60))
    assert str(caught.value).count("2 fits failed with the following error") == 2
    (line,) = [line for line in str(search.summary()).splitlines() if "ArithmeticError" in line]
    assert "4 fits, 2 errors such as ArithmeticError: cannot fit with False: 'Tra" in line


def remote():
    raise RuntimeError(
        "worker died:\nTraceback (most recent call last):\n  File\nTypeError: inner"
    )


def chained():
    try:
        remote()
    except RuntimeError as error:
        raise ArithmeticError("of two\n  lines.") from error


def grouped():
    raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (remote, "RuntimeError: worker died:\nTraceback"),
        (chained, "ArithmeticError: of two\n  lines"),
        (grouped, "ExceptionGroup: several (2 sub-exceptions)"),
    ],
)
def test_an_error_is_named_by_its_own_type_and_message(cause, said):
    try:
        cause()
    except Exception:  # noqa: BLE001
        text = format_exc()
    assert raised(text).startswith(said)
    assert raised("TimeoutError: The fit took long.\n") == "TimeoutError: The fit took long"


class Failing(Known):
    """Fails in its fits or in its scores, and notes how many warnings there were before."""

    n_said: list[int]

    def __init__(self, value=0.5, fails=False, way="fit"):
        super().__init__(value, fails)
        self.way = way

    def fit(self, X, y=None):
        Failing.n_said.append(len(Failing.caught))
        if self.fails and self.way == "fit":
            raise ArithmeticError("told to fail")
        return Constant.fit(self, X, y)

    def score(self, X, y=None):
        if self.fails:
            raise ArithmeticError("told to fail")
        return self.value


@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("way", ["fit", "score"])
@pytest.mark.parametrize("n_good", [0, 1])
def test_a_search_in_which_all_fits_fail_says_so_after_the_first_few(search_class, way, n_good):
    """Not only after hours."""
    space = [{"value": [0.1] * n_good}] * n_good + [
        {"value": [0.2, 0.3, 0.4, 0.5], "fails": [True]}
    ]
    search = small(search_class, Failing(fails=not n_good, way=way), space)
    Failing.n_said = []
    with warnings.catch_warnings(record=True) as Failing.caught:
        warnings.simplefilter("always")
        with suppress(ValueError):
            search.fit(*data())
        texts = [str(w.message) for w in Failing.caught if "fits so far" in str(w.message)]
    first = search.history_[search.history_["failed"].cumprod() > 0]
    assert len(texts) == (len(first) >= 3 and first["candidate"].nunique() > 1)
    if texts:
        words = "have failed or could not be scored, the last one with ArithmeticError: told to"
        assert re.match(rf"All [34] fits so far {words}", texts[0])
        assert len(Failing.n_said) < 9 or Failing.n_said[8] == 1
    assert texts or n_good


@pytest.mark.parametrize("n_others", [9, 10])
def test_a_search_in_which_only_the_first_candidate_works_says_so(n_others):
    values = [{"value": [0.1 * (1 + k) for k in range(n_others)], "fails": [True]}]
    search = AdaptiveSearchCV(Failing(), [{"fails": [False]}, *values], n_fits=60, cv=3)
    Failing.n_said = []
    with warnings.catch_warnings(record=True) as Failing.caught:
        warnings.simplefilter("always")
        search.fit(*data())
    texts = [str(w.message) for w in Failing.caught if "fits so far" in str(w.message)]
    assert len(texts) == (n_others == 10)
    assert not texts or "so far, but for candidate 0, have failed" in texts[0]
    assert not texts or Failing.n_said.index(1) < 60


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_a_stopped_search_names_its_checkpoint_only_if_it_has_one(has_checkpoint, tmp_path):
    path = tmp_path / "journal" if has_checkpoint else None
    Interrupting.n_fits = 0
    search = small(HyperbandSearchCV, Interrupting(), {"value": [0.1, 0.2, 0.3]}, checkpoint=path)
    with pytest.raises(KeyboardInterrupt, match="stopped by Ctrl-C") as stopped:
        search.fit(*data())
    with pytest.raises(NotFittedError, match="Ctrl-C was pressed") as unfitted:
        search.predict(data()[0])
    resumes = "Call fit again to go on. Finished fits are not made again."
    for error in (stopped, unfitted):
        assert (resumes in str(error.value)) == has_checkpoint


def test_warnings_about_the_checkpoint_point_at_the_line_of_the_user(tmp_path):
    path = tmp_path / "journal"
    search = small(HyperbandSearchCV, Known(), {"value": [0.1, 0.2, 0.3]}, checkpoint=path)
    search.fit(*data())
    with pytest.warns(UserWarning, match="differs from this one only in scoring") as caught:
        search.set_params(scoring="accuracy").fit(*data())
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("cv", "classes", "words"),
    [(KFold(3), 3, "no rows of class 0 to train"), (5, 4, "no rows of class 3 to test")],
)
@pytest.mark.filterwarnings("ignore")
def test_a_split_that_lacks_a_class_is_named_where_scores_fail(cv, classes, words):
    X, y = load_iris(return_X_y=True)
    y[: 3 * (classes - 3)] = 3
    search = HyperbandSearchCV(
        LogisticRegression(max_iter=500), {"C": [0.1, 10.0]}, scoring="neg_log_loss", cv=cv
    )
    with pytest.warns(UserWarning, match=f"{words} with. Shuffle or stratify"):
        search.fit(X, y)
