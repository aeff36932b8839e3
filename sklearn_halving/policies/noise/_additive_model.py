"""Estimates of arm means on common splits by the model reward = arm + split + noise."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray

WILD = 1e3
"""An arm is wild if its rewards are this many times as far from the best arm as those of the best
half of the arms. Rewards of diverged models would dominate the estimates of the split effects."""


class Estimates(NamedTuple):
    """Mean of each arm, sum of its squared residuals, and the degrees of freedom of this sum."""

    mean: FloatArray
    """NaN for an arm without a reward. Shape ``(*batch, n_arms)``."""
    squares: FloatArray
    """In the additive model, the effects of the arm and of the splits are subtracted from rewards.
    Shape ``(*batch, n_arms)``."""
    freedom: FloatArray
    """Exact if all arms have the same splits, and approximate otherwise.
    Shape ``(*batch, n_arms)``."""


def fit_additive_model(
    rewards: FloatArray, observed: BoolArray, *, split_effects: str = "random"
) -> Estimates:
    """Estimate arm means and the noise around them when arms have different splits.

    Parameters
    ----------
    rewards : ndarray of shape (*batch, n_arms, n_splits)
    observed : ndarray of bool of shape (*batch, n_arms, n_splits)
        Which rewards are known. The others are ignored.
    split_effects : {"random", "fixed"}, default="random"
        "fixed" is least squares: splits are compared only by arms that have rewards on both.
        "random" treats split effects as random with a variance that is estimated (Henderson's
        second method: first the fixed effects, then the residuals). The result is between least
        squares and simple means, depending on the variance of the splits. If all arms have the
        same splits, both give the simple means.

    Wild arms, such as models that diverged, are ignored in the estimates of the split effects.

    Returns
    -------
    Estimates

    Examples
    --------
    The second arm was only pulled on the two easy splits, on which the first arm was better:

    >>> import numpy as np
    >>> from sklearn_halving.policies.noise._additive_model import fit_additive_model
    >>> rewards = np.array([[0.9, 0.7, 0.3], [0.8, 0.6, 0.0]])
    >>> observed = np.array([[True, True, True], [True, True, False]])
    >>> fit = fit_additive_model(rewards, observed, split_effects="fixed")
    >>> float(np.round(fit.mean[0] - fit.mean[1], 6))
    0.1
    """
    batch, (n_arms, n_splits) = rewards.shape[:-2], rewards.shape[-2:]
    seen = observed.reshape(prod(batch), n_arms, n_splits).astype(np.float64)
    y = np.where(observed, rewards, 0.0).reshape(seen.shape)
    wild = _wild_arms(y, seen)
    calm = seen if not wild.any() else seen * ~wild[:, :, np.newaxis]
    n_seen = np.maximum(calm.sum(axis=(1, 2)), 1)
    centre = ((y * calm).sum(axis=(1, 2)) / n_seen)[:, np.newaxis, np.newaxis]
    y = np.where(seen > 0, y - centre, 0.0)
    arm, split = _solve(y * calm, calm, np.zeros(len(seen)))
    freedom = _degrees_of_freedom(seen)
    if split_effects == "random":
        of_calm = freedom if calm is seen else _degrees_of_freedom(calm)
        ratio = _noise_to_split_ratio(y * calm, calm, arm, split, of_calm)
        arm, split = _solve(y * calm, calm, ratio)
    if wild.any():
        left = np.where(seen > 0, y - split[:, np.newaxis, :], 0.0).sum(axis=2)
        arm = np.where(wild, left / np.maximum(seen.sum(axis=2), 1), arm)
    residual = np.where(seen > 0, y - arm[:, :, np.newaxis] - split[:, np.newaxis, :], 0.0)
    mean = np.where(seen.any(axis=2), arm + centre[:, :, 0], np.nan)
    squared = (residual**2).sum(axis=2)
    return Estimates(
        mean.reshape(*batch, n_arms),
        squared.reshape(*batch, n_arms),
        freedom.reshape(*batch, n_arms),
    )


def _wild_arms(y: FloatArray, seen: FloatArray) -> BoolArray:
    """Return which arms are wild, shape ``(n_problems, n_arms)``.

    Wild arms are removed, and the others are tested again until no more are found.
    """
    per_arm = seen.sum(axis=2)
    is_in: BoolArray = per_arm > 0
    plain = y.sum(axis=2) / np.maximum(per_arm, 1)
    best = np.where(is_in, plain, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    away = np.abs(y - np.where(np.isfinite(best), best, 0.0)[:, :, np.newaxis])
    size = np.where(seen > 0, away, 0.0).max(axis=2, initial=0.0)
    wild = np.zeros(is_in.shape, dtype=bool)
    least = np.where(is_in & (size > 0), size, np.inf).min(axis=1, initial=np.inf)
    for problem in np.flatnonzero(size.max(axis=1, initial=0.0) > WILD * least):
        arms = np.flatnonzero(is_in[problem])
        while len(arms) > 2:
            better = arms[np.argsort(-plain[problem, arms], kind="stable")][: (len(arms) + 1) // 2]
            usual = np.median(size[problem, better])
            kept = arms[size[problem, arms] <= WILD * usual] if usual > 0 else arms
            if len(kept) == len(arms):
                break
            arms = kept
        wild[problem] = is_in[problem]
        wild[problem, arms] = False
    return wild


def _solve(y: FloatArray, seen: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minimize ``sum((y - arm - split)^2) + ratio * sum(split^2)`` in each problem.

    The larger of the two groups of unknowns is eliminated. With an infinite ratio, there are no
    split effects.
    """
    per_arm, per_split = seen.sum(axis=2), seen.sum(axis=1)
    # A small penalty makes the least squares solution unique: the split effects sum to 0.
    weight = 1 / (np.maximum(per_split, 1) + np.maximum(ratio, 1e-7)[:, np.newaxis])
    arm_sum, split_sum = y.sum(axis=2), y.sum(axis=1)
    if seen.shape[1] <= seen.shape[2]:
        matrix = -_shared_by_arms(seen, weight)
        _add_to_diagonal(matrix, np.maximum(per_arm, 1))
        right = arm_sum - np.einsum("pis,ps->pi", seen, weight * split_sum)
        arm = np.linalg.solve(matrix, right[..., np.newaxis])[..., 0]
        split = weight * (split_sum - np.einsum("pis,pi->ps", seen, arm))
        return arm, split
    inverse = 1 / np.maximum(per_arm, 1)
    scaled = np.sqrt(weight)
    matrix = -_shared_by_splits(seen, inverse)
    matrix *= scaled[:, :, np.newaxis] * scaled[:, np.newaxis, :]
    _add_to_diagonal(matrix, np.ones_like(scaled))
    right = scaled * (split_sum - np.einsum("pis,pi->ps", seen, inverse * arm_sum))
    split = scaled * np.linalg.solve(matrix, right[..., np.newaxis])[..., 0]
    return inverse * (arm_sum - np.einsum("pis,ps->pi", seen, split)), split


