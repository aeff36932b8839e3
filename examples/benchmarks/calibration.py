"""How often a choice is right that is said to be right with probability p.

    python examples/benchmarks/calibration.py [--quick] [--runs N] [--only TEXT] [--csv]

VarianceHalving plays arms on common splits. Its rewards give the probability of the winner to be
the best arm, as in `best_probability_`, which is compared with the truth:

1. in simulations, with independent noise of each split: 5, 20 and 64 arms with 5 pulls each on
   average, and 20 and 64 with 2; six kinds of means, on a scale of half to four standard errors of
   five pulls; equal variances, two variances (0.25 and 1.75), and rewards with the t distribution
   with 4 degrees of freedom. The noise of near-duplicates has a correlation of 0.9 in each pair;
2. on recorded scores of real models, whose training sets overlap. The splits are replayed in a
   random order, and the truth is the mean over all of them. The variance that overlapping
   training sets hide (``n_test / n_train``) is counted in the claims but not in this truth, so
   that they should be too low;
3. for the finalists of AdaptiveSearchCV over grids of learners, on recorded learning curves (LCDB
   1.1, see ``lcdb.py``), with recorded noise that is independent for each split. Here, too, the
   overlap is counted in the claims only. Left out without the data.

The constants of the claims were chosen on simulations with another seed. ``--only`` selects parts
by their name: "simulated", "recorded" or "finalists". A standard error is printed in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from _common import Report, one_thread, parse_options
from lcdb import FOLDER, GRIDS, N_SPLITS, Recorded, load
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import KFold, StratifiedShuffleSplit, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_halving import AdaptiveSearchCV
from sklearn_halving.policies import Problem, VarianceHalving
from sklearn_halving.policies.noise._noise_estimates import probability_of_choice
from sklearn_halving.search.reporting._cv_results import additive_means

CHUNK = 50  # problems at a time
MEANS = ("even", "few good", "exponential", "clustered", "normal", "near-duplicates")
NOISES = ("equal", "unequal", "t")
SIZES = ((5, 5), (20, 5), (64, 5), (20, 2), (64, 2))  # arms, and pulls for each on average
WHOLE = 0.0  # overlap of the splits: rewards are independent


@dataclass(frozen=True)
class Claim:
    """What was said of a choice, and what was true."""

    group: str
    probability: float
    is_best: bool


def draw_means(rng: np.random.Generator, kind: str, n: int, n_arms: int) -> np.ndarray:
    """Return true means, shape (n, n_arms)."""
    scale = np.exp(rng.uniform(np.log(0.5), np.log(4), (n, 1))) / np.sqrt(5)
    shape = n, n_arms
    if kind == "even":
        means = np.tile(np.linspace(-4, 0, n_arms) * np.sqrt(n_arms / 20), (n, 1))
    elif kind == "few good":
        n_good = max(2, n_arms // 16)
        means = -rng.uniform(4, 12, shape)
        means[:, :n_good] = -rng.uniform(0, 1.5, (n, n_good))
    elif kind == "exponential":
        means = -rng.exponential(1, shape)
    elif kind == "clustered":
        centres = rng.normal(0, 1.5, (n, 4))
        means = np.take_along_axis(centres, rng.integers(0, 4, shape), axis=1)
        means += rng.normal(0, 0.15, shape)
    elif kind == "normal":
        means = rng.normal(size=shape)
    else:
        means = np.repeat(rng.normal(size=(n, (n_arms + 1) // 2)), 2, axis=1)[:, :n_arms]
        return means * scale + rng.normal(0, 0.05, shape)
    return rng.permuted(means * scale, axis=1)


def draw_noise(
    rng: np.random.Generator, means: str, noise: str, shape: tuple[int, int, int]
) -> np.ndarray:
    """Return noise with a variance of 1 on average, and a common effect of each split."""
    n, n_arms, n_splits = shape
    is_normal = noise != "t"
    drawn = rng.standard_normal(shape) if is_normal else rng.standard_t(4, shape) / np.sqrt(2)
    if means == "near-duplicates":
        pairs = rng.standard_normal((n, (n_arms + 1) // 2, n_splits))
        common = np.repeat(pairs, 2, axis=1)[:, :n_arms]
        drawn = np.sqrt(0.9) * common + np.sqrt(0.1) * drawn
    if noise == "unequal":
        drawn *= np.sqrt(rng.choice([0.25, 1.75], (n, n_arms, 1)))
    return drawn + rng.normal(size=(n, 1, n_splits))


def play(rewards: np.ndarray, n_pulls: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the rewards that were seen and the choice, of each problem."""
    _, n_arms, n_splits = rewards.shape
    for table in rewards:
        game = VarianceHalving(n_pulls).start(Problem(n_arms, max_repetitions=n_splits))
        while not game.is_finished:
            pulls = game.ask(10**9)
            game.tell_all(pulls, table[pulls.arm, pulls.repetition])
        seen = np.arange(n_splits) < game.n_pulls[:, np.newaxis]
        yield np.where(seen, table, np.nan), game.recommend()


