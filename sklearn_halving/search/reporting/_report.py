"""The report of a fitted search as plain data, which `summary` and the HTML both show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.search._formatting import (
    budget_text,
    counted,
    number_text,
    params_text,
    score_text,
    seconds_text,
    short_names,
    shortened,
    without_addresses,
)
from sklearn_halving.search.reporting._findings import N_LEADERS, Findings, Leader

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from sklearn_halving.search._search_results import SearchResults

MAX_BRACKETS = 12
MAX_STAGES = 12
MAX_PARAMS = 600
"""Maximum length of the parameters of the runner-up."""
MAX_ROW_PARAMS = 120
"""Maximum length of the parameters in a row of a table."""
MAX_ERROR = 264
"""Maximum length of the first error."""
STOPPED_BY = {
    "policy": "finished as planned",
    "time_budget": "stopped by time_budget",
    "interrupt": "stopped by Ctrl-C",
    "callback": "stopped by a callback",
    "error": "ended by an exception",
}
"""``stopped_by_`` in words."""


@dataclass(frozen=True)
class Table:
    """A table of a report. All cells are text.

    Parameters
    ----------
    head : list of str
        The names of the columns.
    rows : list of list of str
        The cells. A row with a single cell spans all columns.
    winner : tuple of (int, int) or None, default=None
        The row and the column of the cell that is marked, because it contains the winner.
    has_text : bool, default=False
        Whether the last column is text of any length.
    """

    head: list[str]
    rows: list[list[str]]
    winner: tuple[int, int] | None = None
    has_text: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Parameters
    ----------
    subject : str
        One word.
    paragraphs : list of str
        The text. If there is a table or parameters, they follow the first paragraph.
    table : Table or None, default=None
        A table.
    params : dict or None, default=None
        The parameters of a candidate.
    """

    subject: str
    paragraphs: list[str]
    table: Table | None = None
    params: Params | None = None


def report_of(search: SearchResults) -> list[Section]:
    """Return the report of a search that has ``cv_results_``."""
    found = Findings(search)
    if "bracket" in search.cv_results_:
        course = [_brackets(found)]
    else:
        course = [*_stages(found), _leaders(found)]
    return [
        Section("searched", [_searched(found)]),
        Section("spent", list(_spent(found))),
        Section("ended", [_ended(found)]),
        *course,
        _winner(found),
        *_runner_up(found),
        Section("failures", _failures(found)),
    ]


def _searched(found: Findings) -> str:
    record = found.record
    text = counted(record.n_different, "candidate")
    if record.n_candidates > record.n_different:  # some were started in several brackets
        text += f", started {record.n_candidates:,} times"
    n_initial = sum(map(len, record.plan.fronts))
    if n_initial:
        text += f", {n_initial:,} of them initial"
    n_fitted = record.n_candidates - found.n_unfitted
    facts = [f"{n_fitted:,} were fitted"] if found.n_unfitted else []
    if 0 < record.n_made < record.n_candidates:
        facts.append(f"{record.n_made:,} were made by the sampler")
    if facts:
        text += f", of which {' and '.join(facts)}"
    if found.resource is None:
        return f"{text}; full fits only"
    amounts = found.history["n_resources"]
    low, high = number_text(amounts.min()), number_text(amounts.max())
    reach = f"{low} to {high}" if low != high else high
    return f"{text}; resource {found.resource}: {reach} in a fit"


def _spent(found: Findings) -> Iterator[str]:
    search, record, n_grid_fits, peer = found.search, found.record, 0, ""
    text = counted(len(found.history), "fit")
    if record.n_grid_splits is not None:
        n_grid_fits = record.n_grid_splits * record.n_different
        n_candidates = counted(record.n_different, "candidate")
        n_splits = counted(record.n_grid_splits, "split")
        fits = counted(n_grid_fits, "fit")
        peer = "GridSearchCV" if record.is_whole_grid else "RandomizedSearchCV"
        text += f"; {peer} would make {fits}, {n_candidates} x {n_splits}"
    yield text
    if found.resource is not None:
        n_full_fits = search.n_resources_spent_ / _units_of_a_full_fit(found)
        unit = "training rows" if record.resource.subsamples_rows else f"units of {found.resource}"
        units = (
            f"{number_text(search.n_resources_spent_)} {unit}, as much as "
            f"{n_full_fits:,.1f} full fits"
        )
        if n_grid_fits:
            share = 100 * n_full_fits / n_grid_fits
            percent = f"{share:.0f}" if share >= 1 else f"{share:.1g}"
            units += f": {percent} % of {peer}"
        yield units
    seconds = float(found.history[["fit_time", "score_time"]].to_numpy().sum())
    times = (
        f"{seconds_text(seconds)} of fitting and scoring"
        f"{' in all sessions' if record.is_resumed else ''}, "
        f"{seconds_text(record.seconds)} from start to end"
        f"{' of the last session' if record.is_resumed else ''}"
    )
    if hasattr(search, "refit_time_"):
        times += f", refit {seconds_text(search.refit_time_)}"
    yield times


