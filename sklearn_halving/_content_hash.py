"""Digest of the content of a value. Equal values have the same digest in every process."""

from __future__ import annotations

import copyreg
import gc
import random
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from dis import get_instructions
from functools import partial
from hashlib import blake2b
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import starmap
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np
from scipy import sparse

from sklearn_halving._own_code import contents, is_of_package, is_own
from sklearn_halving._typing import Parameterized, Params

DIGEST_BYTES = 16
BLOCK_ROWS = 2**16
OF_NO_MATTER = frozenset({"n_jobs", "verbose"})
"""Parameters of an estimator that do not change the fitted model."""
OF_NO_MATTER_IN = {
    "sklearn": frozenset({"memory"}),
    "catboost": frozenset({"thread_count", "train_dir"}),
}
"""Those of the estimators of a package."""
KEPT_BY_CLONE = frozenset({"_sklearn_output_config", "_metadata_request"})
"""Attributes of an estimator that a clone has, too."""
MAX_SHORT = 60
"""Longer texts are compared and shown as digests."""
PLAIN = {type(None), str, bytes, bool, int, float, complex, list, tuple, dict, set, frozenset}
HOLDERS: tuple[type, ...] = (types.MethodType, staticmethod, classmethod, property)
HELD = ("__func__", "__self__", "fget", "fset", "fdel", "func")
"""The attributes by which they, and what joblib caches, hold functions. Folders do not count."""
CACHES: tuple[type, ...] = (WeakKeyDictionary, WeakValueDictionary, WeakSet)
OWN = "your own "
"""At the start of the names of parts of own code."""
SLOT = types.MemberDescriptorType
GENERATOR = "_random_state"
"""Attribute of a distribution of SciPy. It is ignored: a search draws with its own generator."""


class _Seen(NamedTuple):
    """A digest, and the parts of own code by names, as digests or short texts."""

    digest: str
    parts: dict[str, str]


class _Own(NamedTuple):
    """A function, class or module of the user's own, or a tuple of values, and what it uses."""

    thing: object
    seen: _Seen
    used: list[object]


_running: dict[int, _Own] = {}
"""By id: what a running search has read."""
_digests: ContextVar[dict[tuple[int, str], tuple[object, str]] | None] = ContextVar(
    "_digests", default=None
)
"""By id and name of a parameter: an estimator of the running search, and its digest."""
_n_running = 0
_at_first: dict[str, _Seen] = {}
"""By its digest: what was seen before own code has changed it."""


@contextmanager
def code_as_first_seen() -> Iterator[None]:
    """Let what own code changes while it runs, such as a counter, count as it is now.

    That holds in the context, and for what is unchanged afterwards.
    """
    global _n_running  # noqa: PLW0603
    _n_running += 1
    outer = _digests.set({})
    try:
        yield
    finally:
        _digests.reset(outer)
        _n_running -= 1
        if not _n_running:
            former = list(_running.values())  # another thread may begin a search meanwhile
            _running.clear()
            for own in former:
                _at_first.setdefault(_read_now(own.thing).seen.digest, own.seen)


def content_hash(*values: object, with_code: bool = False) -> str:
    """Return a digest of values, which may contain data, estimators, functions, distributions.

    The digest depends only on the content. It does not depend on memory addresses, on the order
    of a set or a dict, or on Python's hash randomization. A function is hashed by its name, its
    code, its default values and the variables that it encloses, and a class by its name.

    Parameters
    ----------
    *values : object
        The values.
    with_code : bool, default=False
        Whether the user's own functions also count with what they read from their module, and
        own classes with all that is written in them and in their own base classes.
    """
    if with_code:
        return hash_and_code(*values)[0]
    hasher = _Hasher()
    for value in values:
        hasher.add(value)
    return str(hasher.hash.hexdigest())