def _shared_by_arms(seen: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weight of the splits that each pair of arms shares, ``seen W seen'``."""
    n_seen = _prefix_lengths(seen)
    if n_seen is None:
        return np.einsum("pis,ps,pks->pik", seen, weight, seen, optimize=True)
    of_first = np.pad(np.cumsum(weight, axis=1), ((0, 0), (1, 0)))
    fewer = np.minimum(n_seen[:, :, np.newaxis], n_seen[:, np.newaxis, :])
    problem = np.arange(len(seen))[:, np.newaxis, np.newaxis]
    return of_first[problem, fewer]


def _shared_by_splits(seen: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the weight of the arms that each pair of splits shares, ``seen' W seen``."""
    n_seen = _prefix_lengths(seen)
    if n_seen is None:
        return np.einsum("pis,pi,pir->psr", seen, inverse, seen, optimize=True)
    of_later = np.einsum("pis,pi->ps", seen, inverse)  # arms with this split have all earlier ones
    place = np.arange(seen.shape[2])
    return of_later[:, np.maximum(place[:, np.newaxis], place)]


def _prefix_lengths(seen: FloatArray) -> IntArray | None:
    """Return the number of splits of each arm if they are the first ones, otherwise None.

    In this case, the shared weights are computed without a matrix product.
    """
    n_seen: IntArray = seen.sum(axis=2).astype(np.int64)
    is_first = np.arange(seen.shape[2]) < n_seen[..., np.newaxis]
    return n_seen if (is_first == (seen > 0)).all() else None


def _add_to_diagonal(matrix: FloatArray, diagonal: FloatArray) -> None:
    place = np.arange(matrix.shape[-1])
    matrix[:, place, place] += diagonal


def _degrees_of_freedom(seen: FloatArray) -> FloatArray:
    """Return the sum over an arm's splits of (1 - 1 / its splits) (1 - 1 / the split's arms)."""
    per_arm = np.maximum(seen.sum(axis=2), 1)
    shared = 1 - 1 / np.maximum(seen.sum(axis=1), 1)
    return (1 - 1 / per_arm) * np.einsum("pis,ps->pi", seen, shared)


def _noise_to_split_ratio(
    y: FloatArray, seen: FloatArray, arm: FloatArray, split: FloatArray, freedom: FloatArray
) -> FloatArray:
    """Return noise variance / split variance by moments; infinite if there are no effects."""
    residual = np.where(seen > 0, y - arm[:, :, np.newaxis] - split[:, np.newaxis, :], 0.0)
    noise = (residual**2).sum(axis=(1, 2)) / np.maximum(freedom.sum(axis=1), 1e-9)
    per_arm = seen.sum(axis=2)
    own_mean = y.sum(axis=2) / np.maximum(per_arm, 1)
    within = (np.where(seen > 0, y - own_mean[:, :, np.newaxis], 0.0) ** 2).sum(axis=(1, 2))
    within /= np.maximum((per_arm - 1).clip(0).sum(axis=1), 1)
    of_split = within - noise
    ratio: FloatArray = np.where(
        of_split > 1e-3 * within, noise / np.where(of_split > 0, of_split, 1.0), np.inf
    )
    return np.minimum(ratio, 1e9)
