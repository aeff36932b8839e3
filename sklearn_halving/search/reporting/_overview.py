"""The overview of a fitted search, which `summary` and the HTML representation show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sklearn_halving._typing import Params
from sklearn_halving.resources import WholeFit

if TYPE_CHECKING:
    import pandas as pd
    from pandas import DataFrame

    from sklearn_halving.search._search_results import SearchResults

N_LEADERS = 5
"""Maximum number of candidates shown, if there are no brackets."""
MAX_BRACKETS = 12
MAX_STAGES = 12
MAX_VALUE = 60
"""Maximum length of the value of a parameter."""
STOPPED_BY = {
    "policy": "finished as planned",
    "time_budget": "stopped by time_budget",
    "interrupt": "stopped by Ctrl-C",
    "callback": "stopped by a callback",
    "error": "ended by an exception",
}
"""``stopped_by_`` in words."""


class Rung(NamedTuple):
    """The candidates that were fitted at one level of one bracket.

    ``best`` is their best mean score. ``has_winner`` is True if one of them is the row that the
    search chose.
    """

    amount: float
    n_candidates: int
    best: float
    has_winner: bool

    def text(self, between: str = ": ") -> str:
        """Return the number of candidates and their best score."""
        return f"{self.n_candidates:,}{between}{score_text(self.best)}"


class Stage(NamedTuple):
    """Fits that a search without brackets made in one stage, or at one level."""

    label: str
    n_candidates: int
    n_fits: int
    amount: float


@dataclass(frozen=True)
class Leader:
    """A candidate, in the row of ``cv_results_`` in which it ranks best.

    ``n_fits`` is the number of fits of the row, and ``n_all_fits`` that of all levels. The score
    of a candidate that was never fitted is predicted by the model of the search.
    """

    candidate: int
    params: Params
    rank: int
    score: float
    deviation: float
    n_fits: int
    n_all_fits: int
    amount: float
    probability: float


class Overview:
    """The numbers that describe a search and its results.

    Parameters
    ----------
    search : SearchResults
        A search that has ``cv_results_``.

    Attributes
    ----------
    metrics : list of str
        The metrics.
    metric : str
        The metric that guided the search.
    resource : str or None
        Name of the resource; None if there is none.
    best_row : int or None
        The row that the search chose.
    outcomes : dict of str to int
        Number of fits for each kind of outcome.
    """

    def __init__(self, search: SearchResults) -> None:
        self.search = search
        self.record = search._record
        self.history = search.history_
        prefix = "mean_test_"
        keys = [key for key in search.cv_results_ if key.startswith(prefix)]
        self.metrics = [key.removeprefix(prefix) for key in keys]
        self.metric: str = search.refit if search.refit in self.metrics else self.metrics[0]
        resource = self.record.resource
        self.resource = None if isinstance(resource, WholeFit) else resource.name
        self.best_row: int | None = getattr(search, "best_index_", None)
        self.outcomes = Counter(self.history["outcome"])

    @property
    def n_fitted(self) -> int:
        """Number of candidates that were fitted."""
        return int(self.history["candidate"].nunique())

    @property
    def candidates_text(self) -> str:
        """The number of different candidates. Some may have been started in several brackets."""
        text, n_started = counted(self.record.n_different, "candidate"), self.record.n_candidates
        return (
            f"{text}, started {n_started:,} times" if n_started > self.record.n_different else text
        )

    @property
    def n_grid_fits(self) -> int | None:
        """Number of fits of a GridSearchCV over the same candidates, if it is known."""
        n_splits = self.record.n_grid_splits
        return None if n_splits is None else n_splits * self.record.n_different

    @property
    def fit_seconds(self) -> float:
        """Time for training and scoring, over all workers."""
        return float(self.history[["fit_time", "score_time"]].to_numpy().sum())

    @property
    def from_start_to_end(self) -> str:
        """The words for the time of this call of `fit`."""
        return "from start to end" + (" of the last session" if self.record.is_resumed else "")

    @property
    def n_failed(self) -> int:
        """Number of fits that failed, or whose scoring failed."""
        return len(self.history) - self.outcomes["ok"]

    @property
    def first_error(self) -> str:
        """The last line of the first traceback."""
        error = str(self.history["error"].dropna().iloc[0])
        return without_addresses(error.strip().rpartition("\n")[2])

    @property
    def status(self) -> str:
        """How the search ended."""
        return STOPPED_BY[getattr(self.search, "stopped_by_", "policy")]

    @cached_property
    def _rows(self) -> DataFrame:
        """The rows of ``cv_results_``, with the columns that are shown."""
        import pandas as pd

        results, metric = self.search.cv_results_, self.metric
        frame = pd.DataFrame(
            {
                "candidate": results["candidate"],
                "rank": results[f"rank_test_{metric}"],
                "score": results[f"mean_test_{metric}"],
                "deviation": results[f"std_test_{metric}"],
                "amount": results.get("n_resources", 1),
                "probability": results.get("probability_best", np.nan),
                "params": [repr(params) for params in results["params"]],
            }
        )
        frame["is_best"] = frame.index == self.best_row
        for name in ("loop", "bracket", "iter"):
            frame[name] = results.get(name, 0)
        frame["is_fitted"] = results.get("n_pulls", 1) > np.zeros(len(frame))
        if "posterior_mean" in results:
            frame["score"] = frame["score"].where(frame["is_fitted"], results["posterior_mean"])
        return frame

    @property
    def brackets(self) -> dict[str, list[Rung]]:
        """The rungs of each bracket; empty if there are no brackets."""
        if "bracket" not in self.search.cv_results_:
            return {}
        rows = self._rows.assign(score=self._rows["score"].where(np.isfinite(self._rows["score"])))
        has_loops = rows["loop"].any()

        def rung(own: pd.DataFrame) -> Rung:
            # Two rungs at the same amount are shown as one. The later one has more splits.
            best = own.loc[own["iter"] == own["iter"].max(), "score"].max()
            return Rung(own["amount"].iloc[0], len(own), best, any(own["is_best"]))

        return {
            f"{bracket}, loop {loop}" if has_loops else f"{bracket}": [
                rung(own) for _, own in group.groupby("amount")
            ]
            for (loop, bracket), group in rows.groupby(["loop", "bracket"], sort=False)
        }

    @property
    def shown_brackets(self) -> dict[str, list[Rung]]:
        """The first brackets, and the one of the winner."""
        return {
            label: rungs
            for place, (label, rungs) in enumerate(self.brackets.items())
            if place < MAX_BRACKETS or any(rung.has_winner for rung in rungs)
        }

    @property
    def stages(self) -> list[Stage]:
        """The stages, or the levels if there are several of them and no stages."""
        history = self.history
        key = "stage" if "stage" in history else "n_resources"
        if "bracket" in self.search.cv_results_ or key not in history:
            return []
        stages = [
            Stage(
                str(label) if key == "stage" else "",
                own["candidate"].nunique(),
                len(own),
                own["n_resources"].max() if "n_resources" in own else 1,
            )
            for label, own in history.groupby(key)
        ]
        return stages if len(stages) > 1 else []

    @cached_property
    def leaders(self) -> list[Leader]:
        """The candidates that rank best, and one more. Of these, only the winner may lack fits."""
        rows = self._rows[self._rows["is_fitted"] | self._rows["is_best"]]
        rows = rows.sort_values("rank", kind="stable")
        # If a small grid is used in several brackets, a candidate has several numbers.
        rows = rows.drop_duplicates("params").drop_duplicates("candidate")
        return [self._leader(row) for row in rows.index[: N_LEADERS + 1]]

    @property
    def winner(self) -> Leader | None:
        """The candidate that the search chose."""
        return None if self.best_row is None else self._leader(self.best_row)

    @property
    def runner_up(self) -> Leader | None:
        """The best candidate other than the winner; None if there is none with a score."""
        winner = self.winner
        others = (
            leader
            for leader in self.leaders
            if winner is None or repr(leader.params) != repr(winner.params)
        )
        return next((leader for leader in others if np.isfinite(leader.score)), None)

    def _leader(self, number: int) -> Leader:
        row = self._rows.loc[number].to_dict()
        fits = self.history[self.history["candidate"] == row["candidate"]]
        own = fits[fits["n_resources"] == row["amount"]] if "n_resources" in fits else fits
        return Leader(
            row["candidate"],
            self.search.cv_results_["params"][number],
            rank=row["rank"],
            score=row["score"],
            deviation=row["deviation"],
            n_fits=len(own),
            n_all_fits=len(fits),
            amount=row["amount"],
            probability=row["probability"],
        )

    def leader_table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of a table of the leaders; the parameters are the last column."""
        leaders = self.leaders[:N_LEADERS]
        has_probability = any(np.isfinite(leader.probability) for leader in leaders)
        head = ["rank", "candidate", "fits", self.metric]
        head += ["P(best)"] if has_probability else []
        rows = [
            [
                *(str(leader.rank), str(leader.candidate), f"{leader.n_all_fits:,}"),
                score_text(leader.score),
                *([f"{leader.probability:.2f}"] if has_probability else []),
                params_text(short_names(leader.params)),
            ]
            for leader in leaders
        ]
        return [*head, "parameters"], rows


