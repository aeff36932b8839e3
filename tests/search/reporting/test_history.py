"""`history_` has all that a search did: promotions can be rebuilt from it alone."""

from __future__ import annotations

import pickle
import re
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from search.common import SEARCHES, WITH_RUNGS, Known, data, numbered, small
from sklearn_halving import BanditSearchCV, HyperbandSearchCV, VarianceHalvingSearchCV
from sklearn_halving.policies import Problem, VarianceHalving

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}


class Slow(Known):
    def fit(self, X, y=None):
        time.sleep(30)


class Hungry(Known):
    def fit(self, X, y=None):
        raise MemoryError("no room")


class Late(Known):
    """Raises the error that a limit of time is told by, in the fit itself."""

    def fit(self, X, y=None):
        raise TimeoutError("the server does not answer")


def refuse_large(estimator, X, y):
    if estimator.value > 0.6:
        raise RuntimeError("values above 0.6 have no score")
    return estimator.value


# ------------------------------------------------------------------------- promotions


def rebuilt(history: pd.DataFrame) -> dict[tuple[int, int, int], list[int]]:
    """Return who should be on each rung: the best of the rung before, as many as went on."""
    means = history.groupby(["loop", "bracket", "rung", "candidate"])["test_score"].agg(
        lambda scores: scores.mean(skipna=False)
    )
    expected = {}
    for key in {index[:3] for index in means.index}:
        loop, bracket, rung = key
        if rung == 0:
            continue
        before, now = means.loc[(loop, bracket, rung - 1)], means.loc[key]
        ordered = sorted(before.dropna().items(), key=lambda pair: (-pair[1], pair[0]))
        expected[key] = sorted(candidate for candidate, _ in ordered[: len(now)])
    return expected


@settings(max_examples=12, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, np.nan]), min_size=1, max_size=9),
    nan_below=st.sampled_from([0, 15, 40]),
    n_loops=st.integers(1, 2),
    seed=st.integers(0, 3),
)
def test_promotions_of_hyperband(values, nan_below, n_loops, seed):
    """Ties, values without a score, and those without one on few rows."""
    search = HyperbandSearchCV(
        Known(nan_below=nan_below), {"value": values}, cv=KFold(2), min_resources=6,
        n_candidates=17, n_loops=n_loops, random_state=seed, refit=False, brackets="all",
    )  # fmt: skip
    with suppress(ValueError):  # where nobody has a score
        search.fit(*numbered(108))
    history, table = search.history_, search.cv_results_
    own = pd.DataFrame(table).assign(loop=table.get("loop", 0))
    in_table = own.groupby(["loop", "bracket", "iter"])["candidate"].apply(sorted).to_dict()
    for place, expected in rebuilt(history).items():
        assert in_table[place] == expected
    n_rungs = history.groupby(["loop", "bracket"])["rung"].nunique().tolist()
    assert len(rebuilt(history)) == sum(n_rungs) - len(n_rungs)


