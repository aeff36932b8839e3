"""The parameters of candidates as positions on axes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving.plotting._labels import short_names, value_text, value_texts
from sklearn_halving.plotting._reading import FittedSearch

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Axis:
    """One parameter of all candidates."""

    name: str
    """Name of the parameter, as in ``param_distributions``."""
    label: str
    """The shortest end of the name that no other parameter has."""
    position: np.ndarray
    """Values of a numeric parameter, places of the categories otherwise. NaN for candidates
    without the parameter. Shape ``(n_candidates,)``."""
    categories: tuple[str, ...]
    """Names of the categories; empty for numbers."""
    is_log: bool
    """Whether values are spaced more evenly on a logarithmic scale."""

    @property
    def even(self) -> np.ndarray:
        """Positions on the scale on which they are spaced evenly."""
        return np.log10(self.position) if self.is_log else self.position


@dataclass(frozen=True)
class TriedSpace:
    """The candidates that have a score, best first."""

    axes: tuple[Axis, ...]
    """The parameters in which they differ."""
    table: pd.DataFrame
    """Their rows of `FittedSearch.candidates`."""


def tried_space(found: FittedSearch) -> TriedSpace:
    """Return the parameters and the scores of all candidates that have a score.

    Raises
    ------
    ValueError
        If candidates do not differ in any parameter.
    """
    table = found.candidates().dropna(subset=["score"])
    columns = {name: found.results[f"param_{name}"][table["row"]] for name in found.parameters}
    axes = [_axis(name, short, columns[name]) for name, short in short_names(columns).items()]
    varying = tuple(axis for axis in axes if len(np.unique(axis.position)) > 1)
    if not varying:
        way_out = "PullsDisplay shows its candidates"
        raise found.lacks("parameters in which candidates differ", way_out)
    return TriedSpace(varying, table)


def _axis(name: str, label: str, column: np.ma.MaskedArray) -> Axis:
    position = np.full(len(column), np.nan)
    has_value = ~np.ma.getmaskarray(column)
    values = as_numbers([column[place] for place in np.flatnonzero(has_value)])
    if values.dtype != object:
        position[has_value] = values
        return Axis(name, label, position, (), suits_log(values))
    texts, categories = category_texts(values)
    position[has_value] = [categories.index(text) for text in texts]
    return Axis(name, label, position, tuple(categories), is_log=False)


def as_numbers(values: list[object]) -> np.ndarray:
    """Return an array of floats, or of objects where one is not a finite number."""
    is_number = all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in values)
    if is_number and np.isfinite(numbers := np.array(values, dtype=float)).all():
        return numbers
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def suits_log(values: np.ndarray) -> bool:
    """Return whether values are positive, and more evenly spaced on a logarithmic scale."""
    values = np.unique(values)
    if len(values) < 3 or values[0] <= 0 or values[-1] / values[0] < 20:
        return False
    unevenness = [np.diff(v).std() / np.diff(v).mean() for v in (np.log(values), values)]
    return bool(unevenness[0] < unevenness[1])


def category_texts(values: np.ndarray) -> tuple[list[str], list[str]]:
    """Return the text of each value, and the distinct texts in the order of an axis."""
    texts = value_texts(list(values))
    order = sorted(set(texts), key=lambda text: _category_key(values[texts.index(text)]))
    return texts, order


def _category_key(value: object) -> tuple[bool, float, str]:
    """Return a sort key: numbers come first, by size, followed by other values by name."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        return False, float(value), value_text(value)
    return True, 0.0, value_text(value)
