"""The summary of a search as plain text, which notebooks show, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import inf, nan
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_halving._typing import CvResults
from sklearn_halving.resources import WholeFit
from sklearn_halving.resources._resolve import units_of
from sklearn_halving.search._formatting import (
    counted,
    number_text,
    params_text,
    score_text,
    seconds_text,
    short_names,
    shortened,
    without_addresses,
)
from sklearn_halving.search.preparing._space import first_of_each
from sklearn_halving.search.reporting._statistics import edges
from sklearn_halving.search.reporting._tables import SearchRecord, make_history
from sklearn_halving.splits._stream import split_scores

if TYPE_CHECKING:
    from pandas import DataFrame, Series

WIDTH = 88
"""Maximum length of a line."""
INDENT = 13
"""Width of the column with the subjects."""
ROOM = WIDTH - INDENT
N_LEADERS = 5
"""Maximum number of candidates."""
MAX_ROWS = 12
"""Maximum number of brackets."""
MAX_PARAMS = 600
"""Maximum length of the parameters of a candidate."""
MAX_ROW_PARAMS = 120
"""Maximum length of the parameters in a row of a table."""
MAX_ERROR = 264
"""Maximum length of the first error."""
SLACK = 1.0
"""An overrun of the time budget is shown from this number of seconds on."""
LEAST_COMPARED = 3
"""Number of candidates from which on the certainty of the choice is shown."""


Row = dict[Hashable, Any]
"""A row of `Findings.rows`."""


def search_html(diagram: str, summary: str) -> str:
    """Return scikit-learn's diagram of a search with the summary below it."""
    style = "color: inherit; background: none; line-height: 1.35; overflow-x: auto"
    return f'{diagram}<pre class="sklearn-halving" style="{style}">{escape(summary)}</pre>'


def summary_text(name: str, estimator: str, found: Findings) -> str:
    """Return the summary of a search with results, in lines of at most `WIDTH` characters."""
    title = shortened(without_addresses(estimator), WIDTH - len(name) - 4)
    lines = [f"{name} of {title}"]
    for subject, paragraphs in found.sections():
        first = f"  {subject}".ljust(INDENT)
        for paragraph in paragraphs:
            if len(paragraph) <= ROOM:  # keeps the alignment of columns
                lines.append(first + paragraph)
            else:
                indent = " " * (INDENT + 2)
                lines += wrap(paragraph, WIDTH, initial_indent=first, subsequent_indent=indent)
            first = " " * INDENT
    return "\n".join(lines)