@pytest.mark.parametrize("allocation", ["likelihood", "pooled"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_stages_of_variance_halving(allocation, n_jobs):
    search = VarianceHalvingSearchCV(
        LogisticRegression(), {"C": np.logspace(-4, 2, 12)}, allocation=allocation,
        random_state=0, n_jobs=n_jobs,
    ).fit(*data())  # fmt: skip
    history = search.history_
    assert history["stage"].is_monotonic_increasing  # a stage ends before the next one begins
    last = history.groupby("candidate")["stage"].max()
    of_table = pd.Series(search.cv_results_["stage"], search.cv_results_["candidate"])
    if allocation == "likelihood":
        assert (last == of_table).all()
    else:  # the winner of a stage may be clear without a pull
        assert (last <= of_table[last.index]).all()
        assert last.nunique() > 2
        widths = [(of_table >= stage).sum() for stage in range(of_table.max() + 1)]
        assert widths == [12, 6, 3, 2]


def test_decisions_of_variance_halving_follow_from_the_history_alone():
    """A policy that is told the scores of the history asks for its pulls, stage by stage."""
    search = VarianceHalvingSearchCV(
        LogisticRegression(), {"C": np.logspace(-4, 2, 12)}, n_fits=60, random_state=0
    ).fit(*data())
    history = search.history_.set_index(["candidate", "split"])
    policy = VarianceHalving(60)
    state = policy.start(Problem(n_arms=12))
    n_asked = 0
    while not policy.is_finished(state):
        pulls = policy.ask(state, 1000)
        rows = [history.loc[(pull.arm, pull.repetition)] for pull in pulls.each()]
        assert {row["stage"] for row in rows} == {policy.current_stage(state)}
        policy.tell(state, pulls, np.array([row["test_score"] for row in rows]))
        n_asked += len(rows)
    assert n_asked == len(history) == 60
    assert int(policy.recommend(state)) == search.cv_results_["candidate"][search.best_index_]


def test_stages_of_successive_rejects():
    search = small(BanditSearchCV, Known(), SPACE).fit(*data())
    in_play = search.history_.groupby("stage")["candidate"].unique().map(sorted).tolist()
    assert in_play == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]  # the worst is rejected after each


@pytest.mark.parametrize("search_class", [VarianceHalvingSearchCV, *WITH_RUNGS])
def test_a_resumed_search_has_the_same_history(search_class, tmp_path):
    search = small(
        search_class, Known(), SPACE, scoring=refuse_large, checkpoint=tmp_path / "journal"
    )
    first = search.fit(*data()).history_
    again = search.fit(*data()).history_
    names = [name for name in ("candidate", "rung", "split") if name in first]
    first, again = (history.sort_values(names, ignore_index=True) for history in (first, again))
    pd.testing.assert_frame_equal(first, again)
    assert (again["outcome"] == "scorer_failed").any()


# -------------------------------------------------------------------------- outcomes


@pytest.mark.parametrize("search_class", SEARCHES)
def test_times_are_those_of_the_fits(search_class):
    before = time.time()
    history = small(search_class, SVC(), {"C": [0.1, 1, 10]}).fit(*data()).history_
    assert history["started"].min() == 0
    assert (history["ended"] <= time.time() - before + 0.01).all()
    lasted = history["ended"] - history["started"]
    np.testing.assert_allclose(lasted, history["fit_time"] + history["score_time"], atol=1e-5)
    # Without workers one fit follows the other; the two clocks may differ a little.
    assert (history["started"][1:].to_numpy() >= history["ended"][:-1].to_numpy() - 1e-3).all()
    assert (history["outcome"] == "ok").all()
    assert history["error"].isna().all()


@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_scorer_that_raises_is_told_with_its_error(search_class, n_jobs):
    search = small(search_class, Known(), SPACE, scoring=refuse_large, n_jobs=n_jobs)
    history = search.fit(*data()).history_
    params = dict(zip(search.cv_results_["candidate"], search.cv_results_["params"], strict=True))
    is_bad = history["candidate"].map(lambda arm: params[arm]["value"] > 0.6)
    assert is_bad.any()
    assert history["failed"].tolist() == is_bad.tolist()
    assert history["outcome"].tolist() == np.where(is_bad, "scorer_failed", "ok").tolist()
    assert history["error"][is_bad].str.contains("values above 0.6 have no score").all()
    assert history["error"][~is_bad].isna().all()
    assert history["test_score"][is_bad].isna().all()
    assert search.best_params_ == {"value": 0.5}


def test_one_of_several_scorers_raises():
    """The others keep their scores, as in GridSearchCV."""
    scoring = {"good": lambda estimator, X, y: estimator.value, "bad": refuse_large}
    options = {"scoring": scoring, "refit": "good", "error_score": -1, "cv": 3}
    grid = GridSearchCV(Known(), SPACE, **options).fit(*data())
    search = VarianceHalvingSearchCV(Known(), SPACE, random_state=0, **options).fit(*data())
    history = search.history_
    is_bad = history["candidate"] == 3
    assert history["failed"].tolist() == is_bad.tolist()
    assert set(history["test_bad"][is_bad]) == {-1}
    assert set(history["test_good"][is_bad]) == {0.7}
    for name in ("mean_test_good", "mean_test_bad"):
        np.testing.assert_allclose(search.cv_results_[name], grid.cv_results_[name])


@pytest.mark.parametrize("several", [False, True])
def test_error_score_raise_raises_what_the_scorer_raised(several):
    scoring = {"a": refuse_large, "b": "accuracy"} if several else refuse_large
    search = small(HyperbandSearchCV, Known(), SPACE, scoring=scoring, refit=False)
    search.set_params(error_score="raise")
    with pytest.raises(RuntimeError, match=r"values above 0\.6"):
        search.fit(*data())


def test_a_scorer_of_the_wrong_kind_is_named_as_by_grid_search():
    def speaks(estimator, X, y):
        return "a word"

    messages = []
    for search in (
        GridSearchCV(Known(), SPACE, scoring=speaks, cv=3),
        small(HyperbandSearchCV, Known(), SPACE, scoring=speaks),
    ):
        with pytest.raises(ValueError, match="scoring must return a number") as caught:
            search.fit(*data())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_train_scores_that_fail_are_told():
    def needs_few_rows(estimator, X, y):
        if len(X) > 20:
            raise RuntimeError("too many rows to score")
        return estimator.value

    search = small(
        VarianceHalvingSearchCV, Known(), SPACE, scoring=needs_few_rows, return_train_score=True
    )
    history = search.fit(*data()).history_
    assert (history["outcome"] == "scorer_failed").all()
    assert history["test_score"].notna().all()
    assert history["train_score"].isna().all()


def outcomes_of(*values, **params):
    """Return how the fits of each value ended, with the first error of each."""
    search = VarianceHalvingSearchCV(
        Known(), {"value": [0.5]}, n_fits=4, cv=KFold(2), random_state=0, **params
    )
    search.set_params(param_distributions=[{"value": [0.5]}], estimator=values[0])
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(*data())
    history = search.history_
    assert history["failed"].all()
    return set(history["outcome"]), history["error"][0]


def test_fits_that_fail():
    words, error = outcomes_of(Known(fails=True))
    assert words == {"failed"}
    assert error.endswith("ArithmeticError: told to fail\n")


def test_memory_that_runs_out():
    assert outcomes_of(Hungry())[0] == {"memory"}


def test_a_timeout_within_the_fit_is_the_fits_own_failure():
    assert outcomes_of(Late())[0] == {"failed"}


@pytest.mark.slow
def test_fits_that_take_too_long():
    words, error = outcomes_of(Slow(), fit_timeout=0.2)
    assert words == {"timeout"}
    assert "fit_timeout=0.2" in error


def test_a_failed_fit_has_its_error_score_in_every_metric():
    """Also where the metrics are known from other fits only."""

    def two(estimator, X, y):
        return {"a": estimator.value, "b": 1.0}

    space = [{"value": [0.1, 0.2]}, {"value": [0.3], "fails": [True]}]
    search = small(VarianceHalvingSearchCV, Known(), space, scoring=two, refit="a")
    history = search.set_params(error_score=-2).fit(*data()).history_
    assert [name for name in history if name.startswith("test_")] == ["test_a", "test_b"]
    assert set(history["test_b"][history["failed"]]) == {-2}


# ---------------------------------------------------------------------- tables and files


@pytest.mark.parametrize("search_class", SEARCHES)
@pytest.mark.parametrize("fails", [False, True])
def test_history_has_plain_columns_that_files_keep(search_class, fails, tmp_path):
    space = {"value": [0.1, 0.2, 0.5], "fails": [False, fails]}
    history = small(search_class, Known(), space, cv=3).fit(*data()).history_
    counts = ["candidate", "split", "n_train", "n_test", "continued_from"]
    counts += [name for name in ("bracket", "loop", "rung", "stage") if name in history]
    assert all(history[name].dtype.kind == "i" for name in counts)
    assert history["failed"].dtype == bool
    times = ["started", "ended", "fit_time", "score_time", "test_score"]
    assert all(history[name].dtype == float for name in times)
    history.to_parquet(tmp_path / "history.parquet")
    read = pd.read_parquet(tmp_path / "history.parquet")
    pd.testing.assert_frame_equal(read, history, check_dtype=False)
    history.to_csv(tmp_path / "history.csv", index=False)
    read = pd.read_csv(tmp_path / "history.csv")
    assert read[counts].equals(history[counts])
    assert read["error"].isna().tolist() == history["error"].isna().tolist()


@pytest.mark.parametrize("search_class", SEARCHES)
def test_results_load_into_pandas_as_those_of_grid_search(search_class):
    """Numbers stay numbers, what a candidate lacks is NaN, estimators stay estimators."""
    space = [
        {"estimator": [SVC(), LogisticRegression()]},
        {"estimator": [SVC()], "estimator__C": [1, 10], "other": ["a", "b"]},
    ]
    grid = pd.DataFrame(GridSearchCV(Holder(), space, cv=3).fit(*data()).cv_results_)
    search = small(search_class, Holder(), space, **MORE.get(search_class, {})).fit(*data())
    table = pd.DataFrame(search.cv_results_)
    assert list(table["params"]) == search.cv_results_["params"]
    shared = [name for name in grid if name in table and not name.startswith("split")]
    assert set(shared) >= {"param_estimator", "param_estimator__C", "param_other", "params"}
    assert table[shared].dtypes.to_dict() == grid[shared].dtypes.to_dict()
    own = ["candidate", *(n for n in ("bracket", "iter", "n_fits", "stage") if n in table)]
    assert all(table[name].dtype.kind == "i" for name in own)
    lacking = [("estimator__C" not in params) for params in search.cv_results_["params"]]
    assert table["param_estimator__C"].isna().tolist() == lacking


MORE = {HyperbandSearchCV: {"n_candidates": 17}}
"""So many that all candidates are drawn."""


class Holder(Known):
    def __init__(self, estimator=None, other=None):
        self.estimator = estimator
        self.other = other

    def fit(self, X, y=None):
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y=None):
        return 0.5