def shortened(text: str, length: int) -> str:
    """Return the text in one line, without its middle if it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = (length - 3) // 2
    return f"{text[:head]}...{text[len(text) - (length - 3 - head) :]}"


def number_text(number: float) -> str:
    """Return an amount: integers with commas, other numbers with four significant digits."""
    return f"{int(number):,}" if number == int(number) else f"{number:.4g}"


def score_text(score: float) -> str:
    """Return a score with four significant digits."""
    return "no score" if np.isnan(score) else f"{score:.4g}"


def seconds_text(seconds: float) -> str:
    """Return a time in units that suit its length."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def value_text(value: object) -> str:
    """Return the value of a parameter in one line."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return f"{float(value):.6g}"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return shortened(without_addresses(text), MAX_VALUE)


def without_addresses(text: str) -> str:
    """Return the text without memory addresses, which differ between processes.

    A function is replaced by its name, and an object with the default `repr` by the name of its
    class, such as ``<Scorer>``.
    """
    text = re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text)
    text = re.sub(r"<(?:[\w<>]+\.)*(\w+) object at 0x[0-9a-fA-F]+>", r"<\1>", text)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def params_text(params: Params) -> str:
    """Return parameters in the form of a call."""
    return ", ".join(f"{k}={value_text(v)}" for k, v in params.items()) or "no parameters"


def short_names(params: Params) -> Params:
    """Return parameters with the last part of their names, unless two parameters share it."""
    short = {name.rpartition("__")[2]: value for name, value in params.items()}
    return short if len(short) == len(params) else params


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, such as "1 fit" and "2 fits"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