def hash_and_code(*values: object) -> tuple[str, dict[str, str]]:
    """Return a digest of values and of the own code that they use, and this code by its names.

    It is described by digests, or short texts.
    """
    queue: list[object] = [values]
    found: dict[int, _Own] = {}
    parts: dict[str, set[str]] = {}
    while queue:
        thing = queue.pop()
        if id(thing) not in found:
            own = found[id(thing)] = _read(thing)
            queue += own.used
            for name, text in own.seen.parts.items():
                parts.setdefault(OWN + name, set()).add(text)
    digest = content_hash({own.seen.digest for own in found.values()})
    return digest, {name: ", ".join(sorted(texts)) for name, texts in parts.items()}


def short_text(value: object) -> str:
    """Return a plain value as text if it is short, else an empty text."""
    text = repr(value) if _is_plain(value) else ""
    return text if len(text) <= MAX_SHORT else ""


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.items()))
    return value is None or type(value) in (str, bool, int, float)


def params_digest(params: Params) -> str:
    """Return the identity of a candidate: equal candidates have the same digest.

    1 and 1.0 differ, as for ``max_features``. A scalar of NumPy is the same as one of Python.
    """
    hasher = _Hasher(is_kept=True)
    hasher.add_unordered("dict", starmap(_item_digest, params.items()))
    hasher.add(None)  # as for any dict
    return str(hasher.hash.hexdigest())


def value_digest(value: object) -> str:
    """Return the identity of a value of a parameter, as in `params_digest`."""
    return _item_digest("", value)


def _item_digest(name: str, value: object) -> str:
    """Return the digest of a parameter. That of an estimator is made once for a whole search."""
    key, known = (id(value), name), _digests.get()
    if known and key in known:
        return known[key][1]
    plain = plain_value(value)
    digest = _Hasher(is_kept=True).digest_of((name, plain)) if name else content_hash(plain)
    if known is not None and hasattr(value, "get_params"):
        known[key] = value, digest
    return digest


