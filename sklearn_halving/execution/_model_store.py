"""Fitted models kept between levels, for the arms that may go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn_halving.policies._types import BoolArray, Pull


@dataclass
class ModelStore:
    """The latest model of each (arm, repetition), in memory.

    At most one model an arm and split is held, and none of an arm that is out: memory is
    bounded by the survivors.
    """

    _models: dict[tuple[int, int], tuple[int, Any]] = field(default_factory=dict)

    def put(self, pull: Pull, model: Any) -> None:
        """Keep the model that a pull left."""
        self._models[pull.arm, pull.repetition] = (pull.level, model)

    def take(self, pull: Pull) -> tuple[Any, int]:
        """Hand over the model to train on and its level; None and 0 if there is none."""
        level, model = self._models.pop((pull.arm, pull.repetition), (0, None))
        return model, level

    def drop(self, is_alive: BoolArray) -> None:
        """Drop the models of arms that are out; ``is_alive`` has shape (n_arms,)."""
        for arm, repetition in list(self._models):
            if not is_alive[arm]:
                del self._models[arm, repetition]

    def __len__(self) -> int:
        return len(self._models)
