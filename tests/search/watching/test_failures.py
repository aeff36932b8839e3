"""Failed fits, rungs with fewer candidates than planned, and searches that were stopped."""

from __future__ import annotations

import _thread
import re
import warnings
from contextlib import suppress

import numpy as np
import pytest
from scipy.stats import randint
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from search.common import SEARCHES, Interrupting, Known, data, numbered, small
from sklearn_halving import BanditSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV

NARROWED = "fewer candidates than planned"


def run(first_known, n_rows_known=0, **params):
    """Search nine values; smaller ones, and any on fewer rows, have no score.

    Return the search, and what was said.
    """

    def score(estimator, X, y):
        is_known = estimator.value >= first_known and estimator.n_rows_ >= n_rows_known
        return estimator.value if is_known else np.nan

    search = HyperbandSearchCV(
        Known(), {"value": list(range(9))}, scoring=score, cv=KFold(2), min_resources=6,
        random_state=0, **{"brackets": "most_exploratory", **params},
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*numbered(108))
    return search, [str(warning.message) for warning in caught]


def widths(search):
    return np.bincount(search.cv_results_["iter"]).tolist()


def test_a_narrow_rung_is_told_with_bracket_resource_and_numbers():
    search, messages = run(first_known=7)
    assert widths(search) == [9, 2, 1]
    (message,) = [text for text in messages if NARROWED in text]
    assert message.splitlines()[1:] == [
        "bracket s=2 at n_resources=6: 2 of 9 candidates have a mean score, 3 were planned"
    ]
    assert not any("was stopped" in text for text in messages)
    assert search.best_params_ == {"value": 8}


def test_one_warning_tells_of_all_narrow_rungs():
    search, messages = run(first_known=7, n_loops=2)
    (message,) = [text for text in messages if NARROWED in text]
    for loop in (0, 1):
        assert f"bracket s=2 of loop {loop} at n_resources=6: 2 of 9 candidates" in message
    assert search.n_fits_ == 2 * 2 * (9 + 2 + 1)


@pytest.mark.parametrize("first_known", [0, 4, 6])
def test_rungs_that_are_full_are_not_told(first_known):
    search, messages = run(first_known)
    assert widths(search) == [9, 3, 1]
    assert not any(NARROWED in text or "was stopped" in text for text in messages)


def test_a_bracket_that_ends_is_told_once_and_not_as_a_narrow_one():
    search, messages = run(first_known=0, n_rows_known=18, brackets="all")
    (message,) = [text for text in messages if "was stopped" in text]
    assert "Bracket s=2" in message
    assert "n_resources=6 are NaN" in message
    assert not any(NARROWED in text for text in messages)
    results = search.cv_results_
    assert results["iter"][results["bracket"] == 2].max() == 0
    assert results["iter"][results["bracket"] == 1].max() == 1


