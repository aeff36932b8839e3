"""Digest of the content of a value. Equal values have the same digest in every process."""

from __future__ import annotations

import copyreg
import math
import random
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from dis import get_instructions
from functools import cached_property
from hashlib import blake2b
from sysconfig import get_paths
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_halving._typing import Parameterized, Params

DIGEST_BYTES = 16
BLOCK_ROWS = 2**16
OF_NO_MATTER = frozenset({"n_jobs", "verbose"})
"""Parameters of an estimator that do not change the fitted model."""
KEPT_BY_CLONE = frozenset({"_sklearn_output_config", "_metadata_request"})
"""Attributes of an estimator that a clone has, too."""
STDLIB = get_paths()["stdlib"]
PACKAGES = {"joblib", "numpy", "pandas", "scipy", "sklearn", "sklearn_halving"}
"""Never the user's own code, even if it is installed from a checkout."""
_at_first: dict[int, tuple[object, str]] = {}
"""By id: data of modules, which are kept so that the id stays theirs, and their digests."""
GENERATORS = np.random.Generator | np.random.RandomState | random.Random
"""Their state is no part of the code that uses them."""
GENERATOR = "_random_state"
"""Attribute of a distribution of SciPy. It is ignored: a search draws with its own generator."""


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
        Whether functions also count with the constants and functions that they read from their
        module, and objects with the functions and constants of their class. That is for the
        user's own code, and not for that of installed packages.
    """
    functions: list[types.FunctionType] | None = [] if with_code else None
    hasher = _Hasher(functions=functions)
    for value in values:
        hasher.add(value)
    if functions:
        hasher.add_unordered("code", _code_digests(functions))
    return hasher.digest()


def params_digest(params: Params) -> str:
    """Return the identity of a candidate: equal candidates have the same digest.

    1 and 1.0 differ, as for ``max_features``. A scalar of NumPy is the same as that of Python.
    """
    return content_hash({name: plain_value(value) for name, value in params.items()})


def value_digest(value: object) -> str:
    """Return the identity of a value of a parameter, as in `params_digest`."""
    return content_hash(plain_value(value))


def plain_value(value: Any) -> Any:
    """Return a scalar of NumPy as that of Python, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


class _Hasher:
    """Traverses a value recursively and updates a digest.

    Parameters
    ----------
    parents : tuple of int
        The ids of the objects that contain the current one.
    functions : list or None
        The functions that were found are added to it; None if their code does not count.
    """

    def __init__(
        self,
        parents: tuple[int, ...] = (),
        functions: list[types.FunctionType] | None = None,
    ):
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self._parents = parents
        self._functions = functions

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
        if isinstance(value, list | tuple):
            self._add_sequence(value)
        elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - much faster
            self.add_unordered("dict", map(self.digest_of, value.items()))
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
            if hasattr(value.dtype, "categories"):  # ordered, and the dtype's text is truncated
                self._add_all([value.dtype.categories])
            self._add_array(np.asarray(value))
        else:
            self._add_object(value)

    def _add_all(self, values: Iterable[object]) -> None:
        for value in values:
            self.add(value)

    def add_unordered(self, kind: str, digests: Iterable[str]) -> None:
        """Update the digest with those of the items of a dict or a set."""
        ordered = sorted(digests)
        self._tag(kind, str(len(ordered)).encode())
        for digest in ordered:
            self._tag("item", digest.encode())

    def digest_of(self, value: object) -> str:
        hasher = _Hasher(parents=self._parents, functions=self._functions)
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
        self._add_parts(type(value))
        if isinstance(value, type | types.ModuleType):
            self._tag("name", _full_name(value).encode())
            if isinstance(value, type):
                self._add_parts(value)
        elif isinstance(value, types.FunctionType | types.MethodType | types.CodeType):
            self._add_code(value)
        elif isinstance(value, Parameterized):
            params = value.get_params(deep=False)
            self.add({name: v for name, v in params.items() if name not in OF_NO_MATTER})
            clone = getattr(type(value), "__sklearn_clone__", None)
            clones_itself = clone is not None and clone.__module__ != "sklearn.base"
            kept = vars(value) if clones_itself else vars(value).keys() & KEPT_BY_CLONE
            self._add_all((name, vars(value)[name]) for name in sorted(kept))
            if _is_of("sklearn.frozen", "FrozenEstimator", value):  # with the fitted attributes
                self.add(dict(vars(params["estimator"])))
        elif is_dataclass(value):
            self.add({each.name: getattr(value, each.name) for each in fields(value)})
        elif value is np.random.mtrand._rand:  # the global one changes all the time
            self._tag("global")
        elif hasattr(value, "__array__"):  # data frames and tensors of other libraries
            columns = getattr(value, "schema", None) or getattr(value, "columns", "")
            self._tag("columns", str(columns).encode())
            try:
                self._add_array(np.asarray(value))
            except Exception:  # noqa: BLE001 - on a GPU, for example
                self.add(_state_of(value))
        else:
            self.add(_state_of(value))
            if "__wrapped__" in getattr(value, "__dict__", ()):  # as by `functools.lru_cache`
                self.add(value.__wrapped__)

    def _add_parts(self, kind: type) -> None:
        if self._functions is not None:
            own, constants = _parts_of_class(kind)
            self._functions += own
            self._add_all(constants)

    def _add_code(self, value: types.FunctionType | types.MethodType | types.CodeType) -> None:
        if isinstance(value, types.MethodType):
            self._add_all([value.__func__, value.__self__])
        elif isinstance(value, types.CodeType):
            self._tag("code", value.co_code)
            # Among the constants are the docstring, sets, and the code of functions inside.
            self._add_all([value.co_names, value.co_varnames, *value.co_consts])
        else:
            self._tag("name", _full_name(value).encode())
            cells = [_content_of(cell) for cell in value.__closure__ or ()]
            self._add_all([value.__code__, cells, value.__defaults__, value.__kwdefaults__])
            if self._functions is not None:
                self._functions.append(value)


