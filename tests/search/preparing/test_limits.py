"""Times and amounts of memory may be given as text with a unit."""

from __future__ import annotations

import pytest
from sklearn.linear_model import SGDClassifier

from search.common import SEARCHES, Known, data, small
from sklearn_halving import HyperbandSearchCV, VarianceHalvingSearchCV
from sklearn_halving.execution._types import PullLimits
from sklearn_halving.search.preparing._inputs import limits_of, read_bytes, read_seconds

SPACE = {"value": [0.1, 0.2, 0.3, 0.4]}
LEARNERS = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1]}
parametrize_searches = pytest.mark.parametrize("search_class", SEARCHES)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90s", 90), ("30min", 1800), ("1.5h", 5400), ("1h30min", 5400), ("2 days", 172800)),
        *(("00:30:00", 1800), (" 250 ms ", 0.25)),
    ],
)
def test_times_as_text(text, seconds):
    assert read_seconds("time_budget", text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "30", "half an hour", "-5s", "0s", "nan", "NaT", "5 apples", "1e400s"]
)
def test_text_that_is_no_time_is_refused(text):
    message = r"pull_timeout must be a positive time: .*'90s', '30min'.*got "
    with pytest.raises(ValueError, match=f"{message}{text!r}"):
        read_seconds("pull_timeout", text)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        *(("1GB", 10**9), ("1 GiB", 2**30), ("1.5gb", 1_500_000_000), ("500MB", 5 * 10**8)),
        *((".5kB", 500), ("64KiB", 2**16), ("2TB", 2 * 10**12), ("100B", 100)),
    ],
)
def test_amounts_of_memory_as_text(text, n_bytes):
    assert read_bytes("memory_limit", text) == n_bytes


@pytest.mark.parametrize("text", ["", "1G", "GB", "-1GB", "0GB", "5iB", "1000000", "1 GB of RAM"])
def test_text_that_is_no_amount_of_memory_is_refused(text):
    message = r"memory_limit must be a positive amount of memory: .*'500MB'.*got "
    with pytest.raises(ValueError, match=f"{message}{text!r}"):
        read_bytes("memory_limit", text)


@parametrize_searches
def test_limits_as_text_are_those_as_numbers(search_class):
    texts = {"time_budget": "1h", "fit_timeout": "1min", "memory_limit": "4GiB"}
    numbers = {"time_budget": 3600, "fit_timeout": 60.0, "memory_limit": 2**32}
    by_text, by_number = (small(search_class, Known(), SPACE, **p) for p in (texts, numbers))
    assert limits_of(by_text) == limits_of(by_number) == (3600, PullLimits(60.0, 2**32))
    assert by_text.get_params(deep=False)["memory_limit"] == "4GiB"
    assert limits_of(small(search_class, Known(), SPACE)) == (float("inf"), PullLimits())


@parametrize_searches
@pytest.mark.parametrize("name", ["time_budget", "pull_timeout", "memory_limit"])
def test_a_wrong_limit_is_refused_before_any_fit(search_class, name, tmp_path):
    journal = tmp_path / "journal"
    search = small(search_class, Known(), SPACE, checkpoint=journal, **{name: "a lot"})
    for method in (search.plan, search.fit):
        with pytest.raises(ValueError, match=rf"{name} must be a positive .* got 'a lot'"):
            method(*data())
    assert not journal.exists()


@parametrize_searches
def test_a_time_budget_as_text_stops_the_search(search_class):
    search = small(search_class, Known(), SPACE, time_budget="1us")
    with pytest.raises(ValueError, match=r"time_budget='1us' must be enough for the first fit"):
        search.fit(*data())


def timed(search_class=HyperbandSearchCV, space=LEARNERS, **params):
    estimator = SGDClassifier(random_state=0)
    return small(search_class, estimator, space, resource="fit_time", **params)


@pytest.mark.parametrize(
    ("search_class", "params"),
    [(HyperbandSearchCV, {}), (VarianceHalvingSearchCV, {"allocation": "pooled"})],
)
def test_seconds_of_training_as_text(search_class, params):
    plans = [
        timed(search_class, min_resources=low, max_resources=high, **params).plan(*data())
        for low, high in [("10ms", "0.09s"), (0.01, 0.09)]
    ]
    assert plans[0].equals(plans[1])


def test_a_journal_does_not_care_how_a_time_is_written(tmp_path):
    journal = tmp_path / "journal"
    first = timed(checkpoint=journal, min_resources="2ms", max_resources="6ms").fit(*data())
    again = timed(checkpoint=journal, min_resources=0.002, max_resources="0.006s", time_budget=9)
    again.fit(*data())
    assert set(again.history_["started"]) == set(first.history_["started"])
    with pytest.raises(ValueError, match=r"max_resources \(0.006 before, 0.008 now\)"):
        timed(checkpoint=journal, min_resources="2ms", max_resources="8ms").fit(*data())


def test_text_for_another_resource_is_refused():
    search = small(HyperbandSearchCV, Known(), SPACE, max_resources="30s")
    with pytest.raises(ValueError, match=r"max_resources must be .*'n_samples'; got '30s'.*fit_t"):
        search.fit(*data())
