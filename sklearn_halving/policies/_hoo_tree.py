"""The tree of cells of `HOO`: its bounds, the descent to a cell, and updates with rewards.

Node 0 is the whole cube, which has no point. Node k > 0 is the k-th cell in which a point was
created. Arrays have shape ``(n_problems, n_points + 1)``. Each problem of the batch is a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_halving.policies._arrays import FloatArray, IntArray

NONE = -1
"""Placeholder for a half without a pull."""


class Slopes(NamedTuple):
    """Bound of the variation of the mean rewards in a cell, ``width nu1 rho^depth``."""

    nu1: float
    rho: float
    width: float


class CellTree:
    """Cells with pulls in them. Arrays have a row for each problem and a column for each cell.

    Parameters
    ----------
    n_problems, n_points, n_dimensions : int
        Number of trees, maximum number of points of each, and dimensions of the cube, which is
        the only cell at first.
    max_depth : int
        Maximum depth of a cell. The points of the deepest cells are pulled repeatedly.
    slopes : Slopes
    horizon : int or None
        The n in the logarithm. If None, it is the number of the round.
    most_of_a_point : int or None
        Maximum number of pulls of a point; None if it is unlimited.
    """

    def __init__(
        self,
        n_problems: int,
        n_points: int,
        n_dimensions: int,
        max_depth: int,
        slopes: Slopes,
        horizon: int | None,
        most_of_a_point: int | None,
    ) -> None:
        shape = n_problems, n_points + 1
        self.slopes, self.max_depth = slopes, max_depth
        self.horizon, self.most_of_a_point = horizon, most_of_a_point
        self.has_failed = False  # whether a point of any problem has failed
        self.n_nodes = np.ones(n_problems, dtype=np.int64)
        self.child = np.full((*shape, 2), NONE)  # NONE if a half has no pull
        self.parent, self.depth = np.zeros((2, *shape), dtype=np.int64)
        self.centre = np.full((*shape, n_dimensions), np.nan)  # NaN if the cell does not exist yet
        self.centre[:, 0] = 0.5
        self.n_asked, self.n_told, self.n_good = np.zeros((3, *shape), dtype=np.int64)
        self.n_of_point, self.n_good_of_point = np.zeros((2, *shape), dtype=np.int64)
        self.made_in_round = np.zeros(shape, dtype=np.int64)
        self.total, self.guess = np.zeros((2, *shape))
        self.b = np.full(shape, np.inf)
        self.alive, self.is_closed = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)

    def next_node(self, row: IntArray, round_: IntArray) -> IntArray:
        """Return the node to pull in each row, and create it if it is new."""
        node = np.zeros_like(row)
        going = np.arange(len(row))
        while len(going):
            r, at = row[going], node[going]
            halves = self.child[r, at]
            is_new = (halves == NONE).any(axis=1) & (self.depth[r, at] < self.max_depth)
            new = going[is_new]
            node[new] = self._make(row[new], node[new], round_[new])
            inside = ~is_new & (self.depth[r, at] < self.max_depth)
            going, r, halves = going[inside], r[inside], halves[inside]
            first, second = halves.T
            by_bound = self.b[r, first] >= self.b[r, second]
            shut_first, shut_second = self.is_closed[r, first], self.is_closed[r, second]
            node[going] = np.where(shut_second | (by_bound & ~shut_first), first, second)
        return node

    def _make(self, row: IntArray, node: IntArray, round_: IntArray) -> IntArray:
        """Create the first half of each node, or the second if the first exists."""
        new = self.n_nodes[row]
        self.n_nodes[row] += 1
        side = (self.child[row, node, 0] != NONE).astype(np.int64)
        self.child[row, node, side] = new
        depth = self.depth[row, node]
        self.parent[row, new], self.depth[row, new] = node, depth + 1
        self.made_in_round[row, new] = round_
        self.guess[row, new] = self._mean(row, node)
        n_dimensions = self.centre.shape[2]
        axis, n_halvings = depth % n_dimensions, depth // n_dimensions
        self.centre[row, new] = self.centre[row, node]
        self.centre[row, new, axis] += (side - 0.5) * 0.5 ** (n_halvings + 1)
        return new

    def note_asked(self, row: IntArray, node: IntArray) -> None:
        """Count pulls in flight, which narrow the bounds for any reward."""
        self.n_of_point[row, node] += 1
        self.n_asked[row[:, np.newaxis], self._way(row, node)] += 1

    def learn(self, row: IntArray, node: IntArray, rewards: FloatArray, worst: float) -> None:
        """Update the tree with a reward in each row. Failed points have the reward ``worst``."""
        failed = np.isnan(rewards)
        # Other rewards of a failed point must not affect the recommendation.
        n_before = self.n_good_of_point[row, node]
        gain = np.where(failed, -n_before, self.alive[row, node].astype(np.int64))
        self.n_good_of_point[row, node] += gain
        self.alive[row, node] &= ~failed
        self.has_failed |= bool(failed.any())
        at = row[:, np.newaxis], self._way(row, node)
        self.n_told[at] += 1
        self.n_good[at] += gain[:, np.newaxis]
        self.total[at] += np.where(failed, worst, rewards)[:, np.newaxis]

    def _way(self, row: IntArray, node: IntArray) -> IntArray:
        """Return the path from the whole cube to a node in each row, padded with 0."""
        place = np.arange(len(row))
        way = np.zeros((len(row), int(self.depth[row, node].max(initial=0)) + 1), dtype=np.int64)
        at = node
        for _ in range(way.shape[1]):
            way[place, self.depth[row, at]] = at
            at = self.parent[row, at]
        return way

    def update(self, row: IntArray, node: IntArray, n_rounds: IntArray) -> None:
        """Update the bounds. With a fixed horizon, only those on the path have changed."""
        if self.horizon is None:
            self._update_all(row, n_rounds)
            return
        way, depth = self._way(row, node), self.depth[row, node]
        upper = self.upper(row[:, np.newaxis], way, n_rounds[:, np.newaxis])
        self._update_nodes(row, node, n_rounds)
        b, closed = self.b[row, node], self.is_closed[row, node]
        for k in range(way.shape[1] - 2, -1, -1):
            above = np.flatnonzero(depth > k)
            r, at = row[above], way[above, k]
            halves = self.child[r, at]
            other = np.where(halves[:, 0] == way[above, k + 1], halves[:, 1], halves[:, 0])
            of_other = np.where(other == NONE, np.inf, self.b[r, other])
            closed[above] &= (other != NONE) & self.is_closed[r, other]
            bound = np.minimum(upper[above, k], np.maximum(b[above], of_other))
            b[above] = np.where(closed[above], -np.inf, bound)
            self.b[r, at], self.is_closed[r, at] = b[above], closed[above]

    def _update_all(self, row: IntArray, n_rounds: IntArray) -> None:
        """Update all bounds, starting with the deepest cells."""
        depth = np.where(np.arange(self.b.shape[1]) < self.n_nodes[row, None], self.depth[row], -1)
        for level in range(int(depth.max(initial=0)), -1, -1):
            place, at = np.nonzero(depth == level)
            self._update_nodes(row[place], at, n_rounds[place])

    def _update_nodes(self, row: IntArray, node: IntArray, n_rounds: IntArray) -> None:
        """Update B, and whether any point is left to pull. The halves must be up to date."""
        halves = self.child[row, node]
        is_missing = halves == NONE
        of_halves = np.where(is_missing, np.inf, self.b[row[:, np.newaxis], halves])
        closed = (~is_missing & self.is_closed[row[:, np.newaxis], halves]).all(axis=1)
        if self.most_of_a_point is not None or self.has_failed:
            is_last = self.depth[row, node] >= self.max_depth
            used_up = ~self.alive[row, node]
            if self.most_of_a_point is not None:
                used_up = used_up | (self.n_of_point[row, node] >= self.most_of_a_point)
            closed = closed | (is_last & used_up)
        self.is_closed[row, node] = closed
        bound = np.minimum(self.upper(row, node, n_rounds), of_halves.max(axis=1))
        self.b[row, node] = np.where(closed, -np.inf, bound)

    def _mean(self, row: IntArray, node: IntArray) -> FloatArray:
        """Return the mean reward in a cell, or that of its parent if it has no reward yet."""
        n = self.n_told[row, node]
        mean = self.total[row, node] / np.maximum(n, 1)
        return np.where(n > 0, np.where(np.isnan(mean), -np.inf, mean), self.guess[row, node])

    def upper(self, row: IntArray, node: IntArray, n_rounds: IntArray) -> FloatArray:
        """Return U, the upper bound that only depends on the pulls in the cell."""
        n = n_rounds if self.horizon is None else np.full_like(n_rounds, self.horizon)
        radius = np.sqrt(2 * np.log(np.maximum(n, 1)) / np.maximum(self.n_asked[row, node], 1))
        variation = self.slopes.nu1 * self.slopes.rho ** self.depth[row, node]
        return self._mean(row, node) + self.slopes.width * (radius + variation)

    def most_pulled(self) -> IntArray:
        """Return the node reached by descending to the half with more pulls; 0 for none."""
        node = np.zeros(len(self.b), dtype=np.int64)
        row = np.flatnonzero(self.n_good[:, 0] > 0)
        while len(row):
            halves = self.child[row, node[row]]
            at = row[:, np.newaxis], np.maximum(halves, 0)
            n_good = np.where(halves == NONE, 0, self.n_good[at])
            on = n_good.max(axis=1) > 0
            row, halves, n_good = row[on], halves[on], n_good[on]
            mean = self._mean(row[:, np.newaxis], np.maximum(halves, 0))
            wins = np.where(n_good.T[0] == n_good.T[1], mean.T[1] > mean.T[0], False)
            second = wins | (n_good.T[1] > n_good.T[0])
            node[row] = np.where(second, halves.T[1], halves.T[0])
        return node
