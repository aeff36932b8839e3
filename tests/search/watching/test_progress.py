"""What a search shows while it runs: lines, a bar, and what callbacks can read and stop."""

from __future__ import annotations

import re
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_backend, parallel_config
from scipy.stats import uniform
from sklearn.base import clone

from search.common import SEARCHES, Known, data, small
from search.resuming import X, Y, found, steady
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)
from sklearn_halving.execution._types import Outcome
from sklearn_halving.policies import (
    LUCB,
    UCBE,
    Bracket,
    PolicyDescription,
    Problem,
    Pull,
    Rung,
    Schedule,
)
from sklearn_halving.resources import FitTime, Iterations, PartialFit, TrainingSize, WholeFit
from sklearn_halving.search.preparing._plan import SearchPlan
from sklearn_halving.search.watching._progress import Progress, ProgressReport, Standings, parts_of
from sklearn_halving.search.watching._progress_output import (
    Milestones,
    clock_text,
    end_line,
    milestone_line,
    part_line,
    resource_text,
    score_text,
)
from sklearn_halving.search.watching._remaining_time import FitCosts

KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}
parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


def lines_of(search, capsys, n_jobs=1, Xy=None):
    """Return what a search prints, with T for times and without what is between them."""
    with parallel_backend("threading", n_jobs=n_jobs):
        search.fit(*(data() if Xy is None else Xy))
    out = re.sub(r"\d+:\d\d(:\d\d)?", "T", capsys.readouterr().out)
    return [line.removesuffix(", about T left") for line in out.splitlines()]


# ------------------------------------------------------------------------------------ lines

BEST = "best score 0.4"
HYPERBAND = [
    "Fitting 5 candidates in 2 brackets on up to 3 splits, totalling 18 fits",
    f"bracket 1, rung 0: 3 candidates on 3 splits at 13 rows; {BEST}; 9 of 18 fits, T elapsed",
    f"bracket 1, rung 1: 1 candidate on 3 splits at 40 rows; {BEST}; 12 of 18 fits, T elapsed",
    f"bracket 0, rung 0: 2 candidates on 3 splits at 40 rows; {BEST}; 18 of 18 fits, T elapsed",
    "Done: 18 fits in T; best score 0.4",
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
        "stage 0: 4 candidates; best score 0.4 (3 splits); 12 of 19 fits, T elapsed",
        "stage 1: 3 candidates; best score 0.4 (4 splits); 15 of 19 fits, T elapsed",
        "stage 2: 2 candidates; best score 0.4 (6 splits); 19 of 19 fits, T elapsed",
    ]


def test_lines_where_there_are_neither_rungs_nor_stages(capsys):
    search = small(BayesGapSearchCV, Known(), KNOWN, verbose=1, n_fits=10)
    lines = lines_of(search, capsys)
    assert lines[0] == "Fitting 4 candidates, totalling at most 10 fits"
    counts = [line.partition(":")[0] for line in lines[1:-1]]
    assert counts == [f"{n} of 10 fits" for n in range(1, 11)]
    n_best = search.cv_results_["n_fits"][search.best_index_]
    assert lines[-2].endswith(f"; best score 0.4 ({n_best} splits); T elapsed")
    assert lines[-1] == "Done: 10 fits in T; best score 0.4"


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
        "Done: 15 fits in T; best score 0.3",
    ]


def test_best_so_far_is_of_the_level_that_decides(capsys):
    class Worse(Known):
        """Scores less with more rows."""

        def score(self, X, y=None):
            return self.value - self.n_rows_ / 1000

    search = small(HyperbandSearchCV, Worse(), KNOWN, verbose=1)
    texts = [line.split("; ")[1] for line in lines_of(search, capsys)[1:-1]]
    # 0.4 - 13 / 1000 at the first rung, then 0.4 - 40 / 1000
    assert texts == ["best score 0.387", "best score 0.36", "best score 0.36"]
    search.set_params(select="all_rungs")
    texts = [line.split("; ")[1] for line in lines_of(search, capsys)[1:-1]]
    assert texts == ["best score 0.387", *["best score 0.387 (3 splits, 13 rows)"] * 2]
    assert search.best_score_ == pytest.approx(0.387)


@parametrize_searches
@pytest.mark.filterwarnings("ignore:The grid has 1 candidate,")
def test_one_candidate(search_class, capsys):
    lines = lines_of(small(search_class, Known(), {"value": [0.3]}, verbose=1), capsys)
    n_fits = lines[-1].split()[1]
    assert "1 candidate" in lines[-2]
    assert f"{n_fits} of " in lines[-2]
    assert "best score 0.3" in lines[-2]


