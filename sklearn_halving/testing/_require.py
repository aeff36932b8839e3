"""How a check fails."""

from __future__ import annotations


def require(holds: object, tested: object, otherwise: str) -> None:
    """Raise unless a rule holds."""
    if not holds:
        raise AssertionError(f"{tested!r} {otherwise}")
