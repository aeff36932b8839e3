"""A dict of frozen distributions of SciPy and lists as a space of Optuna."""

from __future__ import annotations

from typing import Any

Space = dict[str, Any]


def for_optuna(space: Space) -> dict[str, Any]:
    """Return the same space for Optuna."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, Any] = {}
    for name, values in space.items():
        if isinstance(values, list):
            found[name] = CategoricalDistribution(values)
            continue
        low, high = values.support()
        if _is_whole(values):
            found[name] = IntDistribution(int(low), int(high), log=_is_log(values))
        else:
            found[name] = FloatDistribution(float(low), float(high), log=_is_log(values))
    return found


def _is_whole(values: Any) -> bool:
    return values.dist.name in {"randint", "loguniform_int"}


def _is_log(values: Any) -> bool:
    return values.dist.name in {"loguniform", "reciprocal", "loguniform_int"}