@parametrize_searches
@pytest.mark.filterwarnings("ignore:One or more")
def test_several_metrics_show_the_one_that_steers(search_class, capsys):
    def scores(estimator, X, y):
        return {"first": 1.0, "second": estimator.value}

    search = small(search_class, Known(), KNOWN, scoring=scores, refit="second", verbose=1)
    lines = lines_of(search, capsys)
    assert "best score 0.4" in lines[-2]
    assert lines[-1].endswith("; best score 0.4")
    search.set_params(scoring={"first": "accuracy", "second": "f1"}, refit=False)
    assert "best score" not in lines_of(search, capsys)[-1]


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
    report = ProgressReport(3, 9, 0, 2, "", 0.5, 1.0, 1, 3.0, None)
    line = end_line(report, 0.5, "time_budget")
    assert line == "Done: 3 fits in 0:03, stopped by time_budget; best score 0.5"


@pytest.mark.parametrize(
    ("params", "at_most"),
    [
        ({}, ""),
        ({"time_budget": "1h"}, "at most "),
        ({"sampler": "evolution"}, ""),  # the first two brackets have no earlier one to race with
        ({"sampler": "evolution", "n_loops": 2}, "at most "),
        ({"sampler": "evolution", "n_loops": 2, "cv": 2}, ""),  # too few splits for a race
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
    assert "12 candidates on 2 splits at 160 rows; best score 0.9167; 24 of" in lines[1]
    assert "3 candidates on 5 splits at 320 rows; best score 0.9167;" in lines[-2]


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


def test_a_long_search():
    schedule = Schedule((Bracket(1, (Rung(300, 100), Rung(100, 1200))),))
    part = parts_of(plan_of(schedule, n_splits=5))[1]
    report = ProgressReport(1200, 2000, 0, 300, "", 0.97, 1200, 5, 4000.0, 62.0)
    assert part_line(part, report, TrainingSize()) == (
        "bracket 1, rung 1: 100 candidates on 5 splits at 1,200 rows; best score 0.97; "
        "1,200 of 2,000 fits, 1:06:40 elapsed, about 1:02 left"
    )
    report = ProgressReport(20, None, 0, 12, "", 0.9, 1, 1, 3.0, None)
    text = milestone_line(report, WholeFit())
    assert text == "20 fits: 12 candidates tried; best score 0.9 (1 split); 0:03 elapsed"


@given(st.integers(1, 5000))
def test_milestones_are_ten_at_most_and_the_last_is_the_end(n_planned):
    milestones = Milestones(n_planned)
    reached = [n for n in range(1, n_planned + 1) if milestones.is_reached(n)]
    assert len(reached) == min(10, n_planned)
    assert reached[-1] == n_planned
    gaps = [b - a for a, b in pairwise([0, *reached])]
    assert max(gaps) - min(gaps) <= 1


def test_milestones_without_an_end_come_less_and_less_often():
    milestones = Milestones(None)
    assert [n for n in range(1, 100) if milestones.is_reached(n)] == [10, 20, 40, 80]


# -------------------------------------------------------------------- best score, time left


@given(
    st.permutations(
        [(arm, level, split) for arm in range(3) for level in (1, 3) for split in (0, 1)]
    ),
    st.lists(st.floats(-10, 10) | st.just(np.nan), min_size=12, max_size=12),
    st.booleans(),
)
def test_best_so_far_is_the_best_mean(pulls, scores, by_level):
    standings, bests, told = Standings(by_level, n_splits={1: [2], 3: [2]}), [], {}
    for pull, score in zip(pulls, scores, strict=True):
        standings.add(Pull(*pull), score)
        told.setdefault(pull[:2], []).append(score)
        bests.append(standings.best())
        means = {key: sum(both) / 2 for key, both in told.items() if len(both) == 2}
        finite = {key: mean for key, mean in means.items() if not np.isnan(mean)}
        if by_level:
            top = max((level for _, level in finite), default=0)
            finite = {key: mean for key, mean in finite.items() if key[1] == top}
        best, level, n_splits = bests[-1]
        assert n_splits == (2 if finite else 0)
        if finite:
            assert best == max(finite.values())
            assert finite[max(finite, key=finite.get)] == max(
                mean for (_, other), mean in finite.items() if other == level
            )
        else:
            assert np.isnan(best)
    known = [(level, best) for best, level, _ in bests if not np.isnan(best)]
    assert all(b >= a for (i, a), (j, b) in pairwise(known) if i == j or not by_level)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-10, 10) | st.just(np.nan)), max_size=30))
