"""The user's own code: what it is, and what it reads and contains."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dis import get_instructions
from importlib import import_module
from importlib.util import find_spec
from sysconfig import get_paths
from typing import Any

STDLIB = get_paths()["stdlib"]
PACKAGES = {"joblib", "numpy", "pandas", "scipy", "sklearn", "sklearn_halving"}
"""Never the user's own code, even if it is installed from a checkout."""
OF_PYTHON = frozenset(
    {"__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__slotnames__"}
    | {"__abstractmethods__", "__annotations__", "__static_attributes__", "__weakref__"}
    | {"_abc_impl"}
)
"""What Python itself writes into a class."""
MAX_MODULES = 5
"""How far modules are followed that name each other."""


def is_own(thing: type | types.FunctionType | types.ModuleType) -> bool:
    """Return whether code is the user's own, and not part of an installed package."""
    module = thing.__name__ if isinstance(thing, types.ModuleType) else str(thing.__module__)
    package = module.partition(".")[0]
    if package in PACKAGES or package in sys.stdlib_module_names:
        return False
    if isinstance(thing, types.FunctionType):
        return not is_of_package(thing)
    # In a worker, __main__ is not the script that a class comes from.
    is_of_script = module in ("__main__", "__mp_main__")
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return is_of_script or not is_installed(file)


def is_of_package(function: types.FunctionType) -> bool:
    """Return whether an installed package has made a function, such as a wrapper of a method.

    Its code has lost its file if it was sent to a worker by value.
    """
    file = function.__globals__.get("__file__") or function.__code__.co_filename
    return is_installed(str(file))


def is_installed(file: str) -> bool:
    is_package = "site-packages" in file or "dist-packages" in file
    return is_package or file.startswith((STDLIB, "<frozen"))


def contents(thing: Any) -> Iterator[tuple[str, object]]:
    """Yield what own code consists of, by its names: also that of own base classes."""
    if isinstance(thing, types.FunctionType):
        yield from _globals_read(thing)
    elif isinstance(thing, types.ModuleType):
        own = [n for n, v in vars(thing).items() if not isinstance(v, types.ModuleType)]
        yield from ((f"{thing.__name__}.{n}", vars(thing)[n]) for n in own if n[:2] != "__")
    else:
        for base in filter(is_own, thing.__mro__):
            yield base.__qualname__, base.__bases__
            own = vars(base).keys() - OF_PYTHON
            yield from ((f"{base.__qualname__}.{name}", vars(base)[name]) for name in own)


def _globals_read(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield a function, and what it reads from its module, and from own modules that it names."""
    yield function.__qualname__, function
    names: set[str] = set()
    modules: list[str] = []
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        names.update(code.co_names)
        names.update(part for part in code.co_consts if isinstance(part, str))  # as for `getattr`
        modules += _modules_imported(code)
    imported = {name: module for name in modules if (module := _own_module(name))}
    yield from _named(function.__globals__ | imported, names | imported.keys(), "")


def _named(known: dict[str, Any], names: set[str], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield what has one of the names, also in own modules that have."""
    for name in sorted(names & known.keys()):
        value = known[name]
        if not isinstance(value, types.ModuleType):
            yield f"{prefix}{name}", value
        elif is_own(value) and prefix.count(".") < MAX_MODULES:
            yield from _named(vars(value), names, f"{prefix}{name}.")


def _modules_imported(code: types.CodeType) -> Iterator[str]:
    """Yield the names of what a code imports, which may be modules."""
    package = ""
    for step in get_instructions(code):
        if step.opname == "IMPORT_NAME":
            package = step.argval
            yield package
        elif step.opname == "IMPORT_FROM":
            yield f"{package}.{step.argval}"


def _own_module(name: str) -> types.ModuleType | None:
    """Import a module that a function would import, if it is an own one."""
    try:
        spec = find_spec(name.partition(".")[0])  # imports nothing
        is_own = spec is not None and not is_installed(spec.origin or "")
        return import_module(name) if is_own else None
    except Exception:  # noqa: BLE001 - the module may raise anything
        return None
