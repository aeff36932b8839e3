"""What a search shows while it runs: lines, and what callbacks can read."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_backend, parallel_config
from scipy.stats import uniform

from search.common import SEARCHES, Known, data, numbered, small
from search.test_variance_halving import Noisy
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies import (
    LUCB,
    Bracket,
    Hyperband,
    PolicyDescription,
    Problem,
    Pull,
    Rung,
    Schedule,
    UniformAllocation,
)
from sklearn_halving.resources import FitTime, Iterations, PartialFit, TrainingSize, WholeFit
from sklearn_halving.search._formatting import clock_text, score_text
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._callbacks import CallbackTree
from sklearn_halving.search.watching._progress import Progress, next_line, resource_text

KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}
parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


def lines_of(search, capsys, n_jobs=1, Xy=None):
    """Return what a search prints, with T for times and without what is between them."""
    with parallel_backend("threading", n_jobs=n_jobs):
        search.fit(*(data() if Xy is None else Xy))
    out = re.sub(r"\d+:\d\d(:\d\d)?", "T", capsys.readouterr().out)
    return [line.removesuffix(", about T left") for line in out.splitlines()]


# ------------------------------------------------------------------------------------ lines

BEST = "best mean so far 0.4"
HYPERBAND = [
    "Fitting 5 candidates in 2 brackets on up to 3 splits, totalling 18 fits",
    f"bracket 1, rung 0: 3 candidates on 3 splits at 13 rows; {BEST}; 9 of 18 fits, T elapsed",
    f"bracket 1, rung 1: 1 candidate on 3 splits at 40 rows; {BEST}; 12 of 18 fits, T elapsed",
    f"bracket 0, rung 0: 2 candidates on 3 splits at 40 rows; {BEST}; 18 of 18 fits, T elapsed",
    "Done: 18 fits in T; chosen: candidate 1, mean_test_score 0.4",
]


def test_lines_of_rungs(capsys):
    assert lines_of(small(HyperbandSearchCV, Known(), KNOWN, verbose=1), capsys) == HYPERBAND


def test_lines_of_stages(capsys):
    lines = lines_of(small(VarianceHalvingSearchCV, Known(), KNOWN, verbose=1), capsys)
    assert [line.partition(":")[0] for line in lines[1:-1]] == ["stage 0", "stage 1"]
    assert "20 of 20 fits" in lines[-2]
    lines = lines_of(small(BanditSearchCV, Known(), KNOWN, verbose=1), capsys)
    # Successive rejects with K = 4 and n = 20: n_1, n_2, n_3 = 3, 4, 6 pulls of each arm so far.
    assert lines[1:-1] == [
        "stage 0: 4 candidates; best mean so far 0.4 (3 splits); 12 of 19 fits, T elapsed",
        "stage 1: 3 candidates; best mean so far 0.4 (4 splits); 15 of 19 fits, T elapsed",
        "stage 2: 2 candidates; best mean so far 0.4 (6 splits); 19 of 19 fits, T elapsed",
    ]


def test_lines_where_there_are_neither_rungs_nor_stages(capsys):
    search = small(BayesGapSearchCV, Known(), KNOWN, verbose=1, n_fits=10)
    lines = lines_of(search, capsys)
    assert lines[0] == "Fitting 4 candidates, totalling at most 10 fits"
    counts = [line.partition(":")[0] for line in lines[1:-1]]
    assert counts == [f"{n} of 10 fits" for n in range(1, 11)]
    n_best = search.cv_results_["n_fits"][search.best_index_]
    assert lines[-2].endswith(f"; best mean so far 0.4 ({n_best} splits); T elapsed")
    assert lines[-1] == "Done: 10 fits in T; chosen: candidate 3, mean_test_score 0.4"


@parametrize_searches
def test_lines_are_the_same_for_any_number_of_workers(search_class, capsys):
    search = small(search_class, Known(), KNOWN, verbose=1)
    one, two = (lines_of(search, capsys, n_jobs) for n_jobs in (1, 2))
    assert (one[0], one[-1], len(one)) == (two[0], two[-1], len(two))
    # Rungs of different brackets may end in another order, and with more fits done elsewhere.
    heads = [sorted(line.partition(";")[0] for line in lines) for lines in (one, two)]
    if search_class is not BayesGapSearchCV:
        assert heads[0] == heads[1]


@pytest.mark.filterwarnings("ignore:One or more", "ignore:Bracket", "ignore:Some rungs had fewer")
def test_plans_shrink_with_the_candidates_that_cannot_go_on(capsys):
    search = small(HyperbandSearchCV, Known(nan_below=40), KNOWN, verbose=1)
    lines = lines_of(search, capsys)
    assert lines[1:] == [
        HYPERBAND[1].replace("9 of 18", "9 of 15").replace(BEST, "no score yet"),
        HYPERBAND[3].replace("18 of 18", "15 of 15").replace("0.4", "0.3"),
        "Done: 15 fits in T; chosen: candidate 4, mean_test_score 0.3",
    ]


def test_best_so_far_is_of_the_level_that_decides(capsys):
    class Worse(Known):
        """Scores less with more rows."""

        def score(self, X, y=None):
            return self.value - self.n_rows_ / 1000

    search = small(HyperbandSearchCV, Worse(), KNOWN, verbose=1)
    texts = [line.split("; ")[1] for line in lines_of(search, capsys)[1:-1]]
    # 0.4 - 13 / 1000 at the first rung, then 0.4 - 40 / 1000
    assert texts == [f"best mean so far {mean}" for mean in (0.387, 0.36, 0.36)]
    policy = Hyperband(select="all_rungs", max_candidates=3)
    options = {"resource": "n_samples", "min_resources": 13, "cv": 3, "random_state": 0}
    search = BanditSearchCV(Worse(), KNOWN, policy=policy, verbose=1, **options)
    texts = [line.split("; ")[1] for line in lines_of(search, capsys)[1:-1]]
    assert texts == [
        "best mean so far 0.387",
        *["best mean so far 0.387 (3 splits, 13 rows)"] * 2,
    ]
    assert search.best_score_ == pytest.approx(0.387)


@parametrize_searches
@pytest.mark.filterwarnings("ignore:The grid has 1 candidate,")
def test_one_candidate(search_class, capsys):
    lines = lines_of(small(search_class, Known(), {"value": [0.3]}, verbose=1), capsys)
    n_fits = lines[-1].split()[1]
    assert "1 candidate" in lines[-2]
    assert f"{n_fits} of " in lines[-2]
    assert "best mean so far 0.3" in lines[-2]


@parametrize_searches
@pytest.mark.filterwarnings("ignore:One or more")
def test_several_metrics_show_the_one_that_steers(search_class, capsys):
    def scores(estimator, X, y):
        return {"first": 1.0, "second": estimator.value}

    search = small(search_class, Known(), KNOWN, scoring=scores, refit="second", verbose=1)
    lines = lines_of(search, capsys)
    assert "best mean so far 0.4" in lines[-2]
    assert lines[-1].endswith(", mean_test_second 0.4")
    search.set_params(scoring={"first": "accuracy", "second": "f1"}, refit=False)
    assert "chosen" not in lines_of(search, capsys)[-1]


@parametrize_searches
def test_a_resumed_search_says_what_the_checkpoint_has(search_class, capsys, tmp_path):
    path = tmp_path / "journal"
    search = small(search_class, Known(), KNOWN, verbose=1, checkpoint=path)
    whole = lines_of(search, capsys)
    n_fits = search.n_fits_
    records = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(records[: 1 + 7]))
    resumed = lines_of(search, capsys)
    assert resumed[0] == whole[0]
    at_most = "" if search_class is HyperbandSearchCV else "at most "
    assert resumed[1] == f"The checkpoint has 7 fits; {at_most}{n_fits - 7} remain"
    assert resumed[2:] == whole[1:]


@parametrize_searches
def test_a_search_that_was_stopped_says_so(search_class, capsys):
    search = small(search_class, Known(), KNOWN, verbose=1, time_budget=1e-9)
    with pytest.raises(ValueError, match="must be enough for the first fit"):
        search.fit(*data())
    assert "Done" not in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The search was stopped")
def test_the_last_line_names_the_time_budget(capsys):
    class Slow(Known):
        def fit(self, X, y=None):
            time.sleep(0.05)
            return super().fit(X, y)

    search = small(HyperbandSearchCV, Slow(), KNOWN, verbose=1, time_budget=0.4)
    last = lines_of(search, capsys)[-1]
    assert f"{search.n_fits_} fits in T, stopped by time_budget=0.4 (seconds); chosen: " in last


def test_the_last_lines_do_not_contradict_each_other(capsys):
    """The mean so far is that of the fits; the table corrects for easy and hard splits."""
    search = VarianceHalvingSearchCV(
        Noisy(noise_sd=0.3, split_sd=0.5), KNOWN, n_fits=17, random_state=1, verbose=1
    )
    *_, line, last = lines_of(search, capsys, Xy=numbered(200))
    best, index = search.cv_results_["mean_test_score"], search.best_index_
    chosen = f"candidate {search.cv_results_['candidate'][index]}, mean_test_score"
    assert last.endswith(f"; chosen: {chosen} {best[index]:.4g}")
    means = search.history_.groupby("candidate")["test_score"].mean()
    assert f"best mean so far {means.max():.4g} (" in line
    assert round(means.max(), 4) != round(best[index], 4)


@pytest.mark.parametrize(
    ("params", "at_most"),
    [
        ({}, ""),
        ({"time_budget": "1h"}, "at most "),
        ({"sampler": "gaussian_process"}, ""),  # two brackets have no earlier one
        ({"sampler": "gaussian_process", "n_loops": 2}, "at most "),
        ({"sampler": "gaussian_process", "n_loops": 2, "cv": 2}, ""),  # too few splits for a race
    ],
)
def test_a_plan_that_may_be_cut_short_is_a_maximum(params, at_most, capsys):
    search = small(HyperbandSearchCV, Known(), KNOWN, verbose=1, **params)
    n_planned = search.plan(*data())["n_fits"].sum()
    assert lines_of(search, capsys)[0].endswith(f"totalling {at_most}{n_planned} fits")


def test_loops_rungs_and_stages_have_the_numbers_of_the_tables(capsys):
    search = small(HyperbandSearchCV, Known(), {"value": uniform(0, 1)}, n_loops=2, verbose=1)
    heads = {line.partition(":")[0] for line in lines_of(search, capsys)[1:-1]}
    names = ["loop", "bracket", "rung"]
    rows = search.history_[names].drop_duplicates().itertuples(index=False)
    assert heads == {
        ", ".join(f"{k} {v}" for k, v in zip(names, row, strict=True)) for row in rows
    }
    assert "loop 0, bracket 1" in search.summary()


def test_a_rung_says_that_candidates_were_dropped_after_one_split(capsys):
    search = HyperbandSearchCV(Known(), {"value": uniform(0, 1)}, n_loops=4, random_state=0)
    lines = lines_of(search.set_params(verbose=1, cv=5), capsys, Xy=data(200))
    history = search.history_.query("n_resources == n_resources.max()")
    n_splits = history.groupby(["loop", "bracket", "candidate"]).size()
    has_dropped = (n_splits == 1).groupby(["loop", "bracket"]).any()
    assert set(has_dropped) == {True, False}
    for (loop, bracket), dropped in has_dropped.items():
        (line,) = [
            line
            for line in lines
            if line.startswith(f"loop {loop}, bracket {bracket}, ") and " at 160 rows;" in line
        ]
        assert (" on up to 5 splits at" in line) == dropped
        assert (" on 5 splits at" in line) != dropped


def test_a_rung_of_a_grid_says_on_how_many_splits_it_is_compared(capsys):
    search = HyperbandSearchCV(Known(), {"value": [i / 12 for i in range(12)]}, verbose=1)
    lines = lines_of(search, capsys, Xy=data(400))
    assert "12 candidates on 2 splits at 160 rows; best mean so far 0.9167; 24 of" in lines[1]
    assert "3 candidates on 5 splits at 320 rows; best mean so far 0.9167;" in lines[-2]


# ------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (3599, "59:59"), (3725, "1:02:05")],
)
def test_times(seconds, text):
    assert clock_text(seconds) == text


def test_amounts_and_scores():
    assert resource_text(TrainingSize(), 1437) == "1,437 rows"
    assert resource_text(TrainingSize(), 1) == "1 row"
    assert resource_text(PartialFit(), 9) == "9 epochs"
    assert resource_text(FitTime(), 0.25) == "0.25 seconds"
    assert resource_text(Iterations("n_estimators"), 30) == "n_estimators=30"
    assert resource_text(WholeFit(), 1) == ""
    assert score_text(0.97134) == "0.9713"
    assert score_text(-1234.5678) == "-1235"


@given(st.integers(1, 5000))
def test_lines_are_ten_at_most_and_the_last_is_the_end(n_planned):
    reached = [next_line(0, n_planned)]
    while reached[-1] < n_planned:
        reached.append(next_line(reached[-1], n_planned))
    assert len(reached) == min(10, n_planned)
    assert reached[-1] == n_planned
    gaps = np.diff([0, *reached])
    assert max(gaps) - min(gaps) <= 1


def test_lines_of_a_search_without_an_end_come_less_and_less_often():
    assert [next_line(n, None) for n in (0, 10, 19, 20, 79, 80)] == [10, 20, 20, 40, 80, 160]


# -------------------------------------------------------------------- best score, time left


def progress_of(schedule, n_splits=1, *, by_level=True, resource=None, **options):
    """Return the progress of a search of three candidates on up to 30 rows."""
    description = PolicyDescription(max_pulls=100, ranks_by_level=by_level)
    plan = SearchPlan(Problem(3, 1, 30, n_splits), description, schedule)
    callbacks = CallbackTree(None, None, {}, is_watched=False)
    progress = Progress(
        plan,
        UniformAllocation(100),
        None,
        lambda outcome: outcome.test_scores,
        resource or TrainingSize(),
        callbacks,
        **options,
    )
    progress.begin()
    return progress


def outcome(level, fit=0.0, score=0.0, *, arm=0, split=0, value=0.5):
    return Outcome(Pull(arm, level, split), value, None, 0.0, fit, score, 10, 10, 0)


@given(
    st.permutations(
        [(arm, level, split) for arm in range(3) for level in (1, 3) for split in (0, 1)]
    ),
    st.lists(st.floats(-10, 10) | st.just(np.nan), min_size=12, max_size=12),
    st.booleans(),
)
def test_best_so_far_is_the_best_mean(pulls, scores, by_level):
    brackets = [Bracket(1, (Rung(3, 1), Rung(3, 3)))]
    progress = progress_of(Schedule(tuple(brackets)), n_splits=2, by_level=by_level)
    told = {}
    for (arm, level, split), score in zip(pulls, scores, strict=True):
        progress.land(outcome(level, arm=arm, split=split, value=score), is_replayed=False)
        told.setdefault((arm, level), []).append(score)
        means = {key: sum(both) / 2 for key, both in told.items() if len(both) == 2}
        finite = {key: mean for key, mean in means.items() if not np.isnan(mean)}
        if by_level:
            top = max((level for _, level in finite), default=0)
            finite = {key: mean for key, mean in finite.items() if key[1] == top}
        report = progress.report()
        assert report.best_n_splits == (2 if finite else 0)
        if finite:
            assert report.best_score == max(finite.values())
            levels = {level for (_, level), mean in finite.items() if mean == report.best_score}
            assert report.best_resources in levels
        else:
            assert np.isnan(report.best_score)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-10, 10) | st.just(np.nan)), max_size=30))
def test_best_so_far_where_a_mean_may_fall_again(pulls):
    progress, told = progress_of(None, n_splits=None), {}
    for place, (arm, score) in enumerate(pulls):
        progress.land(outcome(1, arm=arm, split=place, value=score), is_replayed=False)
        told.setdefault(arm, []).append(score)
        known = [mean for own in told.values() if not np.isnan(mean := sum(own) / len(own))]
        best, n_splits = progress.report().best_score, progress.report().best_n_splits
        assert best == max(known) if known else np.isnan(best)
        best_arms = [arm for arm, own in told.items() if sum(own) / len(own) == best]
        assert n_splits in [len(told[arm]) for arm in best_arms] or (n_splits, known) == (0, [])


TWO_BRACKETS = Schedule((Bracket(1, (Rung(3, 10), Rung(1, 30))), Bracket(0, (Rung(2, 30),))))


def test_time_left_knows_the_rungs_to_come():
    progress = progress_of(TWO_BRACKETS)
    assert progress.report().seconds_left is None
    for arm in range(3):
        progress.land(outcome(10, 90.0, 10.0, arm=arm), is_replayed=False)
    # Three fits of 30 rows are left, each of them thrice as long; 300 seconds of work in 100.
    assert progress.report().seconds_left == pytest.approx(3 * 300 / 3, rel=0.01)
    assert progress.report().n_planned == 6


@pytest.mark.parametrize(
    ("seen", "seconds"),
    [
        ({10: 2.0}, 6.0),  # in proportion to the resource
        ({30: 5.0}, 5.0),
        ({10: 2.0, 30: 3.0}, 3.0),
        ({10: 2.0, 50: 6.0}, 4.0),  # on the line between its neighbours
    ],
)
def test_time_of_a_fit_follows_from_those_at_the_levels_so_far(seen, seconds):
    schedule = Schedule((Bracket(1, tuple(Rung(9, level) for level in (10, 30, 50))),))
    progress = progress_of(schedule)
    for level, time_of_fit in seen.items():
        for arm in (0, 1):
            progress.land(outcome(level, time_of_fit, arm=arm), is_replayed=False)
    assert progress._seconds_of(30) == pytest.approx(seconds)


def test_a_worker_that_is_slow_to_start_does_not_count():
    progress = progress_of(None)
    progress.began -= 1000
    progress.land(outcome(30, 10.0), is_replayed=False)
    assert progress.report().seconds_left == pytest.approx(2 * 10.0, rel=0.01)


def test_time_left_after_a_resume_waits_for_the_first_new_fit():
    progress = progress_of(TWO_BRACKETS, n_in_checkpoint=1)
    progress.land(outcome(10, 100.0), is_replayed=True)
    assert progress.report().seconds_left is None
    progress.land(outcome(10, 100.0, arm=1), is_replayed=False)
    assert progress.report().seconds_left == pytest.approx(100 + 3 * 300, rel=0.01)


def test_time_left_is_never_more_than_the_budget():
    progress = progress_of(None, deadline=time.monotonic() + 50)
    assert 40 < progress.report().seconds_left <= 50  # nothing is known but the budget
    progress.land(outcome(1, 1000.0), is_replayed=False)
    assert 40 < progress.report().seconds_left <= 50


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_rungs_in_which_candidates_are_dropped_are_completed(capsys, n_jobs):
    search = small(HyperbandSearchCV, Known(), {"value": uniform(0, 1)}, n_loops=3, verbose=1)
    with parallel_config("threading", n_jobs=n_jobs):
        first, *lines, last = lines_of(search, capsys)
    n_planned = int(search.plan(*data())["n_fits"].sum())
    assert first.endswith(f"totalling at most {n_planned} fits")
    assert len(lines) == len(search.plan(*data()))
    assert search.n_fits_ < n_planned
    assert f"{search.n_fits_} of {search.n_fits_} fits" in lines[-1]
    assert last.startswith(f"Done: {search.n_fits_} fits")


def test_no_time_left_is_shown_while_the_checkpoint_is_read(capsys, tmp_path):
    path = tmp_path / "journal"
    search = small(BayesGapSearchCV, Known(), KNOWN, verbose=1, checkpoint=path).fit(*data())
    records = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(records[: 1 + 12]))
    capsys.readouterr()
    search.fit(*data())
    lines = re.findall(r"^(\d+) of \d+ fits(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert int(lines[0][0]) < 12 < int(lines[-1][0])
    assert not any(" left" in rest for n_fits, rest in lines if int(n_fits) < 12)


class Fatal(Known):
    """Ends the search at its second fit."""

    def fit(self, X, y=None):
        if self.value == 0.2:
            raise self.error
        return super().fit(X, y)


@pytest.mark.parametrize("error", [ArithmeticError("no"), KeyboardInterrupt()])
def test_no_progress_is_left_after_an_exception(error):
    Fatal.error = error
    search = small(HyperbandSearchCV, Fatal(), KNOWN, verbose=1, error_score="raise")
    with pytest.raises(type(error)):
        search.fit(*data())
    assert not hasattr(search, "progress_")


def test_lines_where_nobody_knows_how_many_fits(capsys):
    policy = LUCB(0.3, epsilon=0.9, reward_range=(0, 1))
    search = BanditSearchCV(Known(), KNOWN, policy=policy, random_state=0, verbose=1)
    lines = lines_of(search, capsys, Xy=data(200))
    assert lines[0] == "Fitting 4 candidates until the policy stops"
    assert [line.partition(":")[0] for line in lines[1:-1]] == [
        *("10 fits", "20 fits", "40 fits", "80 fits")
    ]
    assert lines[-1].startswith(f"Done: {search.n_fits_} fits in")
