"""What a search shows while it runs: lines, and what callbacks can read."""

from __future__ import annotations

import re

import pytest
from joblib import parallel_backend
from scipy.stats import uniform
from sklearn.base import clone

from search.common import SEARCHES, Known, Noisy, data, numbered, parametrize_searches, small
from search.resuming import cut_after
from sklearn_halving import AdaptiveSearchCV, BayesGapSearchCV, HyperbandSearchCV

KNOWN = {"value": [0.1, 0.2, 0.3, 0.4, 0.5]}


def lines_of(search, capsys, n_jobs=1, Xy=None):
    """Return what a search prints, with T for times and without what is between them."""
    with parallel_backend("threading", n_jobs=n_jobs):
        search.fit(*(data() if Xy is None else Xy))
    out = re.sub(r"(\d+ min )?[\d.]+ s\b", "T", capsys.readouterr().out)
    return out.splitlines()


# ------------------------------------------------------------------------------------ lines

CHOICE = "choice so far: candidate 4, score 0.5 on"
LINES = {
    AdaptiveSearchCV: """\
Fitting at most 5 candidates, which are created during the search, totalling 15 fits
2 of 15 fits of 2 candidates; choice so far: candidate 0, score 0.5 on 1 split; T elapsed
...
15 of 15 fits of 5 candidates; choice so far: candidate 0, score 0.5 on 3 splits; T elapsed
Done: 15 fits in T; chosen: candidate 0, mean_test_score 0.5""",
    HyperbandSearchCV: f"""\
Fitting 5 candidates in 2 brackets on up to 3 splits, totalling 18 fits
bracket 1, rung 0: 9 of 18 fits of 3 candidates; choice so far: candidate 2, score 0.3 on 3 \
splits at 13 rows; T elapsed
...
bracket 0, rung 0: 18 of 18 fits of 5 candidates; {CHOICE} 3 splits at 40 rows; T elapsed
Done: 18 fits in T; chosen: candidate 4, mean_test_score 0.5""",
    BayesGapSearchCV: f"""\
Fitting 5 candidates, totalling at most 25 fits
3 of at most 25 fits of 3 candidates; {CHOICE} 1 split; T elapsed
...
25 of at most 25 fits of 5 candidates; {CHOICE} 11 splits; T elapsed
Done: 25 fits in T; chosen: candidate 4, mean_test_score 0.5""",
}


@pytest.mark.parametrize("search_class", LINES)
def test_lines(search_class, capsys):
    """One for each tenth of the fits."""
    lines = lines_of(small(search_class, Known(), KNOWN, verbose=1), capsys)
    assert len(lines) <= 12
    assert "\n".join([*lines[:2], "...", *lines[-2:]]) == LINES[search_class]


class Falling(Known):
    """Has a high score on the first split that is tried, and a low one elsewhere."""

    def score(self, X, y=None):
        return 0.9 if self.value == 0.1 and 0 in X[:, 0] else self.value


@pytest.mark.parametrize("search_class", SEARCHES)
def test_the_last_line_shows_what_is_chosen(search_class, capsys):
    """Not the best mean so far, which may be luck."""
    search = small(search_class, Falling(), KNOWN, verbose=1)
    lines = lines_of(search, capsys, Xy=numbered(60))
    pattern = r"(?:choice so far|chosen): candidate (\d+), .*score ([\d.]+)"
    found = [re.search(pattern, line).groups() for line in lines[-2:]]
    assert found[0][0] == found[1][0]
    assert float(found[0][1]) == pytest.approx(float(found[1][1]), abs=0.01)


@pytest.mark.parametrize("search_class", SEARCHES)
def test_lines_do_not_change_the_search(search_class, capsys):
    """The policy is asked for its choice for each of them."""
    search = small(search_class, Noisy(0.5, 0.1, 0.1), KNOWN)
    searches = [clone(search).set_params(verbose=verbose) for verbose in (0, 1)]
    silent, loud = (each.fit(*numbered(60)).history_ for each in searches)
    columns = ["candidate", "split", "test_score"]
    assert silent[columns].equals(loud[columns])
    assert capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The time_budget was enough")  # on a busy machine
def test_endless_loops_have_a_line_for_each_tenth_of_the_time(capsys):
    space = {"value": uniform(0, 1)}
    search = small(HyperbandSearchCV, Known(), space, time_budget=3.0, brackets=None, verbose=1)
    lines = lines_of(search, capsys)
    assert len(lines) <= 2 + 10


@pytest.mark.filterwarnings("ignore:One or more")
def test_a_plan_is_a_maximum_if_candidates_fail(capsys):
    space = [{"value": [0.1, 0.2, 0.3, 0.4, 0.5], "nan_below": [48]}, {"value": [0.6]}]
    search = HyperbandSearchCV(Known(), space, min_resources=12, cv=5, random_state=0, verbose=1)
    lines = lines_of(search, capsys, Xy=numbered(60))
    assert "17 of 27 fits of 6 candidates; choice so far: candidate 5, score 0.6 on " in lines[-2]
    assert lines[-1].startswith("Done: 17 fits in T")


@parametrize_searches
def test_a_resumed_search_says_what_the_checkpoint_has(search_class, capsys, tmp_path):
    path = tmp_path / "journal"
    search = small(search_class, Known(), KNOWN, verbose=1, checkpoint=path)
    whole = lines_of(search, capsys)
    cut_after(path, 7)
    resumed = lines_of(search, capsys)
    assert resumed[:2] == [whole[0], "7 fits of earlier searches can be used"]
    assert resumed[-1].replace(" (7 of them from earlier searches)", "") == whole[-1]
    assert set(resumed[2:-1]) < set(whole), "no lines of known fits"


@pytest.mark.parametrize(
    ("search_class", "params", "at_most"),
    [
        (HyperbandSearchCV, {}, ""),
        (HyperbandSearchCV, {"time_budget": "1h"}, "at most "),
        (AdaptiveSearchCV, {}, ""),
        (AdaptiveSearchCV, {"time_budget": "1h"}, "at most "),
        (AdaptiveSearchCV, {"n_fits": 10}, "at most "),  # enough to know the best of five
        (AdaptiveSearchCV, {"n_fits": None}, ""),
    ],
)
def test_a_plan_that_may_be_cut_short_is_a_maximum(search_class, params, at_most, capsys):
    search = small(search_class, Known(), KNOWN, verbose=1, **params)
    n_planned = search.plan(*data())["n_fits"].sum()
    assert lines_of(search, capsys)[0].endswith(f"totalling {at_most}{n_planned} fits")
