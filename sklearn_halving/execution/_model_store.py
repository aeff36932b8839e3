"""Fitted models kept between levels, for the arms that may go on: in memory, and on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_halving._unstable_imports import cloudpickle
from sklearn_halving.execution._journal_lines import Record
from sklearn_halving.policies._types import BoolArray, Pull


@dataclass(frozen=True)
class Kept:
    """A model that may be trained on, or what is known of one that is not at hand.

    Parameters
    ----------
    level : int
        How far it was trained.
    levels : tuple of int
        The levels through which it went, that one last.
    model : object or None
        The model, or its pickle; None where it was lost.
    """

    level: int = 0
    levels: tuple[int, ...] = ()
    model: Any = None


@dataclass(frozen=True)
class ModelFolder:
    """A folder of models, each in a file that is whole or not there.

    Models are pickles, which run what they please when they are read. One is read only if its
    digest is in the journal.

    Parameters
    ----------
    path : Path
        The folder; made when there is something to keep.
    """

    path: Path

    def put(self, pull: Pull, model: Any) -> str | None:
        """Write a model, or its pickle; return its digest, None if it cannot be pickled."""
        try:
            is_pickle = isinstance(model, bytes | np.ndarray)
            content = bytes(model) if is_pickle else cloudpickle.dumps(model)
        except Exception:  # noqa: BLE001 - whatever the class of the model raises
            return None
        self.path.mkdir(exist_ok=True)
        path = self._path(pull)
        temporary = path.with_suffix(".part")
        temporary.write_bytes(content)
        temporary.replace(path)
        return _digest(content)

    def get(self, pull: Pull, digest: str) -> bytes | None:
        """Return the pickle of the model that a pull left; None if it is not what was written."""
        try:
            content = self._path(pull).read_bytes()
        except OSError:
            return None
        return content if _digest(content) == digest else None

    def remove(self, pull: Pull) -> None:
        """Remove the model that a pull left."""
        self._path(pull).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all models, and the folder if nothing else is in it."""
        if not self.path.is_dir():
            return
        for path in self.path.iterdir():
            if re.fullmatch(r"\d+-\d+-\d+\.(model|part)", path.name):
                path.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def _path(self, pull: Pull) -> Path:
        return self.path / f"{pull.arm}-{pull.repetition}-{pull.level}.model"


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


@dataclass
class ModelStore:
    """The latest model of each (arm, repetition), in memory and, if asked, in a folder too.

    At most one model an arm and split is held, and none of an arm that is out: memory is
    bounded by the survivors.

    Parameters
    ----------
    folder : ModelFolder or None, default=None
        Where models outlive the process.
    """

    folder: ModelFolder | None = None
    _models: dict[tuple[int, int], Kept] = field(default_factory=dict)
    _on_disk: dict[tuple[int, int], Pull] = field(default_factory=dict)
    _digests: dict[Pull, str] = field(default_factory=dict)

    def put(self, pull: Pull, model: Any, levels: tuple[int, ...]) -> str | None:
        """Keep the model that a pull left; return its digest if it is in a file now.

        The file of the level before stays until `settle`: the journal still refers to it.
        """
        self._models[pull.arm, pull.repetition] = Kept(pull.level, levels, model)
        return None if self.folder is None else self.folder.put(pull, model)

    def recall(self, record: Record) -> None:
        """Note the model of a pull that an earlier process did; it is read when it is needed."""
        pull = record.outcome.pull
        key = pull.arm, pull.repetition
        self._models.pop(key, None)
        if record.levels:
            self._models[key] = Kept(pull.level, record.levels)
            if record.model is not None:
                self._digests[pull] = record.model
        self.settle(pull, has_file=bool(record.levels) and record.model is not None)

    def settle(self, pull: Pull, *, has_file: bool) -> None:
        """Remove the file of the level before, now that the journal does not refer to it."""
        if self.folder is None:
            return
        key = pull.arm, pull.repetition
        former = self._on_disk.pop(key, None)
        if former is not None:
            self._digests.pop(former, None)
            self.folder.remove(former)
        if has_file:
            self._on_disk[key] = pull

    def take(self, pull: Pull) -> Kept:
        """Hand over the model to train on, or what is known of it; level 0 if there is none."""
        kept = self._models.pop((pull.arm, pull.repetition), Kept())
        before = Pull(pull.arm, kept.level, pull.repetition)
        digest = self._digests.get(before)
        if kept.model is None and self.folder is not None and digest is not None:
            return Kept(kept.level, kept.levels, self.folder.get(before, digest))
        return kept

    def drop(self, is_alive: BoolArray) -> None:
        """Drop the models of arms that are out; ``is_alive`` has shape (n_arms,)."""
        for arm, repetition in list(self._models):
            if not is_alive[arm]:
                del self._models[arm, repetition]
        for (arm, _), pull in list(self._on_disk.items()):
            if not is_alive[arm]:
                self.settle(pull, has_file=False)

    def __len__(self) -> int:
        return max(len(self._models), len(self._on_disk))