def test_best_so_far_where_a_mean_may_fall_again(pulls):
    standings, told = Standings(by_level=True, n_splits=None), {}
    for place, (arm, score) in enumerate(pulls):
        standings.add(Pull(arm, 1, place), score)
        told.setdefault(arm, []).append(score)
        means = [sum(own) / len(own) for own in told.values()]
        known = [mean for mean in means if not np.isnan(mean)]
        best, level, n_splits = standings.best()
        assert (best, level) == (max(known), 1) if known else np.isnan(best)
        best_arms = [arm for arm, own in told.items() if sum(own) / len(own) == best]
        assert n_splits in [len(told[arm]) for arm in best_arms] or (n_splits, known) == (0, [])


def outcome(level, fit, score=0.0, *, previous=0, arm=0, split=0):
    return Outcome(Pull(arm, level, split), 0.5, None, 0.0, fit, score, 10, 10, previous)


def test_time_left_by_hand():
    costs = FitCosts(TrainingSize(), continues=False, n_workers=2)
    assert costs.seconds_of([(0, 10, 3)], now=100.0) is None
    costs.add(outcome(10, 2.0, 1.0), now=103.0)  # began at 100
    # One worker was seen busy all the time. Training is in proportion to rows, scoring is not.
    assert costs.seconds_of([(0, 10, 2), (0, 30, 1)], now=103.0) == 2 * 3 + (6 + 1)
    costs.add(outcome(20, 3.0, 1.0), now=104.0)
    # A second level: 2 seconds at 10 rows and 3 at 20, so 4 at 30. 7 seconds of work in 4.
    assert costs.seconds_of([(0, 30, 7)], now=104.0) == pytest.approx(7 * 5 * 4 / 7)
    assert costs.seconds_of([(0, 15, 7)], now=104.0) == pytest.approx(7 * 3.5 * 4 / 7)
    assert costs.seconds_of([], now=104.0) == 0


def test_time_left_of_models_that_are_trained_on():
    costs = FitCosts(TrainingSize(), continues=True, n_workers=1)
    costs.add(outcome(10, 1.0), now=1.0)
    # 20 more of the resource, not 30
    assert costs.seconds_of([(10, 30, 1)], now=1.0) == 2.0
    assert FitCosts(TrainingSize(), False, 1)._work(0, 30) == 30


def test_time_left_after_a_resume_counts_on_the_workers():
    costs = FitCosts(TrainingSize(), continues=False, n_workers=4)
    costs.add(outcome(10, 2.0))
    assert costs.seconds_of([(0, 10, 8)], now=5.0) == 8 * 2.0 / 4


def test_a_worker_that_is_slow_to_start_does_not_count():
    costs = FitCosts(TrainingSize(), continues=False, n_workers=1)
    costs.add(outcome(10, 1.0), now=60.0)
    assert costs.seconds_of([(0, 10, 5)], now=60.0) == 5.0


@given(st.lists(st.tuples(st.integers(1, 99), st.floats(0, 1e4)), min_size=1, max_size=8))
def test_time_left_is_never_negative(fits):
    costs = FitCosts(TrainingSize(), continues=False, n_workers=1)
    for now, (level, seconds) in enumerate(fits):
        costs.add(outcome(level, seconds), now=float(now))
    for level in (1, 50, 200):
        assert costs.seconds_of([(0, level, 3)], now=1e5) >= 0


def plan_of(schedule, n_splits=1):
    return SearchPlan(Problem(3, 1, 30, n_splits), PolicyDescription(), schedule)


def progress_of(plan, n_planned, deadline=float("inf")):
    parts, resource = parts_of(plan), TrainingSize()
    has_rungs = bool(parts) and parts[0].bracket is not None
    n_splits = {part.level: [1] for part in parts} if has_rungs else None
    standings = Standings(by_level=True, n_splits=n_splits)
    costs = FitCosts(resource, continues=False, n_workers=1)
    return Progress(
        parts, n_planned, plan.path_of, lambda o: 0.5, resource, standings, costs, deadline
    )


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


def test_time_left_is_never_more_than_the_budget():
    plan = plan_of(None)
    progress = progress_of(plan, 100, deadline=time.monotonic() + 50)
    assert 40 < progress.report().seconds_left <= 50  # nothing is known but the budget
    progress.land(outcome(1, 1000.0))
    assert 40 < progress.report().seconds_left <= 50
    progress = progress_of(plan, 100)
    assert progress.report().seconds_left is None
    progress.land(outcome(1, 1000.0))
    assert progress.report().seconds_left > 50_000


def test_time_left_knows_the_splits_that_the_rung_before_does_without():
    bracket = Bracket(1, (Rung(1, 1, n_repetitions=1), Rung(1, 3)))
    plan, resource = plan_of(Schedule((bracket,)), n_splits=2), TrainingSize()
    standings = Standings(by_level=True, n_splits={1: [1], 3: [2]})
    costs = FitCosts(resource, continues=True, n_workers=1)
    progress = Progress(parts_of(plan), 3, plan.path_of, lambda o: 0.5, resource, standings, costs)
    progress.land(outcome(1, 1.0), is_replayed=True)
    # One goes on from 1 to 3, which is 2 s; on the other split there is nothing to go on from.
    assert progress.report().seconds_left == pytest.approx(2.0 + 3.0)


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


