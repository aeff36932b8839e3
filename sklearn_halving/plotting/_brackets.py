"""BracketDisplay: the number of candidates in each rung, and how many are promoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sklearn_halving.plotting._display import Display
from sklearn_halving.plotting._drawing import GREY, OTHERS, PALE, WINNER, note
from sklearn_halving.plotting._reading import FittedSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BOXES = 12
"""A lane with more rungs than this is drawn as an area instead of boxes."""
BOX = 0.16
"""Half the width of a box, in rungs."""


@dataclass(frozen=True)
class Lane:
    """A bracket, drawn from left to right."""

    name: str
    """Name of the bracket."""
    column: np.ndarray
    """Position of each rung on the x axis. Shape ``(n_rungs,)``."""
    n_candidates: np.ndarray
    """Number of candidates in each rung. Shape ``(n_rungs,)``."""
    best_score: float
    """Best mean score in the last rung. Candidates with fewer splits than others at the same
    amount of resource do not count. NaN if there is no score."""
    has_winner: bool
    """Whether the bracket contains the winner."""


@dataclass(eq=False, repr=False, kw_only=True)
class BracketDisplay(Display, example="brackets"):
    """Brackets as streams of candidates: the size of each rung, and how many are promoted.

    Use `from_estimator` to create a display. Each bracket is a lane, drawn from left to right.
    Each rung is a box labelled with its number of candidates, and the band between two boxes
    shows the candidates that are promoted. Rungs with the same amount of resource are aligned
    vertically. The height of a box is proportional to the square root of the number of
    candidates, so that the last rungs remain visible. The best score of the last rung over all
    splits is written on the right, and the lane of the winner has its own colour. A search that
    eliminates candidates in stages, without brackets, has a single lane.

    The search must play rungs or stages.

    Parameters
    ----------
    lanes : list of Lane
        The brackets, from top to bottom, with attributes ``name``, ``column``,
        ``n_candidates``, ``best_score`` and ``has_winner``.
    columns : list of str
        Tick labels of the x axis.
    score_label, column_label : str
        Names of the score on the right and of the x axis.

    See Also
    --------
    RungDisplay : Scores of the candidates in each rung.

    Examples
    --------
    >>> from sklearn_halving.plotting import BracketDisplay
    >>> display = BracketDisplay.from_estimator(search)
    >>> [lane.n_candidates.tolist() for lane in display.lanes]
    [[9, 3, 1], [5, 1], [3]]
    """

    lanes: list[Lane]
    columns: list[str]
    score_label: str = "score"
    column_label: str = "resource"

    @classmethod
    def _from_search(cls, found: FittedSearch) -> Self:
        if "bracket" in found.results:
            amounts = np.unique(found.results["n_resources"])
            lanes, columns = _bracket_lanes(found, amounts), [f"{a:.4g}" for a in amounts]
            column_label = found.resource_label
        elif "stage" in found.results:
            lanes, column_label = [_stage_lane(found)], "stage"
            columns = [str(stage) for stage in lanes[0].column]
        else:
            raise found.lacks(
                "brackets or stages", "use PullsDisplay to see how its fits were spent"
            )
        return cls(
            lanes=lanes,
            columns=columns,
            score_label=f"mean test {found.score_label}",
            column_label=column_label,
        )

    def _draw(self, ax: Axes | None) -> Axes:
        heights = [max(2.0, float(np.sqrt(lane.n_candidates.max()))) for lane in self.lanes]
        gap = 0.12 * max(heights) + 1.2
        bottoms = np.cumsum([0.0, *(height + gap for height in heights)])
        height = float(np.clip(1.2 + 0.16 * bottoms[-1], 2.6, 12.0))
        ax = self._axes(ax, 7.2, height)
        centers = bottoms[:-1] + np.array(heights) / 2
        has_boxes = len(self.columns) <= MAX_BOXES
        for lane, center in zip(self.lanes, centers, strict=True):
            if has_boxes:
                self._draw_boxes(ax, lane, float(center))
            else:
                self._draw_area(ax, lane, float(center))
        ax.set_yticks(centers, [lane.name for lane in self.lanes])
        ax.set_ylim(bottoms[-1] - gap / 2, -gap / 2 - 0.6)
        if has_boxes:
            ax.set_xticks(range(len(self.columns)), self.columns)
            ax.set_xlim(-0.5, max(len(self.columns), 3) - 0.2)
        else:
            ax.locator_params(axis="x", integer=True)
        ax.set_xlabel(self.column_label)
        ax.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        winners = ", winner's in orange" if len(self.lanes) > 1 else ""
        note(ax, f"numbers of candidates; right: best {self.score_label}{winners}")
        return ax

    def _color_of(self, lane: Lane) -> str:
        """Return the colour of a lane: the winner's differs if there are several lanes."""
        return WINNER if lane.has_winner and len(self.lanes) > 1 else OTHERS

    def _draw_boxes(self, ax: Axes, lane: Lane, center: float) -> None:
        color = self._color_of(lane)
        half = np.sqrt(lane.n_candidates) / 2
        for place, (x, n_candidates) in enumerate(
            zip(lane.column, lane.n_candidates, strict=True)
        ):
            box = [x - BOX, x + BOX]
            ax.fill_between(box, center - half[place], center + half[place], color=color, lw=0)
            ax.text(x, center - half[place] - 0.15, n_candidates, ha="center", va="bottom")
            if place + 1 < len(lane.column):
                # The band of promoted candidates starts at the middle of the box.
                leaving = half[place] * lane.n_candidates[place + 1] / n_candidates
                ends = np.array([leaving, half[place + 1]])
                span = [x + BOX, lane.column[place + 1] - BOX]
                ax.fill_between(span, center - ends, center + ends, color=PALE, lw=0, zorder=0)
        self._write_score(ax, lane, lane.column[-1] + BOX, center)

    def _draw_area(self, ax: Axes, lane: Lane, center: float) -> None:
        """Draw a lane with too many rungs for boxes."""
        half = np.sqrt(lane.n_candidates) / 2
        color = self._color_of(lane)
        x = np.append(lane.column, lane.column[-1] + 1) - 0.5
        half_to_end = np.append(half, half[-1])
        ax.fill_between(
            x, center - half_to_end, center + half_to_end, step="post", color=color, lw=0
        )
        for place in np.unique(np.linspace(0, len(half) - 1, 6).round().astype(int)):
            text = str(lane.n_candidates[place])
            ax.text(lane.column[place], center - half[place] - 0.15, text, ha="center")
        self._write_score(ax, lane, float(x[-1]), center)

    def _write_score(self, ax: Axes, lane: Lane, x: float, center: float) -> None:
        text = "no score on all splits" if np.isnan(lane.best_score) else f"{lane.best_score:.4g}"
        color = WINNER if lane.has_winner and len(self.lanes) > 1 else GREY
        ax.annotate(
            text,
            (x, center),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize="small",
            annotation_clip=False,
        )


