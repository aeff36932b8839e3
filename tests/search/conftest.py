"""What the tests of searches need before they are collected."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that scikit-learn's own test modules use."""
    config.addinivalue_line("markers", "thread_unsafe: not for pytest-run-parallel")
