"""Fitted models in memory between levels, for continued training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sklearn_halving.execution._journal_lines import Record
from sklearn_halving.execution._types import Landing
from sklearn_halving.policies._arrays import BoolArray
from sklearn_halving.policies._types import Pull


class Kept(NamedTuple):
    """A model that may be trained further, or the description of one that must be made again."""

    levels: tuple[int, ...] = ()
    """The levels through which it was trained, the current one last."""
    model: object = None
    """The model or its pickle. It is None while it is in use, and after a resume."""


@dataclass
class ModelStore:
    """The latest model of each pair (arm, repetition).

    The store holds at most one model for each arm and split, and no model of an eliminated
    arm. The number of surviving arms therefore bounds the memory.
    """

    _kept: dict[tuple[int, int], Kept] = field(default_factory=dict)

    def keep(self, landing: Landing) -> Record:
        """Store the model of a landing, if it has one; return the record for the journal."""
        pull = landing.outcome.pull
        former = self._kept.pop((pull.arm, pull.repetition), Kept())
        if landing.model is None:
            return Record(landing.outcome)
        levels = (*former.levels, pull.level)
        self._kept[pull.arm, pull.repetition] = Kept(levels, landing.model)
        return Record(landing.outcome, levels)

    def recall(self, record: Record) -> None:
        """Note how the model of a pull in the journal was trained, to make it again if needed."""
        pull = record.outcome.pull
        self._kept.pop((pull.arm, pull.repetition), None)
        if record.levels:
            self._kept[pull.arm, pull.repetition] = Kept(record.levels)

    def take(self, pull: Pull) -> Kept:
        """Return the model whose training a pull continues, and release it."""
        kept = self._kept.get((pull.arm, pull.repetition), Kept())
        if kept.model is not None:
            self._kept[pull.arm, pull.repetition] = Kept(kept.levels)
        return kept

    def drop(self, is_alive: BoolArray) -> None:
        """Drop the models of eliminated arms; ``is_alive`` has shape (n_arms,)."""
        for arm, repetition in list(self._kept):
            if not is_alive[arm]:
                del self._kept[arm, repetition]

    def __len__(self) -> int:
        return len(self._kept)
