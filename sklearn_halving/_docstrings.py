"""Sections of numpydoc docstrings, for documentation that is written once and inserted."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "See Also", "References", "Examples")
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


def inherit_sections(own: Any, base: Any, *titles: str) -> None:
    """Add the entries of a base class, or of its method, that a docstring leaves out.

    Parameters of a method are in the order of its signature. Under ``python -OO``, there is no
    docstring.
    """
    if not own.__doc__:
        return
    text = inspect.cleandoc(own.__doc__)
    for title in titles:
        known = entries(base.__doc__, title) | entries(own.__doc__, title)
        if title == "Parameters":
            names = inspect.signature(own).parameters
            known = {name: known[name] for name in names if name in known}
        text = with_section(text, title, known.values())
    own.__doc__ = text


def _section(title: str) -> re.Pattern[str]:
    """Return the pattern of a section: its title, and its text up to the next title."""
    return re.compile(rf"^({title}\n-+\n)(.*?)(?=\n\n\w[^\n]*\n---|\Z)", re.MULTILINE | re.DOTALL)
