"""The same space of candidates in the words of other libraries.

A space maps names of parameters to frozen distributions of SciPy (``uniform``, ``loguniform``,
``randint``) or to lists. Where a library takes only numbers and strings, an entry of a list is
named by its place in the list; `from_places` turns places back into entries.
"""

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
            found[name] = IntDistribution(int(low), int(high))
        else:
            found[name] = FloatDistribution(float(low), float(high), log=_is_log(values))
    return found


def for_smac(space: Space, seed: int) -> Any:
    """Return the same space for SMAC3, with places for the entries of lists."""
    from ConfigSpace import (
        CategoricalHyperparameter,
        ConfigurationSpace,
        UniformFloatHyperparameter,
        UniformIntegerHyperparameter,
    )

    found = ConfigurationSpace(seed=seed)
    for name, values in space.items():
        if isinstance(values, list):
            found.add(CategoricalHyperparameter(name, list(range(len(values)))))
            continue
        low, high = values.support()
        if _is_whole(values):
            found.add(UniformIntegerHyperparameter(name, int(low), int(high)))
        else:
            low, high, is_log = float(low), float(high), _is_log(values)
            found.add(UniformFloatHyperparameter(name, low, high, log=is_log))
    return found


def from_places(params: dict[str, Any], space: Space) -> dict[str, Any]:
    """Return parameters of SMAC3 with the entries of lists, and plain numbers."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        values = space[name]
        if isinstance(values, list):
            found[name] = values[int(value)]
        else:
            found[name] = int(value) if _is_whole(values) else float(value)
    return found


def _is_whole(values: Any) -> bool:
    return bool(values.dist.name == "randint")


def _is_log(values: Any) -> bool:
    return values.dist.name in {"loguniform", "reciprocal"}
