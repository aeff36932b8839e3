"""What `summary` and the HTML of a fitted search show, as numbers: read once, drawn twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_halving.execution._types import Outcome
from sklearn_halving.resources import WholeFit
from sklearn_halving.search.reporting._history import SearchRecord, outcome_of

N_LEADERS = 5
"""How many candidates are shown where there are no brackets."""
MAX_STAGES = 12
"""How many stages are shown."""


@dataclass(frozen=True)
class Rung:
    """The candidates that were fitted at one level of one bracket.

    ``best`` is their best mean score, NaN if none has one; ``has_winner`` says whether the row
    that the search chose is among them.
    """

    n_candidates: int
    amount: float
    best: float
    has_winner: bool


@dataclass(frozen=True)
class Bracket:
    """A bracket with its rungs, in the order in which they were fitted."""

    label: str
    rungs: tuple[Rung, ...]

    @property
    def has_winner(self) -> bool:
        """Whether the row that the search chose is in it."""
        return any(rung.has_winner for rung in self.rungs)


@dataclass(frozen=True)
class Stage:
    """Fits that a search without brackets made in one stage, or at one level."""

    label: str
    n_candidates: int
    n_fits: int
    amount: float


@dataclass(frozen=True)
class Leader:
    """A candidate, in the row of ``cv_results_`` in which it ranks best.

    ``n_fits`` are those of the row, ``n_all_fits`` those at all levels; ``probability`` is that
    of its being the best, NaN where the search does not know it. The score of one that was never
    fitted is what the model of the search expects.
    """

    candidate: int
    params: dict[str, Any]
    rank: int
    score: float
    deviation: float
    n_fits: int
    n_all_fits: int
    amount: float
    probability: float


@dataclass(frozen=True)
class Overview:
    """What a search did and found.

    Parameters
    ----------
    metric : str
        What ``mean_test_`` is followed by in ``cv_results_``: the metric that steered.
    metrics : tuple of str
        All of them.
    resource : str or None
        Name of the resource; None if every fit is a whole one.
    n_fitted : int
        How many candidates were fitted at all.
    n_grid_fits : int or None
        Fits of a GridSearchCV over the same candidates, if that is known.
    brackets, stages : tuple
        One of the two is empty, or both.
    leaders : tuple of Leader
        The best few candidates, best first.
    winner : Leader or None
        What the search chose.
    outcomes : dict of str to int
        How many fits ended in which way.
    first_error : str or None
        The last line of the first traceback.
    fit_seconds : float
        Seconds for training and scoring, over all workers.
    """

    record: SearchRecord
    metric: str
    metrics: tuple[str, ...]
    resource: str | None
    n_fitted: int
    n_grid_fits: int | None
    brackets: tuple[Bracket, ...]
    stages: tuple[Stage, ...]
    leaders: tuple[Leader, ...]
    winner: Leader | None
    outcomes: dict[str, int]
    first_error: str | None
    fit_seconds: float

    @property
    def score_name(self) -> str:
        """What the score is called where it is shown."""
        return "score" if self.metric == "score" else self.metric

    @property
    def shown_stages(self) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
        """The first and the last stages; between the two there may be many more."""
        n_first = len(self.stages) if len(self.stages) <= MAX_STAGES else MAX_STAGES // 2
        n_last = min(len(self.stages) - n_first, MAX_STAGES // 2)
        return self.stages[:n_first], self.stages[len(self.stages) - n_last :]

    @property
    def n_failed(self) -> int:
        """How many fits or their scoring failed."""
        return sum(n for name, n in self.outcomes.items() if name != "ok")

    @property
    def runner_up(self) -> Leader | None:
        """The best candidate other than the winner; None if there is none with a score.

        A small grid is in several brackets: the winner may be there under another number.
        """
        winner = self.winner
        others = (
            leader
            for leader in self.leaders
            if winner is None or repr(leader.params) != repr(winner.params)
        )
        return next((leader for leader in others if np.isfinite(leader.score)), None)


def overview_of(search: Any) -> Overview:
    """Return what a search with results did and found."""
    record, results = search._record, search.cv_results_
    metric, metrics = steering_metric(search)
    errors = [o.error or o.score_error for o in record.outcomes]
    first = next((error for error in errors if error is not None), None)
    n_splits = record.n_grid_splits
    best = getattr(search, "best_index_", None)
    leaders = _leaders(results, metric, record, best)
    has_brackets = "bracket" in results
    return Overview(
        record,
        metric,
        metrics,
        resource=None if isinstance(record.resource, WholeFit) else record.resource.name,
        n_fitted=len({outcome.pull.arm for outcome in record.outcomes}),
        n_grid_fits=None if n_splits is None else n_splits * record.n_different,
        brackets=_brackets(results, metric, best) if has_brackets else (),
        stages=() if has_brackets else _stages(record),
        leaders=tuple(leaders[: N_LEADERS + 1]),
        winner=None if best is None else _leader(results, metric, int(best), record),
        outcomes=dict(Counter(map(outcome_of, record.outcomes))),
        first_error=None if first is None else first.strip().rpartition("\n")[2],
        fit_seconds=sum(o.fit_seconds + o.score_seconds for o in record.outcomes),
    )


def steering_metric(search: Any) -> tuple[str, tuple[str, ...]]:
    """Return the metric that steered a search, and all of them."""
    prefix = "mean_test_"
    known = [key.removeprefix(prefix) for key in search.cv_results_ if key.startswith(prefix)]
    steering = (
        search.refit if isinstance(search.refit, str) and search.refit in known else known[0]
    )
    return steering, tuple(known)


def best_rows(search: Any) -> dict[str, int]:
    """Return for each metric the row that ranks first; those without a score are left out."""
    results = search.cv_results_
    rows = {
        name: int(results[f"rank_test_{name}"].argmin()) for name in steering_metric(search)[1]
    }
    return {
        name: row for name, row in rows.items() if np.isfinite(results[f"mean_test_{name}"][row])
    }


def _brackets(results: dict[str, Any], metric: str, best: int | None) -> tuple[Bracket, ...]:
    means = results[f"mean_test_{metric}"]
    loop = results.get("loop", np.zeros_like(results["bracket"]))
    amount = results.get("n_resources", np.ones_like(loop))
    # In the order of the table: the most exploratory bracket first.
    rows: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, key in enumerate(zip(loop.tolist(), results["bracket"].tolist(), strict=True)):
        rows[key][int(results["iter"][row])].append(row)
    return tuple(
        Bracket(
            f"{label}" if not loop.any() else f"{label}, loop {number}",
            tuple(
                Rung(len(own), amount[own[0]].item(), _largest(means[own]), best in own)
                for _, own in sorted(rungs.items())
            ),
        )
        for (number, label), rungs in rows.items()
    )


def _largest(means: Any) -> float:
    finite = means[np.isfinite(means)]
    return float(finite.max()) if len(finite) else float("nan")


def _stages(record: SearchRecord) -> tuple[Stage, ...]:
    """Return the stages; where there are none, the levels if they are several."""
    of_stage: dict[int, list[Outcome]] = defaultdict(list)
    for outcome in record.outcomes:
        of_stage[record.stages.get(outcome.pull, outcome.pull.level)].append(outcome)
    if len(of_stage) < 2:
        return ()
    return tuple(
        Stage(
            str(number) if record.stages else "",
            len({outcome.pull.arm for outcome in own}),
            len(own),
            record.resource.to_amount(max(outcome.pull.level for outcome in own)),
        )
        for number, own in sorted(of_stage.items())
    )


def _leaders(
    results: dict[str, Any], metric: str, record: SearchRecord, best: int | None
) -> list[Leader]:
    """Return the best few candidates with a fit, best rank first; the winner needs none."""
    n_pulls = results.get("n_pulls")
    order = np.argsort(results[f"rank_test_{metric}"], kind="stable").tolist()
    rows: dict[int, int] = {}
    seen: set[str] = set()  # a small grid is in several brackets, under several numbers
    for row in order:
        candidate = int(results["candidate"][row])
        if candidate not in rows and (n_pulls is None or n_pulls[row] > 0 or row == best):
            params = repr(results["params"][row])
            if params not in seen:
                seen.add(params)
                rows[candidate] = row
        if len(rows) > N_LEADERS:
            break
    return [_leader(results, metric, row, record) for row in rows.values()]


def _score(results: dict[str, Any], metric: str, row: int) -> float:
    mean = float(results[f"mean_test_{metric}"][row])
    is_expected = "posterior_mean" in results and results["n_pulls"][row] == 0
    return float(results["posterior_mean"][row]) if is_expected else mean


def _leader(results: dict[str, Any], metric: str, row: int, record: SearchRecord) -> Leader:
    candidate = int(results["candidate"][row])
    fits = [outcome for outcome in record.outcomes if outcome.pull.arm == candidate]
    level = None
    if "n_resources" in results:
        level = record.resource.to_level(results["n_resources"][row])
    return Leader(
        candidate,
        results["params"][row],
        rank=int(results[f"rank_test_{metric}"][row]),
        score=_score(results, metric, row),
        deviation=float(results[f"std_test_{metric}"][row]),
        n_fits=sum(level is None or outcome.pull.level == level for outcome in fits),
        n_all_fits=len(fits),
        amount=results["n_resources"][row].item() if "n_resources" in results else 1,
        probability=float(results.get("probability_best", [np.nan] * (row + 1))[row]),
    )
