"""Hierarchical optimistic optimization: search of a cube by a tree of cells.

Bubeck, Munos, Stoltz and Szepesvari, X-armed bandits, JMLR 2011; described in section 16.4.4 of
Audibert, Bubeck and Munos, Bandit view on noisy optimization, 2011.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil, inf, isnan, log, log2, sqrt
from typing import Annotated, Literal

import numpy as np

from sklearn_halving._checks import Count, Positive, between, refuse_unless
from sklearn_halving.policies._arrays import FloatArray, Seed
from sklearn_halving.policies._plan import Plan, open_plan
from sklearn_halving.policies._types import NO_ARM, Problem, Pull
from sklearn_halving.policies.bases._base_policy import (
    BasePolicy,
    RewardRange,
    known_range,
    reward_width,
)


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

    The arms are the points, numbered in the order in which they are created. ``points`` of the
    game has their coordinates. All other policies choose among given arms.

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
        sets it for ``policy="hoo"``.

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
    >>> game = policy.start(Problem(n_arms=policy.n_points))
    >>> while not game.is_finished:
    ...     for pull in game.ask(max_pulls=1):
    ...         game.tell(pull, 1 - abs(game.points[pull.arm, 0] - 0.3))
    >>> float(game.points[game.recommend(), 0])
    0.3125
    """

    n_pulls: Count
    n_dimensions: Count = 1
    nu1: Positive = 1.0
    rho: Annotated[float, between(0, 1, "Use None for 2^(-1 / n_dimensions).")] | None = None
    variant: Literal["truncated", "basic"] = "truncated"
    reward_range: RewardRange | None = None
    n_splits: Count | None = None

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

    def plan(self, problem: Problem) -> Plan:
        """Return the plan, whose arms are the points."""
        points, known = replace(problem, n_arms=self.n_points), known_range(self, problem)
        return open_plan(points, self.n_pulls, reward_range=known)

    def start(self, problem: Problem, seed: Seed = None) -> CellTree:
        """Return the game before the first pull. The policy is deterministic; no seed is used."""
        width = reward_width(self, problem)
        rule = f"be the maximum number of points, policy.n_points={self.n_points}"
        refuse_unless(problem.n_arms == self.n_points, "n_arms", rule, problem.n_arms)
        return CellTree(self, problem, width)


@dataclass(eq=False)
class Cell:
    """A cell of the cube. All cells but the whole cube have a point, which is their center.

    Parameters
    ----------
    arm : int
        The number of the point; ``NO_ARM`` for the whole cube.
    centre : ndarray
        Shape ``(n_dimensions,)``.
    first_split : int
        The split of the first pull of the point, if rounds cycle through the splits.
    mean : float
        Mean reward in the cell, or in its parent if it has no reward yet.
    halves : list[Cell]
        The halves with a pull, the lower half first.
    n_asked : int
        Number of pulls in the cell, with those in flight (T in the paper).
    n_good : int
        Number of rewards in the cell from points that have not failed.
    b : float
        Upper bound of the rewards (B in the paper); minus infinity if no pull is left.
    """

    arm: int
    centre: FloatArray
    parent: Cell | None = None
    depth: int = 0
    first_split: int = 0
    mean: float = 0.0
    halves: list[Cell] = field(default_factory=list)
    n_asked: int = 0
    n_told: int = 0
    n_good: int = 0
    total: float = 0.0
    has_failed: bool = False
    b: float = inf

    def way(self) -> Iterator[Cell]:
        """Yield the cell and all cells around it, up to the whole cube."""
        cell: Cell | None = self
        while cell is not None:
            yield cell
            cell = cell.parent


