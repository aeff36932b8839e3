"""What `compare.py` gives a search, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Params = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """One search problem: a model, a space, and the training part of a data set.

    Parameters
    ----------
    name : str
        Data set and family, such as ``"phoneme, svm"``.
    estimator : estimator
        With all of its resource, where that is a parameter of it.
    distributions : dict
        Names to distributions of SciPy (``loguniform``, ``uniform``, ``randint``) or to lists.
    grid : dict of str to list
        About as many candidates as ``n_iter``.
    X, y : ndarray
        Training rows, shape (n_samples, n_features) and (n_samples,).
    scoring : str
    cv : list of (ndarray, ndarray)
        Train and test rows of five folds, the same for all searches.
    resource : str
        ``"n_samples"``, or the name of the parameter that counts iterations.
    max_resource : int
        Value of that parameter in ``estimator``; of ``"n_samples"``, rows of a training fold.
    n_iter : int
        Candidates of RandomizedSearchCV.
    """

    name: str
    estimator: Any
    distributions: Params
    grid: dict[str, list[Any]]
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    scoring: str
    cv: list[tuple[Any, Any]] = field(repr=False)
    resource: str
    max_resource: int
    n_iter: int


@dataclass(frozen=True)
class Incumbent:
    """What a search would return from this moment on.

    Parameters
    ----------
    seconds : float
        Wall time since the search began.
    n_fits : int
        Fits up to then, small ones too; one candidate on five folds makes five.
    params : dict
        Without the resource: all are refitted with all of it.
    """

    seconds: float
    n_fits: int
    params: Params


@dataclass(frozen=True)
class SearchRun:
    """One search from its begin to its end or the limit of time.

    Parameters
    ----------
    incumbents : list of Incumbent
        In order of time; the first as soon as the search had anything to say.
    seconds : float
        Wall time.
    n_fits : int
    """

    incumbents: list[Incumbent]
    seconds: float
    n_fits: int
