"""What users pass may steer a terminal, raise in its ``repr``, or score in an odd way."""

from __future__ import annotations

import _thread
import re
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from search.common import Constant, Known, data, parametrize_searches, small
from sklearn_halving import AdaptiveSearchCV, VarianceHalvingSearchCV

VALUES = {"value": [0.1, 0.2, 0.4, 0.6, 0.7]}
STEERING = "\x1b[31mred\x07\x9b2J"
SHOWN = r"\x1b[31mred\x07\x9b2J"

# ----------------------------------------------------------------------------- escape codes


class Loud(Constant):
    """Scores its value, and fails with a text that steers a terminal."""

    def __init__(self, value=0.5, text=STEERING):
        self.value = value
        self.text = text

    def fit(self, X, y=None):
        if self.value > 0.65:
            raise ValueError(self.text)
        return super().fit(X, y)


def value_of(estimator, X, y):
    return estimator.value


@parametrize_searches
def test_escape_codes_are_shown_as_text(search_class, capsys):
    space = {"value": [0.1, 0.2, 0.7], "text": [STEERING, "calm"]}
    scoring = {STEERING: value_of}
    search = small(search_class, Loud(), space, scoring=scoring, refit=STEERING, verbose=10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*data())
    texts = [str(warning.message) for warning in caught]
    texts += [capsys.readouterr().out, str(search.summary())]
    for text in texts:
        assert not re.search(r"[^\n\t\x20-\x7e]", text)
    assert SHOWN in texts[0]
    assert SHOWN in texts[-2]
    assert texts[-1].count(SHOWN) >= 3, "as a metric, as a value, and in an error"
    assert search.history_["error"].dropna().str.contains(SHOWN, regex=False).any()


@pytest.mark.filterwarnings("ignore:All 3 fits so far")
def test_an_error_of_a_whole_search_has_no_escape_codes():
    with pytest.raises(ValueError, match=r"All the \d+ fits failed") as caught:
        small(VarianceHalvingSearchCV, Loud(), {"value": [0.7, 0.8]}).fit(*data())
    assert SHOWN in str(caught.value)
    assert STEERING not in str(caught.value)


# ----------------------------------------------------------------------------------- scorers


@parametrize_searches
@pytest.mark.parametrize("kind", [Decimal, Fraction, np.float32, np.array, int])
def test_every_kind_of_number_is_a_score(search_class, kind):
    def scorer(estimator, X, y):
        return kind(estimator.value)

    search = small(search_class, Known(), {"value": [0.0, 0.25, 0.5, 1.0]}, scoring=scorer)
    search.fit(*data())
    assert search.best_params_ == {"value": 1.0}
    assert search.cv_results_["mean_test_score"].dtype == float
    assert search.summary().to_dict()["best"][0]["score"] == 1.0


def huge(estimator, X, y):
    return 10**400


class Scorer:
    """Returns no number, and has no name."""

    def __call__(self, estimator, X, y):
        return

    def __repr__(self):
        raise RuntimeError("told to have no name")


@parametrize_searches
@pytest.mark.parametrize(("scoring", "name"), [(huge, "huge"), (Scorer(), "<Scorer instance>")])
def test_a_score_that_is_no_number_ends_the_search_at_the_first_fit(search_class, scoring, name):
    search = small(search_class, Known(), VALUES, scoring=scoring)
    with pytest.raises(ValueError, match=rf"scoring must return a number.*\(scorer={name}") as e:
        search.fit(*data())
    assert len(str(e.value)) < 250
    assert not hasattr(search, "cv_results_")


def some_have_more(estimator, X, y):
    return {"a": 0.5} | ({"b": 0.1} if estimator.value < 0.3 else {})


def some_have_others(estimator, X, y):
    return {"a": 0.5, "b" if estimator.value < 0.3 else "c": 0.1}


def some_are_numbers(estimator, X, y):
    return {"a": 0.5} if estimator.value < 0.3 else 0.4


@parametrize_searches
@pytest.mark.parametrize("scoring", [some_have_more, some_have_others, some_are_numbers])
def test_other_metrics_for_some_candidates_are_an_error_that_keeps_the_fits(search_class, scoring):
    search = small(search_class, Known(), VALUES, scoring=scoring, refit="a")
    with pytest.raises(ValueError, match="scoring must return the same metrics for every"):
        search.fit(*data())
    assert 0 < search.n_fits_ < 15
    assert str(search.summary())


@pytest.mark.parametrize("scoring", [["accuracy", "f1"], lambda *_: {"a": 1.0, "b": 2.0}])
def test_score_after_several_metrics_and_a_callable_refit(scoring):
    space = {"C": [0.1, 1, 2]}
    search = small(
        VarianceHalvingSearchCV, LogisticRegression(), space, scoring=scoring, refit=lambda _: 0
    )
    X, y = data()
    with pytest.raises(ValueError, match="refit is a callable and there are several"):
        search.fit(X, y).score(X, y)
    one = small(VarianceHalvingSearchCV, LogisticRegression(), space, refit=lambda _: 0)
    assert one.fit(X, y).score(X, y) == one.best_estimator_.score(X, y)


# ------------------------------------------------------------------------------------- names


class Nameless(Known):
    """Has no ``repr``."""

    def __init__(self, value=0.5, fails=False, nan_below=0, thing=None):
        super().__init__(value, fails, nan_below)
        self.thing = thing

    def __repr__(self):
        raise RuntimeError("told to have no name")


@parametrize_searches
def test_an_estimator_and_values_whose_repr_raises(search_class, capsys):
    space = {"value": [0.2, 0.5], "fails": [True, False], "thing": [Nameless(), [Nameless()]]}
    search = small(search_class, Nameless(), space, verbose=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = str(search.fit(*data()).summary())
    assert text.startswith(f"{search_class.__name__} of <Nameless instance>\n")
    assert "<Nameless instance>" in "".join(str(warning.message) for warning in caught)
    assert "thing=<Nameless instance>" in capsys.readouterr().out


def test_the_message_of_a_frozen_estimator_is_not_hidden():
    X, y = data()
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    for estimator, name in ((frozen, "estimator__C"), (make_pipeline(StandardScaler(), frozen),
                            "frozenestimator__estimator__C")):  # fmt: skip
        messages = []
        for search in (
            GridSearchCV(estimator, {name: [0.1, 1]}, error_score="raise"),
            AdaptiveSearchCV(estimator, {name: [0.1, 1]}),
        ):
            with pytest.raises(ValueError, match="You cannot set parameters of the inner") as e:
                search.fit(X, y)
            messages.append(str(e.value))
        assert messages[0] == messages[1]


# ------------------------------------------------------------------------------------ Ctrl-C


class Stopped(Known):
    """Is interrupted in its first fit, which then has no score."""

    def fit(self, X, y=None):
        _thread.interrupt_main()
        time.sleep(0.1)
        raise ValueError("told to fail")


@parametrize_searches
def test_ctrl_c_before_a_score_promises_no_choice(search_class):
    search = small(search_class, Stopped(), VALUES)
    with pytest.raises(KeyboardInterrupt, match=r"None of them has a score, so none is chosen\."):
        search.fit(*data())
    with pytest.raises(NotFittedError, match="Ctrl-C was pressed before a candidate had a score"):
        search.predict(data()[0])
    assert "chosen" not in str(search.summary())
