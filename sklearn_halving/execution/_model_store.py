"""Storage of fitted models between levels, in memory and on disk, for continued training."""

from __future__ import annotations

import os
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from stat import S_IMODE, S_ISDIR

import numpy as np

from sklearn_halving._unstable_joblib import cloudpickle
from sklearn_halving.execution._journal_lines import Record
from sklearn_halving.execution._types import Landing
from sklearn_halving.policies._arrays import BoolArray
from sklearn_halving.policies._types import Pull


@dataclass(frozen=True)
class Kept:
    """A model that may be trained further, or the description of a model that was lost."""

    level: int = 0
    """The level up to which it was trained."""
    levels: tuple[int, ...] = ()
    """The levels through which it was trained, the current one last."""
    model: object = None
    """The model or its pickle; None if it was lost."""


NOTHING = Kept()


@dataclass(frozen=True)
class ModelFolder:
    """A folder with one file for each model. A file is never incomplete.

    Models are pickles, and unpickling can run arbitrary code. A model is read only if its
    digest is in the journal. Models are written only to a folder that no other user can write
    to, and never through a link.
    """

    path: Path
    """The folder. It is created when the first model is written."""

    def put(self, pull: Pull, model: object) -> str | None:
        """Write a model or its pickle; return its digest, or None if it cannot be pickled.

        Raises
        ------
        OSError
            If the model cannot be written, for example because the disk is full.
        """
        try:
            if isinstance(model, bytes | np.ndarray):
                content = bytes(model)
            else:
                content = cloudpickle.dumps(model)
        except Exception:  # noqa: BLE001 - the class of the model may raise anything
            return None
        with suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        self._check()
        path = self._path(pull)
        temporary = path.with_suffix(".part")
        try:
            _write_new(temporary, content)
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise
        return _digest(content)

    def get(self, pull: Pull, digest: str) -> bytes | None:
        """Return the pickled model of a pull; None if the file is missing or has changed."""
        path = self._path(pull)
        try:
            # Reading a pipe or a device may never end.
            content = path.read_bytes() if path.is_file() else b""
        except OSError:
            return None
        return content if _digest(content) == digest else None

    def remove(self, pull: Pull) -> None:
        """Remove the model of a pull."""
        with suppress(OSError):
            self._path(pull).unlink()

    def clear(self) -> None:
        """Remove all models, and the folder if it is then empty."""
        with suppress(OSError):
            self._check()
            for path in self.path.iterdir():
                if re.fullmatch(r"\d+-\d+-\d+\.(model|part)", path.name):
                    path.unlink()
            if not any(self.path.iterdir()):
                self.path.rmdir()

    def _check(self) -> None:
        """Raise an OSError if the path is not a folder, or if other users can write to it."""
        status = self.path.lstat()
        if not S_ISDIR(status.st_mode):
            raise NotADirectoryError("it is a file or a link, and not a folder")
        if os.name == "nt":
            return
        if status.st_uid != os.geteuid() or S_IMODE(status.st_mode) & 0o022:
            raise PermissionError("other users can write to it")

    def _path(self, pull: Pull) -> Path:
        return self.path / f"{pull.arm}-{pull.repetition}-{pull.level}.model"


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that must not exist, so that no link is followed."""
    with suppress(FileNotFoundError):
        path.unlink()  # left by a process that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


@dataclass
class ModelStore:
    """The latest model of each pair (arm, repetition), in memory and optionally in a folder.

    The store holds at most one model for each arm and split, and no model of an eliminated
    arm. The number of surviving arms therefore bounds the memory.
    """

    folder: ModelFolder | None = None
    """Where models are written to disk. If None, they are kept in memory only."""
    _models: dict[tuple[int, int], Kept] = field(default_factory=dict)
    _taken: dict[Pull, Kept] = field(default_factory=dict)
    _on_disk: dict[tuple[int, int], Pull] = field(default_factory=dict)
    _digests: dict[Pull, str] = field(default_factory=dict)
    _has_warned: bool = False

    def keep(self, landing: Landing) -> Record:
        """Store the model of a landing, if it has one; return the record for the journal.

        The file of the previous level is kept until `settle`, because the journal still refers
        to it.
        """
        outcome, pull = landing.outcome, landing.outcome.pull
        former = self._taken.pop(pull, NOTHING)
        if landing.model is None:
            return Record(outcome)
        # If a model could not be unpickled in the worker, the pull was fitted from scratch.
        was_lost = outcome.previous_level == 0 and former.model is not None
        levels = (pull.level,) if was_lost else (*former.levels, pull.level)
        self._models[pull.arm, pull.repetition] = Kept(pull.level, levels, landing.model)
        return Record(outcome, levels, self._saved(pull, landing.model))

    def _saved(self, pull: Pull, model: object) -> str | None:
        """Write a model to the folder, if there is one; return its digest, or None."""
        if self.folder is None:
            return None
        try:
            return self.folder.put(pull, model)
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"checkpoint_models could not save a fitted model in {self.folder.path} "
                    f"({error}). The search goes on. If it is interrupted and resumed, models "
                    "that were not saved are fitted from scratch. Free space on the disk, remove "
                    "what is at this path, or give checkpoint a path in a folder of your own.",
                    UserWarning,
                    stacklevel=2,
                )
            return None

    def recall(self, record: Record) -> None:
        """Register the model of a pull in the journal; its file is read when it is needed."""
        pull = record.outcome.pull
        self._models.pop((pull.arm, pull.repetition), None)
        if record.levels:
            self._models[pull.arm, pull.repetition] = Kept(pull.level, record.levels)
            if record.model is not None:
                self._digests[pull] = record.model
        self.settle(record)

    def settle(self, record: Record) -> None:
        """Remove the file of the previous level after the journal refers to the next one."""
        if self.folder is None:
            return
        pull = record.outcome.pull
        self._remove((pull.arm, pull.repetition))
        if record.model is not None:
            self._on_disk[pull.arm, pull.repetition] = pull

    def _remove(self, key: tuple[int, int]) -> None:
        former = self._on_disk.pop(key, None)
        if former is not None and self.folder is not None:
            self._digests.pop(former, None)
            self.folder.remove(former)

    def take(self, pull: Pull) -> Kept:
        """Remove and return the model whose training a pull continues, or its description."""
        kept = self._models.pop((pull.arm, pull.repetition), None)
        if kept is None:
            return NOTHING
        before = Pull(pull.arm, kept.level, pull.repetition)
        digest = self._digests.get(before)
        if kept.model is None and self.folder is not None and digest is not None:
            kept = replace(kept, model=self.folder.get(before, digest))
        # The content is not stored here, because it may be large.
        self._taken[pull] = replace(kept, model=None if kept.model is None else True)
        return kept

    def drop(self, is_alive: BoolArray) -> None:
        """Drop the models of eliminated arms; ``is_alive`` has shape (n_arms,)."""
        for arm, repetition in list(self._models):
            if not is_alive[arm]:
                del self._models[arm, repetition]
        for arm, repetition in list(self._on_disk):
            if not is_alive[arm]:
                self._remove((arm, repetition))

    def __len__(self) -> int:
        return max(len(self._models), len(self._on_disk))
