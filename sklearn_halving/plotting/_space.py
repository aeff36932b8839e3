"""The parameters of candidates as positions on axes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from sklearn_halving.plotting._labels import short_names, value_text, value_texts
from sklearn_halving.plotting._reading import FittedSearch

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Axis:
    """One parameter of all candidates.

    Parameters
    ----------
    name : str
        Name of the parameter, as in ``param_distributions``.
    label : str
        The shortest end of the name that no other parameter has.
    position : ndarray of shape (n_candidates,)
        Values of a numeric parameter, places of the categories otherwise. NaN for candidates
        without the parameter.
    categories : tuple of str
        Names of the categories; empty for numbers.
    is_log : bool
        Whether values are spaced more evenly on a logarithmic scale.
    """

    name: str
    label: str
    position: np.ndarray
    categories: tuple[str, ...]
    is_log: bool

    @property
    def even(self) -> np.ndarray:
        """Positions on the scale on which they are spaced evenly."""
        return np.log10(self.position) if self.is_log else self.position


def tried_space(found: FittedSearch) -> tuple[list[Axis], pd.DataFrame]:
    """Return the parameters in which candidates with a score differ, and these candidates.

    The candidates are rows of `FittedSearch.candidates`, best first.

    Raises
    ------
    ValueError
        If candidates do not differ in any parameter.
    """
    table = found.candidates().dropna(subset=["score"])
    columns = {name: found.results[f"param_{name}"][table["row"]] for name in found.parameters}
    axes = [axis_of(name, short, columns[name]) for name, short in short_names(columns).items()]
    varying = [axis for axis in axes if len(np.unique(axis.position)) > 1]
    if not varying:
        way_out = "PullsDisplay shows its candidates"
        raise found.lacks("parameters in which candidates differ", way_out)
    return varying, table


def axis_of(name: str, label: str, column: np.ndarray) -> Axis:
    """Return the axis of a parameter; values that are missing are masked in its column."""
    position = np.full(len(column), np.nan)
    has_value = ~np.ma.getmaskarray(column)
    values = as_numbers(column[has_value])
    if values.dtype != object:
        position[has_value] = values
        return Axis(name, label, position, (), _suits_log(values))
    texts = value_texts(list(values))
    categories = sorted(set(texts), key=lambda text: _category_key(values[texts.index(text)]))
    position[has_value] = [categories.index(text) for text in texts]
    return Axis(name, label, position, tuple(categories), is_log=False)


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Return an array of floats, or of objects where one is not a finite number."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    if all(map(_is_number, objects)) and np.isfinite(objects.astype(float)).all():
        return objects.astype(float)
    return objects


def _is_number(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _suits_log(values: np.ndarray) -> bool:
    """Return whether values are positive, and more evenly spaced on a logarithmic scale."""
    values = np.unique(values)
    if len(values) < 3 or values[0] <= 0 or values[-1] / values[0] < 20:
        return False
    unevenness = [np.diff(v).std() / np.diff(v).mean() for v in (np.log(values), values)]
    return bool(unevenness[0] < unevenness[1])


def _category_key(value: object) -> tuple[bool, float, str]:
    """Return a sort key: numbers come first, by size, followed by other values by name."""
    size = float(value) if _is_number(value) else 0.0
    return not _is_number(value), size, value_text(value)
