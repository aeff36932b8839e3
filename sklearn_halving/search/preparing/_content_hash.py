"""Digest of the content of a value. Equal values have the same digest in every process."""

from __future__ import annotations

import dis
import math
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from sklearn_halving._typing import Parameterized

if TYPE_CHECKING:
    import pandas as pd

DIGEST_BYTES = 16
BLOCK_ROWS = 2**16
OF_NO_MATTER = frozenset({"n_jobs", "verbose"})
"""Parameters of an estimator that do not change the fitted model."""
GENERATORS = frozenset({"_random_state"})
"""Attribute of a distribution that does not matter if values are drawn with another generator."""
INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
"""Folders of installed packages. Their version identifies the code, so the globals that their
functions use are not hashed."""
FORMER_NAMES = {"sklearn_halving.execution._train_test_rows": "sklearn_halving.execution._splits"}
"""Modules that have been renamed: digests in existing journals contain the former name."""


def content_hash(*values: object, without: frozenset[str] = frozenset()) -> str:
    """Return a digest of values, which may contain data, estimators, functions, distributions.

    The digest depends only on the content. It does not depend on memory addresses, on the order
    of a set or a dict, or on Python's hash randomization. A function is hashed by its code, and
    by the constants and functions of its module that it uses. A class is hashed by its name.

    Parameters
    ----------
    *values : object
        The values.
    without : frozenset of str, default=frozenset()
        Names of attributes of the values that are ignored.
    """
    hasher = _Hasher(without)
    for value in values:
        hasher.add(value)
    return hasher.digest()


class _Hasher:
    """Traverses a value recursively and updates a digest.

    Parameters
    ----------
    without : frozenset of str
        Attributes to ignore.
    parents : tuple of int
        The ids of the objects that contain the current one.
    """

    def __init__(self, without: frozenset[str] = frozenset(), parents: tuple[int, ...] = ()):
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._without = without
        self._parents = parents

    def digest(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: object) -> None:
        """Update the digest with a value."""
        if value is None or isinstance(value, str | bytes | bool | int | float | complex):
            self._tag(type(value).__name__, _plain_bytes(value))
        elif id(value) in self._parents:
            self._tag("inside itself", str(self._parents.index(id(value))).encode())
        else:
            self._parents += (id(value),)
            self._add_compound(value)
            self._parents = self._parents[:-1]

    def _tag(self, kind: str, content: bytes = b"") -> None:
        self._hash.update(b"%s:%d:" % (kind.encode(), len(content)))
        self._hash.update(content)

    def _add_compound(self, value: Any) -> None:
        if isinstance(value, np.ndarray | np.generic):
            self._add_array(np.asarray(value))
        elif _is_of_pandas(value, "DataFrame"):
            self._add_frame(value)
        elif _is_of_pandas(value, "Series") or _is_of_pandas(value, "Index"):
            self._tag(type(value).__name__, str((value.dtype, value.name)).encode())
            if hasattr(value.dtype, "categories"):  # ordered, and the dtype's text is truncated
                self._add_all([value.dtype.categories])
            self._add_array(np.asarray(value))
        elif sparse.issparse(value):
            rows = value.tocsr()
            self._tag("sparse", str((value.format, value.shape)).encode())
            self._add_all([rows.data, rows.indices, rows.indptr])
        elif isinstance(value, list | tuple):
            self._add_sequence(value)
        elif isinstance(value, Mapping):
            self._tag("dict", str(len(value)).encode())
            self._add_unordered(value.items())
        elif isinstance(value, set | frozenset):
            self._tag("set", str(len(value)).encode())
            self._add_unordered(value)
        else:
            self._add_object(value)

    def _add_all(self, values: Iterable[object]) -> None:
        for value in values:
            self.add(value)

    def _add_unordered(self, values: Iterable[object]) -> None:
        for digest in sorted(self._digest_of(value) for value in values):
            self._tag("item", digest.encode())

    def _digest_of(self, value: object) -> str:
        hasher = _Hasher(self._without & GENERATORS, self._parents)
        hasher.add(value)
        return hasher.digest()

    def _add_sequence(self, values: Sequence[Any]) -> None:
        self._tag(type(values).__name__, str(len(values)).encode())
        if len(values) and all(type(value) is str for value in values):
            self._add_texts(values)
        elif len(values) and all(type(value) in (int, float) for value in values):
            self._tag("numbers", repr(list(values)).encode())
        else:
            self._add_all(values)

    def _add_texts(self, values: Iterable[str]) -> None:
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        self._tag("lengths", np.array([len(text) for text in encoded], dtype="<i8").tobytes())
        self._tag("texts", b"".join(encoded))

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

    def _add_frame(self, frame: pd.DataFrame) -> None:
        self._tag("frame", str(frame.shape).encode())
        self._add_all([frame.columns, frame.index])
        for place in range(frame.shape[1]):
            self.add(frame.iloc[:, place])

    def _add_object(self, value: object) -> None:
        kind = type(value)
        self._tag(_full_name(kind))
        if isinstance(value, type | types.BuiltinFunctionType | np.ufunc | types.ModuleType):
            module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
            self._tag("name", f"{module}.{name or value.__name__}".encode())
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, types.CodeType):
            self._add_code(value)
        elif isinstance(value, types.MethodType):
            self._add_all([value.__func__, value.__self__])
        elif isinstance(value, partial):
            self._add_all([value.func, value.args, value.keywords])
        elif isinstance(value, Parameterized):
            self._add_estimator(value)
        elif is_dataclass(value):
            names = [f.name for f in fields(value) if f.name not in self._without]
            self.add({name: getattr(value, name) for name in names})
        elif isinstance(value, np.random.RandomState | np.random.Generator):
            # The state of the global generator changes all the time. Copies of a distribution
            # contain a copy of it.
            is_global = value is check_random_state(None) or self._without >= GENERATORS
            self.add("global" if is_global else _generator_state(value))
        elif hasattr(value, "__array__"):  # data frames and tensors of other libraries
            self._tag("columns", str(getattr(value, "columns", "")).encode())
            self._add_array(np.asarray(value))
        else:
            self._add_state(value)

    def _add_estimator(self, estimator: Parameterized) -> None:
        params = estimator.get_params(deep=False)
        self.add({name: v for name, v in params.items() if name not in OF_NO_MATTER})
        if isinstance(estimator, FrozenEstimator):  # includes the fitted attributes
            self.add(dict(vars(estimator.estimator)))

    def _add_function(self, function: types.FunctionType) -> None:
        self._tag("name", _full_name(function).encode())
        self._add_all(_parts(function))
        if not function.__code__.co_filename.startswith(INSTALLED):
            self._add_unordered(_used_globals(function).items())

    def _add_code(self, code: types.CodeType) -> None:
        self._tag("code", code.co_code)
        self._add_all([code.co_names, code.co_varnames])
        for constant in code.co_consts:
            # `add` sorts sets, whose order is random. The docstring is one of the constants.
            self.add(constant)

    def _add_state(self, value: object) -> None:
        """Update the digest with the attributes of an object, or with its pickle state.

        The pickle state is preferred if its class defines one, because it omits locks, clocks
        and shared objects. For example, a logger is pickled as its name.
        """
        kind = type(value)
        parts: str | tuple[object, ...] | None = None
        if _says_how_to_pickle(kind):
            with suppress(Exception):  # the class may raise anything; use the attributes then
                parts = value.__reduce_ex__(2)
        if parts is not None:
            self.add(parts if isinstance(parts, str) else list(parts))
            return
        state = dict(getattr(value, "__dict__", {}))
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in [slots] if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    state[name] = getattr(value, name)
        if not state:
            try:
                parts = value.__reduce_ex__(2)
            except Exception:  # noqa: BLE001 - may raise anything; use only the name then
                return
            self.add(parts if isinstance(parts, str) else list(parts[1:]))
            return
        self.add({name: v for name, v in state.items() if name not in self._without})


