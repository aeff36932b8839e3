"""The parameters of all candidates as numbers, for displays of several parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_halving.plotting._labels import short_names
from sklearn_halving.plotting._parameter import as_numbers, category_texts, suits_log
from sklearn_halving.plotting._reading import FittedSearch, candidate_table


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


@dataclass(frozen=True)
class TriedSpace:
    """The candidates that have a score, best first.

    Parameters
    ----------
    axes : tuple of Axis
        The parameters in which they differ.
    score : ndarray of shape (n_candidates,)
        Mean test score with the most resource.
    level : ndarray of shape (n_candidates,)
        That amount of resource; ones if there is none.
    best : ndarray of bool of shape (n_candidates,)
        True for the winner.
    """

    axes: tuple[Axis, ...]
    score: np.ndarray
    level: np.ndarray
    best: np.ndarray


def tried_space(found: FittedSearch) -> TriedSpace:
    """Return the parameters and the scores of all candidates that have a score.

    Raises
    ------
    ValueError
        If candidates do not differ in any parameter.
    """
    table = candidate_table(found)
    shown = ~np.isnan(table.score)
    row = table.row[shown]
    names = [key.removeprefix("param_") for key in found.results if key.startswith("param_")]
    labels = short_names(names)
    axes = [_axis(name, labels[name], found.results[f"param_{name}"][row]) for name in names]
    level = np.ones(len(row))
    if found.has_resources:
        level = np.asarray(found.results["n_resources"][row], dtype=float)
    varying = tuple(axis for axis in axes if len(np.unique(axis.position)) > 1)
    if not varying:
        raise found.lacks(
            "parameters in which candidates differ", "PullsDisplay shows its candidates"
        )
    return TriedSpace(varying, table.score[shown], level, table.best[shown])


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
