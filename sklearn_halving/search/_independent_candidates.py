"""UGap over the candidates of BayesGapSearchCV: as if none were like another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sklearn_halving.policies import AdaptiveUGapEb
from sklearn_halving.policies._types import FloatArray
from sklearn_halving.search._choice_columns import ChoiceStatistics
from sklearn_halving.search._named_policies import range_of_score

BOUNDS = {"ugap": "hoeffding", "ugap_bernstein": "bernstein"}
"""Acquisitions for independent candidates, and the bounds that they use."""


@dataclass(frozen=True)
class UGapOverCandidates(AdaptiveUGapEb):
    """UGap with a number of pulls that are open at a time."""

    pulls_in_flight: int = 1


def n_first_fits(acquisition: str) -> int:
    """Return how many fits every candidate needs; 0 if some may go without."""
    return {"ugap": 1, "ugap_bernstein": 2}.get(acquisition, 0)


def make_ugap(search: Any, n_pulls: int) -> UGapOverCandidates:
    """Return the policy, or raise if its bounds cannot be had."""
    acquisition = search.acquisition
    reward_range = range_of_score(search.scoring, classifies=is_classifier(search.estimator))
    if reward_range is None:
        raise ValueError(
            f"acquisition={acquisition!r} must have a score whose range is known, such as "
            f"accuracy; got scoring={search.scoring!r} with {search.estimator!r}. Use another "
            "acquisition, or BanditSearchCV with policy='adaptive_ugap_eb' and a reward_range."
        )
    if search.kernel is not None:
        raise ValueError(
            f"kernel must be None with acquisition={acquisition!r}, for which no candidate is "
            f"like another; got {search.kernel!r}. Leave it out, or use another acquisition."
        )
    return UGapOverCandidates(
        n_pulls,
        epsilon=search.epsilon,
        bounds=BOUNDS[acquisition],
        reward_range=reward_range,
        pulls_in_flight=search.pulls_in_flight,
    )


def interval_columns(
    policy: UGapOverCandidates, state: Any, statistics: ChoiceStatistics
) -> dict[str, FloatArray]:
    """Return what stands for a posterior where there is none: each candidate's own scores."""
    mean, error = statistics.mean, statistics.error
    half_width = policy.half_width(state)
    return {
        "posterior_mean": mean,
        "posterior_sd": error,
        "lower_bound": np.where(np.isnan(mean), np.nan, mean - half_width),
        "upper_bound": np.where(np.isnan(mean), np.nan, mean + half_width),
    }
