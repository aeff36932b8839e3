"""Checks of the parameters of samplers."""

from __future__ import annotations


def check_share(sampler: object, name: str, way_out: str, *, may_be_1: bool = False) -> None:
    """Raise unless a parameter is between 0 and 1."""
    value = getattr(sampler, name)
    if not 0 < value < 1 and not (may_be_1 and value == 1):
        end = "at most 1" if may_be_1 else "below 1"
        raise ValueError(f"{name} must be above 0 and {end}, got {value!r}. {way_out}")
