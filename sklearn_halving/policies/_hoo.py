"""Hierarchical optimistic optimization: search of a cube by a tree of cells.

Bubeck, Munos, Stoltz and Szepesvari, X-armed bandits, JMLR 2011; described in section 16.4.4 of
Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log, log2, prod
from typing import Annotated, Literal

import numpy as np

from sklearn_halving.policies._arrays import BoolArray, FloatArray, IntArray, Seed, Shape
from sklearn_halving.policies._hoo_tree import CellTree, Slopes
from sklearn_halving.policies._types import NO_ARM, PolicyDescription, Problem, Pulls
from sklearn_halving.policies.bases._base_policy import BasePolicy
from sklearn_halving.policies.bases._parameter_checks import (
    Count,
    RewardRange,
    Rule,
    between,
    check_count,
    width_of_range,
)

Variant = Literal["truncated", "basic"]


@dataclass
class HOOState:
    """State of HOO. Each problem of the batch is a row."""

    problem: Problem
    batch_shape: Shape
    tree: CellTree
    """The cells that have a point, and their rewards."""
    reward_range: RewardRange
    """Failed points have the smallest possible reward in the means of the cells around them."""
    n_asked: IntArray
    n_told: IntArray
    """Number of requested pulls, and number of pulls with a reward.
    Each has shape ``(n_problems,)``."""
    is_open: BoolArray
    """Problems that are not finished. Shape ``(n_problems,)``."""
    stale: tuple[IntArray, IntArray] | None = None
    """Rows and nodes of the last pulls, if no reward has been received since."""


@dataclass(frozen=True)
class HOO(BasePolicy):
    """Search a cube by a binary tree of cells, for continuous spaces.

    A cell at depth h with T pulls has the upper bound
    ``U = mean + sqrt(2 log(n) / T) + nu1 rho^h`` of its rewards, and the tighter bound
    ``B = min(U, the larger B of its halves)``. B is infinite for a half without a pull. Each
    round starts at the whole cube and descends to the half with the larger B, until it reaches a
    half without a pull. It pulls the center of this half. If nu1 and rho match the decrease of
    the mean reward around its maximum, the regret of a round decreases as ``sqrt(log(n) / n)``,
    independent of the number of dimensions. If the mean reward is flatter, as at a smooth maximum
    with the default rho, the regret decreases more slowly, in particular in many dimensions.

    The arms are the points, numbered in the order in which they are created. `points` returns
    their coordinates. All other policies choose among given arms.

    Parameters
    ----------
    n_pulls : int
        Maximum number of pulls.
    n_dimensions : int, default=1
        Number of dimensions of the cube. Cells are halved along the first axis, then along the
        second, and so on.
    nu1 : float, default=1.0
        Larger than 0. Within a cell at depth h, the mean rewards must not differ from the best
        of them by more than ``nu1 rho^h``, for rewards in [0, 1].
    rho : float or None, default=None
        Between 0 and 1. If None, it is ``2^(-1 / n_dimensions)``, the rate at which the sides of
        the cells decrease. This suits rewards that change in proportion to the distance.
    variant : {"truncated", "basic"}, default="truncated"
        "truncated" uses ``n_pulls`` in the logarithm and limits the depth of the cells to
        ``D = ceil((log(n) / 2 - log(1 / nu1)) / log(1 / rho))``, but at least 1. The points of
        the deepest cells can be pulled repeatedly. The time of n pulls is O(n log n), and the
        regret is of the same order. "basic" uses the number of the round in the logarithm, and
        does not limit the depth. Its time is O(n^2).
    reward_range : (float, float)
        Smallest and largest possible reward, for example (0, 1) for accuracy.
    n_splits : int or None, default=None
        Number of splits on which a point can be pulled; None if it is unlimited. With a limit, D
        is at least ``log2(n_pulls)``, so that the best cells do not run out of splits. A search
        sets it.

    Notes
    -----
    The recommended point is found by descending from the whole cube to the half with more pulls.
    The paper considers the cumulative reward. It does not specify which point of a cell is pulled,
    or which half is pulled first. This implementation pulls the center, and the lower half first.
    The j-th round is on split j. If the number of splits is limited, rounds cycle through the
    splits, so that the mean of a cell is over splits as well as over points. If the first reward
    of a cell is still in flight, the cell has the mean of its parent.
    The radius is for rewards that vary over their whole range. If the noise is a hundredth of the
    range, which is common for scores on larger data, a small budget is spread almost evenly over
    the cube.

    References
    ----------
    Bubeck, Munos, Stoltz and Szepesvari. X-armed bandits. JMLR 12, 2011, section 3, and section 4
    for the truncated form. Audibert, Bubeck and Munos. Bandit view on noisy optimization, in
    Optimization for Machine Learning, 2011, algorithm 16.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_halving.policies import HOO, Problem
    >>> policy = HOO(n_pulls=60, reward_range=(0, 1))
    >>> state = policy.start(Problem(n_arms=policy.n_points))
    >>> while not policy.is_finished(state):
    ...     pulls = policy.ask(state, max_pulls=1)
    ...     x = policy.points(state)[pulls.arm, 0]
    ...     policy.tell(state, pulls, 1 - np.abs(x - 0.3))
    >>> float(policy.points(state)[policy.recommend(state), 0])
    0.3125
    """

    n_pulls: Count
    n_dimensions: Annotated[
        int, Rule(check_count, "It is the number of parameters of the search space.")
    ] = 1
    nu1: Annotated[float, between(0, np.inf, "Use 1, the default, for rewards in [0, 1].")] = 1.0
    rho: Annotated[float, between(0, 1, "Use None for 2^(-1 / n_dimensions).")] | None = None
    variant: Variant = "truncated"
    reward_range: RewardRange | None = None
    n_splits: Annotated[int, Rule(check_count, "Use None for unlimited splits.")] | None = None

    @property
    def max_depth(self) -> int:
        """The maximum depth of a cell (D in the paper)."""
        if self.variant == "basic":
            return self.n_pulls
        exact = (log(self.n_pulls) / 2 - log(1 / self.nu1)) / -log(self._rate)
        depth = max(1, ceil(exact - 1e-9))
        if self.n_splits is not None:
            # Otherwise the best cells run out of splits, and the others are pulled evenly.
            depth = max(depth, ceil(log2(self.n_pulls)))
        return min(depth, self.n_pulls)

    @property
    def n_points(self) -> int:
        """The maximum number of points, which is the number of arms."""
        depth = self.max_depth
        return self.n_pulls if depth > 60 else min(self.n_pulls, 2 ** (depth + 1) - 2)

    @property
    def _rate(self) -> float:
        return 2 ** (-1 / self.n_dimensions) if self.rho is None else self.rho

    def describe(self, problem: Problem | None = None) -> PolicyDescription:
        """Return the description of the policy, whose arms are points of a cube."""
        description = super().describe(problem)
        return replace(description, n_dimensions=self.n_dimensions, n_arms=self.n_points)

    def points(self, state: HOOState) -> FloatArray:
        """Return the arms as points of the unit cube.

        Parameters
        ----------
        state : HOOState

        Returns
        -------
        points : ndarray of shape (*batch, n_points, n_dimensions)
            NaN for arms that do not exist yet.
        """
        centre = state.tree.centre[:, 1:]
        return centre.reshape(*state.batch_shape, *centre.shape[1:]).copy()

    def start(self, problem: Problem, *, batch_shape: Shape = (), seed: Seed = None) -> HOOState:
        """Return the state before the first pull.

        Raises ValueError if the parameters do not suit the problem.
        """
        width = width_of_range(self, self.reward_range)
        reward_range = self.reward_range or (0.0, width)
        if problem.n_arms != self.n_points:
            raise ValueError(
                f"n_arms={problem.n_arms} must be the maximum number of points of {self!r}, "
                f"n_points={self.n_points}. Use Problem(n_arms=policy.n_points)."
            )
        n_problems = prod(batch_shape)
        slopes = Slopes(self.nu1, self._rate, width)
        tree = CellTree(
            n_problems,
            self.n_points,
            self.n_dimensions,
            self.max_depth,
            slopes,
            horizon=self.n_pulls if self.variant == "truncated" else None,
            most_of_a_point=problem.max_repetitions,
        )
        counts = np.zeros((2, n_problems), dtype=np.int64)
        is_open = np.ones(n_problems, dtype=bool)
        return HOOState(problem, batch_shape, tree, reward_range, counts[0], counts[1], is_open)

    def ask(self, state: HOOState, max_pulls: int) -> Pulls:
        """Return one pull for each problem that is not finished, at the largest level.

        No pulls are returned if the policy has to wait for rewards.
        """
        if state.stale is not None:  # pulls in flight narrow the bounds
            state.tree.update(*state.stale, state.n_asked[state.stale[0]])
            state.stale = None
        may_ask = state.is_open & (state.n_asked < self.n_pulls) & ~state.tree.is_closed[:, 0]
        row = np.flatnonzero(may_ask) if max_pulls > 0 else np.arange(0)
        shape = (*state.batch_shape, 1 if len(row) else 0)
        arm = np.full(len(may_ask) if len(row) else 0, NO_ARM)
        repetition = np.zeros_like(arm)
        if len(row):
            node = state.tree.next_node(row, state.n_asked[row])
            arm[row] = node - 1
            repetition[row] = self._repetition(state, row, node)
            state.n_asked[row] += 1
            state.tree.note_asked(row, node)
            state.stale = row, node
        level = np.full(shape, state.problem.max_level, dtype=np.int64)
        return Pulls(arm.reshape(shape), level, repetition.reshape(shape))

    def _repetition(self, state: HOOState, row: IntArray, node: IntArray) -> IntArray:
        """Return the split of this round, on which the point has not been pulled before."""
        most = state.problem.max_repetitions
        if most is None:
            return state.n_asked[row]
        tree = state.tree
        return (tree.made_in_round[row, node] + tree.n_of_point[row, node]) % most

    def tell(self, state: HOOState, pulls: Pulls, rewards: FloatArray) -> None:
        """Update the state with rewards, in the order in which the pulls were requested."""
        if not len(pulls):
            return
        arm = np.asarray(pulls.arm).reshape(len(state.is_open), -1)
        rewards = np.asarray(rewards, dtype=np.float64).reshape(arm.shape)
        low, high = state.reward_range
        # Infinite rewards are clipped to the range, so that the means of cells are finite.
        ends = np.nan_to_num(rewards, nan=np.nan, posinf=high, neginf=low)
        if (state.n_told + arm.shape[1] >= state.n_asked).all():
            state.stale = None
        for j in range(arm.shape[1]):
            row = np.flatnonzero((arm[:, j] != NO_ARM) & state.is_open)
            state.n_told[row] += 1
            node = arm[row, j] + 1
            state.tree.learn(row, node, ends[row, j], state.reward_range[0])
            state.tree.update(row, node, state.n_asked[row])
        is_waiting = state.n_told < state.n_asked
        is_over = (state.n_told >= self.n_pulls) | (state.tree.is_closed[:, 0] & ~is_waiting)
        state.is_open &= ~is_over

    def is_finished(self, state: HOOState) -> bool:
        """Return whether all problems are finished."""
        return not state.is_open.any()

    def is_alive(self, state: HOOState) -> BoolArray:
        """Return which points have not failed, or do not exist yet."""
        return state.tree.alive[:, 1:].reshape(*state.batch_shape, -1).copy()

    def recommend(self, state: HOOState) -> IntArray:
        """Return the arm to choose; ``NO_ARM`` if no arm has a reward."""
        node = state.tree.most_pulled()
        return np.where(node > 0, node - 1, NO_ARM).reshape(state.batch_shape)
