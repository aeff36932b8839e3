"""The fits that a search need not make: those of its checkpoint, or of its last calls of `fit`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from numbers import Integral
from platform import python_version
from typing import Any

from sklearn import get_config
from sklearn.utils import check_random_state

from sklearn_halving._content_hash import (
    OF_NO_MATTER,
    OWN,
    content_hash,
    hash_and_code,
    is_cloned,
    short_text,
)
from sklearn_halving._formatting import shortened, without_addresses
from sklearn_halving._typing import Estimator
from sklearn_halving._unstable_imports import BaseSearchCV
from sklearn_halving._user_warnings import warn_user
from sklearn_halving.execution._store import FitStore, SearchRecord
from sklearn_halving.search._parameters import Inputs

CONFIGURATION = (
    "transform_output",
    "assume_finite",
    "enable_metadata_routing",
    "array_api_dispatch",
)
"""Settings of scikit-learn that may change a score."""
MAX_TEXT = 700
DIGEST = re.compile("[0-9a-f]{32}")
OF_ESTIMATOR = "estimator__"
"""At the start of the names of the parameters of the estimator."""


@contextmanager
def open_store(search: BaseSearchCV) -> Iterator[FitStore | None]:
    """Open the store of a search: a file, or a memory; None without either."""
    memory = vars(search).pop("_known", None)
    if search.checkpoint is None and not search.warm_start:
        yield None
        return
    if search.checkpoint is not None:
        store = FitStore(search.checkpoint)
    else:
        store = search._known = memory or FitStore()
    with store:
        yield store


def begin_search(search: BaseSearchCV, store: FitStore, inputs: Inputs) -> Inputs:
    """Find the fits of a search in a store, and return its inputs with the seed.

    The seed is a number, so that a search that goes on draws the same candidates and splits. If
    the user gave none, it is that of the latest search that agrees in all else.
    """
    fields, details = _fields(search, inputs)
    random_state, former = search.random_state, store.searches()
    seed: Any = random_state if isinstance(random_state, Integral) else None
    if random_state is None:
        seed = next((each.seed for each in reversed(former) if each.fields == fields), None)
    if seed is None:  # from a copy, so that the same object draws the same seed again
        state = check_random_state(random_state)
        seed = (state if random_state is None else deepcopy(state)).randint(2**31 - 1)
    text = shortened(without_addresses(repr(search.estimator)), MAX_TEXT)
    text = text.encode("utf-8", "replace").decode()
    record = SearchRecord(fields, int(seed), text, details, _versions(search.estimator))
    store.begin(record)
    same = [each for each in former if each[:2] == record[:2]]
    if same:
        _warn_of_versions(same[0].versions, record.versions)
    else:
        _warn_of_another(former, record, has_seed=random_state is not None)
    cv = search.cv
    if store.outcomes and getattr(cv, "shuffle", False) and cv.random_state is None:
        warn_user(
            f"cv={cv!r} shuffles the rows anew, so no earlier fit can be used. Give it a "
            "random_state."
        )
    return replace(inputs, random_state=int(seed))


def _warn_of_versions(before: dict[str, str], now: dict[str, str]) -> None:
    former = now | before
    changed = [f"{n} {former[n]} before, {now[n]} now" for n in now if former[n] != now[n]]
    if changed:
        warn_user(
            f"Some versions differ from those of earlier fits: {'; '.join(changed)}. The results "
            "combine fits made with both. To repeat all fits, use a clone with a new checkpoint."
        )


def _warn_of_another(former: list[SearchRecord], now: SearchRecord, *, has_seed: bool) -> None:
    """Warn if the latest search on the same X differs in one thing: perhaps by accident."""
    for other in reversed(former):
        if other.fields["X"] != now.fields["X"] or (has_seed and other.seed != now.seed):
            continue
        if name := _only_difference(other, now):
            texts = [each.details.get(name, "nothing") for each in (other, now)]
            is_short = texts[0] != texts[1] and not any(map(DIGEST.search, texts))
            values = f" ({texts[0]} before, {texts[1]} now)" if is_short else ""
            warn_user(
                "The fits of an earlier search are not used. It differs from this one only in "
                f"{name.removeprefix(OF_ESTIMATOR)}{values}. If you did not mean to change it, go "
                "back."
            )
            return


def _only_difference(other: SearchRecord, now: SearchRecord) -> str:
    """Return the name of the only thing in which two searches differ, or nothing.

    All changes of own code are one thing.
    """
    fields, details = _changed(other.fields, now.fields), _changed(other.details, now.details)
    # A scorer that counts its calls is the same one.
    details = {name for name in details if name.startswith((OWN, *fields))}
    # Of a step that is another one, the parameters do not count, and so on.
    above = tuple(f"{name}{mark}" for name in details for mark in ("__", "."))
    details = {name for name in details if not name.startswith(above)}
    if code := sorted(name for name in details if name.startswith(OWN)):
        # What holds it, such as a parameter that is a function, has another digest, too.
        details = {n for n in details - {*code} if not DIGEST.search(now.details.get(n, ""))}
        details.add(OWN + ", ".join(name.removeprefix(OWN) for name in code))
    has_code = any(name.startswith(OWN) for name in details)
    for field in {"arguments of fit", "estimator", "scoring", "error_score"} & fields:
        if has_code or any(name.startswith(field) for name in details):
            fields.discard(field)  # its details say it
    names = details | fields
    return names.pop() if len(names) == 1 else ""


def _changed(before: dict[str, str], now: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}


def _fields(search: BaseSearchCV, inputs: Inputs) -> tuple[dict[str, str], dict[str, str]]:
    """Return digests of what decides all scores of a search, and details of them by name."""
    values = {
        "X": inputs.X,
        "y": inputs.y,
        "arguments of fit": (inputs.fit_params, inputs.score_params),
        "estimator": search.estimator,
        "scoring": search.scoring,
        "error_score": search.error_score,
        "configuration of scikit-learn": [get_config().get(name) for name in CONFIGURATION],
    }
    fields = dict[str, str]()
    details = {n: short_text(v) or content_hash(v) for n, v in _described(search).items()}
    for name, value in values.items():
        fields[name], code = hash_and_code(value)
        details |= code
    return fields, details


def _described(search: BaseSearchCV) -> dict[str, object]:
    """Return what describes the estimator, scoring and ``error_score``, by names."""
    estimator, scoring = search.estimator, search.scoring
    found = {"error_score": search.error_score, "estimator": type(estimator).__qualname__}
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] not in OF_NO_MATTER and not _has_estimators(value):
            shown = type(value).__qualname__ if is_cloned(value) else value
            found[OF_ESTIMATOR + name] = shown
    attributes = getattr(scoring, "__dict__", {})
    found["scoring"] = type(scoring).__qualname__ if attributes else scoring
    return found | {f"scoring.{name}": value for name, value in attributes.items()}


def _has_estimators(value: object) -> bool:
    """Return whether a value is a list of steps, whose parameters have names of their own."""
    parts = value if isinstance(value, list | tuple) else ()
    return any(is_cloned(part) or _has_estimators(part) for part in parts)


def _versions(estimator: Estimator) -> dict[str, str]:
    """Return the versions of packages that may change scores, also those of the estimator."""
    parts = [estimator, *estimator.get_params().values()]
    names = {type(part).__module__.partition(".")[0] for part in parts}
    names |= {"sklearn_halving", "sklearn", "numpy"}
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in sorted(names)}
    known = {name: version for name, version in found.items() if isinstance(version, str)}
    return {"python": python_version()} | known