class CellTree:
    """One game of HOO.

    A cell is pulled once, when it is created. Only the cells at the maximum depth, which have no
    halves, are pulled repeatedly.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        The arms as points of the unit cube; NaN for arms that do not exist yet.
    """

    def __init__(self, policy: HOO, problem: Problem, width: float) -> None:
        self.policy, self.problem, self.width = policy, problem, width
        self.low, self.high = known_range(policy, problem) or (0.0, width)
        self.max_depth = policy.max_depth
        self.points = np.full((problem.n_arms, policy.n_dimensions), np.nan)
        self.root = Cell(NO_ARM, np.full(policy.n_dimensions, 0.5))
        self.cells = [self.root]

    @property
    def is_finished(self) -> bool:
        """Whether the budget is spent, or all points have failed or have no splits left."""
        is_waiting = self.root.n_told < self.root.n_asked
        return self.root.n_told >= self.policy.n_pulls or (self.root.b == -inf and not is_waiting)

    def ask(self, max_pulls: int) -> list[Pull]:
        """Follow the larger B down to a half without a pull, or to a cell at the last depth."""
        if self.root.b == -inf or self.root.n_asked >= self.policy.n_pulls:
            return []
        # Lines 4 to 14 of algorithm 16.1: the path from the root along the larger B
        cell, most, round_ = self.root, self.problem.max_repetitions, self.root.n_asked
        while cell.depth < self.max_depth and len(cell.halves) == 2:
            cell = max(cell.halves, key=lambda half: half.b)
        if cell.depth < self.max_depth:  # B of the half without a pull is infinite
            cell = self._new_half(cell, round_)
        # Line 16: a point of the new cell, its center
        repetition = round_ if most is None else (cell.first_split + cell.n_asked) % most
        for around in cell.way():
            around.n_asked += 1
        self._update(cell)
        return [Pull(cell.arm, self.problem.max_level, repetition)]

    def _new_half(self, cell: Cell, round_: int) -> Cell:
        """Create the lower half of a cell, or the upper half if the lower exists."""
        n_halvings, axis = divmod(cell.depth, len(cell.centre))
        arm, centre = len(self.cells) - 1, cell.centre.copy()
        centre[axis] += (len(cell.halves) - 0.5) * 0.5 ** (n_halvings + 1)
        half = Cell(arm, centre, cell, cell.depth + 1, round_, cell.mean)
        self.points[arm] = centre
        cell.halves.append(half)
        self.cells.append(half)
        return half

    def tell(self, pull: Pull, reward: float) -> None:
        """Add a reward to the cell of its point and the cells around it."""
        if self.is_finished:
            return
        cell = self.cells[pull.arm + 1]
        n_good = 0 if cell.has_failed else 1
        if isnan(reward):
            # Other rewards of a failed point must not affect the recommendation.
            cell.has_failed, n_good = True, 0 if cell.halves else -cell.n_good
        # Infinite rewards are clipped to the range, so that the means of cells are finite. Failed
        # points have the smallest reward in the means of the cells around them.
        value = float(np.nan_to_num(reward, nan=self.low, posinf=self.high, neginf=self.low))
        for around in cell.way():
            around.n_told += 1
            around.n_good += n_good
            around.total += value
            around.mean = around.total / around.n_told
        self._update(cell)

    def _update(self, cell: Cell) -> None:
        """Update ``B = min(U, larger B of the halves)``, the halves before their parents."""
        # Lines 18 to 33: T, the mean and U of the cells on the path, then B from the leaf up
        policy, log_n = self.policy, np.log(self.root.n_asked)
        changed: Iterable[Cell] = reversed(self.cells)
        if policy.variant == "truncated":  # n does not change, nor does U outside of the way
            log_n, changed = np.log(policy.n_pulls), cell.way()
        for one in changed:
            radius = sqrt(2 * log_n / one.n_asked)
            upper = one.mean + self.width * (radius + policy.nu1 * policy._rate**one.depth)
            one.b = min(upper, self._b_of_halves(one))

    def _b_of_halves(self, cell: Cell) -> float:
        """Return the larger B of the halves; infinite for none, if the point can be pulled."""
        if len(cell.halves) == 2:
            return max(half.b for half in cell.halves)
        most = self.problem.max_repetitions
        is_used_up = cell.has_failed or (most is not None and cell.n_asked >= most)
        return -inf if is_used_up and cell.depth == self.max_depth else inf

    def out(self) -> list[int]:
        """Return the points that have failed."""
        return [cell.arm for cell in self.cells if cell.has_failed]

    def recommend(self) -> int:
        """Return the point reached by descending to the half with more good rewards."""
        cell = self.root
        while good := [half for half in cell.halves if half.n_good > 0]:
            cell = max(good, key=lambda half: (half.n_good, half.mean))
        return cell.arm
