"""What is shared with the workers of a cluster: sent once, and named in every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_halving._unstable_joblib import JoblibSession
from sklearn_halving.execution._types import Job

LARGE_MODEL = 2**17
"""A model of more bytes is handed to Dask's workers themselves, past its scheduler."""


@dataclass(frozen=True)
class RayArray:
    """An array in Ray's object store, where the processes of a machine share one copy."""

    reference: Any

    def get(self) -> Any:
        """Return the array."""
        import ray

        return ray.get(self.reference)


def local_array(array: Any) -> Any:
    """Return an array that may lie in the store of a cluster."""
    return array.get() if isinstance(array, RayArray) else array


def shared_arrays(arrays: Sequence[Any], session: JoblibSession) -> list[Any]:
    """Put arrays where the workers of a cluster find them without being sent them again.

    joblib maps large arrays into the memory of its own workers. Its backend for Dask
    scatters them to one worker, from which the others fetch them anew whenever they had
    nothing to do in between; and Ray's would send them with every call.
    """
    if session.library == "ray":
        import ray

        return [RayArray(ray.put(array)) for array in arrays]
    if session.library == "dask":
        try:
            return list(session.client.scatter(list(arrays), broadcast=True, hash=False))
        except Exception:  # noqa: BLE001 - a worker was lost: joblib tries it with another
            return list(arrays)
    return list(arrays)


class ModelAt(NamedTuple):
    """Stands for a model that is sent apart from its job."""

    place: int


def models_apart(jobs: list[Job], library: str) -> tuple[list[Job], list[Any]]:
    """Return the jobs without their large models, and these as arrays.

    What is in the arguments of a call is held by Dask's scheduler; an array that is an
    argument of its own goes to the worker that needs it.
    """
    models: list[Any] = []
    if library != "dask":
        return jobs, models
    lean = []
    for job in jobs:
        if isinstance(job.model, bytes) and len(job.model) > LARGE_MODEL:
            models.append(np.frombuffer(job.model, dtype=np.uint8))
            job = job._replace(model=ModelAt(len(models) - 1))
        lean.append(job)
    return lean, models


def with_models(
    function: Callable[..., Any], n_models: int, jobs: list[Job], *arguments: Any
) -> Any:
    """Call a function with jobs that have their models again: the last of the arguments."""
    n_others = len(arguments) - n_models
    models = arguments[n_others:]
    jobs = [
        job._replace(model=models[job.model.place].tobytes())
        if isinstance(job.model, ModelAt)
        else job
        for job in jobs
    ]
    return function(jobs, *arguments[:n_others])
