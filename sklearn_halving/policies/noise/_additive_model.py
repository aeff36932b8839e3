"""The model reward = arm + split + noise, for arms that were pulled on different splits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray

WILD = 1e3
"""An arm is wild if its rewards are this many times as far from the best arm as the better half of
the rewards. Rewards of diverged models would dominate the estimates of the split effects."""


class Estimates(NamedTuple):
    """Mean of each arm, sum of its squared residuals, and the degrees of freedom of this sum.

    Parameters
    ----------
    mean : ndarray of shape (n_arms,)
        NaN for an arm without a reward.
    squares : ndarray of shape (n_arms,)
        In the additive model, the effects of the arm and of the splits are subtracted from
        rewards.
    freedom : ndarray of shape (n_arms,)
        Exact if all arms have the same splits, and approximate otherwise.
    """

    mean: FloatArray
    squares: FloatArray
    freedom: FloatArray


def fit_table(table: FloatArray) -> Estimates:
    """Return the estimates from rewards of shape (n_arms, n_splits); NaN for no reward."""
    arm, split = np.nonzero(~np.isnan(table))
    return fit_additive_model(arm, split, table[arm, split], len(table))


def fit_additive_model(
    arm: IntArray, split: IntArray, reward: FloatArray, n_arms: int
) -> Estimates:
    """Estimate arm means and the noise around them when arms have different splits.

    Split effects are random, with a variance that is estimated by Henderson's second method: first
    the fixed effects by least squares, then their variance from the residuals. The result is
    between least squares, which compares splits only by arms that have rewards on both, and simple
    means. If all arms have the same splits, it is the simple means. Wild arms, such as models that
    diverged, are ignored in the estimates of the split effects.

    Parameters
    ----------
    arm, split : ndarray of int of shape (n_rewards,)
        Where each reward was received.
    reward : ndarray of shape (n_rewards,)
    n_arms : int

    Returns
    -------
    Estimates

    Examples
    --------
    The second arm was only pulled on the two easy splits, on which the first arm was better:

    >>> import numpy as np
    >>> from sklearn_halving.policies.noise._additive_model import fit_table
    >>> fit = fit_table(np.array([[0.9, 0.7, 0.3], [0.8, 0.6, np.nan]]))
    >>> float(np.round(fit.mean[0] - fit.mean[1], 6))
    0.1
    """
    n_of_arm = np.bincount(arm, minlength=n_arms)
    wild = _wild_arms(arm, reward, n_of_arm)
    is_calm = ~wild[arm]
    centre = reward[is_calm].mean() if is_calm.any() else 0.0
    y = reward - centre
    calm = _Layout.of(arm[is_calm], split[is_calm], n_arms, int(split.max(initial=-1)) + 1)
    of_arm, of_split = calm.effects(y[is_calm], calm.noise_to_split_ratio(y[is_calm]))
    left = np.bincount(arm, y - of_split[split], n_arms) / np.maximum(n_of_arm, 1)
    of_arm = np.where(wild, left, of_arm)
    residual = y - of_arm[arm] - of_split[split]
    mean = np.where(n_of_arm > 0, of_arm + centre, np.nan)
    squares = np.asarray(np.bincount(arm, residual**2, n_arms), dtype=np.float64)
    return Estimates(mean, squares, _Layout.of(arm, split, n_arms, len(of_split)).freedom())


def _wild_arms(arm: IntArray, reward: FloatArray, n_of_arm: IntArray) -> BoolArray:
    """Return which arms are wild, shape ``(n_arms,)``.

    Wild arms are removed, and the others are tested again until no more are found.
    """
    wild = np.zeros(len(n_of_arm), dtype=bool)
    arms = np.flatnonzero(n_of_arm)
    plain = np.bincount(arm, reward, len(n_of_arm)) / np.maximum(n_of_arm, 1)
    best = plain[arms].max(initial=-np.inf)
    size = np.zeros(len(n_of_arm))
    np.maximum.at(size, arm, np.abs(reward - (best if np.isfinite(best) else 0.0)))
    least = size[size > 0].min(initial=np.inf)
    if not size.max(initial=0.0) > WILD * least:
        return wild
    wild[arms] = True
    while len(arms) > 2:
        better = arms[np.argsort(-plain[arms], kind="stable")][: (len(arms) + 1) // 2]
        usual = np.median(size[better])
        kept = arms[size[arms] <= WILD * usual] if usual > 0 else arms
        if len(kept) == len(arms):
            break
        arms = kept
    wild[arms] = False
    return wild


@dataclass(frozen=True)
class _Layout:
    """The arms and splits of rewards."""

    arm: IntArray
    split: IntArray
    n_of_arm: IntArray
    n_of_split: IntArray

    @classmethod
    def of(cls, arm: IntArray, split: IntArray, n_arms: int, n_splits: int) -> _Layout:
        """Count the rewards; 1 for arms and splits without any, which are divisors."""
        counts = np.bincount(arm, minlength=n_arms), np.bincount(split, minlength=n_splits)
        return cls(arm, split, *(np.maximum(count, 1) for count in counts))

    def freedom(self) -> FloatArray:
        """Return ``(1 - 1 / N) sum(1 - 1 / n_arms of the split)`` over the N splits of an arm."""
        shared = 1 - 1 / self.n_of_split
        total = np.bincount(self.arm, shared[self.split], len(self.n_of_arm))
        return (1 - 1 / self.n_of_arm) * total

    def noise_to_split_ratio(self, y: FloatArray) -> float:
        """Return noise variance / split variance by moments; very large without effects."""
        of_arm, of_split = self.effects(y, 0.0)
        residual = y - of_arm[self.arm] - of_split[self.split]
        noise = (residual**2).sum() / max(self.freedom().sum(), 1e-9)
        own_mean = np.bincount(self.arm, y, len(self.n_of_arm)) / self.n_of_arm
        within = ((y - own_mean[self.arm]) ** 2).sum() / max((self.n_of_arm - 1).sum(), 1)
        variance = within - noise
        return float(min(noise / variance, 1e9)) if variance > 1e-3 * within else 1e9

    def effects(self, y: FloatArray, ratio: float) -> tuple[FloatArray, FloatArray]:
        """Minimize ``sum((y - arm - split)^2) + ratio * sum(split^2)``."""
        # Arms on the same splits count as one, so that the equations are few.
        group, weight = self._groups
        n_of_group = np.maximum(weight @ np.ones(len(self.n_of_split)), 1)
        # A small penalty makes the least squares solution unique: the split effects sum to 0.
        penalized = self.n_of_split + max(ratio, 1e-7)
        n_arms = len(self.n_of_arm)
        y_of_arm = np.bincount(self.arm, y, n_arms)
        y_of_split = np.bincount(self.split, y, len(penalized))
        y_of_group = np.bincount(group, y_of_arm, len(weight))
        if len(weight) <= len(penalized):
            of_group = _solve(weight, n_of_group, penalized, y_of_group, y_of_split)
            of_split = (y_of_split - of_group @ weight) / penalized
        else:
            of_split = _solve(weight.T, penalized, n_of_group, y_of_split, y_of_group)
        y_of_arm -= np.bincount(self.arm, of_split[self.split], n_arms)
        return y_of_arm / self.n_of_arm, of_split

    @cached_property
    def _groups(self) -> tuple[IntArray, FloatArray]:
        """Return the group of each arm, and how many arms of a group were pulled on a split."""
        # The splits of an arm are known by the sum of their random codes.
        codes = _codes(len(self.n_of_split).bit_length())[: len(self.n_of_split)]
        key = np.zeros(len(self.n_of_arm), dtype=np.int64)
        np.add.at(key, self.arm, codes[self.split])
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))  # groups are in the order of their first arms
        weight = np.zeros((len(first), len(codes)))
        np.add.at(weight, (order[group[self.arm]], self.split), 1.0)
        return order[group], weight


@cache
def _codes(n_bits: int) -> IntArray:
    return np.random.default_rng(0).integers(2**63, size=2**n_bits)


def _solve(
    weight: FloatArray, of_row: Any, of_column: Any, y_of_row: Any, y_of_column: Any
) -> FloatArray:
    """Solve the normal equations for the rows, after the columns are eliminated.

    The diagonals of the equations are ``of_row`` and ``of_column``, and the others are sums of
    rewards.
    """
    shared = weight / of_column
    matrix = -shared @ weight.T
    matrix[np.diag_indices(len(matrix))] += of_row
    return np.asarray(np.linalg.solve(matrix, y_of_row - shared @ y_of_column))
