"""Candidates that are created during the search, from points of the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import rv_discrete

from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.search.preparing._search_space import Params, SearchSpace


class Cube:
    """A mapping from the unit cube to parameters: each axis is one parameter, sorted by name.

    Parameters
    ----------
    space : SearchSpace
        Must be one dict of continuous distributions, each with a method ``ppf``. With a discrete
        distribution, different points could be equal candidates, fitted on the same splits.
    policy : str
        Name of the policy, for error messages.
    """

    def __init__(self, space: SearchSpace, policy: str) -> None:
        spaces = space.distributions
        way_out = (
            "Give continuous scipy.stats distributions, such as loguniform(1e-3, 1e3) or "
            "uniform(0, 1), and set all else in the estimator; or take another policy, such as "
            "'successive_rejects'."
        )
        if len(spaces) > 1:
            raise ValueError(
                f"param_distributions must be one dict for policy={policy!r}, which searches one "
                f"space of numbers; got a list of {len(spaces)}. {way_out}"
            )
        names = sorted(spaces[0])
        if not names:
            raise ValueError(
                f"param_distributions must have a parameter or more for policy={policy!r}, which "
                f"searches a space of numbers; got {{}}. {way_out}"
            )
        bad = [
            f"{name!r}: {_shown(spaces[0][name])}"
            for name in names
            if not hasattr(spaces[0][name], "ppf") or _is_discrete(spaces[0][name])
        ]
        if bad:
            raise ValueError(
                f"param_distributions must be continuous distributions for policy={policy!r}, "
                f"which halves ranges of numbers; got {', '.join(bad)}. {way_out}"
            )
        self.names = names
        self._distributions = [spaces[0][name] for name in names]

    @property
    def n_dimensions(self) -> int:
        """Number of parameters."""
        return len(self.names)

    def params_at(self, point: FloatArray) -> Params:
        """Return the parameters at a point of the unit cube, shape (n_dimensions,)."""
        pairs = zip(self.names, self._distributions, point, strict=True)
        return {name: float(distribution.ppf(x)) for name, distribution, x in pairs}


def _is_discrete(distribution: Any) -> bool:
    return isinstance(getattr(distribution, "dist", distribution), rv_discrete)


def _shown(values: Any) -> str:
    """Return a text for a distribution: discrete distributions have no informative repr."""
    if not _is_discrete(values):
        return repr(values)
    if not hasattr(values, "dist"):
        return f"the discrete distribution {values.name}"
    arguments = [*map(repr, values.args), *(f"{k}={v!r}" for k, v in values.kwds.items())]
    return f"the discrete distribution {values.dist.name}({', '.join(arguments)})"


class PointCandidates(Sequence[Params]):
    """Candidates at the points that a policy has created so far; initially only the center.

    Parameters
    ----------
    cube : Cube
        Maps points to parameters.
    n_points : int
        Maximum number of points.
    """

    def __init__(self, cube: Cube, n_points: int) -> None:
        self._cube, self._n_points = cube, n_points
        self._known: dict[int, Params] = {}
        self._points: Callable[[], FloatArray | None] | None = None

    def follow(self, points: Callable[[], FloatArray | None]) -> None:
        """Use the points of a running policy, of shape (n_points, n_dimensions)."""
        self._known.clear()
        self._points = points

    def __getstate__(self) -> dict[str, Any]:
        """Return the existing candidates, without the policy that created their points."""
        known = dict(enumerate(self))
        return {**vars(self), "_known": known, "_points": None}

    def __len__(self) -> int:
        return self._n_points

    def __getitem__(self, arm: Any) -> Any:
        if arm not in self._known:
            points = None if self._points is None else self._points()
            if points is None:
                points = np.full((1, self._cube.n_dimensions), 0.5)
            if not 0 <= arm < len(points) or np.isnan(points[arm]).any():
                raise IndexError(f"there is no candidate {arm} yet")
            self._known[arm] = self._cube.params_at(points[arm])
        return self._known[arm]

    def __iter__(self) -> Iterator[Params]:
        """Yield the existing candidates."""
        for arm in range(self._n_points):
            try:
                params = self[arm]
            except IndexError:
                return
            yield params
