"""Detects that the scheduler of a cluster is gone.

joblib's backends do not report it. The tasks that were sent to the cluster just never return.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from functools import partial
from typing import Any, Literal, NamedTuple

from sklearn_halving._unstable_joblib import JoblibSession, start_on_loop

GRACE_SECONDS = 5.0
"""A scheduler that cannot be reached for this long counts as gone. It may be restarting before."""
ANSWER_SECONDS = 5.0
"""Longest wait for an answer of the scheduler."""
CONNECT_SECONDS = 1.0
"""Longest wait for a connection with the head of Ray."""


class Problem(NamedTuple):
    """The reason why a scheduler cannot be reached; ``is_final`` if it will not come back."""

    text: str
    is_final: bool = False


class LostBackendError(ConnectionError):
    """The scheduler of a cluster is gone.

    Parameters
    ----------
    cause : str
        The reason why it counts as gone.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"{cause}. The fits that were running are lost; all fits that returned before are "
            "kept: cv_results_, history_ and best_* are set from them. Connect to a running "
            "cluster, or call fit outside of parallel_config to use this machine."
        )


class BackendWatch:
    """Detects that the cluster of a session is gone, or that nothing runs on it.

    Parameters
    ----------
    session : JoblibSession
        The workers. Only the clusters of Dask and Ray can be lost. The workers of other
        backends belong to this process, which starts new ones.
    """

    def __init__(self, session: JoblibSession) -> None:
        self._find_problem: Callable[[], Problem | None] = lambda: None
        self._client: Any = None
        if session.library == "dask":
            self._client = session.client
            address = getattr(self._client.scheduler, "address", "an unknown address")
            self._find_problem = partial(_problem_of_dask, self._client, str(address))
        elif session.library == "ray":
            self._find_problem = _ray_probe()
        self._unreachable_since: float | None = None
        self._question: Future[object] | None = None
        self._asked_at = 0.0

    def cause_of_loss(self) -> str | None:
        """Return why the cluster is gone; None if it is not, or if it may come back."""
        problem = self._find_problem()
        if problem is None:
            self._unreachable_since = None
            return None
        if self._unreachable_since is None:
            self._unreachable_since = time.monotonic()
        is_gone = time.monotonic() - self._unreachable_since >= GRACE_SECONDS
        return problem.text if problem.is_final or is_gone else None

    def settle(self) -> str | None:
        """Wait until the cluster can be reached or counts as gone; return why it is gone."""
        while self._find_problem() is not None:
            cause = self.cause_of_loss()
            if cause is not None:
                return cause
            time.sleep(0.1)
        return None

    def runs_nothing(self) -> bool:
        """Return whether a cluster is gone, has no workers, or does not answer for some time.

        This is a reason to end a search only after a stop, when it waits for nothing but
        running fits: a cluster may get new workers.
        """
        if self.cause_of_loss() is not None:
            return True
        has_workers = self._ask("ncores")
        if has_workers is None:
            return time.monotonic() - self._asked_at > ANSWER_SECONDS
        return not has_workers

    def has_workers(self) -> bool:
        """Return whether the cluster has workers that accept data; waits a moment for the answer.

        Workers that are paused because they have little memory left do not accept data.
        """
        has_workers = self._ask("ncores_running")
        if has_workers is None:
            wait([] if self._question is None else [self._question], ANSWER_SECONDS)
            has_workers = self._ask("ncores_running")
        return bool(has_workers)

    def _ask(self, question: Literal["ncores", "ncores_running"]) -> bool | None:
        """Return whether there are workers; None until the scheduler has answered."""
        if self._client is None:
            return True
        if self._question is None:
            self._question = start_on_loop(self._client, getattr(self._client.scheduler, question))
            self._asked_at = time.monotonic()
        if not self._question.done():
            return None
        answer, self._question = self._question, None
        return answer.exception() is None and bool(answer.result())


def _problem_of_dask(client: Any, address: str) -> Problem | None:
    if client.status in ("closing", "closed"):
        # A client also closes itself if its scheduler does not come back.
        return Problem(
            f"The client of the Dask scheduler at {address} was closed during the search",
            is_final=True,
        )
    if client.status != "running":
        return Problem(f"The Dask scheduler at {address} is gone: the connection to it was lost")
    return None


def _ray_probe() -> Callable[[], Problem | None]:
    """Return a function that tries to connect to the head of Ray.

    Ray itself waits for its head for a minute and then ends the process of the search.
    """
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    if not _accepts_connections(address):
        return lambda: None  # it cannot be reached from here, for example behind a proxy
    return partial(_problem_of_ray, address)


def _problem_of_ray(address: str) -> Problem | None:
    if _accepts_connections(address):
        return None
    return Problem(
        f"The head of Ray at {address} is gone. Unless ray.shutdown() is called, Ray ends this "
        "process within a minute"
    )


def _accepts_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)):
            return True
    except (OSError, ValueError):
        return False
