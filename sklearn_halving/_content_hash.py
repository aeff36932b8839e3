"""Digest of the content of a value. Equal values have the same digest in every process."""

from __future__ import annotations

import copyreg
import math
import random
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dis import get_instructions
from hashlib import blake2b
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np
from scipy import sparse

from sklearn_halving._own_code import contents, is_installed, is_own
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
PLAIN_BASES = (str, bytes, int, float, complex, list, tuple, Mapping, Set, np.ndarray)
FUNCTIONS: tuple[type, ...] = (types.FunctionType, types.MethodType, types.CodeType)
FUNCTIONS += (staticmethod, classmethod, property)
CACHES: tuple[type, ...] = (WeakKeyDictionary, WeakValueDictionary, WeakSet)
GENERATOR = "_random_state"
"""Attribute of a distribution of SciPy. It is ignored: a search draws with its own generator."""


class _Own(NamedTuple):
    """A function or a class of the user's own, its digest, its parts, and what these use."""

    thing: object
    digest: str
    parts: dict[str, str]
    used: list[object]


_running: dict[int, _Own] = {}
"""By id: the own code that a running search has read."""
_hashed: list[tuple[tuple[object, ...], bool, str]] = []
"""The values with own code whose digests it has asked for."""
_n_running = 0
_at_first: dict[str, str] = {}
"""Digests of own code, and those that they had before the code itself has changed them."""
_first_parts: dict[str, dict[str, str]] = {}
"""The parts of own code as they were first, by its digest."""


@contextmanager
def code_as_first_seen() -> Iterator[None]:
    """Let what own code changes while it runs, such as a counter, count as it is now.

    That holds in the context, and for what is unchanged afterwards.
    """
    global _n_running  # noqa: PLW0603
    _n_running += 1
    try:
        yield
    finally:
        _n_running -= 1
        if not _n_running:
            former, values = list(_running.values()), list(_hashed)
            _running.clear()
            _hashed.clear()
            for own in former:
                _at_first.setdefault(_read(own.thing).digest, own.digest)
            for hashed, is_kept, digest in values:
                now = content_hash(*hashed, with_code=True, is_kept=is_kept)
                _at_first.setdefault(now, digest)


