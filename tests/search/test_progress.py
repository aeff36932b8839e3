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
from joblib import parallel_backend
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
from sklearn_halving.policies import UCBE, Bracket, Pull, Rung, Schedule
from sklearn_halving.resources import PartialFit, TrainingSize, WholeFit
from sklearn_halving.search._layout import AdaptiveLayout, ScheduledLayout
from sklearn_halving.search._progress import Progress, ProgressReport, Standings
from sklearn_halving.search._progress_costs import FitCosts
from sklearn_halving.search._progress_output import (
    Milestones,
    clock_text,
    end_line,
    milestone_line,
    part_line,
    resource_text,
    score_text,
)

KNOWN = {"value": [0.1, 0.2, 0.3, 0.4]}
parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


def lines_of(search, capsys, n_jobs=1, Xy=None):
    """Return what a search prints, with T for times and without what is between them."""
    with parallel_backend("threading", n_jobs=n_jobs):
        search.fit(*(data() if Xy is None else Xy))
    out = re.sub(r"\d+:\d\d(:\d\d)?", "T", capsys.readouterr().out)
    return [line.removesuffix(", about T left") for line in out.splitlines()]


# ------------------------------------------------------------------------------------ lines

HYPERBAND = [
    "Fitting 3 folds for 5 candidates, brackets: 2, totalling 18 fits",
    "bracket 1, rung 1 of 2: 3 candidates at 13 rows; best so far 0.4; 9 of 18 fits, T elapsed",
    "bracket 1, rung 2 of 2: 1 candidate at 40 rows; best so far 0.4; 12 of 18 fits, T elapsed",
    "bracket 0, rung 1 of 1: 2 candidates at 40 rows; best so far 0.4; 18 of 18 fits, T elapsed",
    "Done: 18 fits in T; best score 0.4",
]
VARIANCE_HALVING = [
    "Fitting 4 candidates, totalling at most 20 fits",
    "stage 1 of 2: 4 candidates; best so far 0.4; 12 of 20 fits, T elapsed",
    "stage 2 of 2: 4 candidates; best so far 0.4; 20 of 20 fits, T elapsed",
    "Done: 20 fits in T; best score 0.4",
]


def test_lines_of_rungs(capsys):
    assert lines_of(small(HyperbandSearchCV, Known(), KNOWN, verbose=1), capsys) == HYPERBAND


def test_lines_of_stages(capsys):
    lines = lines_of(small(VarianceHalvingSearchCV, Known(), KNOWN, verbose=1), capsys)
    assert [line.partition(":")[0] for line in lines[1:-1]] == ["stage 1 of 2", "stage 2 of 2"]
    assert "20 of 20 fits" in lines[-2]
    lines = lines_of(small(BanditSearchCV, Known(), KNOWN, verbose=1), capsys)
    # Phases of Audibert et al. with K = 4 and n = 20: each arm has 4, 5 and 8 pulls at their ends.
    assert lines[1:-1] == [
        "stage 1 of 3: 4 candidates; best so far 0.4; 16 of 19 fits, T elapsed",
        "stage 2 of 3: 3 candidates; best so far 0.4; 19 of 19 fits, T elapsed",
    ]