def test_time_left_knows_the_rungs_to_come():
    schedule = Schedule((Bracket(1, (Rung(3, 10), Rung(1, 30))), Bracket(0, (Rung(2, 30),))))
    progress = progress_of(plan_of(schedule), 6)
    ended = [progress.land(outcome(10, 100.0, arm=arm)) for arm in range(3)]
    assert [part and part.name for part in ended] == [None, None, "bracket 1, rung 0"]
    # Three fits of 30 rows are left, each of them thrice as long; 300 seconds of work in 100.
    assert progress.report().seconds_left == pytest.approx(3 * 300 / 3, rel=0.01)
    assert progress.report().n_planned == 6


# -------------------------------------------------------------------------------------- bar


@pytest.fixture
def bars():
    """Return the bars of tqdm's that are open."""
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    instances = getattr(tqdm, "_instances", ())
    assert not instances
    return instances


@pytest.mark.walk
@parametrize_searches
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bar(search_class, n_jobs, capsys, bars):
    search = small(search_class, Known(), KNOWN, progress_bar=True, verbose=1)
    lines = lines_of(search, capsys=(both := Both(capsys)), n_jobs=n_jobs)
    last = both.err.replace("\r", "\n").strip().splitlines()[-1]
    assert last.startswith(f"{search_class.__name__}: 100%")
    assert f"{search.n_fits_}/{search.n_fits_}" in last or search_class is BanditSearchCV
    assert "best 0.4" in last
    assert not bars
    # Lines are not lost in it.
    assert lines[0].startswith("Fitting")
    assert lines[-1].startswith("Done")
    plain = clone(search).set_params(progress_bar=False, verbose=0).fit(*data())
    assert plain.best_params_ == search.best_params_
    np.testing.assert_array_equal(
        plain.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


class Both:
    """Keeps what goes to the other stream when one of them is read."""

    def __init__(self, capsys):
        self._capsys = capsys

    def readouterr(self):
        captured = self._capsys.readouterr()
        self.err = captured.err
        return captured


class Fatal(Known):
    """Ends the search at its second fit."""

    def fit(self, X, y=None):
        if self.value == 0.2:
            raise self.error
        return super().fit(X, y)


@pytest.mark.parametrize("error", [ArithmeticError("no"), KeyboardInterrupt()])
def test_a_bar_is_closed_after_an_exception(error, capsys, bars):
    Fatal.error = error
    search = small(HyperbandSearchCV, Fatal(), KNOWN, progress_bar=True, error_score="raise")
    with pytest.raises(type(error)):
        search.fit(*data())
    assert not bars
    assert not hasattr(search, "progress_")


def test_a_bar_of_a_policy_object(capsys, bars):
    policy = UCBE(n_pulls=12, a=1.0)
    search = BanditSearchCV(Known(), KNOWN, policy=policy, cv=3, progress_bar=True)
    search.fit(*data())
    assert "12/12" in capsys.readouterr().err


def test_lines_where_nobody_knows_how_many_fits(capsys, bars):
    policy = LUCB(0.3, epsilon=0.9, reward_range=(0, 1))
    search = BanditSearchCV(Known(), KNOWN, policy=policy, random_state=0, verbose=1)
    lines = lines_of(search.set_params(progress_bar=True), capsys, Xy=data(200))
    assert lines[0] == "Fitting 4 candidates until the policy stops"
    assert [line.partition(":")[0] for line in lines[1:-1]] == [
        *("10 fits", "20 fits", "40 fits", "80 fits")
    ]
    assert lines[-1].startswith(f"Done: {search.n_fits_} fits in")


def test_no_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    search = small(HyperbandSearchCV, Known(fails=True), KNOWN, progress_bar=True)
    with pytest.raises(
        ImportError, match=r"progress_bar=True needs .*sklearn-halving\[progress\]"
    ):
        search.fit(*data())


def test_a_bar_is_no_part_of_what_a_checkpoint_is_of(tmp_path, capsys, bars):
    search = steady(HyperbandSearchCV, tmp_path / "j").fit(X, Y)
    before = found(search)
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    (tmp_path / "j").write_bytes(b"".join(lines[:5]))
    search.set_params(progress_bar=True, verbose=1).fit(X, Y)
    assert found(search) == before
    assert f"{search.n_fits_}/{search.n_fits_}" in capsys.readouterr().err
