"""What a search shows while it runs: lines, and what callbacks can read."""

from __future__ import annotations

import re

import pytest
from joblib import parallel_backend

from search.common import SEARCHES, Known, data, small
from sklearn_halving import BanditSearchCV, BayesGapSearchCV, HyperbandSearchCV
from sklearn_halving.policies import LUCB

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


def test_lines_of_stages_count_the_fits_of_their_plan(capsys):
    # Successive rejects with K = 4 and n = 20: 12, 3 and 4 fits in the stages.
    lines = lines_of(small(BanditSearchCV, Known(), KNOWN, verbose=1), capsys)
    assert lines[-2] == f"19 of 19 fits: 4 candidates tried; {BEST} (6 splits); T elapsed"


def test_lines_where_there_are_neither_rungs_nor_stages(capsys):
    search = small(BayesGapSearchCV, Known(), KNOWN, verbose=1, n_fits=10)
    lines = lines_of(search, capsys)
    assert lines[0] == "Fitting 4 candidates, totalling at most 10 fits"
    counts = [line.partition(":")[0] for line in lines[1:-1]]
    assert counts == [f"{n} of 10 fits" for n in range(1, 11)]
    n_best = search.cv_results_["n_fits"][search.best_index_]
    assert lines[-2].endswith(f"; best mean so far 0.4 ({n_best} splits); T elapsed")
    assert lines[-1] == "Done: 10 fits in T; chosen: candidate 3, mean_test_score 0.4"


@pytest.mark.filterwarnings("ignore:One or more")
def test_plans_shrink_with_the_candidates_that_cannot_go_on(capsys):
    search = small(HyperbandSearchCV, Known(nan_below=40), KNOWN, verbose=1)
    lines = lines_of(search, capsys)
    assert lines[1:] == [
        HYPERBAND[1].replace("9 of 18", "9 of 15").replace(BEST, "no score yet"),
        HYPERBAND[3].replace("18 of 18", "15 of 15").replace("0.4", "0.3"),
        "Done: 15 fits in T; chosen: candidate 4, mean_test_score 0.3",
    ]


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


# -------------------------------------------------------------------- best score, time left


def test_lines_where_nobody_knows_how_many_fits(capsys):
    policy = LUCB(0.3, epsilon=0.9, reward_range=(0, 1))
    search = BanditSearchCV(Known(), KNOWN, policy=policy, random_state=0, verbose=1)
    lines = lines_of(search, capsys, Xy=data(200))
    assert lines[0] == "Fitting 4 candidates until the policy stops"
    assert [line.partition(":")[0] for line in lines[1:-1]] == [
        *("10 fits", "20 fits", "40 fits", "80 fits")
    ]
    assert lines[-1].startswith(f"Done: {search.n_fits_} fits in")