def _parts_of_class(kind: type) -> tuple[list[types.FunctionType], list[object]]:
    """Return the functions and the constants of a class of the user's own."""
    functions: list[types.FunctionType] = []
    constants: list[object] = []
    for base in kind.__mro__:
        parts = vars(base).items()
        own = [f for _, value in parts if (f := _unwrapped(value)) is not None and _is_own(f)]
        functions += own
        if own:
            constants += [(n, v) for n, v in parts if n[:2] != "__" and _is_constant(v)]
    return functions, constants


def _unwrapped(value: Any) -> types.FunctionType | None:
    """Return a function, or that of a method, a property and the like; None if there is none."""
    if isinstance(value, staticmethod | classmethod | types.MethodType):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif not isinstance(value, types.FunctionType):  # as by `lru_cache`
        value = getattr(value, "__dict__", {}).get("__wrapped__")
    return value if isinstance(value, types.FunctionType) else None


def _is_constant(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    return isinstance(value, str | bytes | int | float | complex | None)


def _is_own(function: types.FunctionType) -> bool:
    """Return whether a function is the user's own, and not part of an installed package."""
    file, package = function.__code__.co_filename, str(function.__module__).partition(".")[0]
    is_installed = "site-packages" in file or "dist-packages" in file
    return not (is_installed or file.startswith((STDLIB, "<frozen")) or package in PACKAGES)


def _code_digests(functions: list[types.FunctionType]) -> set[str]:
    """Return the digests of the user's own functions that some use, and of what they read."""
    digests, seen, queue = set[str](), set[int](), list(functions)
    while queue:
        function = queue.pop()
        if id(function) in seen or not _is_own(function):
            continue
        seen.add(id(function))
        digests.add(_Hasher(functions=queue).digest_of(function))
        for name, value in _globals_read(function).items():
            if (used := _unwrapped(value)) is not None:
                queue.append(used)
            elif _is_constant(value):
                digests.add(_Hasher().digest_of((name, value)))
            elif not isinstance(value, type | GENERATORS):
                digests.add(_digest_at_first(name, value))
    return digests


def _digest_at_first(name: str, value: object) -> str:
    """Return the digest of an object of a module, as it was when this process first asked.

    A function may count its calls or keep what it has computed in it.
    """
    if id(value) not in _at_first:
        _at_first[id(value)] = value, name  # what it uses may use it
        with suppress(RecursionError):
            _at_first[id(value)] = value, content_hash(name, value, with_code=True)
    return _at_first[id(value)][1]


def _globals_read(function: types.FunctionType) -> dict[str, object]:
    """Return the data and the functions that a function reads from its module.

    Names that it also writes, such as that of a counter, are left out, and so are modules.
    """
    read: set[str] = set()
    written: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        for step in get_instructions(code):
            if step.opname == "STORE_GLOBAL":
                written.add(step.argval)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(step.argval)
    known = {name: function.__globals__.get(name) for name in sorted(read - written)}
    return {name: v for name, v in known.items() if not isinstance(v, types.ModuleType)}


def _state_of(value: object) -> object:
    """Return what pickle stores of an object itself; None if it cannot be pickled.

    Pickle omits locks, clocks and shared objects: a logger, for example, is stored as its name.
    """
    registered = copyreg.dispatch_table.get(type(value))
    try:
        parts: Any = value.__reduce_ex__(2) if registered is None else registered(value)
    except Exception:  # noqa: BLE001 - the class may raise anything
        return getattr(value, "__dict__", None)
    if isinstance(parts, str):
        return parts
    return [
        {name: item for name, item in part.items() if name != GENERATOR}
        if isinstance(part, dict)
        else part
        for part in parts[1:]  # the first is the function that would make the object
    ]


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
