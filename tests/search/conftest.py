"""What the tests of searches need before they are collected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that scikit-learn's own test modules use."""
    config.addinivalue_line("markers", "thread_unsafe: not for pytest-run-parallel")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On so little data threads cost more than they bring, above all on a busy machine."""
    with threadpool_limits(1):
        yield
