"""Policies against environments: known answers, many problems as one, clear errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import norm

from games import Greedy, GreedyGame
from sklearn_halving.policies import (
    EXP3,
    HOO,
    LUCB,
    UCB1,
    UCBE,
    BayesGap,
    DoublingHalving,
    HoeffdingRace,
    Hyperband,
    LilUCB,
    MedianElimination,
    Problem,
    Pull,
    Pulls,
    SuccessiveHalving,
    SuccessiveRejects,
    UniformAllocation,
    VarianceHalving,
)
from sklearn_halving.simulation import (
    BernoulliArms,
    GaussianArms,
    GaussianProcessArms,
    LearningCurves,
    PowerEnvelope,
    PowerLimits,
    Randomness,
    RecordedScores,
    SimulationResult,
    simulate,
)

BERNOULLI = BernoulliArms([0.8, 0.5, 0.6, 0.2])
GAUSSIAN = GaussianArms([0.0, 0.3, 0.6, 1.0], mean_sd=0.2)
CURVES = LearningCurves(PowerLimits(beta=2), n_arms=16, max_level=2000)
KERNEL = np.exp(-np.abs(np.arange(6) - np.arange(6)[:, np.newaxis]) / 3)
PLAYS = [
    (UniformAllocation(40), GAUSSIAN),
    (SuccessiveRejects(60), GAUSSIAN),
    (VarianceHalving(80), GAUSSIAN),
    (UCBE(40, 2.0), BERNOULLI),
    (LUCB(0.1, max_pulls=150), BERNOULLI),
    (HoeffdingRace(30, 0.5), BERNOULLI),
    (MedianElimination(2.0, 0.5), BERNOULLI),
    (SuccessiveHalving(16, 400), CURVES),
    (DoublingHalving(500), CURVES),
    (Hyperband(), LearningCurves(PowerLimits(), max_level=27)),
    (SuccessiveHalving(4, 80), GaussianArms([0, 1, 2, 3], max_level=100)),
    (BayesGap(12, KERNEL), GaussianProcessArms(KERNEL)),
    (EXP3(30), BERNOULLI),
]
IDS = [f"{type(policy).__name__}-{type(world).__name__}" for policy, world in PLAYS]
ARRAYS = ("recommended", "regret", "is_mistake", "n_pulls", "n_units")


def assert_same(a: SimulationResult, b: SimulationResult, *, n: int | None = None) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name)[:n], getattr(b, name)[:n], name)


# -------------------------------------------------------------------------- many as one


@pytest.mark.parametrize(("policy", "world"), PLAYS, ids=IDS)
def test_the_same_seed_gives_the_same_result(policy: Any, world: Any) -> None:
    first = simulate(policy, world, 9, seed=5)
    assert_same(first, simulate(policy, world, 9, seed=5))
    assert_same(first, simulate(policy, world, 9, seed=np.random.SeedSequence(5)))


@pytest.mark.parametrize(("policy", "world"), PLAYS, ids=IDS)
def test_a_simulation_is_its_problems_one_by_one(policy: Any, world: Any) -> None:
    """Against a plain loop over problems, with one pull at a time."""
    seed = np.random.SeedSequence(3)
    together = simulate(policy, world, 6, seed)
    for i in range(6):
        arms = world.draw(Randomness.of(seed, 1, first=i), together_n_arms(policy, world))
        own = np.random.SeedSequence(3, spawn_key=(i,))
        chosen, n_pulls = play_alone(together.policy, world, arms, own)
        assert chosen == together.recommended[i]
        assert n_pulls == together.n_pulls[i]


def together_n_arms(policy: Any, world: Any) -> int:
    return world.n_arms or policy.plan(Problem(1, world.min_level, world.max_level)).n_arms


def play_alone(
    policy: Any, world: Any, arms: Any, seed: np.random.SeedSequence
) -> tuple[int, int]:
    n_arms = arms.values.shape[1]
    problem = Problem(n_arms, world.min_level, world.max_level, world.max_repetitions)
    problem = replace(problem, reward_range=world.reward_range)
    game, n_pulls = policy.start(problem, seed), 0
    while not game.is_finished:
        [pull] = game.ask(1)
        n_pulls += 1
        game.tell(pull, float(arms.rewards(np.zeros(1, dtype=int), Pulls.of([pull]))[0]))
    return game.recommend(), n_pulls


@pytest.mark.parametrize(("policy", "world"), [PLAYS[2], PLAYS[-1]])
def test_processes_do_not_change_the_result(policy: Any, world: Any) -> None:
    assert_same(simulate(policy, world, 7, n_jobs=2), simulate(policy, world, 7))


def test_more_problems_do_not_change_the_first() -> None:
    for policy, world in PLAYS:
        assert_same(simulate(policy, world, 12), simulate(policy, world, 5), n=5)


# ------------------------------------------------------------------------- known answers


def test_mistakes_of_uniform_allocation_are_those_of_the_normal_distribution() -> None:
    gap, sd, m, n = 0.4, 1.5, 16, 20_000
    result = simulate(UniformAllocation(2 * m), GaussianArms([0.0, gap], sds=sd), n)
    p = norm.cdf(-gap * np.sqrt(m / 2) / sd)
    error = np.sqrt(p * (1 - p) / n)
    assert abs(result.mistake_probability.value - p) < 5 * error
    assert result.mistake_probability.standard_error == pytest.approx(error, rel=0.05)
    assert abs(result.simple_regret.value - gap * p) < 5 * gap * error
    assert result.simple_regret.standard_error == pytest.approx(gap * error, rel=0.05)
    assert result.mean_pulls == (32.0, 0.0)


def needed_budget(gaps: np.ndarray, alpha: float) -> float:
    """z_SH of theorem 1; ``gaps`` are nu_i - nu_1 in increasing order, the first 0."""
    n = len(gaps)
    units = 1 + np.ceil((gaps[1:] / 2) ** -alpha)  # the inverse of the envelope
    return float(2 * ceil(log2(n)) * (np.arange(2, n + 1) * units).max())


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_successive_halving_finds_the_best_with_the_budget_of_theorem_1(alpha: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        limits = np.sort(rng.uniform(0.1, 1, size=24))
        limits[1:] += 0.05  # a gap that the largest level can resolve
        budget = int(needed_budget(limits - limits[0], alpha)) + 1
        order = rng.permutation(24)
        curves = LearningCurves(limits[order], PowerEnvelope(alpha), "adversarial")
        result = simulate(SuccessiveHalving(24, budget), curves, 1)
        assert result.regret.tolist() == [0.0]
    starved = simulate(SuccessiveHalving(24, 24 * 5), curves, 1)
    assert starved.is_mistake.all(), "with little budget the curves do deceive"


# -------------------------------------------------------------------------- checkpoints


def test_a_checkpoint_is_a_run_with_fewer_pulls() -> None:
    """What UCB1 does up to any time does not depend on when it stops."""
    marks = [10, 25, 60]
    long = simulate(UCB1(100), BERNOULLI, 200, checkpoints=marks)
    for i, n_pulls in enumerate(marks):
        short = simulate(UCB1(n_pulls), BERNOULLI, 200)
        assert long.checkpoint_regret[:, i].tolist() == short.regret.tolist()
        assert long.checkpoint_is_mistake[:, i].tolist() == short.is_mistake.tolist()
    assert long.n_pulls.tolist() == [100] * 200


# -------------------------------------------------------------------------- the result


def test_means_are_means_of_the_table() -> None:
    result = simulate(LUCB(0.1, max_pulls=90), BERNOULLI, 50, checkpoints=[30])
    table, summary = result.to_frame(), result.summary()
    assert len(table) == result.n_problems == 50
    assert summary.name == "LUCB"
    assert summary["mistake_probability"] == table["is_mistake"].mean()
    for name, column in (("simple_regret", "regret"), ("mean_pulls", "n_pulls")):
        assert summary[name] == pytest.approx(table[column].mean())
        assert summary[f"{name}_error"] == pytest.approx(table[column].sem())
    assert table["is_confident"].tolist() == result.is_confident.tolist()
    assert table["regret_after_30"].tolist() == result.checkpoint_regret[:, 0].tolist()


def test_a_single_problem_has_no_standard_error() -> None:
    result = simulate(UniformAllocation(8), BERNOULLI, 1)
    assert np.isnan(result.simple_regret.standard_error)
    assert result.mistake_probability.standard_error > 0.3


def test_plot_shows_the_curve_and_its_end() -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    result = simulate(UCB1(100), BERNOULLI, 50, checkpoints=[10, 40])
    axes = result.plot()
    assert result.plot(axes, label="again") is axes
    line = axes.containers[0].lines[0]
    assert line.get_xdata().tolist() == [10, 40, 100]
    means = [*result.checkpoint_regret.mean(axis=0), result.regret.mean()]
    assert line.get_ydata() == pytest.approx(means)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["UCB1", "again"]
    assert axes.get_xlabel() == "pulls"
    assert simulate(*PLAYS[7], 5).plot().get_xlabel() == "units of resource"
    plt.close("all")


# --------------------------------------------------------------- what users bring along


@dataclass(frozen=True)
class Ladder:
    """An environment in one class: arm i always gives i."""

    n_arms: int = 3
    min_level: int = field(default=1, init=False)
    max_level: int = field(default=1, init=False)
    max_repetitions: None = field(default=None, init=False)
    reward_range: None = field(default=None, init=False)

    def draw(self, randomness: Randomness, n_arms: int) -> Any:
        @dataclass
        class Steps:
            values: np.ndarray
            best_value: np.ndarray
            candidate: None = None

            def rewards(self, problem: Any, pulls: Pulls) -> Any:
                return pulls.arm.astype(float)

        n = randomness.n_problems
        return Steps(np.tile(np.arange(n_arms), (n, 1)), np.full(n, n_arms - 1))


def test_a_policy_and_an_environment_of_ones_own() -> None:
    result = simulate(Greedy(n_pulls=7), Ladder(), 4)
    assert result.recommended.tolist() == [2] * 4
    assert result.regret.tolist() == [0] * 4
    wrong = simulate(Greedy(n_pulls=1), Ladder(), 4)
    assert wrong.regret.tolist() == [2] * 4
    assert wrong.is_mistake.all()


# ------------------------------------------------------------------------- clear errors


def test_a_range_that_is_needed_must_be_known() -> None:
    with pytest.raises(ValueError, match="needs rewards of a known range, got reward_range=None"):
        simulate(UCBE(40, 2.0), GAUSSIAN, 5)
    assert simulate(UCBE(40, 2.0, (-3, 4)), GAUSSIAN, 5).n_problems == 5
    open_, known, wide = (UCBE(40, 2.0, own) for own in (None, (0, 1), (-1, 2)))
    chosen = [simulate(one, BERNOULLI, 50).recommended.tolist() for one in (open_, known, wide)]
    assert chosen[0] == chosen[1] != chosen[2]


def test_what_never_ends_is_stopped() -> None:
    alike = BernoulliArms([0.5, 0.5])
    with pytest.raises(RuntimeError, match=r"max_pulls=200 .* Give the policy a max_pulls"):
        simulate(LUCB(0.1), alike, 5, max_pulls=200)
    assert simulate(LUCB(0.1, max_pulls=200), alike, 5, max_pulls=200).n_pulls.max() == 200


def test_a_policy_that_asks_for_nothing_is_stopped() -> None:
    with pytest.raises(RuntimeError, match="Greedy must ask for a pull or have ended"):
        simulate(Greedy(n_pulls=7, stuck_after=3), Ladder(), 2)


@dataclass(frozen=True)
class Stray(Greedy):
    """Asks for another pull after two that are right."""

    other: Pull | None = None

    def start(self, problem: Problem, seed: Any = None) -> GreedyGame:
        return StrayGame(self, [[] for _ in range(problem.n_arms)])


class StrayGame(GreedyGame):
    def ask(self, max_pulls: int) -> list[Pull]:
        return super().ask(max_pulls) if self.n_told < 2 else [self.policy.other]


STRAYS = [
    (Pull(10**6, 1, 0), "arms from 0 to 2, got 1000000 from"),
    (Pull(-2, 1, 0), "arms from 0 to 2, got -2 from"),
    (Pull(0, 0, 0), "levels from 1 to 1, got 0 from"),
    (Pull(0, 2, 0), "levels from 1 to 1, got 2 from"),
    (Pull(0, 1, -1), "repetitions from 0 to [2i].*, got -1 from"),
    (Pull(0, 1, 3), "repetitions from 0 to 2, got 3 from"),
]


@pytest.mark.parametrize(("pull", "message"), STRAYS)
def test_a_pull_that_does_not_exist_is_refused(pull: Pull, message: str) -> None:
    world = RecordedScores(np.eye(3), splits="recorded")
    with pytest.raises(ValueError, match=f"policy must ask for {message} Stray"):
        simulate(Stray(9, other=pull), world, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((SuccessiveRejects, GAUSSIAN), TypeError, "got the class SuccessiveRejects"),
        ((HOO(4, reward_range=(0, 1)), GAUSSIAN), TypeError, "choose among the arms .* got HOO"),
        (("uniform", GAUSSIAN), TypeError, "got 'uniform', without order_free"),
        ((UniformAllocation(9), [0.1, 0.2]), TypeError, r"environment must .* got \[0.1, 0.2\]"),
        ((UniformAllocation(9), GaussianArms), TypeError, "environment must be an object"),
        ((UniformAllocation(9), GAUSSIAN, 0), ValueError, "n_problems must be at least 1"),
        ((UniformAllocation(9), GAUSSIAN, 2.5), ValueError, "n_problems must be a whole number"),
        ((SuccessiveHalving(5, 50), GAUSSIAN), ValueError, "n_arms must be .* plan, 5, got 4"),
        ((LilUCB(), LearningCurves(PowerLimits())), ValueError, "n_arms of the environment must"),
        ((UniformAllocation(3), GAUSSIAN), ValueError, "too small"),
    ],
)
def test_what_cannot_be_played_is_refused(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        simulate(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoints": [5, 3]}, r"increasing order, got \[5, 3\]"),
        ({"checkpoints": [0]}, "Each of checkpoints must be at least 1"),
        ({"max_pulls": 0}, "max_pulls must be at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(UniformAllocation(8), GAUSSIAN, 5, **options)
