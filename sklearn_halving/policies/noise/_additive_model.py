"""Estimates of arm means on common splits by the model reward = arm + split + noise."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray

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


def fit_additive_model(rewards: FloatArray, observed: BoolArray) -> Estimates:
    """Estimate arm means and the noise around them when arms have different splits.

    Split effects are random, with a variance that is estimated by Henderson's second method: first
    the fixed effects by least squares, then their variance from the residuals. The result is
    between least squares, which compares splits only by arms that have rewards on both, and simple
    means. If all arms have the same splits, it is the simple means. Wild arms, such as models that
    diverged, are ignored in the estimates of the split effects.

    Parameters
    ----------
    rewards : ndarray of shape (*batch, n_arms, n_splits)
    observed : ndarray of bool of shape (*batch, n_arms, n_splits)
        Which rewards are known. The others are ignored.

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
    >>> fit = fit_additive_model(rewards, observed)
    >>> float(np.round(fit.mean[0] - fit.mean[1], 6))
    0.1
    """
    batch, (n_arms, n_splits) = rewards.shape[:-2], rewards.shape[-2:]
    seen = observed.reshape(prod(batch), n_arms, n_splits).astype(np.float64)
    y = np.where(observed, rewards, 0.0).reshape(seen.shape)
    wild = _wild_arms(y, seen)
    calm = seen * ~wild[:, :, np.newaxis]
    n_calm = np.maximum(calm.sum(axis=(1, 2)), 1)
    centre = ((y * calm).sum(axis=(1, 2)) / n_calm)[:, np.newaxis]
    y = np.where(seen > 0, y - centre[:, :, np.newaxis], 0.0)
    of_calm = y * calm
    fixed = _solve(of_calm, calm, np.zeros(len(seen)))
    ratio = _noise_to_split_ratio(of_calm, calm, _residual(of_calm, calm, *fixed))
    arm, split = _solve(of_calm, calm, ratio)
    left = _residual(y, seen, np.zeros_like(arm), split).sum(axis=2)
    arm = np.where(wild, left / np.maximum(seen.sum(axis=2), 1), arm)
    mean = np.where(seen.any(axis=2), arm + centre, np.nan)
    squares = (_residual(y, seen, arm, split) ** 2).sum(axis=2)
    freedom = _degrees_of_freedom(seen)
    return Estimates(*(each.reshape(*batch, n_arms) for each in (mean, squares, freedom)))


def _residual(y: FloatArray, seen: FloatArray, arm: FloatArray, split: FloatArray) -> FloatArray:
    residual = y - arm[:, :, np.newaxis] - split[:, np.newaxis, :]
    return np.where(seen > 0, residual, 0.0)


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
    """Minimize ``sum((y - arm - split)^2) + ratio * sum(split^2)`` in each problem."""
    of_arm = np.maximum(seen.sum(axis=2), 1)
    # A small penalty makes the least squares solution unique: the split effects sum to 0.
    of_split = np.maximum(seen.sum(axis=1), 1) + np.maximum(ratio, 1e-7)[:, np.newaxis]
    if seen.shape[1] <= seen.shape[2]:
        return _eliminate(y, seen, of_arm, of_split)
    split, arm = _eliminate(y.transpose(0, 2, 1), seen.transpose(0, 2, 1), of_split, of_arm)
    return arm, split


def _eliminate(
    y: FloatArray, seen: FloatArray, of_row: FloatArray, of_column: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Solve the normal equations with these diagonals for rows and columns of each table.

    The columns, which are the larger group of unknowns, are eliminated first.
    """
    shared = seen / of_column[:, np.newaxis, :]
    matrix = -shared @ seen.transpose(0, 2, 1)
    place = np.arange(matrix.shape[-1])
    matrix[:, place, place] += of_row
    right = y.sum(axis=2) - np.einsum("prc,pc->pr", shared, y.sum(axis=1))
    row = np.linalg.solve(matrix, right[..., np.newaxis])[..., 0]
    column = y.sum(axis=1) / of_column - np.einsum("prc,pr->pc", shared, row)
    return row, column


def _degrees_of_freedom(seen: FloatArray) -> FloatArray:
    """Return the sum over an arm's splits of (1 - 1 / its splits) (1 - 1 / the split's arms)."""
    per_arm = np.maximum(seen.sum(axis=2), 1)
    shared = 1 - 1 / np.maximum(seen.sum(axis=1), 1)
    return (1 - 1 / per_arm) * np.einsum("pis,ps->pi", seen, shared)


def _noise_to_split_ratio(y: FloatArray, seen: FloatArray, residual: FloatArray) -> FloatArray:
    """Return noise variance / split variance by moments; very large if there are no effects."""
    freedom = _degrees_of_freedom(seen).sum(axis=1)
    noise = (residual**2).sum(axis=(1, 2)) / np.maximum(freedom, 1e-9)
    per_arm = seen.sum(axis=2)
    own_mean = y.sum(axis=2) / np.maximum(per_arm, 1)
    no_split = np.zeros_like(y[:, 0])
    within = (_residual(y, seen, own_mean, no_split) ** 2).sum(axis=(1, 2))
    within /= np.maximum((per_arm - 1).clip(0).sum(axis=1), 1)
    of_split = within - noise
    has_effects = of_split > 1e-3 * within
    ratio = noise / np.where(has_effects, of_split, 1.0)
    return np.where(has_effects, np.minimum(ratio, 1e9), 1e9)
