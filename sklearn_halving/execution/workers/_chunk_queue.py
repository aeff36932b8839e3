"""Jobs that wait for a worker, and chunks of jobs that were sent to one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from queue import SimpleQueue

import numpy as np

from sklearn_halving.execution._types import Job, Outcome
from sklearn_halving.policies._types import Pull

CHUNK_SECONDS = 0.1
"""Target duration of a chunk. Shorter pulls are sent together to reduce the overhead."""
MAX_CHUNK = 200


@dataclass
class ChunkQueue:
    """Jobs that wait for a worker."""

    max_chunks: int
    """Maximum number of chunks that are sent at a time."""
    waiting: deque[Job] = field(default_factory=deque)
    """Jobs in the order of submission."""
    suspects: deque[Job] = field(default_factory=deque)
    """Jobs that were lost because their worker died. One of them may have killed it, so they are
    sent first and one at a time."""
    _n_held: Counter[int] = field(default_factory=Counter)
    _last_level: int | None = None
    _seconds: dict[int, float] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """Number of further jobs that can be used now; at most one chunk."""
        # At most one chunk: the next pulls may take much longer, and should not be requested
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
        """Make room for new jobs after the jobs of a chunk have returned."""
        self._n_held.subtract(job.pull.level for job in chunk)

    def note(self, outcome: Outcome) -> None:
        """Update the estimated duration of the pulls of a level."""
        seconds, level = outcome.fit_seconds + outcome.score_seconds, outcome.pull.level
        # The estimate is the maximum, with a slow decay. If it were too small, a long chunk
        # would keep one worker busy while the others are idle.
        self._seconds[level] = max(seconds, 0.9 * self._seconds.get(level, 0.0))

    def next_chunk(self) -> tuple[list[Job], bool]:
        """Remove a chunk from the queue; return it and whether it may kill a worker.

        A chunk takes about `CHUNK_SECONDS`. It leaves enough jobs for the other workers.
        """
        if self.suspects:
            return [self.suspects.popleft()], True
        fair_share = ceil(len(self.waiting) / self.max_chunks)
        # Less than a tenth of a chunk is not shared, because sending it takes longer.
        fair_share = max(fair_share, self._chunk_size(self.waiting[0].pull.level) // 10)
        chunk, filled = [self.waiting.popleft()], 0.0
        while self.waiting and len(chunk) < fair_share:
            filled += 1 / self._chunk_size(chunk[-1].pull.level)
            # Jobs of another level may take much longer than the previous ones.
            if filled + 1 / self._chunk_size(self.waiting[0].pull.level) > 1:
                break
            chunk.append(self.waiting.popleft())
        return chunk, False

    def take_all(self) -> list[Job]:
        """Remove and return all jobs."""
        jobs = [*self.suspects, *self.waiting]
        self.suspects.clear()
        self.waiting.clear()
        return jobs

    def __len__(self) -> int:
        return len(self.waiting) + len(self.suspects)

    def _chunk_size(self, level: int) -> int:
        """Return the number of pulls of a level that take `CHUNK_SECONDS`; 1 if unknown."""
        seconds = self._seconds.get(level, CHUNK_SECONDS)
        return int(np.clip(CHUNK_SECONDS / max(seconds, 1e-9), 1, MAX_CHUNK))


@dataclass
class ChunksUnderWay:
    """Chunks that were sent and have not returned."""

    chunks: dict[int, list[Job]] = field(default_factory=dict)
    """The chunks, in the order of sending."""
    done: SimpleQueue[tuple[int, object]] = field(default_factory=SimpleQueue)
    """Keys and results of the chunks that returned; filled by threads of joblib."""
    n_sent: int = 0
    """Number of chunks that were sent so far."""
    awaited: set[int] | None = None
    """After a stop, the keys of the chunks that a worker has started; None before a stop."""

    def add(self, chunk: list[Job]) -> Callable[[object], None]:
        """Add a chunk; return the callback for its result."""
        key, self.n_sent = self.n_sent, self.n_sent + 1
        self.chunks[key] = chunk
        return lambda handle: self.done.put((key, handle))

    def take_back(self) -> list[Job]:
        """Remove the last chunk, which could not be sent."""
        return self.chunks.popitem()[1]

    def take_all_back(self) -> list[Job]:
        """Remove all chunks, and return their jobs in the order of sending."""
        jobs = [job for chunk in self.chunks.values() for job in chunk]
        self.chunks.clear()
        return jobs

    def first_pulls(self, n_workers: int) -> list[Pull]:
        """Return the first pull of each chunk that a worker has started, or starts next."""
        return [chunk[0].pull for chunk in list(self.chunks.values())[:n_workers] if chunk]

    def await_only(self, n_workers: int) -> bool:
        """Wait only for chunks that workers have started; return whether one is left."""
        if self.awaited is None:
            keys = list(self.chunks)  # workers start them in the order of sending
            self.awaited = set(keys[:n_workers])
            for key in keys[n_workers:]:
                self.chunks[key].clear()  # a thread that starts it finds nothing to do
        return not self.awaited.isdisjoint(self.chunks)