def claim_of(
    group: str, seen: np.ndarray, winner: int, truth: np.ndarray, overlap: float
) -> Claim | None:
    """Return what the search would say of this choice; None if it says nothing."""
    level, no_arm = np.ones(len(seen), dtype=int), np.zeros(len(seen), dtype=bool)
    mean = additive_means(seen, ~np.isnan(seen), level, no_arm)
    probability = float(probability_of_choice(mean, seen, overlap)[winner])
    if np.isnan(probability):
        return None
    return Claim(group, probability, bool(truth[winner] == truth.max()))


def simulated(n_runs: int) -> Iterator[Claim]:
    """Yield the claims of all simulations."""
    rng = np.random.default_rng(0)
    for n_arms, n_each in SIZES:
        for means in MEANS:
            for noise in NOISES:
                group = f"{n_arms} arms, {n_each} pulls each"
                for n in [CHUNK] * (n_runs // CHUNK) or [n_runs]:
                    n_splits = min(n_each * n_arms, 60)
                    truth = draw_means(rng, means, n, n_arms)
                    noises = draw_noise(rng, means, noise, (n, n_arms, n_splits))
                    games = play(truth[..., np.newaxis] + noises, n_each * n_arms)
                    for one, (seen, winner) in zip(truth, games, strict=True):
                        claim = claim_of(group, seen, winner, one, WHOLE)
                        if claim is not None:
                            yield claim


def record(n_splits: int) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield the scores of real models on many splits, shape (n_models, n_splits)."""
    models = [make_pipeline(StandardScaler(), SVC(C=c)) for c in np.logspace(-2, 3, 12)]
    models += [make_pipeline(StandardScaler(), KNeighborsClassifier(k)) for k in (1, 3, 5, 9, 15)]
    models += [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 3, 5, 8)]
    digits = load_digits(return_X_y=True)
    sets = {
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits, 500 rows": tuple(part[:500] for part in digits),
    }
    for name, (X, y) in sets.items():
        cv = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0)
        scores = [cross_validate(model, X, y, cv=cv)["test_score"] for model in models]
        yield name, np.array(scores), 0.25


def replayed(n_runs: int, n_splits: int) -> Iterator[Claim]:
    """Yield the claims on recorded scores."""
    rng = np.random.default_rng(1)
    for name, scores, overlap in record(n_splits):
        truth = scores.mean(axis=1)
        for n_each in (2, 5):
            order = rng.permuted(np.tile(np.arange(n_splits), (n_runs, 1)), axis=1)
            rewards = scores[:, order].transpose(1, 0, 2)
            for seen, winner in play(rewards, n_each * len(scores)):
                claim = claim_of(name, seen, winner, truth, overlap)
                if claim is not None:
                    yield claim


def finalists(quick: bool) -> Iterator[Claim]:
    """Yield the claims of AdaptiveSearchCV about its finalists."""
    for curves in load(quick) if FOLDER.is_dir() else ():
        X = np.arange(curves.n_rows * N_SPLITS // (N_SPLITS - 1), dtype=np.int32)[:, np.newaxis]
        for n_learners in GRIDS:
            rng = np.random.default_rng([curves.data_set, n_learners])
            grid = {"learner": rng.permutation(len(curves.test))[:n_learners].tolist()}
            search = AdaptiveSearchCV(
                Recorded(curves), grid, cv=KFold(N_SPLITS), random_state=0, refit=False
            ).fit(X, np.zeros(len(X)))
            results = search.cv_results_
            at_end = np.isfinite(results[f"split{N_SPLITS - 1}_test_score"])
            at_end &= results["n_resources"] == results["n_resources"].max()
            score = {
                row: -curves.validation[results["param_learner"][row]][-1]
                for row in np.flatnonzero(at_end)
            }
            is_best = score[search.best_index_] == max(score.values())
            yield Claim("", search.best_probability_, is_best)


def row_of(name: str, claims: list[Claim]) -> list[str]:
    """Return the row of a group: means of the claims and of the truth."""
    said = np.mean([claim.probability for claim in claims])
    true = np.mean([claim.is_best for claim in claims])
    error = np.sqrt(true * (1 - true) / len(claims))
    return [name, f"{said:.3f}", f"{true:.3f} ({error:.3f})", f"{said - true:+.3f}"]


def rows_of(part: str, claims: list[Claim]) -> Iterator[list[str]]:
    """Yield the rows of a part: all, its groups, and bins of the claims."""
    yield row_of(f"{part}, all", claims)
    if part == "finalists":
        return
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.group, []).append(claim)
        if part == "simulated":
            place = min(int(claim.probability * 5), 4) / 5
            groups.setdefault(f"claims of {place:.1f} to {place + 0.2:.1f}", []).append(claim)
    for name, own in sorted(groups.items()):
        yield row_of(f"{part}, {name}", own)


def main() -> None:
    """Print the table."""
    options = parse_options(__doc__, seeds=150, quick_seeds=10, name="runs")
    report = Report("Calibration", options)
    sources = {
        "simulated": simulated(options.runs),
        "recorded": replayed(4 * options.runs, 20 if options.quick else 150),
        "finalists": finalists(options.quick),
    }
    rows = []
    with one_thread():
        for part, source in sources.items():
            claims = list(source) if options.only in part else []
            rows += rows_of(part, claims) if claims else []
    report.table("Claims", "choices | claimed | right | difference", rows, "certainty.csv")


if __name__ == "__main__":
    main()