def plain_value(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass
class _Hasher:
    """Traverses a value recursively and updates a digest.

    Parameters
    ----------
    parents : tuple of int
        The ids of the objects that contain the current one.
    queue : list or None
        Own functions and classes that were found are added to it; None if code does not count.
    is_kept : bool
        Whether estimators are not cloned.
    """

    parents: tuple[int, ...] = ()
    queue: list[object] | None = None
    is_kept: bool = False
    hash: Any = field(default_factory=partial(blake2b, digest_size=DIGEST_BYTES))

    def add(self, value: object) -> None:
        """Update the digest with a value."""
        if value is None or isinstance(value, str | bytes | bool | int | float | complex):
            self._tag(type(value).__name__, _plain_bytes(value))
            self._add_own_part(value)
        elif id(value) in self.parents:
            self._tag("inside itself", str(self.parents.index(id(value))).encode())
        else:
            parents, is_kept = self.parents, self.is_kept
            self.parents += (id(value),)
            # As in `clone`, which copies the rest with all of its state.
            is_list = isinstance(value, list | tuple | set | frozenset)
            self.is_kept = is_kept or not (is_list or is_cloned(value))
            self._add_compound(value)
            self._add_own_part(value)
            self.parents, self.is_kept = parents, is_kept

    def _tag(self, kind: str, content: bytes = b"") -> None:
        self.hash.update(b"%s:%d:" % (kind.encode(), len(content)))
        self.hash.update(content)

    def _add_own_part(self, value: object) -> None:
        """Add the attributes of an own object, also those that pickle does not see."""
        kind = type(value)
        if kind not in PLAIN and self._find(kind) and not isinstance(value, type | Parameterized):
            self.add(getattr(value, "__dict__", None))

    def _add_compound(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            self._add_sequence(value)
        elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - much faster
            items = (item for item in value.items() if item[0] != "__doc__")
            self.add_unordered("dict", map(self.digest_of, items))
            self.add(getattr(value, "default_factory", None))
        elif isinstance(value, set | frozenset):
            self.add_unordered("set", map(self.digest_of, value))
        elif isinstance(value, np.ma.MaskedArray):
            self._tag("masked")
            self._add_all([np.ma.getmaskarray(value), np.ma.getdata(value)])
        elif isinstance(value, np.ndarray | np.generic):
            self._add_array(np.asarray(value))
        elif sparse.issparse(value):
            rows = value.tocsr()
            self._tag("sparse", str((value.format, value.shape)).encode())
            self._add_all([rows.data, rows.indices, rows.indptr])
        elif _is_frame(value):
            self._tag("frame", str(value.shape).encode())
            columns = (value.iloc[:, place] for place in range(value.shape[1]))
            self._add_all([value.columns, value.index, value.attrs, *columns])
        else:
            self._add_object(value)

    def _add_all(self, values: Iterable[object]) -> None:
        for value in values:
            self.add(value)

    def add_unordered(self, kind: str, digests: Iterable[str]) -> None:
        """Update the digest with the digests of the items of a dict or a set."""
        ordered = sorted(digests)
        self._tag(kind, str(len(ordered)).encode())
        for digest in ordered:
            self._tag("item", digest.encode())

    def digest_of(self, value: object) -> str:
        hasher = _Hasher(self.parents, self.queue, self.is_kept)
        hasher.add(value)
        return str(hasher.hash.hexdigest())

    def _add_sequence(self, values: Sequence[Any]) -> None:
        self._tag(type(values).__name__, str(len(values)).encode())
        kinds = set(map(type, values))
        if kinds == {str}:
            encoded = [value.encode("utf-8", "surrogatepass") for value in values]
            lengths = np.array([len(text) for text in encoded], dtype="<i8")
            self._tag("lengths", lengths.tobytes())
            self._tag("texts", b"".join(encoded))
        elif kinds and kinds <= {int, float}:
            self._tag("numbers", repr(list(values)).encode())
        else:
            self._add_all(values)

    def _add_array(self, array: np.ndarray) -> None:
        self._tag("array", str((str(array.dtype), array.shape)).encode())
        if array.dtype.hasobject:
            self._add_sequence(array.ravel().tolist())
            return
        if array.dtype.names:  # the padding between the fields is not initialized
            self._add_all([array[name] for name in array.dtype.names])
            return
        array = np.atleast_1d(array)
        step = max(1, BLOCK_ROWS * len(array) // max(1, array.size))
        for first in range(0, len(array), step):  # non-contiguous arrays are copied in blocks
            self.hash.update(np.ascontiguousarray(array[first : first + step]).tobytes())

    def _add_object(self, value: Any) -> None:
        self._tag(_full_name(type(value)))
        if isinstance(value, type | types.ModuleType):
            self._tag("name", _full_name(value).encode())
            self._find(value)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, types.CodeType):
            self._add_code(value)
        elif isinstance(value, HOLDERS) or type(value).__module__ == "joblib.memory":
            self._add_all(getattr(value, name, None) for name in HELD)
        elif isinstance(value, Parameterized):
            self._add_estimator(value)
        elif value is np.random.mtrand._rand or value is random._inst:
            self._tag("global")  # changes all the time
        elif hasattr(value, "__array__"):  # data frames and tensors of other libraries
            columns = getattr(value, "schema", None) or getattr(value, "columns", "")
            self._tag("columns", str(columns).encode())
            self.add(getattr(value, "dtype", None))
            try:
                self._add_array(np.asarray(value))
            except Exception:  # noqa: BLE001 - on a GPU, for example
                self.add(_state_of(value))
        elif not isinstance(value, CACHES):
            self.add(_state_of(value))
            if "__wrapped__" in getattr(value, "__dict__", ()):  # as by `functools.lru_cache`
                self.add(value.__wrapped__)
            if isinstance(value, np.ufunc):  # as by `np.frompyfunc`
                referents = gc.get_referents(value)
                self._add_all(each for each in referents if isinstance(each, types.FunctionType))

    def _find(self, thing: type | types.FunctionType | types.ModuleType) -> bool:
        """Read own code later. Return whether it is own code that counts."""
        is_found = self.queue is not None and is_own(thing)
        if self.queue is not None and is_found:
            self.queue.append(thing)
        return is_found

    def _add_estimator(self, value: Any) -> None:
        known = value.get_params(deep=False)
        of_package = OF_NO_MATTER_IN.get(type(value).__module__.partition(".")[0], frozenset())
        ignored = {"_sklearn_version", *(known.keys() & (OF_NO_MATTER | of_package))}
        self.add([item for item in known.items() if item[0] not in ignored])
        if not self.is_kept:
            kept = vars(value).keys() & KEPT_BY_CLONE
            self._add_all((name, vars(value)[name]) for name in sorted(kept))
            return
        self._add_all(_state_of(value, ignored))

    def _add_function(self, function: types.FunctionType) -> None:
        self._tag("name", _full_name(function).encode())
        cells = gc.get_referents(*(function.__closure__ or ()))  # also of a name not bound yet
        self._add_all([cells, vars(function), function.__defaults__, function.__kwdefaults__])
        if not is_of_package(function):  # unlike a wrapper of scikit-learn
            self.add(function.__code__)
            self._find(function)

    def _add_code(self, code: types.CodeType) -> None:
        """Add what a code does. Numbers of constants are left out: a docstring may be one."""
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
        is_open = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        steps: list[object] = [code.co_varnames, counts, is_open, code.co_exceptiontable]
        for step in get_instructions(code):
            steps += [step.opname, step.argval] if step.opname != "NOP" else []
        self.add(steps)


def is_cloned(value: object) -> bool:
    """Return whether a clone of a value keeps its parameters alone."""
    if not isinstance(value, Parameterized) or isinstance(value, type):
        return False
    clone = getattr(type(value), "__sklearn_clone__", None)
    return clone is None or clone.__module__ == "sklearn.base"


def _read(thing: object) -> _Own:
    """Return what is in own code, or in values, as it was first seen."""
    own = _running.get(id(thing))
    if own is None:
        own = _read_now(thing)
        own = own._replace(seen=_at_first.setdefault(own.seen.digest, own.seen))
        if _n_running and (own.used or not isinstance(thing, tuple)):
            _running[id(thing)] = own
    return own


def _read_now(thing: object) -> _Own:
    used: list[object] = []
    digests: set[str] = set()
    parts: dict[str, str] = {}
    if isinstance(thing, tuple):
        return _Own(thing, _Seen(_Hasher(queue=used).digest_of(thing), {}), used)
    for name, value in list(contents(thing)):  # Python adds to a class while it is read
        try:
            digest = _Hasher(queue=used, is_kept=True).digest_of((name, value))
            parts[name] = short_text(value) or digest
        except RecursionError:  # nested very deeply
            digest = name
        digests.add(digest)
    return _Own(thing, _Seen(content_hash(digests), parts), used)


def _state_of(value: object, ignored: Set[str] = frozenset()) -> Any:
    """Return what pickle stores of an object itself; what it has if it cannot be pickled.

    Pickle omits locks, clocks and shared objects: a logger, for example, is stored as its name.
    """
    registered = copyreg.dispatch_table.get(type(value))
    try:
        parts: Any = value.__reduce_ex__(2) if registered is None else registered(value)
    except Exception:  # noqa: BLE001 - the class may raise anything
        names = {
            n for kind in type(value).__mro__ for n, v in vars(kind).items() if type(v) is SLOT
        }
        slots = {name: getattr(value, name) for name in names if hasattr(value, name)}
        parts = None, slots | getattr(value, "__dict__", {})
    if isinstance(parts, str):
        return parts
    ignored = {GENERATOR, *ignored}
    state = [list(part) if isinstance(part, Iterator) else part for part in parts[1:]]
    return [
        {n: v for n, v in part.items() if n not in ignored} if isinstance(part, dict) else part
        for part in state
    ]


def _is_frame(value: object) -> bool:
    return isinstance(value, getattr(sys.modules.get("pandas"), "DataFrame", ()))


def _plain_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "surrogatepass")


def _full_name(thing: type | types.FunctionType | types.ModuleType) -> str:
    """Return the qualified name of a class, a function or a module.

    The name is the same in a script and in its child processes.
    """
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    module = "__main__" if thing.__module__ == "__mp_main__" else thing.__module__
    return f"{module}.{thing.__qualname__}"
