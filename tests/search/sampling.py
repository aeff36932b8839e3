"""What the tests of searches whose candidates arrive share: one small search of each kind."""

from __future__ import annotations

from scipy.stats import uniform

from search.common import numbered
from search.resuming import Steady
from sklearn_halving import AdaptiveSearchCV, BanditSearchCV

X, Y = numbered(120)
SPACE = {"value": uniform(0, 1)}
SAMPLERS = ["gaussian_process", "random"]
KINDS = {
    "adaptive": (AdaptiveSearchCV, {"n_fits": 80, "cv": 4}),
    "in flight": (AdaptiveSearchCV, {"n_fits": 60, "cv": 4, "fits_in_flight": 5}),
    "race": (BanditSearchCV, {"policy": "budgeted_race", "n_fits": 80, "cv": 4}),
}
"""Searches whose candidates a sampler makes, with parameters for which they take a moment."""


def sampled(kind, sampler, estimator=None, space=None, **params):
    """Return a search of a kind whose candidates are made by a sampler."""
    search_class, own = KINDS[kind]
    defaults = {"random_state": 0, "refit": False, **own}
    return search_class(
        estimator or Steady(), space or SPACE, sampler=sampler, **{**defaults, **params}
    )
