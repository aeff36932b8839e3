"""Times and amounts of memory may be given as text with a unit."""

from __future__ import annotations

import pytest

from search.common import Known, data, parametrize_searches, small
from sklearn_halving.search._parameters import read_bytes, read_seconds

SPACE = {"value": [0.1, 0.2, 0.3, 0.4]}


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
    ("text", "n_bytes"),
    [
        *(("1GB", 10**9), ("1 GiB", 2**30), ("1.5gb", 1_500_000_000), ("500MB", 5 * 10**8)),
        *((".5kB", 500), ("64KiB", 2**16), ("2TB", 2 * 10**12), ("100B", 100)),
    ],
)
def test_amounts_of_memory_as_text(text, n_bytes):
    assert read_bytes("memory_limit", text) == n_bytes


@parametrize_searches
@pytest.mark.parametrize("name", ["time_budget", "fit_timeout", "memory_limit"])
def test_a_wrong_limit_is_refused_before_any_fit(search_class, name, tmp_path):
    journal = tmp_path / "journal"
    search = small(search_class, Known(), SPACE, checkpoint=journal, **{name: "a lot"})
    for method in (search.plan, search.fit):
        with pytest.raises(ValueError, match=rf"{name} must be a positive .* got 'a lot'"):
            method(*data())
    assert not journal.exists()
