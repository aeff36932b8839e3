"""Settings that hold for every test; fixtures and doubles live elsewhere."""

from __future__ import annotations

import os

from hypothesis import settings

# Deadlines fail on a busy machine, not on a bug.
settings.register_profile("local", deadline=None)
# In CI the same commit must give the same result: new examples are looked for locally.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
