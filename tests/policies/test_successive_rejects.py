"""Successive rejects: the printed schedule, hand-made games, and the recorded mistakes."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import LALITHA, mistakes_of, play
from sklearn_halving.policies import AnytimeSuccessiveRejects, Problem, SuccessiveRejects
from sklearn_halving.policies._successive_rejects import phase_lengths
from sklearn_halving.policies._types import Pull


def test_the_printed_phase_lengths() -> None:
    assert phase_lengths(10, 1000) == (41, 46, 51, 59, 68, 82, 102, 136, 204)


def test_phase_lengths_are_exact() -> None:
    """With three arms log_bar is 4/3: (n - 3) / 4 is whole, and floats may say a bit more."""
    assert all(phase_lengths(3, 3 + 4 * j)[0] == j for j in range(1, 3000))


@given(n_arms=st.integers(2, 60), extra=st.integers(1, 500))
def test_phases_never_exceed_the_budget(n_arms: int, extra: int) -> None:
    """n_1 + ... + n_(K-1) + n_(K-1) <= n, as the paper says below Fig. 16.1."""
    lengths = phase_lengths(n_arms, n_arms + extra)
    assert lengths[0] >= 1
    assert list(lengths) == sorted(lengths)
    assert sum(lengths) + lengths[-1] <= n_arms + extra
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    assert (lengths[-1] - 1) * log_bar * 2 < extra <= lengths[-1] * log_bar * 2


# ------------------------------------------------------------------------------- anytime


@settings(max_examples=30)
@given(seed=st.integers(0, 2**16), n_arms=st.integers(2, 9), cut=st.integers(16, 200))
def test_what_it_does_does_not_depend_on_when_it_stops(seed: int, n_arms: int, cut: int) -> None:
    rewards = np.random.default_rng(seed).random((n_arms, 400))

    def counts(n_pulls: int) -> np.ndarray:
        return np.bincount(play(AnytimeSuccessiveRejects(n_pulls), rewards).arms, minlength=n_arms)

    short, long = counts(cut), counts(400)
    assert short.sum() <= cut
    assert (short <= long).all()


# --------------------------------------------------------------------------- simulation


@pytest.mark.parametrize(("n_pulls", "expected"), [(1000, 0.305), (5000, 0.072)])
def test_the_recorded_mistake_probabilities(n_pulls: int, expected: float) -> None:
    """Of 20,000 runs each; here 150, and six standard errors."""
    error = sqrt(expected * (1 - expected) * (1 / 150 + 1 / 20_000))
    found = mistakes_of(SuccessiveRejects(n_pulls), LALITHA, 150, n_pulls)
    assert abs(found - expected) < 6 * error


def test_not_to_know_the_budget_costs_little() -> None:
    known = mistakes_of(SuccessiveRejects(4096), LALITHA, 100, 1)
    unknown = mistakes_of(AnytimeSuccessiveRejects(4096), LALITHA, 100, 1)
    assert unknown < known + 0.12


# ---------------------------------------------------------------------------- several workers


def play_with_workers(
    n_workers: int, rewards: np.ndarray, n_pulls: int, seed: int, n_splits: int | None
) -> tuple[set[Pull], int]:
    """Return the pulls and the recommendation."""
    rng = np.random.default_rng(seed)
    policy = SuccessiveRejects(n_pulls)
    game = policy.start(Problem(len(rewards), max_repetitions=n_splits))
    running: list[Pull] = []
    pulls: set[Pull] = set()
    while not game.is_finished:
        asked = list(game.ask(n_workers - len(running)))
        assert len(running) + len(asked) <= n_workers
        assert not pulls & set(asked)
        pulls |= set(asked)
        running += asked
        # Some pulls are much slower than others.
        back = running.pop(int(rng.integers(len(running)) * rng.random() ** 2))
        game.tell(back, float(rewards[back.arm, back.repetition]))
    assert not running
    return pulls, game.recommend()


@pytest.mark.parametrize("n_splits", [None, 7])
@pytest.mark.parametrize("noise", [0.0, 0.2, np.nan])
@pytest.mark.parametrize("seed", range(6))
def test_several_workers_make_the_same_pulls_and_choice(seed, noise, n_splits) -> None:
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(3, 20))
    n_pulls = int(rng.integers(n_arms + 1, 8 * n_arms))
    rewards = rng.choice([0.2, 0.5, 0.9], size=(n_arms, 1)) + rng.normal(size=(n_arms, n_pulls))
    rewards[rng.random(rewards.shape) < 0.03] = noise  # also failures, or several zeros
    alone = play_with_workers(1, rewards, n_pulls, seed, n_splits)
    for n_workers in (3, 8, 50):
        together = play_with_workers(n_workers, rewards, n_pulls, seed, n_splits)
        assert together == alone
