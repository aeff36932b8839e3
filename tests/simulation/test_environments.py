"""What environments draw, against what they say they draw from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import VarianceHalvingSearchCV
from sklearn_halving.policies import Pulls, SuccessiveHalving, SuccessiveRejects, UniformAllocation
from sklearn_halving.simulation import (
    BernoulliArms,
    Environment,
    GaussianArms,
    GaussianProcessArms,
    LearningCurves,
    PowerEnvelope,
    Randomness,
    RecordedScores,
    simulate,
)
from sklearn_halving.simulation._randomness import running_mean_noise

KERNEL = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 0.5]])
SCORES = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 0.1]])
ALL = [
    GaussianArms([0.0, 1.0], mean_sd=0.1),
    BernoulliArms([0.2, 0.9]),
    GaussianProcessArms(KERNEL),
    LearningCurves([0.1, 0.2]),
    RecordedScores(SCORES, shuffle=True),
]


def draw(environment: Any, n_problems: int, n_arms: int | None = None) -> Any:
    return environment.draw(randomness(n_problems), n_arms or environment.n_arms)


def rewards(arms: Any, arm: int, n: int, level: int = 1) -> np.ndarray:
    """Return rewards of n repetitions of an arm of the first problem."""
    zero = np.zeros(n, dtype=int)
    return arms.rewards(zero, Pulls(zero + arm, zero + level, np.arange(n)))


@pytest.mark.parametrize("environment", ALL, ids=lambda one: type(one).__name__)
def test_keeps_what_the_protocol_says(environment: Any) -> None:
    assert isinstance(environment, Environment)
    arms = draw(environment, 4)
    assert arms.values.shape == (4, environment.n_arms)
    assert arms.best_value.shape == (4,)
    assert (arms.best_value >= arms.values.max(axis=1)).all()
    pulls = Pulls(np.array([1, 0, 1]), np.array([1, 1, 1]), np.array([0, 1, 0]))
    got = arms.rewards(np.array([3, 0, 3]), pulls)
    assert got.shape == (3,)
    assert got[0] == got[2], "the same pull, another reward"


def test_gaussian_rewards() -> None:
    arms = draw(GaussianArms([0.5, -2.0], sds=[0.1, 3.0]), 1)
    for arm, mean, sd in ((0, 0.5, 0.1), (1, -2.0, 3.0)):
        assert kstest((rewards(arms, arm, 20_000) - mean) / sd, "norm").pvalue > 1e-4


def test_a_level_is_a_number_of_draws() -> None:
    arms = draw(GaussianArms([1.0], sds=2.0, max_level=100), 1)
    values = rewards(arms, 0, 20_000, level=25)
    assert kstest((values - 1) / (2 / 5), "norm").pvalue > 1e-4


def test_bernoulli_rewards() -> None:
    arms = draw(BernoulliArms([0.2, 1.0, 0.0]), 1)
    values = rewards(arms, 0, 20_000)
    assert set(values.tolist()) == {0.0, 1.0}
    assert abs(values.mean() - 0.2) < 5 * np.sqrt(0.16 / 20_000)
    assert rewards(arms, 1, 100).min() == 1
    assert rewards(arms, 2, 100).max() == 0


def test_gaussian_process_means_have_the_covariance() -> None:
    n = 20_000
    arms = draw(GaussianProcessArms(KERNEL), n)
    assert np.abs(np.cov(arms.values.T) - KERNEL).max() < 6 * np.sqrt(2 / n)
    assert np.abs(arms.values.mean(axis=0)).max() < 6 / np.sqrt(n)


@pytest.mark.parametrize("deviation", ["random", "adversarial", "above"])
def test_curves_stay_in_their_envelope_and_end_at_their_limit(deviation: str) -> None:
    gamma = PowerEnvelope(alpha=2, scale=0.5)
    limits = np.array([0.4, 0.1, 0.3])
    arms = draw(LearningCurves(limits, gamma, deviation), 50)
    problem = np.repeat(np.arange(50), 3)
    arm, zero = np.tile(np.arange(3), 50), np.zeros(150, dtype=int)
    for level in (1, 10, 10**6):
        away = -arms.rewards(problem, Pulls(arm, zero + level, zero)) - limits[arm]
        assert (np.abs(away) <= gamma(level) * (1 + 1e-9)).all()
        expected = {
            "random": None,
            "adversarial": np.where(arm == 1, 1.0, -1.0),
            "above": np.ones(150),
        }[deviation]
        if expected is None:
            assert away.min() < -0.8 * gamma(level)
            assert away.max() > 0.8 * gamma(level)
        else:
            assert away == pytest.approx(expected * gamma(level), abs=1e-12)


def test_limits_that_are_drawn_without_an_optimum_are_judged_by_the_best_drawn() -> None:
    arms = draw(LearningCurves(lambda u: 1 + u, n_arms=5), 20)
    assert arms.best_value.tolist() == arms.values.max(axis=1).tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianArms([]), "means must be a list of finite numbers"),
        (lambda: GaussianArms([0.0, np.nan]), "means must be a list of finite numbers"),
        (lambda: GaussianArms([0.0, 1.0], sds=-1), "sds must be at least 0, got -1"),
        (lambda: GaussianArms([0.0, 1.0], sds=[1, 2, 3]), "each of 2 arms"),
        (lambda: GaussianArms([0.0], variance_factors=(2, 1)), "the smaller first"),
        (lambda: GaussianArms([0.0], variance_factors=(1, 1, 2)), "the smaller first"),
        (lambda: BernoulliArms([0.5, 1.5]), "probabilities must be between 0 and 1"),
        (lambda: GaussianProcessArms([[1.0, 2.0], [0.0, 1.0]]), "covariance must be symmetric"),
        (lambda: GaussianProcessArms([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (lambda: LearningCurves([0.1], envelope=2.0), "envelope must be a function"),
        (lambda: LearningCurves([0.1], n_arms=3), "the number of limits, 1, got 3"),
        (lambda: RecordedScores([0.1, 0.2]), "scores must have the axes"),
        (lambda: RecordedScores(SCORES[..., None], [0]), "levels must be 1 different"),
        (lambda: RecordedScores([[np.nan], [1.0]]), "a number for every candidate, got none for"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


N = 20_000


def randomness(n_problems: int = 1) -> Randomness:
    return Randomness.of(np.random.SeedSequence(0), n_problems)


@pytest.mark.parametrize("place", range(4))
def test_every_part_of_a_name_counts(place: int) -> None:
    name = [np.zeros(N, dtype=int) for _ in range(4)]
    name[place] = np.arange(N)
    numbers = randomness(N).uniform(*name)
    assert len(np.unique(numbers)) == N
    assert kstest(numbers, "uniform").pvalue > 1e-4
    # Neighbours: 5 standard errors of a correlation.
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 5 / np.sqrt(N)


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


TABLE = np.array([[0.5, 0.7, 0.6], [0.9, 0.4, 0.8], [0.1, 0.2, 0.3]])


def test_recorded_splits_are_played_as_they_are() -> None:
    """On the first two splits alone candidate 1 has 0.65 and candidate 0 has 0.6."""
    for n_pulls, best in ((3, 1), (6, 1), (9, 1)):
        recorded = RecordedScores(TABLE, splits="recorded")
        result = simulate(UniformAllocation(n_pulls), recorded, n_problems=3)
        assert result.recommended.tolist() == [best] * 3
    swapped = RecordedScores(TABLE[:, [1, 0, 2]], splits="recorded")
    assert simulate(UniformAllocation(3), swapped, n_problems=1).recommended.tolist() == [0]
    most = simulate(UniformAllocation(1000), swapped, n_problems=2)
    assert most.n_pulls.tolist() == [9, 9], "there are no more splits than were recorded"


def test_common_splits_are_common() -> None:
    """Scores that differ by the same on every split are never mixed up, however few pulls."""
    level = np.random.default_rng(0).normal(size=20)
    scores = np.array([[0.0], [0.01], [-0.01]]) + level
    common = simulate(UniformAllocation(3), RecordedScores(scores), n_problems=200)
    assert common.is_mistake.sum() == 0
    own = simulate(UniformAllocation(3), RecordedScores(scores, splits="own"), n_problems=200)
    assert own.mistake_probability.value > 0.4


def test_shuffling_is_fair_to_equal_candidates() -> None:
    alike = np.full((3, 2), 0.5)
    plain = simulate(UniformAllocation(6), RecordedScores(alike), n_problems=30)
    assert plain.recommended.tolist() == [0] * 30
    shuffled = simulate(UniformAllocation(6), RecordedScores(alike, shuffle=True), n_problems=3000)
    counts = np.bincount(shuffled.recommended, minlength=3)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    assert shuffled.is_mistake.sum() == 0


def test_a_chosen_candidate_is_named_by_its_row_also_when_shuffled() -> None:
    far = np.array([[0.1], [0.9], [0.5]])
    result = simulate(SuccessiveRejects(20), RecordedScores(far, shuffle=True), n_problems=20)
    assert result.recommended.tolist() == [1] * 20


def test_levels() -> None:
    scores = np.array([[[0.1, 0.9]], [[0.3, 0.5]], [[0.2, 0.3]], [[0.0, 0.2]]])
    policy = SuccessiveHalving(4, 16)  # all at 2, two of them at 6
    recorded = RecordedScores(scores, levels=[2, 6])
    result = simulate(policy, recorded, n_problems=2)
    # Candidate 0, the best in the end, is third of four at level 2.
    assert result.recommended.tolist() == [1, 1]
    assert result.regret == pytest.approx([0.4, 0.4])
    assert result.n_units.tolist() == [16, 16]
    with pytest.raises(ValueError, match="train each of 4 arms with 3 units"):
        simulate(policy, RecordedScores(scores, levels=[3, 6]), n_problems=2)
    with pytest.raises(ValueError, match=r"recorded, \[1, 6\], got 2"):
        simulate(policy, RecordedScores(scores, levels=[1, 6]), n_problems=2)


def test_a_candidate_is_judged_at_the_highest_level_it_has() -> None:
    scores = np.array([[[0.1, np.nan], [0.3, np.nan]], [[0.3, 0.5], [0.1, 0.7]]])
    assert RecordedScores(scores, [1, 2]).truth.tolist() == pytest.approx([0.2, 0.6])
    assert RecordedScores(scores, [1, 2], truth=[1, 0]).truth.tolist() == [1, 0]


X, Y = load_iris(return_X_y=True)


def test_a_replayed_search_ends_as_the_search_did() -> None:
    space = {"max_depth": [1, 2, 3, 4], "min_samples_leaf": [1, 3, 9]}
    tree = DecisionTreeClassifier(random_state=0)
    search = VarianceHalvingSearchCV(tree, space, n_fits=60, random_state=0).fit(X, Y)
    counts = search.history_.groupby("candidate").size()
    recorded = RecordedScores.from_history(search.history_, splits="recorded")
    assert recorded.n_arms == 12
    assert recorded.reward_range is None
    assert np.isnan(recorded.scores[..., 0]).sum() == 12 * recorded.scores.shape[1] - 60
    # Every candidate on the splits that all of them have.
    n_all = int(counts.min())
    first = search.history_[search.history_["split"] < n_all]
    complete = RecordedScores.from_history(first, splits="recorded", reward_range=(0, 1))
    chosen = simulate(UniformAllocation(12 * n_all), complete, n_problems=1).recommended[0]
    means = first.groupby("candidate")["test_score"].mean()
    assert means[chosen] == means.max()


def test_candidates_of_a_history_keep_their_numbers() -> None:
    """Of 3, 7 and 20, what was recorded of a search whose others never came up."""
    history = pd.DataFrame(
        {
            "candidate": [20, 3, 7, 20, 3, 7],
            "split": [0, 0, 0, 1, 1, 1],
            "test_score": [0.5, 0.6, 0.9, 0.5, 0.6, 0.8],
        }
    )
    recorded = RecordedScores.from_history(history, shuffle=True)
    assert recorded.candidates.tolist() == [3, 7, 20]
    assert recorded.truth.tolist() == pytest.approx([0.6, 0.85, 0.5])
    result = simulate(UniformAllocation(12), recorded, n_problems=20)
    assert result.recommended.tolist() == [7] * 20
    assert result.regret.tolist() == [0.0] * 20
    gappy = RecordedScores.from_history(history.drop(index=3))
    with pytest.raises(ValueError, match="Candidate 20 has no recorded score on split 1 at"):
        simulate(UniformAllocation(60), gappy, n_problems=5)


def test_a_history_without_the_scores_is_refused() -> None:
    history = pd.DataFrame({"candidate": [0], "split": [0], "test_accuracy": [0.5]})
    with pytest.raises(ValueError, match="column 'test_score', got 'candidate', 'split', 'test_a"):
        RecordedScores.from_history(history)
    assert RecordedScores.from_history(history, "test_accuracy").truth.tolist() == [0.5]