def _best_of(scores: np.ndarray) -> float:
    return float(np.nanmax(scores)) if not np.isnan(scores).all() else float("nan")


def _bracket_lanes(found: FittedSearch, amounts: np.ndarray) -> list[Lane]:
    """Return a lane for each bracket of each loop, in the order of ``cv_results_``."""
    results = found.results
    means = np.where(found.has_fewer_splits(), np.nan, found.means())
    bracket = results["bracket"]
    loop = results.get("loop", np.zeros_like(bracket))
    amount: np.ndarray = results["n_resources"]
    column = np.searchsorted(amounts, amount)
    n_loops = len(np.unique(loop))
    lanes = []
    for own_loop, minus_bracket in np.unique(np.stack([loop, -bracket], axis=1), axis=0):
        inside = (loop == own_loop) & (bracket == -minus_bracket)
        places, n_candidates = np.unique(column[inside], return_counts=True)
        name = f"bracket {-minus_bracket}"
        last = inside & (column == places[-1])
        lanes.append(
            Lane(
                name=f"loop {own_loop}, {name}" if n_loops > 1 else name,
                column=places,
                n_candidates=n_candidates,
                best_score=_best_of(means[last]),
                has_winner=found.best_row is not None and bool(inside[found.best_row]),
            )
        )
    return lanes


def _stage_lane(found: FittedSearch) -> Lane:
    """Return one lane with the candidates that remain in each stage."""
    stage = found.results["stage"]
    stages = np.arange(max(int(stage.max()), 0) + 1)
    in_play = (stage[np.newaxis, :] >= stages[:, np.newaxis]).sum(axis=1)
    last = stage == stage.max()
    return Lane("candidates", stages, in_play, _best_of(found.means()[last]), True)
