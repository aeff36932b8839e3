"""The page of all policies: complete, with the names that work, and examples that run."""

from __future__ import annotations

import doctest
import re

import pytest

from scripts import ROOT
from sklearn_halving import policies
from sklearn_halving.search._bandit import NAMES

PAGE = ROOT / "docs" / "policies.md"
TYPES = {
    *("BasePolicy", "Game", "NO_ARM", "Policy", "Problem", "Pull", "Pulls"),
    *("Bracket", "Plan", "Round", "ScoresAtLevel", "open_plan"),
    *("Believes", "ChoosesPoints", "GrowsArms", "Guarantees", "PlaysLevels", "PlaysStages"),
    *("IndexPolicy", "PlannedPolicy", "SimplePolicy", "StopsEarly"),
}
PARTS = {"KernelFamily"}
PUBLIC = sorted({*policies.__all__} - TYPES - PARTS)
CLASSES = {name: type(make(4, 80, 2, 5)).__name__ for name, make in NAMES.items()}
NAMED = {*CLASSES.values()}


def row_of(name: str) -> list[str]:
    """Return the cells of the policy's row."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1, f"docs/policies.md must have one row for {name}"
    return [cell.strip() for cell in rows[0].strip("|").split("|")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_policy_stands_on_the_page(name: str) -> None:
    cells = row_of(name)
    assert len(cells) in (5, 6)
    guarantee, assumption, paper, use = cells[-4:]
    assert all([guarantee, assumption, use])
    assert re.search(r"\d{4}|16\.\d", paper), "names no paper"


@pytest.mark.parametrize(("name", "class_name"), CLASSES.items())
def test_names_on_the_page_are_those_that_work(name: str, class_name: str) -> None:
    assert row_of(class_name)[1] == f'`"{name}"`'


@pytest.mark.parametrize("name", sorted({*PUBLIC} - NAMED))
def test_what_has_no_name_has_none_on_the_page(name: str) -> None:
    cells = row_of(name)
    assert len(cells) == 5 or not cells[1]


def test_the_examples_run() -> None:
    result = doctest.testfile(
        str(PAGE),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert result.attempted > 5
    assert result.failed == 0