def _units_of_a_full_fit(found: Findings) -> float:
    """Return the resource of a full fit. It is a mean, because folds may differ in size."""
    record, history = found.record, found.history
    rows = history.loc[history["n_resources"] == record.largest, "n_train"]
    return rows.mean() if record.resource.subsamples_rows and len(rows) else record.largest


def _ended(found: Findings) -> str:
    search = found.search
    by = getattr(search, "stopped_by_", "policy")
    text = STOPPED_BY[by].replace("time_budget", budget_text(search))
    if by == "policy" and found.record.ended_by:
        text = f"stopped by {found.record.ended_by}"
    if by == "time_budget" and found.record.is_timed:
        text += ", which decides how many loops are played"
    elif by != "policy" and found.n_unfitted:
        text += f"; {counted(found.n_unfitted, 'candidate')} not fitted"
    if search.refit and not hasattr(search, "best_estimator_"):
        text += "; nothing was refitted"
    return text


def _brackets(found: Findings) -> Section:
    """Return a table of the brackets, with a column for each amount of the resource."""
    finite = found.rows["score"].where(np.isfinite(found.rows["score"]))
    rows = found.rows.assign(score=finite)
    most_splits = rows.groupby("amount")["n_splits"].max()
    has_loops = rows["loop"].any()
    groups = list(rows.groupby(["loop", "bracket"], sort=False))
    # The first brackets are shown, and the one of the winner.
    shown = [g for place, g in enumerate(groups) if place < MAX_BRACKETS or any(g[1]["is_best"])]
    amounts = sorted({amount for _, own in shown for amount in own["amount"]})
    table: list[list[str]] = []
    winner = None
    for (loop, bracket), own in shown:
        cells = [f"loop {loop}, bracket {bracket}" if has_loops else f"bracket {bracket}"]
        for amount in amounts:
            rung = own[own["amount"] == amount]
            if any(rung["is_best"]):
                winner = len(table), len(cells)
            # Two rungs at the same amount are shown as one. The later one has more splits.
            last = rung[rung["iter"] == rung["iter"].max()]
            cells.append(f"{len(rung):,}: {_best_of(last, most_splits)}" if len(rung) else "")
        table.append(cells)
    head = [found.resource or "", *map(number_text, amounts)]
    n_left = len(groups) - len(shown)
    rest = [f"and {counted(n_left, 'other bracket')}"] if n_left else []
    if found.record.n_dropped:
        dropped = counted(found.record.n_dropped, "candidate")
        rest.append(f"{dropped} dropped after one split of the last rung")
    title = f"candidates: best {found.metric}"
    return Section("brackets", [title, *rest], Table(head, table, winner))


def _best_of(rung: DataFrame, most_splits: Series) -> str:
    """Return the best score of a rung among the candidates with the most splits.

    If they have fewer splits than others with the same resource, their number is added. All
    candidates of a rung may be dropped after one split.
    """
    n_splits = rung["n_splits"].max()
    text = score_text(rung.loc[rung["n_splits"] == n_splits, "score"].max())
    most = most_splits[rung["amount"].iloc[0]]
    return text if n_splits == most else f"{text} ({n_splits} of {most} splits)"


def _stages(found: Findings) -> Iterator[Section]:
    """Yield a table of the stages, or of the levels if there are several of them and no stages."""
    history = found.history
    key = "stage" if "stage" in history else "n_resources"
    if key not in history or history[key].nunique() < 2:
        return
    rows = []
    for _, own in history.groupby(key):
        n_candidates, n_fits = own["candidate"].nunique(), len(own)
        rows.append([number_text(own[key].iloc[0]), f"{n_candidates:,}", f"{n_fits:,}"])
        if key == "stage" and found.resource is not None:
            rows[-1].append(number_text(own["n_resources"].max()))
    head = [key if key == "stage" else str(found.resource), "candidates", "fits"]
    n_left, half = len(rows) - MAX_STAGES, MAX_STAGES // 2
    if n_left > 0:
        rows[half:-half] = [[f"and {counted(n_left, 'stage')} in between"]]
    more = [str(found.resource)] * (len(rows[0]) - len(head))
    yield Section("stages", ["candidates and fits"], Table([*head, *more], rows))


def _leaders(found: Findings) -> Section:
    """Return a table of the candidates that rank best; their parameters are the last column."""
    leaders, winner = found.leaders[:N_LEADERS], found.winner
    has_probability = any(np.isfinite(leader.probability) for leader in leaders)
    table = [
        [
            *(str(leader.rank), str(leader.candidate), f"{leader.n_all_fits:,}"),
            score_text(leader.score),
            *([f"{leader.probability:.2f}"] if has_probability else []),
            shortened(params_text(short_names(leader.params)), MAX_ROW_PARAMS),
        ]
        for leader in leaders
    ]
    places = [leader.candidate for leader in leaders]
    marked = None
    if winner is not None and winner.candidate in places:
        marked = places.index(winner.candidate), 1
    head = ["rank", "candidate", "fits", found.metric]
    head += [*(["P(best)"] if has_probability else []), "parameters"]
    paragraphs = [f"{len(table)} of {counted(found.record.n_candidates, 'candidate')}"]
    if any(leader.rank > place for place, leader in enumerate(leaders, start=1)):
        paragraphs.append(
            "candidates that were not fitted, or have equal scores, take up other ranks"
        )
    if winner is not None and any(o.probability > winner.probability for o in leaders):
        paragraphs.append(_why_less_probable(found))
    return Section("best", paragraphs, Table(head, table, marked, has_text=True))


