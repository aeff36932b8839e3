"""UGap over the candidates of BayesGapSearchCV, which treats them as independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sklearn_halving.policies import AdaptiveUGapEb
from sklearn_halving.policies._arrays import FloatArray
from sklearn_halving.policies.bases._index_policy import IndexState
from sklearn_halving.search.preparing._named_policies import range_of_steering_score
from sklearn_halving.search.reporting._statistics import ChoiceStatistics

if TYPE_CHECKING:
    from sklearn_halving.search._bayes_gap import BayesGapSearchCV

UGapName = Literal["ugap", "ugap_bernstein"]
BOUNDS: dict[str, Literal["hoeffding", "bernstein"]] = {
    "ugap": "hoeffding",
    "ugap_bernstein": "bernstein",
}
"""Acquisitions for independent candidates, and the bounds that they use."""
NOT_FOR_UGAP = {"kernel": None, "branch_correlation": 0, "noise": "auto", "beta": "effective"}
"""Parameters of the model of similar candidates, and their defaults."""


@dataclass(frozen=True)
class UGapOverCandidates(AdaptiveUGapEb):
    """UGap with several pulls in flight."""

    pulls_in_flight: int = 1


def n_first_fits(acquisition: str) -> int:
    """Return the number of fits that every candidate needs; 0 if some may have none."""
    return {"ugap": 1, "ugap_bernstein": 2}.get(acquisition, 0)


def make_ugap(
    search: BayesGapSearchCV, n_pulls: int, pulls_in_flight: int, n_splits: int | None
) -> UGapOverCandidates:
    """Return the policy. Raise an error if a parameter does not apply to it."""
    acquisition = search.acquisition
    reward_range = range_of_steering_score(search)
    if reward_range is None:
        raise ValueError(
            f"acquisition={acquisition!r} must have a score whose range is known, such as "
            f"accuracy; got scoring={search.scoring!r} with {search.estimator!r}. Use another "
            "acquisition, or BanditSearchCV with policy='adaptive_ugap_eb' and a reward_range."
        )
    for name, default in NOT_FOR_UGAP.items():
        value = getattr(search, name)
        if value is not None if default is None else value != default:
            raise ValueError(
                f"{name} must be {default!r} with acquisition={acquisition!r}, which treats "
                "candidates as independent and has its own bounds; "
                f"got {value!r}. Leave it out, or use another acquisition."
            )
    if n_splits is not None and n_splits < n_first_fits(acquisition):
        raise ValueError(
            f"acquisition={acquisition!r} must have a cv of at least "
            f"{n_first_fits(acquisition)} splits, on which every candidate is fitted first; "
            f"got {n_splits}. Use a cv with more splits, or acquisition='ugap'."
        )
    return UGapOverCandidates(
        n_pulls,
        epsilon=search.epsilon,
        bounds=BOUNDS[acquisition],
        reward_range=reward_range,
        pulls_in_flight=pulls_in_flight,
    )


def interval_columns(
    ugap: UGapOverCandidates, state: IndexState, statistics: ChoiceStatistics
) -> dict[str, FloatArray]:
    """Return the posterior columns, computed from each candidate's own scores."""
    mean, error = statistics.mean, statistics.error
    half_width = ugap.half_width(state)
    return {
        "posterior_mean": mean,
        "posterior_sd": error,
        "lower_bound": np.where(np.isnan(mean), np.nan, mean - half_width),
        "upper_bound": np.where(np.isnan(mean), np.nan, mean + half_width),
    }
