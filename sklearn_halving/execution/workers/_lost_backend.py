"""Detects that the scheduler of a cluster is gone.

joblib's backends do not report it. The tasks that were sent to the cluster just never return.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import Future, wait
from contextlib import closing
from math import inf
from typing import Any, Literal

from sklearn_halving._unstable_joblib import JoblibSession, start_on_loop
from sklearn_halving._user_warnings import warn_user

GRACE_SECONDS = 5.0
"""A scheduler that cannot be reached for this long counts as gone. It may be restarting before."""
ANSWER_SECONDS = 5.0
"""Longest wait for an answer of the scheduler."""
SILENT_SECONDS = 60.0
"""After this time without an answer of the scheduler, a warning says so."""
CONNECT_SECONDS = 1.0
"""Longest wait for a connection with the head of Ray."""


class BackendWatch:
    """Detects that the cluster of a session is gone, or that nothing runs on it.

    Parameters
    ----------
    session : JoblibSession
        The workers. Only the clusters of Dask and Ray can be lost. The workers of other
        backends belong to this process, which starts new ones.
    """

    def __init__(self, session: JoblibSession) -> None:
        self._client: Any = session.client if session.library == "dask" else None
        scheduler = getattr(self._client, "scheduler", None)
        self._dask = getattr(scheduler, "address", "an unknown address")
        self._ray_head: str | None = None
        if session.library == "ray":
            import ray

            # Ray itself waits for its head for a minute and then ends the process of the search.
            address = str(ray.get_runtime_context().gcs_address)
            # Behind a proxy, for example, it cannot be reached from here.
            self._ray_head = address if _accepts_connections(address) else None
        self._unreachable_since = inf
        self._asked: dict[str, tuple[Future[object], float]] = {}
        self._has_warned = False

    def _problem(self) -> str | None:
        """Return why the scheduler cannot be reached now; None if it can."""
        if self._ray_head is not None and not _accepts_connections(self._ray_head):
            return (
                f"The head of Ray at {self._ray_head} is gone. Unless ray.shutdown() is called, "
                "Ray ends this process within a minute"
            )
        if self._client is None or self._client.status == "running":
            return None
        if self._is_closed:
            return f"The client of the Dask scheduler at {self._dask} was closed during the search"
        return f"The Dask scheduler at {self._dask} is gone: the connection to it was lost"

    @property
    def _is_closed(self) -> bool:
        """Whether the client of Dask is closed; it also closes itself without a scheduler."""
        return self._client is not None and self._client.status in ("closing", "closed")

    def cause_of_loss(self) -> str | None:
        """Return why the cluster is gone; None if it is not, or if it may come back."""
        problem = self._problem()
        if problem is None:
            self._unreachable_since = inf
            return None
        self._unreachable_since = min(self._unreachable_since, time.monotonic())
        is_gone = time.monotonic() - self._unreachable_since >= GRACE_SECONDS
        return problem if is_gone or self._is_closed else None

    def settle(self) -> str | None:
        """Wait until the cluster can be reached or counts as gone; return why it is gone."""
        while (cause := self.cause_of_loss()) is None and self._unreachable_since < inf:
            time.sleep(0.1)
        return cause

    def runs_nothing(self) -> bool:
        """Return whether a cluster is gone, has no workers, or does not answer for some time.

        This is a reason to end a search only after a stop, when it waits for nothing but
        running fits: a cluster may get new workers.
        """
        if self.cause_of_loss() is not None:
            return True
        has_workers = self._ask("ncores")
        if has_workers is None:
            return time.monotonic() - self._asked["ncores"][1] > ANSWER_SECONDS
        return not has_workers

    def has_workers(self) -> bool:
        """Return whether the cluster has workers that accept data; waits a moment for the answer.

        Workers that are paused because they have little memory left do not accept data.
        """
        has_workers = self._ask("ncores_running")
        if has_workers is None:
            wait([self._asked["ncores_running"][0]], ANSWER_SECONDS)
            has_workers = self._ask("ncores_running")
        return bool(has_workers)

    def warn_of_silence(self) -> None:
        """Warn once if the scheduler of Dask has not answered for a minute."""
        is_silent = self._ask("identity") is None and not self._has_warned
        if is_silent and time.monotonic() - self._asked["identity"][1] > SILENT_SECONDS:
            self._has_warned = True
            warn_user(
                f"The Dask scheduler at {self._dask} has not answered for {SILENT_SECONDS:g} "
                "seconds. The search waits for it. Ctrl-C, pressed twice, ends the search and "
                "keeps its results."
            )

    def _ask(self, question: Literal["ncores", "ncores_running", "identity"]) -> bool | None:
        """Ask the scheduler, for example whether there are workers; None until it answers."""
        if self._client is None:
            return True
        scheduler = self._client.scheduler
        if scheduler is None:  # the client is closed, or connects anew
            return False
        if question not in self._asked:
            answer = start_on_loop(self._client, getattr(scheduler, question))
            self._asked[question] = answer, time.monotonic()
        answer, _ = self._asked[question]
        if not answer.done():
            return None
        del self._asked[question]
        return answer.exception() is None and bool(answer.result())


def _accepts_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)):
            return True
    except (OSError, ValueError):
        return False
