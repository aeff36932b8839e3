"""What is public is listed in public_api.txt, so that a review sees each change of it.

``python tests/test_public_api.py`` writes the listing anew.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

LISTING = Path(__file__).with_name("public_api.txt")
FOLDERS = ["plotting", "policies", "resources", "samplers", "search", "simulation", "spaces"]
FOLDERS += ["splits", "testing"]
MODULES = ["sklearn_halving", *(f"sklearn_halving.{folder}" for folder in FOLDERS)]


def signature_of(value: object) -> str:
    """Return names and defaults of parameters; the types are for the type checker."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    text = str(inspect.Signature(plain))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def entries() -> Iterator[str]:
    """Yield a line for each public object, and for each public member of our classes."""
    for module in map(importlib.import_module, MODULES):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            yield f"{module.__name__}.{name}{signature_of(value)}"
            if not inspect.isclass(value):
                continue
            for base in value.__mro__:
                if not base.__module__.startswith("sklearn_halving."):
                    continue
                members = {n: v for n, v in vars(base).items() if not n.startswith("_")}
                for member, what in members.items():
                    if callable(what) or isinstance(what, property | classmethod | staticmethod):
                        called = signature_of(getattr(value, member))
                        yield f"{module.__name__}.{name}.{member}{called}"


def listing() -> str:
    return "\n".join(sorted(set(entries()))) + "\n"


def test_the_public_api_is_the_one_that_is_listed() -> None:
    assert listing() == LISTING.read_text(encoding="utf-8"), __doc__


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