def _why_less_probable(found: Findings) -> str:
    """Return why the winner need not have the largest probability of being the best."""
    text = "a candidate with fewer fits can have a larger P(best), as its score is less certain"
    if found.record.n_made:  # they race
        return f"{text}; to win, it has to be ahead over all splits of the best candidate so far"
    if "posterior_mean" in found.search.cv_results_:
        return f"{text}; the winner has the largest posterior mean of those that were fitted"
    return text


def _winner(found: Findings) -> Section:
    search, winner = found.search, found.winner
    if winner is None:
        return Section("winner", [_no_winner(found)])
    results = search.cv_results_
    n_rows = len(results["params"])
    place = f"candidate {winner.candidate}, rank {winner.rank:,} of {n_rows:,} in cv_results_"
    others = [
        f"{name} {score_text(results[f'mean_test_{name}'][found.best_row])}"
        for name in found.metrics
        if name != found.metric
    ]
    best = "the best of the finalists" if "bracket" in results else "the best"
    known = {
        f"probability of being {best}": getattr(search, "best_probability_", np.nan),
        "expected regret": getattr(search, "best_regret_", np.nan),
        "score corrected for being chosen": getattr(search, "best_corrected_score_", np.nan),
    }
    texts = [f"{name} {score_text(value)}" for name, value in known.items() if np.isfinite(value)]
    paragraphs = [
        f"{place}: {_scored(found, winner)}",
        *([f"also: {', '.join(others)}"] if others else []),
        *([", ".join(texts)] if texts else []),
    ]
    return Section("winner", paragraphs, params=winner.params)


def _no_winner(found: Findings) -> str:
    """Return why there is no winner, and which candidate is the best by each metric."""
    results, best = found.search.cv_results_, []
    for name in found.metrics:
        row = results[f"rank_test_{name}"].argmin()
        score = results[f"mean_test_{name}"][row]
        if np.isfinite(score):
            best.append(f"{name} {score_text(score)} (candidate {results['candidate'][row]})")
    if not best:
        return "none: no candidate has a score"
    why = "none was chosen"
    if not found.search.refit:
        why = "refit=False chooses none by several metrics"
    return f"{why}; the best by each: {', '.join(best)}"


def _scored(found: Findings, leader: Leader) -> str:
    score = f"{found.metric} {score_text(leader.score)}"
    if np.isnan(leader.score):
        return f"no {found.metric} in {counted(leader.n_fits, 'fit')}"
    # Equal scores differ by rounding errors.
    deviation = leader.deviation if leader.deviation > 1e-12 * abs(leader.score) else 0.0
    spread = f"standard deviation {deviation:.2g} over {counted(leader.n_fits, 'fit')}"
    if leader.n_fits == 1:
        spread = "1 fit, no standard deviation"
    at = f" at {found.resource}={number_text(leader.amount)}" if found.resource else ""
    return f"{score} ({spread}){at}"


def _runner_up(found: Findings) -> Iterator[Section]:
    """Yield the best candidate other than the winner, if there is one with a score."""
    winner = found.winner
    if winner is None:
        return
    for other in found.leaders:
        if repr(other.params) == repr(winner.params) or not np.isfinite(other.score):
            continue
        if other.amount != winner.amount:
            where = f"{_scored(found, other)}, which is not comparable"
        else:
            where = _distance(winner, other)
        text = shortened(params_text(other.params), MAX_PARAMS)
        yield Section("runner-up", [f"candidate {other.candidate}, {where}", text])
        return


def _distance(winner: Leader, other: Leader) -> str:
    """Return the distance of a candidate from the winner, whose score may not be the best."""
    gap = other.score - winner.score
    text = f"{abs(gap):.2g} {'behind' if gap < 0 else 'ahead'}" if gap else "with the same score"
    if other.n_fits < winner.n_fits:
        text += f" with {counted(other.n_fits, 'fit')} instead of {winner.n_fits:,}"
    return text + (", yet ranked behind" if gap > 0 and other.rank > winner.rank else "")


def _failures(found: Findings) -> list[str]:
    outcomes = Counter(found.history["outcome"])
    n_failed = len(found.history) - outcomes.pop("ok", 0)
    if not n_failed:
        return ["none"]
    kinds = ", ".join(f"{name}: {n:,}" for name, n in outcomes.items())
    error = str(found.history["error"].dropna().iloc[0]).strip().rpartition("\n")[2]
    n_fits = counted(len(found.history), "fit")
    return [
        f"{n_failed:,} of {n_fits} ({kinds}); the first:",
        shortened(without_addresses(error), MAX_ERROR),
    ]
