"""Jobs that wait for a worker, and how many short ones are sent together."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from sklearn_halving.execution._types import Job, Outcome

CHUNK_SECONDS = 0.1
"""Pulls that are shorter than this are sent together, so that sending does not dominate."""
MAX_CHUNK = 200


@dataclass
class ChunkQueue:
    """Jobs that wait for a worker.

    Parameters
    ----------
    max_chunks : int
        How many chunks are under way at a time.
    waiting : deque of Job
        Jobs in the order in which they were submitted.
    suspects : deque of Job
        Jobs that were lost with their worker, which one of them may have killed. They go
        first, one at a time.
    """

    max_chunks: int
    waiting: deque[Job] = field(default_factory=deque)
    suspects: deque[Job] = field(default_factory=deque)
    _n_held: Counter[int] = field(default_factory=Counter)
    _last_level: int | None = None
    _seconds: dict[int, float] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """A chunk of what was submitted last, unless there are enough chunks already."""
        # No more than one: the next pulls may be much longer, and should not be asked for
        # long before they can run.
        held = sum(n / self._chunk_size(level) for level, n in self._n_held.items())
        size = 1 if self._last_level is None else self._chunk_size(self._last_level)
        return ceil(min(1.0, self.max_chunks - held) * size) if held < self.max_chunks else 0

    def put(self, job: Job) -> None:
        """Add a job."""
        self.waiting.append(job)
        self._n_held[job.pull.level] += 1
        self._last_level = job.pull.level

    def release(self, chunk: list[Job]) -> None:
        """Make room: these jobs came back."""
        self._n_held.subtract(job.pull.level for job in chunk)

    def note(self, outcome: Outcome) -> None:
        """Learn how long pulls of a level take."""
        seconds, level = outcome.fit_seconds + outcome.score_seconds, outcome.pull.level
        # The longest counts, with a slow decay: a chunk that is too long keeps one worker busy
        # while the others are idle.
        self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))

    def next_chunk(self) -> tuple[list[Job], bool]:
        """Take a chunk; return it, and whether one of its jobs may kill a worker.

        A chunk takes about `CHUNK_SECONDS`, and leaves enough jobs for the other workers.
        """
        if self.suspects:
            return [self.suspects.popleft()], True
        fair_share = ceil(len(self.waiting) / self.max_chunks)
        # A tenth of a chunk is not worth sharing: sending it takes longer.
        fair_share = max(fair_share, self._chunk_size(self.waiting[0].pull.level) // 10)
        chunk, filled = [self.waiting.popleft()], 0.0
        while self.waiting and len(chunk) < fair_share:
            filled += 1 / self._chunk_size(chunk[-1].pull.level)
            # Jobs of another level may be much longer than those before them.
            if filled + 1 / self._chunk_size(self.waiting[0].pull.level) > 1:
                break
            chunk.append(self.waiting.popleft())
        return chunk, False

    def clear(self) -> None:
        """Forget all jobs that wait."""
        self.waiting.clear()
        self.suspects.clear()

    def __len__(self) -> int:
        return len(self.waiting) + len(self.suspects)

    def _chunk_size(self, level: int) -> int:
        """Return how many pulls of a level take `CHUNK_SECONDS`; 1 if that is unknown."""
        seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))
