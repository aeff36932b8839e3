"""Settings that hold for every test; fixtures and doubles live elsewhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Deadlines fail on a busy machine, not on a bug.
settings.register_profile("local", deadline=None)
# In CI the same commit must give the same result: new examples are looked for locally.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_is_heard() -> Iterator[None]:
    """Handle SIGINT as in a terminal: what a shell starts in the background ignores it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
