"""Settings that hold for every test; fixtures and doubles live elsewhere.

Some tests walk over many similar cases. By default a walk is sampled, so that the whole suite
takes minutes. All cases run with ``--cases=all``, and where the environment variable ``CI`` is
set:

- ``@pytest.mark.walk``: of all combinations of its parameters, enough run by default that each
  value of each parameter occurs once;
- ``pytest.mark.full`` on a test or on one of its cases: does not run by default;
- hypothesis makes up 10 examples by default, where a test does not say how many, and 100 in full.
"""

from __future__ import annotations

import os
import re
import signal
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# Deadlines fail on a busy machine, not on a bug.
settings.register_profile(
    "sample", deadline=None, max_examples=10, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile("full", deadline=None)
# In CI the same commit must give the same result: new examples are found elsewhere.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        choices=["sample", "all"],
        default="all" if os.environ.get("CI") else "sample",
        help="Run all cases of tests that walk over many, as CI does, or a sample of them.",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a kind of cluster one after the other, in the process that started it.

    ``--dist loadgroup`` of pytest-xdist 3.8 has no effect with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneProcessForEachCluster(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            cluster = re.search("::(TestDask|TestRay)::", nodeid)
            return cluster[1] if cluster else nodeid

    return OneProcessForEachCluster(config, log)


def pytest_configure(config: pytest.Config) -> None:
    in_full = "ci" if os.environ.get("CI") else "full"
    settings.load_profile(in_full if config.getoption("cases") == "all" else "sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only runs with ``--cases=all``."""
    if config.getoption("cases") == "all":
        return
    walks: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("walk"):
            walks[item.nodeid.partition("[")[0]].append(item)
    kept = {item.nodeid for walk in walks.values() for item in each_value_once(walk)}
    left_out = [
        item
        for item in items
        if item.get_closest_marker("full")
        or (item.get_closest_marker("walk") and item.nodeid not in kept)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def each_value_once(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Return as few cases as have every value of every parameter, chosen greedily."""
    # Not `callspec.indices`: since pytest 9, they number the cases instead of the values.
    values = {
        case: {(name, id(value)) for name, value in case.callspec.params.items()}  # type: ignore[attr-defined]
        for case in cases
    }
    missing = set().union(*values.values())
    chosen = []
    while missing:
        best = max(cases, key=lambda case: len(values[case] & missing))
        missing -= values[best]
        chosen.append(best)
    return chosen


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_is_heard() -> Iterator[None]:
    """Handle SIGINT as in a terminal: what a shell starts in the background ignores it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="module")
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compute in one thread: on so little data, two take much longer on a busy machine."""
    counts_threads = "execution" in request.path.parts
    with threadpool_limits(None if counts_threads else 1):
        yield
