"""Seeds of splits. The repetition is part of the seed, so splits are independent of order."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from sklearn_halving._typing import RandomState

RandomSource = RandomState | np.random.SeedSequence | None


def seed_of_stream(random_state: RandomSource) -> np.random.SeedSequence:
    """Return the seed of a stream.

    Parameters
    ----------
    random_state : int, RandomState instance, SeedSequence or None
        An int or a SeedSequence is used as it is. From a RandomState (NumPy's global one for
        None) a new seed is drawn in every call.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    rng = check_random_state(random_state)  # raises scikit-learn's error for invalid values
    if isinstance(random_state, Integral):
        return np.random.SeedSequence(int(random_state))
    return np.random.SeedSequence(rng.randint(2**32, size=4, dtype=np.uint32).tolist())


def seed_of_repetition(seed: np.random.SeedSequence, repetition: int) -> np.random.SeedSequence:
    """Return the seed of one repetition."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, repetition))


def integer_seed(seed: np.random.SeedSequence) -> int:
    """Return the seed as an int for ``random_state`` of scikit-learn."""
    return int(seed.generate_state(1)[0])
