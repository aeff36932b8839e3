"""Random numbers by name: the same for the same name, and as good as independent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from sklearn_halving.policies import Pulls
from sklearn_halving.simulation import Randomness
from sklearn_halving.simulation._randomness import running_mean_noise

N = 20_000


def randomness(n_problems: int = 1, seed: int = 0, first: int = 0) -> Randomness:
    return Randomness.of(np.random.SeedSequence(seed), n_problems, first)


@pytest.mark.parametrize("place", range(4))
def test_every_part_of_a_name_counts(place: int) -> None:
    name = [np.zeros(N, dtype=int) for _ in range(4)]
    name[place] = np.arange(N)
    numbers = randomness(N).uniform(*name)
    assert len(np.unique(numbers)) == N
    assert kstest(numbers, "uniform").pvalue > 1e-4
    # Neighbours: 5 standard errors of a correlation.
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 5 / np.sqrt(N)


def test_normal_numbers_are_normal() -> None:
    numbers = randomness().normal(0, np.arange(N), 13)
    assert kstest(numbers, "norm").pvalue > 1e-4


def running_means(levels: list[int], n: int) -> np.ndarray:
    """Return running means of n sequences, shape (len(levels), n)."""
    arm = np.arange(n)
    zero = np.zeros(n, dtype=int)
    return np.array(
        [running_mean_noise(randomness(), zero, Pulls(arm, np.full(n, k), zero)) for k in levels]
    )


@given(levels=st.lists(st.integers(1, 300), min_size=2, max_size=2, unique=True))
@settings(max_examples=20, deadline=None)
def test_running_means_belong_to_one_sequence(levels: list[int]) -> None:
    """Sums S_a and S_b of independent draws, a <= b, have the covariance a."""
    a, b = sorted(levels)
    n = 4000
    sums = running_means([a, b], n) * np.array([[a], [b]])
    covariance = np.cov(sums)
    assert covariance[0, 0] == pytest.approx(a, rel=6 * np.sqrt(2 / n))
    assert covariance[1, 1] == pytest.approx(b, rel=6 * np.sqrt(2 / n))
    assert abs(covariance[0, 1] - a) < 6 * np.sqrt((a * b + a * a) / n)