def _is_of_pandas(value: object, name: str) -> bool:
    """Return whether a value is an instance of a class of pandas, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, name))


def _plain_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, float) and math.isnan(value):
        return b"nan"
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "surrogatepass")


def _generator_state(generator: np.random.RandomState | np.random.Generator) -> object:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state(legacy=False)


def _full_name(thing: type | types.FunctionType) -> str:
    """Return the qualified name of a class or function.

    The name is the same in a script and in its child processes.
    """
    module = "__main__" if thing.__module__ == "__mp_main__" else thing.__module__
    module = FORMER_NAMES.get(module, module)
    return f"{module}.{thing.__qualname__}"


def _says_how_to_pickle(kind: type) -> bool:
    names = ("__reduce__", "__reduce_ex__", "__getstate__")
    return any(getattr(kind, name, None) is not getattr(object, name, None) for name in names)


def _parts(function: types.FunctionType) -> list[object]:
    cells = [_cell_content(cell) for cell in function.__closure__ or ()]
    return [function.__code__, cells, function.__defaults__, function.__kwdefaults__]


def _used_globals(function: types.FunctionType) -> dict[str, object]:
    """Return the constants and functions of its module that a function uses.

    Indirect uses through such functions are included. Global variables that one of these
    functions sets, such as a counter of calls, are not included.
    """
    known, module = function.__globals__, function.__module__
    used: dict[str, object] = {}
    written: set[str] = set()
    waiting = [function]
    while waiting:
        read, set_there = _global_names(waiting.pop().__code__)
        written |= set_there
        for name in read - used.keys():
            value = known.get(name)
            if isinstance(value, types.FunctionType) and value.__module__ == module:
                used[name] = _parts(value)
                waiting.append(value)
            elif _is_constant(value):
                used[name] = value
    return {name: value for name, value in used.items() if name not in written}


def _global_names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """Return the names of the globals that the code reads, and of those that it sets."""
    read: set[str] = set()
    written: set[str] = set()
    codes = [code]
    while codes:
        code = codes.pop()
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                read.add(instruction.argval)
            elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                written.add(instruction.argval)
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return read, written


def _is_constant(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    return isinstance(value, str | bytes | bool | int | float | complex)


def _cell_content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name is not bound yet
        return None
