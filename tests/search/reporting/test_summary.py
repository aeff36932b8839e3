"""What `summary` says, word by word where that is possible, for every search and every end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from search.common import SEARCHES, Interrupting, Known, data, interrupted, numbered, small
from search.test_variance_halving import Noisy
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.search.reporting._statistics import edges

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.FitFailedWarning"
)
SPACE = {"value": [0.1, 0.2, 0.5, 0.7]}


def said(search):
    """Return the summary without the lines of times, after a look at the length of all lines."""
    text = search.summary()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 88
    assert not any(line != line.rstrip() for line in lines)
    times = r"\n +[\d.]+ (s|min) [^\n]*of fitting and scoring.*?(?=\n  \w)"
    return re.sub(times, "", text, flags=re.DOTALL).splitlines()


def test_hyperband_line_by_line():
    search = small(HyperbandSearchCV, Known(), SPACE, min_resources=13).fit(*data())
    assert (
        "\n".join(said(search))
        == """\
HyperbandSearchCV of Known()
  searched   4 candidates, started 5 times; resource n_samples: 13 to 40 in a fit
  spent      18 fits; GridSearchCV would make 12 fits, 4 candidates x 3 splits
             477 training rows, as much as 11.9 full fits: 99 % of GridSearchCV
  ended      finished as planned
  brackets   candidates at n_samples: best score; * marks the winner
             bracket 1:  3 at 13: 0.7,  1 at 40: 0.7*
             bracket 0:  2 at 40: 0.5
  winner     candidate 1, rank 1 of 6 in cv_results_: score 0.7 (standard deviation 0
               over 3 fits) at n_samples=40
             value=0.7
             value is at the upper end of its range: try larger values, too
             probability of being the best of the 3 finalists > 0.99, expected regret 0,
               score corrected for being chosen 0.7
  runner-up  candidate 4, 0.2 behind
             value=0.5
  failures   none"""
    )


def test_successive_rejects_line_by_line():
    search = small(BanditSearchCV, Known(), SPACE).fit(*data())
    assert (
        "\n".join(said(search))
        == """\