def content_hash(*values: object, with_code: bool = False, is_kept: bool = False) -> str:
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
    is_kept : bool, default=False
        Whether an estimator counts with all of its state, because it is not cloned.
    """
    queue: list[object] | None = [] if with_code else None
    hasher = _Hasher(queue=queue, is_kept=is_kept)
    for value in values:
        hasher.add(value)
    if not queue:
        return hasher.digest()
    hasher.add_unordered("code", {own.digest for own in _own_code(queue)})
    digest = _first(hasher.digest())
    if _n_running:
        _hashed.append((values, is_kept, digest))
    return digest


def code_parts(*values: object) -> dict[str, str]:
    """Return the parts of own code that values use by their names, as digests or short texts."""
    queue: list[object] = []
    _Hasher(queue=queue, is_kept=True).add(values)
    found: dict[str, set[str]] = {}
    for own in _own_code(queue):
        for name, text in own.parts.items():
            found.setdefault(name, set()).add(text)
    # A property and its setter have the same name.
    return {
        n: texts.pop() if len(texts) == 1 else content_hash(texts) for n, texts in found.items()
    }


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
    return content_hash({name: plain_value(value) for name, value in params.items()})


def value_digest(value: object) -> str:
    """Return the identity of a value of a parameter, as in `params_digest`."""
    return content_hash(plain_value(value))


def plain_value(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


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

    def __init__(
        self,
        parents: tuple[int, ...] = (),
        queue: list[object] | None = None,
        *,
        is_kept: bool = False,
    ):
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._parents = parents
        self._queue = queue
        self._is_kept = is_kept

    def digest(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: object) -> None:
        """Update the digest with a value."""
        if value is None or isinstance(value, str | bytes | bool | int | float | complex):
            self._tag(type(value).__name__, _plain_bytes(value))
            self._add_own_part(value)
        elif id(value) in self._parents:
            self._tag("inside itself", str(self._parents.index(id(value))).encode())
        else:
            parents, is_kept = self._parents, self._is_kept
            self._parents += (id(value),)
            # As in `clone`, which copies the rest with all of its state.
            is_list = isinstance(value, list | tuple | set | frozenset)
            self._is_kept = is_kept or not (is_list or is_cloned(value))
            self._add_compound(value)
            self._add_own_part(value)
            self._parents, self._is_kept = parents, is_kept

    def _tag(self, kind: str, content: bytes = b"") -> None:
        self._hash.update(b"%s:%d:" % (kind.encode(), len(content)))
        self._hash.update(content)

    def _add_own_part(self, value: object) -> None:
        """Add what an own subclass of a plain type has besides its value."""
        kind = type(value)
        if kind not in PLAIN and isinstance(value, PLAIN_BASES) and self._find(kind):
            self.add(getattr(value, "__dict__", None))

    def _add_compound(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            self._add_sequence(value)
        elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - much faster
            self.add_unordered("dict", map(self.digest_of, value.items()))
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
        elif _is_of("pandas", "DataFrame", value):
            self._add_frame(value)
        elif _is_of("pandas", "Series", value) or _is_of("pandas", "Index", value):
            self._tag(type(value).__name__, str((value.dtype, value.name)).encode())
            self._add_all([value.dtype, np.asarray(value)])
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
        hasher = _Hasher(self._parents, self._queue, is_kept=self._is_kept)
        hasher.add(value)
        return hasher.digest()

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
        if array.ndim == 0:
            array = array.reshape(1)
        step = max(1, BLOCK_ROWS * len(array) // max(1, array.size))
        for first in range(0, len(array), step):  # non-contiguous arrays are copied in blocks
            self._hash.update(np.ascontiguousarray(array[first : first + step]).tobytes())

    def _add_frame(self, frame: Any) -> None:
        self._tag("frame", str(frame.shape).encode())
        self._add_all([frame.columns, frame.index])
        for place in range(frame.shape[1]):
            self.add(frame.iloc[:, place])

    def _add_object(self, value: Any) -> None:
        self._tag(_full_name(type(value)))
        self._find(type(value))
        if isinstance(value, type | types.ModuleType):
            self._tag("name", _full_name(value).encode())
            self._find(value)
        elif isinstance(value, FUNCTIONS):
            self._add_function(value)
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

    def _find(self, thing: type | types.FunctionType | types.ModuleType) -> bool:
        """Read own code later. Return whether it is own code that counts."""
        is_found = self._queue is not None and is_own(thing)
        if self._queue is not None and is_found:
            self._queue.append(thing)
        return is_found

    def _add_estimator(self, value: Any) -> None:
        known = value.get_params(deep=False)
        of_package = OF_NO_MATTER_IN.get(type(value).__module__.partition(".")[0], frozenset())
        ignored = {"_sklearn_version", *(known.keys() & (OF_NO_MATTER | of_package))}
        self.add([item for item in known.items() if item[0] not in ignored])
        if not self._is_kept:
            kept = vars(value).keys() & KEPT_BY_CLONE
            self._add_all((name, vars(value)[name]) for name in sorted(kept))
            return
        for part in _as_list(_state_of(value)):
            is_dict = isinstance(part, dict)
            self.add({n: v for n, v in part.items() if n not in ignored} if is_dict else part)

    def _add_function(self, value: Any) -> None:
        """Add a function, or what holds one or is a part of one."""
        if isinstance(value, types.CodeType):
            self._add_code(value)
        elif isinstance(value, property):
            self._add_all([value.fget, value.fset, value.fdel])
        elif isinstance(value, types.MethodType):
            self._add_all([value.__func__, value.__self__])
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        else:
            self._add_plain_function(value)

    def _add_plain_function(self, function: types.FunctionType) -> None:
        self._tag("name", _full_name(function).encode())
        cells = [_content_of(cell) for cell in function.__closure__ or ()]
        notes = {n: v for n, v in vars(function).items() if not any(v is cell for cell in cells)}
        self._add_all([cells, notes, function.__defaults__, function.__kwdefaults__])
        if not is_installed(function.__code__.co_filename):  # unlike a wrapper of scikit-learn
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


def _first(digest: str) -> str:
    """Return the digest that what has this one now had when a search first read it."""
    return _at_first.setdefault(digest, digest) if _n_running else _at_first.get(digest, digest)


def _own_code(queue: list[object]) -> list[_Own]:
    """Return own functions and classes, and all own ones that they use."""
    found: dict[int, _Own] = {}
    while queue:
        thing = queue.pop()
        if id(thing) not in found:
            found[id(thing)] = _read(thing)
            queue += found[id(thing)].used
    return list(found.values())


def _read(thing: object) -> _Own:
    """Return what an own function reads from its module, or what is written in an own class."""
    if id(thing) in _running:
        return _running[id(thing)]
    used: list[object] = []
    digests: set[str] = set()
    parts: dict[str, str] = {}
    for name, value in list(contents(thing)):  # Python adds to a class while it is read
        try:
            part = _Hasher(queue=used, is_kept=True).digest_of((name, value))
            digests.add(part)
            parts[name] = short_text(value) or part
        except RecursionError:  # nested very deeply
            digests.add(name)
    whole = _Hasher()
    whole.add(digests)
    digest = _first(whole.digest())
    own = _Own(thing, digest, _first_parts.setdefault(digest, parts), used)
    if _n_running:
        _running[id(thing)] = own
    return own


def _state_of(value: object) -> object:
    """Return what pickle stores of an object itself; None if it cannot be pickled.

    Pickle omits locks, clocks and shared objects: a logger, for example, is stored as its name.
    """
    registered = copyreg.dispatch_table.get(type(value))
    try:
        parts: Any = value.__reduce_ex__(2) if registered is None else registered(value)
    except Exception:  # noqa: BLE001 - the class may raise anything
        slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
        found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        return found | getattr(value, "__dict__", {})
    if isinstance(parts, str):
        return parts
    return [
        {name: item for name, item in part.items() if name not in (GENERATOR, "__doc__")}
        if isinstance(part, dict)
        else list(part)
        if isinstance(part, Iterator)
        else part
        for part in parts[1:]  # the first is the function that would make the object
    ]


def _slots(kind: type) -> list[str]:
    return [n for n, v in vars(kind).items() if isinstance(v, types.MemberDescriptorType)]


def _is_of(module: str, name: str, value: object) -> bool:
    """Return whether a value is an instance of a class, without importing its module."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def _plain_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, float) and math.isnan(value):
        return b"nan"
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


def _content_of(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name is not bound yet
        return None


def _as_list(state: object) -> list[Any]:
    return state if isinstance(state, list) else [state]
