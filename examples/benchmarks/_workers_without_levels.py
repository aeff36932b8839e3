"""What many workers do with the searches whose fits all have the same size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_halving.policies import (
    BayesGap,
    Policy,
    SuccessiveRejects,
    UGapEb,
    UniformAllocation,
    VarianceHalving,
)
from sklearn_halving.policies.bases._base_policy import default_window
from sklearn_halving.simulation import (
    GaussianProcessArms,
    PullDurations,
    Workers,
    simulate_workers,
)

N_ARMS, N_PULLS = 64, 320
NOISE = 0.3
"""Standard deviation of the noise; that of the arms is 1."""


def covariance() -> np.ndarray:
    """Return the covariance of similar candidates on a line."""
    place = np.arange(N_ARMS) / 6
    return np.exp(-((place[:, np.newaxis] - place) ** 2) / 2)


def searches() -> dict[str, Policy]:
    """Return the policies of the searches, with their windows."""
    window = default_window(N_PULLS)
    return {
        "VarianceHalvingSearchCV": VarianceHalving(N_PULLS, common_splits=False),
        "BayesGapSearchCV": BayesGap(N_PULLS, covariance(), NOISE**2, pulls_in_flight=window),
        "successive rejects": SuccessiveRejects(N_PULLS),
        "UGap": UGapEb(N_PULLS, 10.0, reward_range=(-4.0, 4.0)),
        "uniform (grid search)": UniformAllocation(N_PULLS),
    }


def rows(
    n_workers: Sequence[int], n_problems: int, speedup: Callable[..., tuple[float, float, float]]
) -> Iterator[list[Any]]:
    """Yield a row for each search and number of workers."""
    world = GaussianProcessArms(covariance(), noise_sd=NOISE)
    even = PullDurations(candidate_sd=0.5)
    slow = PullDurations(candidate_sd=0.5, straggler_share=0.02)
    for name, policy in searches().items():
        alone = simulate_workers(policy, world, Workers(1, slow), n_problems)
        for n in n_workers:
            found = simulate_workers(policy, world, Workers(n, slow), n_problems)
            steady = simulate_workers(policy, world, Workers(n, even), n_problems)
            idle = found.idle_share
            ratio, error, _ = speedup(found, alone)
            yield [
                f"{n:,}",
                name,
                f"{idle.value:.3f} ± {idle.standard_error:.3f}",
                f"{ratio:.1f} ± {error:.1f}",
                f"{alone.seconds.mean() / found.seconds.mean():.1f}",
                f"{idle.value - steady.idle_share.value:.3f}",
            ]