def test_objects_as_text_go_into_any_file(tmp_path):
    """The two lines of docs/results.md."""
    space = {"estimator": [SVC(), LogisticRegression()], "other": ["a", 1]}
    table = pd.DataFrame(small(HyperbandSearchCV, Holder(), space).fit(*data()).cv_results_)
    objects = [name for name in table if table[name].dtype == object]
    plain = table.assign(**{name: table[name].map(repr) for name in objects})
    plain.to_parquet(tmp_path / "results.parquet")
    read = pd.read_parquet(tmp_path / "results.parquet")
    assert set(read["param_estimator"]) <= {"SVC()", "LogisticRegression()"}
    assert read["mean_test_score"].equals(table["mean_test_score"])


@pytest.mark.parametrize("search_class", SEARCHES)
def test_records_survive_pickling(search_class):
    search = small(search_class, Known(), SPACE).fit(*data())
    copied = pickle.loads(pickle.dumps(search))
    pd.testing.assert_frame_equal(copied.history_, search.history_)
    without_times = [re.sub(r"[\d.]+ s\b", "", one.summary()) for one in (copied, search)]
    assert without_times[0] == without_times[1]


def test_a_pull_is_asked_for_by_stage_in_every_batch_shape():
    """`current_stage` is the stage of the whole batch: plans of a batch go in step."""
    policy = VarianceHalving(40, allocation="uniform")
    state = policy.start(Problem(n_arms=4), batch_shape=(2,))
    seen = []
    while not policy.is_finished(state):
        pulls = policy.ask(state, 100)
        seen.append(policy.current_stage(state))
        policy.tell(state, pulls, pulls.arm + 0.0)
    assert seen == [0, 1]