def test_models_that_diverge_do_not_decide():
    """Half of the rates are so high that the scores go down to -1e21."""
    X, y = load_diabetes(return_X_y=True)
    grid = {"eta0": np.logspace(-4, 2, 20), "alpha": [1e-4, 1e-2]}
    model = SGDRegressor(max_iter=20, tol=None)
    search = VarianceHalvingSearchCV(model, grid, n_fits=120, scoring="r2", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        search.fit(X, y)
    own = search.history_.groupby("candidate").test_score
    best = search.best_index_
    assert own.mean().min() < -1e15
    assert search.best_score_ == pytest.approx(own.mean()[best], abs=0.1)
    assert search.best_score_ > 0.4


class StaysHere(RandomForestClassifier):
    """Cannot leave its process once it is fitted."""

    def fit(self, X, y):
        self.open_ = (number for number in range(3))
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:The grid has 3 candidates")
def test_models_that_cannot_be_sent_between_processes_are_told_of():
    options = {"resource": "n_estimators", "cv": 2, "random_state": 0}
    search = HyperbandSearchCV(
        StaysHere(n_estimators=9), {"max_depth": [1, 2, 3]}, brackets="all", **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The grid has 3 candidates")
        search.fit(*data())
    assert (search.history_["continued_from"] > 0).any()
    with pytest.warns(UserWarning, match=r"not be trained further.* \(TypeError: .*generator"):
        search.set_params(n_jobs=2).fit(*data())
    assert (search.history_["continued_from"] == 0).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_without_any_score_a_warning_says_what_failed_first():
    X, y = data(60)
    lone = np.where(np.arange(60) == 7, "alone", np.where(y == 1, "yes", "no"))
    search = HyperbandSearchCV(LogisticRegression(), {"C": [0.1, 1, 10]}, random_state=0)
    search.set_params(scoring="f1", cv=KFold(3))
    with pytest.warns(UserWarning, match=r"(\d+) of \1 scores failed, the first with .*pos_label"):
        search.fit(X, lone)


@pytest.mark.parametrize(
    ("score", "complaint"),
    [
        (0.5 + 1j, r"can be compared, got \(0.5\+1j\)"),
        (np.complex128(1j), "can be compared, got 1j"),
        ({"real": 0.5, "complex": 1j}, "can be compared, got 1j"),
        ({}, "got an empty dict"),
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
    with pytest.raises(ValueError, match=f"scoring must return .*{complaint}"):
        search.fit(*numbered(108))
    assert len(calls) == 1


def neighbours(**params):
    X, y = load_breast_cancer(return_X_y=True)
    space = {"n_neighbors": randint(1, 31)}
    options = {"min_resources": 5, "sampler": "random", "random_state": 0} | params
    search = HyperbandSearchCV(KNeighborsClassifier(), space, **options)
    with pytest.warns() as caught:
        search.fit(X[:200], y[:200])
    return search, [str(w.message) for w in caught]


def test_scorers_that_fail_are_reported_once_with_their_errors():
    search, texts = neighbours()
    n_failed = int((search.history_["outcome"] == "scorer_failed").sum())
    (text,) = [text for text in texts if text.startswith("Scoring failed")]
    assert n_failed > 5
    assert f"Scoring failed for {n_failed} of {len(search.history_)} fits." in text
    assert "'n_neighbors': " in text
    errors = search.history_.loc[search.history_["outcome"] == "scorer_failed", "error"]
    kinds = errors.str.strip().str.rpartition("\n")[2].value_counts()
    assert text.count("Traceback") == min(5, len(kinds))
    for _, n_of_kind in list(kinds.items())[:1]:
        assert f"{n_of_kind} scores failed with at most n_samples=" in text
    assert text.endswith("A larger min_resources avoids errors that only small fits have.")


def test_each_metric_that_fails_gets_the_error_score_and_the_others_their_scores():
    def broken(estimator, X, y):
        raise ArithmeticError("told to fail")

    scoring = {"good": "accuracy", "bad": broken}
    search, texts = neighbours(
        scoring=scoring, refit="good", min_resources=50, error_score=-1.0, return_train_score=True
    )
    (text,) = [text for text in texts if text.startswith("Scoring failed")]
    assert "ArithmeticError: told to fail" in text
    assert set(search.cv_results_["mean_test_bad"]) == {-1.0}
    assert (search.cv_results_["mean_test_good"] > 0.5).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_errors_that_only_small_fits_have_come_with_a_hint():
    X, y = load_breast_cancer(return_X_y=True)
    space = {"pca__n_components": randint(1, 31)}
    model = make_pipeline(PCA(), DecisionTreeClassifier(random_state=0))
    search = HyperbandSearchCV(model, space, min_resources=10, sampler="random", random_state=0)
    expected = r"fits failed with at most n_samples=\d+ with the following(.|\n)*A larger min_res"
    with pytest.warns(FitFailedWarning, match=expected):
        search.fit(X[:250], y[:250])


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


class ManyWords(Known):
    def fit(self, X, y=None):
        raise RuntimeError(f"cannot fit {self.value}")


def test_many_kinds_of_errors_are_not_all_shown():
    search = HyperbandSearchCV(ManyWords(), {"value": list(range(9))}, random_state=0)
    with pytest.raises(ValueError, match=r"All the \d+ fits failed") as caught:
        search.fit(*numbered(108))
    text = str(caught.value)
    assert text.count("Traceback") == 5
    assert "and 4 other errors\n" in text


@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("n_good", [0, 1])
def test_a_search_in_which_all_fits_fail_says_so_before_the_end(search_class, n_good, monkeypatch):
    """Not only after hours."""
    monkeypatch.setattr("sklearn_halving.search._run.SILENT_SECONDS", 0.0)
    n_said = []

    class Failing(Known):
        def fit(self, X, y=None):
            n_said.append(len(caught))
            return super().fit(X, y)

    space = [{"value": [0.1] * n_good}] * n_good + [
        {"value": [0.2, 0.3, 0.4, 0.5], "fails": [True]}
    ]
    search = small(search_class, Failing(), space)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with suppress(ValueError):
            search.fit(*data())
    texts = [str(w.message) for w in caught if "fits so far have failed" in str(w.message)]
    assert len(texts) == search.history_["failed"][:3].all()
    if texts:
        assert texts[0].startswith("All 3 fits so far have failed, the last one with Arithm")
        assert n_said[3] == 1
    assert texts or n_good


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_failures_of_an_earlier_session_are_not_told_as_new(tmp_path):
    grid = {"fails": [False, True], "value": [0.2, 0.4]}
    search = VarianceHalvingSearchCV(
        Known(), grid, cv=3, n_fits=12, random_state=0, checkpoint=tmp_path / "journal"
    )
    texts = []
    for _ in range(2):
        with pytest.warns(FitFailedWarning) as caught:
            search.fit(*numbered(60))
        texts += [str(w.message) for w in caught if w.category is FitFailedWarning]
    first, again = texts
    assert "earlier session" not in first
    assert re.search(
        r"^(\d+) fits failed(.|\n)*\1 of them are from an earlier session", again.strip()
    )


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_a_stopped_search_names_its_checkpoint_only_if_it_has_one(has_checkpoint, tmp_path):
    path = tmp_path / "journal" if has_checkpoint else None
    Interrupting.n_fits = 0
    search = small(HyperbandSearchCV, Interrupting(), {"value": [0.1, 0.2, 0.3]}, checkpoint=path)
    with pytest.raises(KeyboardInterrupt, match="stopped by Ctrl-C") as stopped:
        search.fit(*data())
    with pytest.raises(NotFittedError, match="Ctrl-C was pressed") as unfitted:
        search.predict(data()[0])
    resumes = "Call fit again to resume the search from its checkpoint."
    for error in (stopped, unfitted):
        assert (resumes in str(error.value)) == has_checkpoint
        assert ("checkpoint" in str(error.value)) == has_checkpoint


def test_too_many_fits_are_refused_with_the_number_of_splits():
    one_split = [(np.arange(40), np.arange(40, 60))]
    search = VarianceHalvingSearchCV(Known(), {"value": [0.1, 0.2]}, n_fits=9, cv=one_split)
    with pytest.raises(ValueError, match=r"for 2 candidates on the 1 split of cv"):
        search.fit(*data())


def test_warnings_about_the_journal_point_at_the_line_of_the_user(tmp_path):
    path = tmp_path / "journal"
    search = small(HyperbandSearchCV, Known(), {"value": [0.1, 0.2, 0.3]}, checkpoint=path)
    search.fit(*data())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + b"\0" * 99 + b"\n")
    with pytest.warns(UserWarning, match="damaged") as caught:
        search.fit(*data())
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("search_class", "params"),
    [
        *(
            (BanditSearchCV, {"policy": name})
            for name in ("successive_rejects", "uniform", "ucb1")
        ),
        (VarianceHalvingSearchCV, {}),
        (VarianceHalvingSearchCV, {"allocation": "uniform"}),
    ],
)
def test_too_few_fits_are_refused_in_the_words_of_a_search(search_class, params):
    search = search_class(Known(), {"value": [0.1, 0.2, 0.3, 0.4]}, n_fits=2, cv=3, **params)
    with pytest.raises(ValueError, match="4 candidates") as caught:
        search.fit(*data())
    assert "arm" not in str(caught.value)


def test_ctrl_c_while_the_results_are_made_is_named():
    def choose(results):
        _thread.interrupt_main()
        return 0

    search = small(HyperbandSearchCV, Known(), {"value": [0.1, 0.2, 0.3]}, refit=choose)
    with pytest.raises(KeyboardInterrupt, match=r"stopped by Ctrl-C after 18 fits"):
        search.fit(*data())
