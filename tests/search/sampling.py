"""What the tests of searches with a sampler share: one small search of each kind."""

from __future__ import annotations

from scipy.stats import uniform

from search.common import numbered
from search.resuming import Steady
from sklearn_halving import (
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    VarianceHalvingSearchCV,
)

X, Y = numbered(120)
SPACE = {"value": uniform(0, 1)}
SAMPLERS = ["gaussian_process"]
KINDS = {
    "hyperband": (HyperbandSearchCV, {"n_candidates": 17, "n_loops": 4, "brackets": "all"}),
    "race": (BanditSearchCV, {"policy": "incumbent_race", "n_fits": 80, "cv": 4}),
    "halving": (VarianceHalvingSearchCV, {"n_fits": 80, "cv": 4}),
    "gap": (BayesGapSearchCV, {"n_fits": 80, "fits_in_flight": 8, "cv": 4}),
}
"""Searches whose candidates a sampler makes, with parameters for which they take a moment."""


def sampled(kind, sampler, estimator=None, space=None, **params):
    """Return a search of a kind whose candidates are made by a sampler."""
    search_class, own = KINDS[kind]
    defaults = {"cv": 3, "random_state": 0, "refit": False, **own}
    return search_class(
        estimator or Steady(), space or SPACE, sampler=sampler, **{**defaults, **params}
    )
