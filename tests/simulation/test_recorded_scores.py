"""Replays: what a policy would have done with the scores that were recorded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import VarianceHalvingSearchCV
from sklearn_halving.policies import SuccessiveHalving, SuccessiveRejects, UniformAllocation
from sklearn_halving.simulation import RecordedScores, simulate

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