@dataclass(frozen=True)
class Findings:
    """What a search did and found, in paragraphs of text."""

    record: SearchRecord
    """The record of the fits."""
    results: CvResults
    """The table ``cv_results_``."""
    row: int | None = None
    """The row of ``cv_results_`` that was chosen; None if none was."""
    steering: str | None = None
    """The metric that chose, if it has a name; the first one otherwise."""
    n_compared: int = 0
    """Number of candidates among which the choice is uncertain."""
    probability: float = nan
    """``best_probability_``; NaN if unknown."""
    refit_time: float | None = None
    lacks_model: bool = False
    """Whether nothing was refitted although ``refit`` is set."""

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each subject with its paragraphs."""
        yield "searched", [self._searched()]
        yield "spent", list(self._spent())
        yield "ended", [self._ended()]
        if "bracket" in self.results:
            yield "brackets", self._brackets()
        yield "best", self._leaders()
        yield "winner", list(self._chosen())
        yield "failures", self._failures()

    @cached_property
    def history(self) -> DataFrame:
        """The table ``history_``."""
        return make_history(self.record)

    @cached_property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        prefix = "mean_test_"
        return [key.removeprefix(prefix) for key in self.results if key.startswith(prefix)]

    @cached_property
    def metric(self) -> str:
        """The metric that guided the search."""
        return self.steering if self.steering in self.metrics else self.metrics[0]

    @cached_property
    def resource(self) -> str | None:
        """The name of the resource; None if there is none."""
        resource = self.record.resource
        return None if isinstance(resource, WholeFit) else resource.name

    @cached_property
    def rows(self) -> DataFrame:
        """The rows of ``cv_results_``, with the columns that are shown."""
        import pandas as pd

        results, metric = self.results, self.metric
        frame = pd.DataFrame(
            {
                "row": range(len(results["params"])),
                "candidate": results["candidate"],
                "rank": results[f"rank_test_{metric}"],
                "score": results[f"mean_test_{metric}"],
                "deviation": results[f"std_test_{metric}"],
                "amount": results.get("n_resources", 1),
                "probability": results.get("probability_best", nan),
            }
        )
        for name in ("loop", "bracket", "iter"):
            frame[name] = results.get(name, 0)
        frame["is_best"] = frame.index == self.row
        frame["n_splits"] = np.isfinite(split_scores(results, f"test_{metric}")).sum(axis=1)
        candidates = self.history["candidate"].tolist()
        amounts = self.history.get("n_resources", np.ones(len(candidates)))
        n_all_fits, n_fits = Counter(candidates), Counter(zip(candidates, amounts, strict=True))
        keys = zip(frame["candidate"], frame["amount"], strict=True)
        frame["n_fits"] = [n_fits[key] for key in keys]
        frame["n_all_fits"] = [n_all_fits[candidate] for candidate in frame["candidate"]]
        if "posterior_mean" in results:  # predicts the score of a candidate that was never fitted
            predicted = results["posterior_mean"]
            frame["score"] = frame["score"].where(frame["n_all_fits"] > 0, predicted)
        return frame

    @cached_property
    def leaders(self) -> list[Row]:
        """The rows of the best candidates; only the winner may lack fits."""
        rows = self.rows[(self.rows["n_all_fits"] > 0) | self.rows["is_best"]]
        rows = rows.sort_values("rank", kind="stable")
        # If a small grid is used in several brackets, a candidate has several numbers.
        different = first_of_each(self.results["params"][row] for row in rows["row"])
        rows = rows.iloc[different].drop_duplicates("candidate")
        leaders: list[Row] = rows[:N_LEADERS].to_dict("records")
        return leaders

    @cached_property
    def winner(self) -> Row | None:
        """The row that was chosen."""
        winners: list[Row] = self.rows[self.rows["is_best"]].to_dict("records")
        return winners[0] if winners else None

    @cached_property
    def n_fitted(self) -> int:
        """Number of candidates that were fitted."""
        return int(self.history["candidate"].nunique())

    def _params(self, row: Row, length: int = MAX_PARAMS, *, is_short: bool = False) -> str:
        """Return the parameters of a candidate, with the last part of their names if short."""
        params = self.results["params"][row["row"]]
        return shortened(params_text(short_names(params) if is_short else params), length)

    def _searched(self) -> str:
        record = self.record
        text = counted(record.n_different, "candidate")
        if record.n_candidates > record.n_different:  # some were started in several brackets
            text += f", started {record.n_candidates:,} times"
        if self.n_fitted < record.n_candidates:
            text += f", {self.n_fitted:,} fitted"
        if self.resource is None:
            return f"{text}; full fits only"
        amounts = self.history["n_resources"]
        low, high = number_text(amounts.min()), number_text(amounts.max())
        reach = f"{low} to {high}" if low != high else high
        return f"{text}; resource {self.resource}: {reach} in a fit"

    def _spent(self) -> Iterator[str]:
        """Yield the cost in fits, in the resource and in time, and that of a plain search."""
        record, text = self.record, counted(len(self.history), "fit")
        if record.n_grid_splits is not None:
            n_candidates = counted(record.n_grid_candidates, "candidate")
            n_splits = counted(record.n_grid_splits, "split")
            fits = counted(record.n_grid_splits * record.n_grid_candidates, "fit")
            peer = "GridSearchCV" if record.is_whole_grid else "RandomizedSearchCV"
            text += f"; {peer} would make {fits}, {n_candidates} x {n_splits}"
        yield text
        full = self.history
        if self.resource is not None:
            full = full[full["n_resources"] == record.largest]
            of_rows = record.resource.subsamples_rows
            # It is a mean, because folds may differ in size.
            of_a_full_fit = full["n_train"].mean() if of_rows and len(full) else record.largest
            unit = units_of(record.resource)
            cost = self._cost(record.n_resources_spent / of_a_full_fit)
            yield f"{number_text(record.n_resources_spent)} {unit}, as much as {cost}"
        seconds = self.history["fit_time"] + self.history["score_time"]
        times = (
            f"{seconds_text(seconds.sum())} of fitting and scoring"
            f"{' in all sessions' if record.is_resumed else ''}"
        )
        of_full = seconds[full.index[full["continued_from"] == 0]]
        if self.resource is not None and of_full.sum() > 0:
            times += f", as long as {self._cost(seconds.sum() / of_full.mean())}"
        yield times
        seconds_in_all = record.seconds + (self.refit_time or 0.0)
        times = (
            f"{seconds_text(seconds_in_all)} from start to end"
            f"{' of the last session' if record.is_resumed else ''}"
        )
        if self.refit_time is not None:
            times += f", with {seconds_text(self.refit_time)} for the refit"
        if seconds_in_all > record.limit + SLACK:
            times += f", {seconds_text(seconds_in_all - record.limit)} over the time budget"
        yield times

    def _cost(self, n_full_fits: float) -> str:
        """Return a cost in full fits, and what it is for a plain search."""
        record, text = self.record, f"{n_full_fits:,.1f} full fits"
        if record.n_grid_splits is None:
            return text
        if record.is_whole_grid:
            share = 100 * n_full_fits / (record.n_grid_splits * record.n_grid_candidates)
            return f"{text}: {f'{share:.0f}' if share >= 1 else f'{share:.1g}'} % of GridSearchCV"
        n_iter = int(n_full_fits / record.n_grid_splits)
        if n_iter < 1:
            return f"{text}: less than RandomizedSearchCV with n_iter=1"
        return f"{text}: RandomizedSearchCV with n_iter={n_iter:,}"

    def _ended(self) -> str:
        record, n_left = self.record, self.record.n_candidates - self.n_fitted
        text = f"stopped by {record.ended_by}" if record.ended_by else "finished as planned"
        if record.ended_by and n_left and not record.is_timed:
            text += f"; {counted(n_left, 'candidate')} not fitted"
        return f"{text}; nothing was refitted" if self.lacks_model else text

    def _brackets(self) -> list[str]:
        """Return a line for each bracket, with its candidates and best score at each amount."""
        rows = self.rows.assign(score=self.rows["score"].replace([inf, -inf], nan))
        most_splits = rows.groupby("amount")["n_splits"].max()
        groups = list(rows.groupby(["loop", "bracket"], sort=False))
        # The first brackets are shown, and the one of the winner.
        shown = [g for place, g in enumerate(groups) if place < MAX_ROWS or any(g[1]["is_best"])]
        lines = [f"candidates at {self.resource}: best {self.metric}"]
        lines[0] += "; * marks the winner" * (self.winner is not None)
        for (loop, bracket), own in shown:
            rungs = [_rung_text(rung, most_splits) for _, rung in own.groupby("amount")]
            name = (
                f"loop {loop}, bracket {bracket}" if rows["loop"].any() else f"bracket {bracket}"
            )
            lines.append(f"{name}:  {',  '.join(rungs)}")
        if len(groups) > len(shown):
            lines.append(f"and {counted(len(groups) - len(shown), 'other bracket')}")
        return lines

    def _leaders(self) -> list[str]:
        """Return a table of the candidates that rank best, with their parameters."""
        leaders = self.leaders
        is_known = self.n_compared >= LEAST_COMPARED
        is_known &= bool(np.isfinite([leader["probability"] for leader in leaders]).any())
        probability = ["P(best)"] if is_known else []
        table = [["rank", "candidate", "fits", self.metric, *probability, "parameters"]]
        table += [
            [
                *(str(leader["rank"]), f"{leader['candidate']}{'*' * leader['is_best']}"),
                *(f"{leader['n_all_fits']:,}", score_text(leader["score"])),
                *([f"{leader['probability']:.2f}".replace("nan", "-")] if is_known else []),
                self._params(leader, MAX_ROW_PARAMS, is_short=True),
            ]
            for leader in leaders
        ]
        title = f"{len(leaders)} of {counted(self.record.n_candidates, 'candidate')}"
        title += "; * marks the winner" * any(leader["is_best"] for leader in leaders)
        return [title, *_aligned(table)]

    def _chosen(self) -> Iterator[str]:
        winner, results = self.winner, self.results
        if winner is None:
            has_score = np.isfinite(self.rows["score"]).any()
            yield "none was chosen" if has_score else "none: no candidate has a score"
            return
        place = f"candidate {winner['candidate']}, rank {winner['rank']:,} of {len(self.rows):,}"
        yield f"{place} in cv_results_: {self._scored(winner)}"
        yield self._params(winner)
        yield from edges(results["params"][winner["row"]], self.record.distributions)
        others = [
            f"{name} {score_text(results[f'mean_test_{name}'][winner['row']])}"
            for name in self.metrics
            if name != self.metric
        ]
        if others:
            yield f"also: {', '.join(others)}"
        if self.n_compared >= LEAST_COMPARED:
            those = f"{self.n_compared} {'finalists' if 'bracket' in results else 'candidates'}"
            if not np.isnan(self.probability):
                probability = _probability_text(self.probability)
                yield f"probability of being the best of the {those} {probability}"

    def _scored(self, row: Row) -> str:
        """Return the score of a candidate, with its spread and its amount of the resource."""
        fits, score = counted(row["n_fits"], "fit"), row["score"]
        if np.isnan(score):
            return f"no {self.metric} in {fits}"
        # Equal scores differ by rounding errors.
        deviation = row["deviation"] if row["deviation"] > 1e-12 * abs(score) else 0.0
        spread = f"standard deviation {deviation:.2g} over {fits}"
        if row["n_fits"] == 1:
            spread = "1 fit, no standard deviation"
        at = f" at {self.resource}={number_text(row['amount'])}" if self.resource else ""
        return f"{self.metric} {score_text(score)} ({spread}){at}"

    def _failures(self) -> list[str]:
        outcomes = Counter(self.history["outcome"])
        n_failed = len(self.history) - outcomes.pop("ok", 0)
        if not n_failed:
            return ["none"]
        kinds = ", ".join(f"{name}: {n:,}" for name, n in outcomes.items())
        error = str(self.history["error"].dropna().iloc[0]).strip().rpartition("\n")[2]
        n_fits = counted(len(self.history), "fit")
        return [
            f"{n_failed:,} of {n_fits} ({kinds}); the first:",
            shortened(without_addresses(error), MAX_ERROR),
        ]


def _probability_text(probability: float) -> str:
    """Return a probability with two digits, and never as 0 or 1."""
    if 0.005 <= probability < 0.995:
        return f"{probability:.2f}"
    return "> 0.99" if probability > 0.5 else "< 0.01"


def _rung_text(rung: DataFrame, most_splits: Series) -> str:
    """Return the number of candidates at one amount, and the best score of those with most splits.

    Two rungs at the same amount are shown as one. The later one has more splits. If all its
    candidates have fewer splits than others with this amount, because the search was stopped, the
    number is added.
    """
    last, amount = rung[rung["iter"] == rung["iter"].max()], rung["amount"].iloc[0]
    n_splits = last["n_splits"].max()
    score = last.loc[last["n_splits"] == n_splits, "score"].max()
    text = f"{len(rung):,} at {number_text(amount)}: {score_text(score)}"
    if n_splits < most_splits[amount]:
        text += f" ({n_splits} of {most_splits[amount]} splits)"
    return f"{text}*" if any(rung["is_best"]) else text


def _aligned(table: list[list[str]]) -> list[str]:
    """Return a line for each row, with aligned columns. Long lines are cut off."""
    widths = [max(map(len, column)) + 3 for column in zip(*table, strict=True)]
    lines = ["".join(map(str.ljust, row, widths)).rstrip() for row in table]
    return [line if len(line) <= ROOM else f"{line[: ROOM - 3]}..." for line in lines]