BanditSearchCV of Known()
  searched   4 candidates; full fits only
  spent      19 fits; GridSearchCV would make 12 fits, 4 candidates x 3 splits
  ended      finished as planned
  stages     candidates and fits
             stage   candidates   fits
             0       4            12
             1       3            3
             2       2            4
  best       4 of 4 candidates; * marks the winner
             rank   candidate   fits   score   P(best)   parameters
             1      3*          6      0.7     1.00      value=0.7
             2      2           6      0.5     0.00      value=0.5
             3      1           4      0.2     0.00      value=0.2
             4      0           3      0.1     0.00      value=0.1
  winner     candidate 3, rank 1 of 4 in cv_results_: score 0.7 (standard deviation 0
               over 6 fits)
             value=0.7
             value is at the upper end of its range: try larger values, too
             probability of being the best of the 4 candidates > 0.99, expected regret
               0, score corrected for being chosen 0.7
  runner-up  candidate 2, 0.2 behind
             value=0.5
  failures   none"""
    )


@pytest.mark.parametrize("search_class", SEARCHES)
def test_before_fit(search_class):
    search = small(search_class, Known(), SPACE)
    with pytest.raises(NotFittedError, match=r"Call fit first"):
        search.summary()
    with pytest.raises(NotFittedError, match=search_class.__name__):
        clone(search.fit(*data())).summary()


@pytest.mark.parametrize("search_class", SEARCHES)
def test_numbers_are_those_of_the_search(search_class):
    search = small(search_class, SVC(), {"C": [0.01, 1, 100]}, cv=4).fit(*data())
    text = search.summary()
    assert "searched   3 candidates" in text
    assert f"{search.n_fits_} fits; GridSearchCV would make 12 fits, 3 candidates x 4" in text
    assert f"score {search.best_score_:.4g} " in text
    winner = search.cv_results_["candidate"][search.best_index_]
    assert (
        f"candidate {winner}, rank {search.cv_results_['rank_test_score'][search.best_index_]}"
        in text
    )
    assert f"C={search.best_params_['C']:g}" in text
    assert "failures   none" in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_same_but_for_times(search_class):
    first, again = (
        said(small(search_class, SVC(), {"C": [0.01, 1, 100]}).fit(*data())) for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_single_candidate(search_class):
    lines = said(small(search_class, Known(), {"value": [0.25]}, cv=2).fit(*data()))
    assert any("rank 1 of" in line and "score 0.25" in line for line in lines)


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_hundred_candidates_with_long_parameters(search_class):
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())

    class Named(Known):
        def __init__(self, value=0.5, model=None):
            super().__init__(value)
            self.model = model

    space = {
        "model": [
            make_pipeline(StandardScaler(with_mean=i % 2 == 0), pipeline) for i in range(15)
        ],
        "value": (np.arange(7) / 7).tolist(),
    }
    more = {"n_candidates": 27} if search_class is HyperbandSearchCV else {}
    lines = said(small(search_class, Named(), space, **more).fit(*data()))
    assert len(lines) < 40
    assert any("model=Pipeline" in line and "..." in line for line in lines)


def test_candidates_that_are_made_on_the_way():
    space = {"value": uniform(0, 1)}
    search = BanditSearchCV(Known(), space, policy="hoo", n_fits=12, cv=2, random_state=0)
    lines = said(search.fit(*data()))
    n_made = len(search.cv_results_["params"])
    assert lines[1] == f"  searched   {n_made} candidates; full fits only"
    assert f"12 fits; RandomizedSearchCV would make {2 * n_made} fits" in lines[2]


@pytest.mark.parametrize("allocation", ["pooled", "uniform"])
def test_fits_of_earlier_levels_do_not_count_for_the_score(allocation):
    search = VarianceHalvingSearchCV(
        SVC(), {"C": np.logspace(-2, 2, 8)}, resource="n_samples", allocation=allocation,
        min_resources=20, random_state=0,
    ).fit(*data(200))  # fmt: skip
    best = search.cv_results_["candidate"][search.best_index_]
    history = search.history_[search.history_["candidate"] == best]
    n_top = int((history["n_resources"] == history["n_resources"].max()).sum())
    assert n_top < len(history)
    lines = " ".join(line.strip() for line in said(search))
    assert f"over {n_top} fits)" in lines


def test_many_brackets_are_not_all_shown():
    search = small(HyperbandSearchCV, Known(), SPACE, n_loops=20).fit(*data())
    lines = said(search)
    n_shown = sum("bracket " in line and "loop" in line for line in lines)
    assert 12 <= n_shown <= 13
    assert any(line.endswith(f"and {40 - n_shown} other brackets") for line in lines)
    assert any(line.endswith("*") for line in lines)


def test_many_rungs_do_not_make_lines_longer():
    search = HyperbandSearchCV(
        Known(), {"value": (np.arange(64) / 64).tolist()}, factor=2, cv=2, random_state=0,
        min_resources=8, max_resources=512, n_candidates=64, brackets="all",
    ).fit(*data(1100))  # fmt: skip
    lines = said(search)
    assert any("bracket 6:  64 at 8: " in line for line in lines)


@pytest.mark.parametrize("search_class", SEARCHES)
def test_several_metrics(search_class):
    scoring = {"large": "accuracy", "other": lambda estimator, X, y: -estimator.value}
    search = small(search_class, Known(), SPACE, scoring=scoring, refit="other").fit(*data())
    text = "\n".join(said(search))
    assert "other -0.1 (standard deviation" in text
    assert "also: large 0.5" in text

    text = " ".join(search.set_params(refit=False).fit(*data()).summary().split())
    assert "winner none was chosen; the best by each metric: large 0.5" in text
    assert "other -0.1 (candidate" in text
    assert "runner-up" not in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_certainty_of_a_choice_among_two_is_not_shown(search_class):
    search = small(search_class, Known(), {"value": [0.2, 0.7]}).fit(*data())
    text = search.summary()
    assert "probability" not in text
    assert "P(best)" not in text
    assert "regret" not in text


def test_a_search_of_distributions_is_compared_with_the_n_iter_that_costs_the_same():
    search = HyperbandSearchCV(
        Known(), {"value": uniform(0, 1)}, brackets="all", n_candidates=9, cv=3, random_state=0
    ).fit(*data())
    text = " ".join(search.summary().split())
    n_full = search.n_resources_spent_ / 40
    assert (
        f"as much as {n_full:.1f} full fits: RandomizedSearchCV with n_iter={n_full // 3:.0f}"
        in text
    )
    assert " % of RandomizedSearchCV" not in text
    history = search.history_
    seconds = history["fit_time"] + history["score_time"]
    n_full = seconds.sum() / seconds[history["n_resources"] == 40].mean()
    assert (
        f"of fitting and scoring, as long as {n_full:,.1f} full fits: RandomizedSearchCV" in text
    )


def test_candidates_that_were_not_fitted_are_not_compared_with_randomized_search():
    search = BayesGapSearchCV(
        Known(), {"value": uniform(0, 1)}, n_candidates=50, n_fits=12, cv=3, random_state=0
    ).fit(*data())
    n_fitted = search.history_["candidate"].nunique()
    assert n_fitted < 50
    would = f"RandomizedSearchCV would make {3 * n_fitted} fits, {n_fitted} candidates x 3 splits"
    assert would in search.summary()


@pytest.mark.parametrize("search_class", SEARCHES)
def test_without_refit(search_class):
    text = small(search_class, Known(), SPACE, refit=False).fit(*data()).summary()
    assert "refit 0" not in text
    assert "value=0.7" in text
    assert "nothing was refitted" not in text  # nobody asked for it


def test_a_rank_other_than_the_first():
    """A callable may choose anything."""

    def worst(results):
        return int(results["mean_test_score"].argmin())

    search = small(VarianceHalvingSearchCV, Known(), SPACE, refit=worst).fit(*data())
    text = "\n".join(said(search))
    table, index = search.cv_results_, search.best_index_
    rank, ahead = table["rank_test_score"][index], 0.7 - table["mean_test_score"][index]
    assert rank > 1
    assert f"candidate {table['candidate'][index]}, rank {rank} of 4 in cv_results_" in text
    assert f"runner-up  candidate 3, {ahead:.2g} ahead, yet ranked behind" not in text
    assert f"runner-up  candidate 3, {ahead:.2g} ahead" in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_after_ctrl_c(search_class):
    search = interrupted(search_class, SPACE)
    text = "\n".join(said(search))
    assert "ended      stopped by Ctrl-C" in text
    assert "nothing was refitted" in text
    assert "3 fits;" in text
    assert f"candidate {search.cv_results_['candidate'][search.best_index_]}, rank" in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_a_time_budget_that_is_up(search_class):
    search = small(search_class, Known(), SPACE, time_budget=1e-9)
    with pytest.raises(ValueError, match="time_budget"):
        search.fit(*data())
    with pytest.raises(NotFittedError):
        search.summary()


@pytest.mark.parametrize("search_class", SEARCHES)
def test_failures_are_counted_with_the_first_error(search_class):
    space = [{"value": [0.1, 0.2]}, {"value": [0.3], "fails": [True]}]
    search = small(search_class, Known(), space).fit(*data())
    n_failed = int(search.history_["failed"].sum())
    text = "\n".join(said(search))
    assert (
        f"failures   {n_failed} of {search.n_fits_} fits (failed: {n_failed}); the first:" in text
    )
    assert "ArithmeticError: told to fail" in text


@pytest.mark.parametrize("search_class", SEARCHES)
def test_nobody_has_a_score_yet(search_class):
    search = interrupted(search_class, {"value": [np.nan, np.nan, np.nan]})
    assert not hasattr(search, "best_index_")
    text = "\n".join(said(search))
    assert "winner     none: no candidate has a score" in text


def test_all_fits_fail():
    search = small(VarianceHalvingSearchCV, Known(fails=True), SPACE)
    with pytest.raises(ValueError, match="All the"):
        search.fit(*data())
    text = "\n".join(said(search))
    assert "8 of 8 fits (failed: 8)" in text  # two of each candidate
    assert "none: no candidate has a score" in text


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


def test_who_sets_refit_after_fit_hears_of_no_exception():
    search = small(HyperbandSearchCV, Known(), SPACE, refit=False).fit(*data())
    search.set_params(refit=True)
    with pytest.raises(NotFittedError, match=r"refit was set after fit\. clone\("):
        search.predict(data()[0])


@pytest.mark.parametrize("search_class", SEARCHES)
def test_who_predicts_before_fit_hears_from_scikit_learn(search_class):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        small(search_class, Known(), SPACE).predict(data()[0])


def test_folds_of_unlike_size_and_candidates_in_several_brackets_are_counted_right():
    X, y = data(400)
    groups = np.repeat([0, 1, 2, 3], [250, 50, 50, 50])
    search = HyperbandSearchCV(LogisticRegression(), {"C": [0.1, 1, 10, 100]}, cv=GroupKFold(4))
    search.set_params(random_state=0, brackets=[1, 0], factor=2).fit(X, y, groups=groups)
    text = " ".join(search.summary().split())
    n_train = search.history_.query("n_resources == n_resources.max()")["n_train"].mean()
    of_grid = 4 * 4 * n_train  # four candidates, four splits
    share = search.n_resources_spent_ / of_grid
    assert f"as much as {16 * share:.1f} full fits: {share:.0%} of GridSearchCV" in text.replace(
        " % of", "% of"
    )
    runner_up = text.partition("runner-up")[2]
    winner = search.best_params_["C"]
    assert f"C={winner:g} " not in runner_up


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
    ("search_class", "space", "options", "peer"),
    [
        (HyperbandSearchCV, SPACE, {"brackets": "auto"}, "GridSearchCV"),
        (HyperbandSearchCV, SPACE, {"brackets": "all", "n_candidates": 2}, "RandomizedSearchCV"),
        (HyperbandSearchCV, {"value": uniform(0, 1)}, {}, "RandomizedSearchCV"),
        (BayesGapSearchCV, SPACE, {"n_candidates": 4}, "GridSearchCV"),
        (BayesGapSearchCV, SPACE, {"n_candidates": 3, "n_fits": 6}, "RandomizedSearchCV"),
    ],
)
def test_the_comparison_is_with_the_search_that_tries_these_candidates(
    search_class, space, options, peer
):
    search = search_class(Known(), space, cv=3, random_state=0, **options).fit(*data())
    assert f"fits; {peer} would make" in search.summary()


def test_the_rule_that_ended_a_search_is_named(capsys):
    space, budget = {"value": [0.1, 0.9]}, {"n_fits": 60, "random_state": 0}
    whole = VarianceHalvingSearchCV(Known(), space, **budget).fit(*data())
    assert "ended      finished as planned" in whole.summary()
    both = {"stop_probability": 0.9, "tolerance": 0.1}
    for rules in ({"tolerance": 0.1}, {"stop_probability": 0.9}, both):
        search = VarianceHalvingSearchCV(Known(), space, verbose=1, **rules, **budget)
        capsys.readouterr()
        search.fit(*data())
        assert search.stopped_by_ == "policy"
        text = "stopped by " + " or ".join(f"{name}={value}" for name, value in rules.items())
        assert f"ended      {text}" in search.summary()
        assert f", {text}; chosen: candidate 1, mean_test_score" in capsys.readouterr().out


SEVERAL = {"value": uniform(0, 1)}


@pytest.mark.parametrize("search_class", [VarianceHalvingSearchCV, BayesGapSearchCV])
def test_why_a_candidate_with_fewer_fits_can_be_more_probable_than_the_winner(search_class):
    options = {"sampler": "gaussian_process", "n_fits": 40, "initial_candidates": []}
    n_explained = 0
    for seed in range(8):
        estimator = Noisy(noise_sd=0.3, split_sd=0.1)
        search = search_class(estimator, SEVERAL, random_state=seed, **options).fit(*numbered(200))
        results = search.cv_results_
        order = np.argsort(results["rank_test_score"], kind="stable")
        shown = order[results["n_fits"][order] > 0][:5]
        is_less = search.best_probability_ < results["probability_best"][shown].max()
        n_explained += is_less
        text = " ".join(search.summary().split())
        assert ("can have a larger P(best)" in text) == is_less
        assert f"{len(results['candidate'])} candidates; full fits only" in text
    assert n_explained


def test_candidates_are_counted_as_in_the_comparison_with_grid_search():
    space = {"value": [0.1, 0.2, 0.3]}
    search = HyperbandSearchCV(Known(), space, brackets="all", cv=3, random_state=0)
    text = search.fit(*data()).summary()
    assert "searched   3 candidates, started 9 times;" in text
    assert "9 fits, 3 candidates x 3 splits" in text
    assert "3 candidates, started 9 times;" in search._repr_html_()


def test_times_of_a_resumed_search_say_what_they_are_of(tmp_path):
    path = tmp_path / "journal"
    search = small(VarianceHalvingSearchCV, Known(), SPACE, checkpoint=path).fit(*data())
    assert "session" not in search.summary()
    text = " ".join(clone(search).fit(*data()).summary().split())
    assert "of fitting and scoring in all sessions" in text
    assert "from start to end of the last session" in text


def test_ranks_of_candidates_that_are_not_listed_are_explained():
    space = {"value": np.linspace(0, 1, 30)}
    search = BayesGapSearchCV(Known(), space, n_fits=6, cv=3, random_state=0).fit(*data())
    ranks = [int(line.split()[0]) for line in said(search) if line[13:17].strip().isdigit()]
    assert ranks != list(range(1, len(ranks) + 1))
    assert "candidates that were not fitted" in search.summary()


def test_the_winner_is_marked_without_probabilities():
    search = BanditSearchCV(Known(), SPACE, policy="uniform", n_fits=4, cv=3, refit=False)
    search.fit(*data())
    assert np.isnan(search.best_probability_)
    assert f" {search.best_index_}* " in search.summary()


class Wide(Known):
    """Has a resource whose name fills a line."""

    def __init__(self, value=0.5, the_number_of_iterations_of_the_last_step_of_the_pipeline=1):
        super().__init__(value)
        name = "the_number_of_iterations_of_the_last_step_of_the_pipeline"
        setattr(self, name, the_number_of_iterations_of_the_last_step_of_the_pipeline)


def test_many_stages_that_do_not_fit_side_by_side():
    search = BanditSearchCV(
        Wide(),
        {"value": [i / 20 for i in range(20)]},
        policy="successive_rejects",
        resource="the_number_of_iterations_of_the_last_step_of_the_pipeline",
        max_resources=4,
        n_fits=400,
        cv=3,
        refit=False,
    )
    assert "stages in between\n" in search.fit(*data()).summary()


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


def test_limits_of_parameters_are_not_named():
    assert not list(edges({"value": 1.0}, [{"value": uniform(0.3, 0.7)}]))
