"""Sections of numpydoc docstrings, for documentation that is written once and inserted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping

SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Raises",
    "See Also",
    "References",
    "Examples",
)
"""Titles of sections in their order."""


def entries(docstring: str | None, title: str) -> dict[str, str]:
    """Return the entries of a section, by name."""
    found = _section(title).search(inspect.cleandoc(docstring or ""))
    texts = re.split(r"\n(?=\S)", found[2]) if found else []
    return {text.splitlines()[0].partition(" : ")[0]: text for text in texts}


def with_section(text: str, title: str, texts: Iterable[str]) -> str:
    """Return a docstring with these entries in a section, which is added if it is missing."""
    body = "\n".join(texts)
    found = _section(title).search(text)
    if found:
        return text[: found.start(2)] + body + text[found.end(2) :]
    section = f"{title}\n{'-' * len(title)}\n{body}"
    for later in SECTIONS[SECTIONS.index(title) + 1 :]:
        if found := _section(later).search(text):
            return f"{text[: found.start()]}{section}\n\n{text[found.start() :]}"
    return f"{text}\n\n{section}"


def inherit_sections(method: Callable[..., object], base: Callable[..., object]) -> None:
    """Add the entries of the base class's method that the docstring of a method leaves out.

    Parameters are in the order of the signature. Under ``python -OO``, there is no docstring.
    """
    if not method.__doc__:
        return
    text = inspect.cleandoc(method.__doc__)
    for title in ("Parameters", "Returns", "Raises"):
        known = entries(base.__doc__, title) | entries(method.__doc__, title)
        text = with_section(text, title, _in_order(method, title, known))
    method.__doc__ = text


def _in_order(
    method: Callable[..., object], title: str, known: Mapping[str, str]
) -> Iterable[str]:
    if title != "Parameters":
        return known.values()
    parameters = inspect.signature(method).parameters.values()
    names = [f"**{one.name}" if one.kind is one.VAR_KEYWORD else one.name for one in parameters]
    return [known[name] for name in names if name in known]


def _section(title: str) -> re.Pattern[str]:
    """Return the pattern of a section: its title, and its text up to the next title."""
    return re.compile(rf"^({title}\n-+\n)(.*?)(?=\n\n\w[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)
