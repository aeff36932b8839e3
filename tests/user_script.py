"""What a user's script may look like: `tests/test_user_typing.py` checks its types and runs it.

It has types where a user would write them, so that a wrong one of the package shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_halving import (
    AdaptiveSearchCV,
    BanditSearchCV,
    BayesGapSearchCV,
    HyperbandSearchCV,
    RepeatedLearningTesting,
    VarianceHalvingSearchCV,
    __version__,
)
from sklearn_halving.plotting import (
    BracketDisplay,
    ConfidenceDisplay,
    HistoryDisplay,
    ParameterDisplay,
    RungDisplay,
)
from sklearn_halving.policies import (
    Hyperband,
    Plan,
    Policy,
    Problem,
    Pull,
    Pulls,
    SuccessiveRejects,
    UniformAllocation,
    VarianceHalving,
)
from sklearn_halving.resources import (
    Iterations,
    PartialFit,
    Resource,
    TrainingSize,
    resolve_resource,
)
from sklearn_halving.simulation import (
    Estimate,
    GaussianArms,
    RecordedScores,
    SimulationResult,
    simulate,
)
from sklearn_halving.splits import SplitStream, corrected_variance_of_mean, split_stream

FloatArray = npt.NDArray[np.float64]
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
SPACE = {"logisticregression__C": loguniform(1e-3, 1e3)}


def load() -> tuple[FloatArray, npt.NDArray[np.int64], FloatArray, npt.NDArray[np.int64]]:
    X, y = load_wine(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    return X_train, y_train, X_test, y_test


def hyperband(X: FloatArray, y: npt.NDArray[np.int64]) -> HyperbandSearchCV:
    search = HyperbandSearchCV(
        MODEL,
        SPACE,
        n_candidates=9,
        min_resources=20,
        cv=3,
        random_state=0,
        n_jobs=None,
    )
    plan: pd.DataFrame = search.plan(X, y)
    n_planned: int = int(plan["n_fits"].sum())
    return search.fit(X, y) if n_planned else search


def adaptive(X: FloatArray, y: npt.NDArray[np.int64]) -> AdaptiveSearchCV:
    search = AdaptiveSearchCV(
        MODEL,
        SPACE,
        time_budget="10min",
        n_fits=12,
        sampler="random",
        initial_candidates=[{"logisticregression__C": 0.1}],
        cv=3,
        random_state=0,
    ).fit(X, y)
    cost: float = search.full_fits_
    if cost != search.n_fits_:
        raise RuntimeError(f"{search.n_fits_} fits cost {cost}")
    return search


def others(X: FloatArray, y: npt.NDArray[np.int64]) -> Iterator[Any]:
    grid = {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]}
    yield VarianceHalvingSearchCV(MODEL, grid, cv=3, random_state=0).fit(X, y)
    yield BayesGapSearchCV(MODEL, grid, cv=3, random_state=0).fit(X, y)
    yield BanditSearchCV(MODEL, grid, policy="successive_rejects", cv=3, random_state=0).fit(X, y)
    own: Policy = SuccessiveRejects(n_pulls=20)
    splits = RepeatedLearningTesting(test_size=0.25, random_state=0)
    yield BanditSearchCV(MODEL, grid, policy=own, cv=splits, random_state=0).fit(X, y)
    yield adaptive(X, y)
    sgd = SGDClassifier(random_state=0)
    epochs: Resource = PartialFit()
    space = {"alpha": loguniform(1e-6, 1e-1)}
    yield HyperbandSearchCV(
        sgd, space, resource=epochs, max_resources=9, factor=3, cv=3, random_state=0
    ).fit(X, y)


def draw(rungs: HyperbandSearchCV, others: list[Any]) -> list[str]:
    tree: BracketDisplay = BracketDisplay.from_estimator(rungs)
    tree.plot()
    displays: list[Any] = [
        tree,
        RungDisplay.from_estimator(rungs, metric=None),
        ParameterDisplay.from_estimator(rungs, "logisticregression__C"),
        HistoryDisplay.from_estimator(rungs, cost="seconds"),
        ConfidenceDisplay.from_estimator(others[0]),
    ]
    return [type(display).__name__ for display in displays]


def play(policy: VarianceHalving, values: FloatArray) -> int:
    game = policy.start(Problem(n_arms=len(values)))
    rng = np.random.default_rng(0)
    while not game.is_finished:
        pulls: Pulls = game.ask(max_pulls=10)
        rewards = values[pulls.arm] + rng.normal(0, 0.1, len(pulls))
        game.tell_all(pulls, rewards)
    return game.recommend()


def simulated(history: pd.DataFrame) -> list[Estimate]:
    arms = GaussianArms([0.5, 0.4, 0.3], 0.1)
    results: list[SimulationResult] = [
        simulate(policy, arms, 20, seed=0, checkpoints=[15, 30])
        for policy in (UniformAllocation(30), SuccessiveRejects(30))
    ]
    frame: pd.DataFrame = results[0].to_frame()
    recorded = RecordedScores.from_history(
        frame if history.empty else history, splits="own", shuffle=True
    )
    replay = simulate(VarianceHalving(20), recorded, 20)
    return [result.mistake_probability for result in (*results, replay)]


def levels() -> list[str]:
    plan: Plan = Hyperband(factor=3).plan(Problem(max_level=81))
    resources: list[Resource] = [
        TrainingSize(rescale={"C": "inverse"}),
        Iterations("n_estimators"),
        resolve_resource("n_samples", LogisticRegression()),
    ]
    amounts: list[float] = [resource.to_amount(resource.to_level(10)) for resource in resources]
    return [f"{plan.n_arms} arms"] + [
        f"{resource.name}: {amount}" for resource, amount in zip(resources, amounts, strict=True)
    ]


def means(X: FloatArray, y: npt.NDArray[np.int64]) -> float:
    stream: SplitStream = split_stream(3, X, y, classifier=True, random_state=0)
    train, test = stream.split(0)
    scores = np.array([0.9, 0.8, 0.85])
    variance = corrected_variance_of_mean(scores, n_train=len(train), n_test=len(test))
    return float(np.sqrt(variance))


def main() -> list[str]:
    X, y, X_test, y_test = load()
    rungs = hyperband(X, y)
    predicted: npt.NDArray[np.int64] = rungs.predict(X_test)
    searches = list(others(X, y))
    first = Pull(arm=0, level=1, repetition=0)
    return [
        __version__,
        f"{np.mean(predicted == y_test):.2f}, {first.arm}, {means(X, y):.3f}",
        *draw(rungs, searches),
        str(play(VarianceHalving(60), np.array([0.1, 0.5, 0.2]))),
        *(str(estimate) for estimate in simulated(searches[0].history_)),
        *levels(),
        *(str(search.summary()) for search in searches),
    ]
