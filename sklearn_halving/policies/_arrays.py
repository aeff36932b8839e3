"""Types of arrays, shapes and seeds, and the seeds of the problems of a batch."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Shape = tuple[int, ...]
Seed = np.random.SeedSequence | None


def generators_of(seed: Seed, batch_shape: Shape) -> list[np.random.Generator]:
    """Return a generator for each problem, so that its results do not depend on the batch."""
    root = seed or np.random.SeedSequence()
    keys = [root.spawn_key]
    if batch_shape:
        keys = [(*root.spawn_key, i) for i in range(prod(batch_shape))]
    seeds = [np.random.SeedSequence(root.entropy, spawn_key=key) for key in keys]
    return [np.random.default_rng(own) for own in seeds]
