"""What a new policy takes: sequential halving in a copy of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import ROOT

pytestmark = pytest.mark.slow

POLICY = '''"""Sequential halving (Karnin, Koren and Somekh 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sklearn_halving.policies._arrays import IntArray
from sklearn_halving.policies._plan import Round
from sklearn_halving.policies.bases._parameter_checks import check_budget
from sklearn_halving.policies.bases._planned_pulls import Game, PlannedPolicy, halving_widths
from sklearn_halving.policies.bases._ranking import best_known, keep_best


@dataclass(frozen=True)
class SequentialHalving(PlannedPolicy):
    """Drop half of the arms in each of ``log2(K)`` rounds with equal budgets.

    Examples
    --------
    >>> SequentialHalving(n_pulls=60)
    SequentialHalving(n_pulls=60)
    """

    n_pulls: int

    def _play(self, game: Game) -> Iterator[IntArray]:
        widths = halving_widths(game.n_arms) or [1]
        least = len(widths) * game.n_arms
        check_budget("n_pulls", self.n_pulls, least, "to pull every arm in each round")
        plan = [(width, self.n_pulls // (width * len(widths))) for width in widths]
        game.stages = tuple(Round(w, game.level, most_pulls=w * n) for w, n in plan)
        for width, n_each in plan:
            yield game.within_splits(game.contested() * n_each)
            game.best = best_known(game.alive, game.mean())
            game.alive = keep_best(game.mean(), game.alive, (width + 1) // 2)
            game.stage += 1
'''
SEQUENTIAL = """    sklearn_halving.policies.SequentialHalving: [
        noisy(sklearn_halving.policies.SequentialHalving(75), 6, uses_ranks_only=True),
    ],
"""
FILE = "sklearn_halving/policies/_sequential_halving.py"
LINES = {
    "sklearn_halving/policies/__init__.py": (
        '__all__ += ["NO_ARM"',
        """from sklearn_halving.policies._sequential_halving import SequentialHalving
__all__ += ["SequentialHalving"]
""",
    ),
    "sklearn_halving/search/_bandit.py": (
        '    "ucb1": ',
        '    "sequential_halving": lambda _, n, *__: policies.SequentialHalving(n),\n',
    ),
    "docs/policies.md": (
        "| `SuccessiveRejects` |",
        '| `SequentialHalving` | `"sequential_halving"` | few errors | none | 2013 | tests |\n',
    ),
    "docs/api/policies.rst": ("   SuccessiveRejects\n", "   SequentialHalving\n"),
    "tests/policies/test_conformance.py": (
        "    SuccessiveRejects: [",
        SEQUENTIAL,
    ),
}
"""What each file needs, and before what it stands."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("sklearn_halving", "tests", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "images", "_build", "generated")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / FILE).write_text(POLICY)
    return tmp_path


def add_line(root: Path, name: str) -> None:
    text, (before, line) = (root / name).read_text(), LINES[name]
    assert text.count(before) == 1
    (root / name).write_text(text.replace(before, line + before))


def outcome_of(root: Path) -> str:
    """Return what the tests of the policies print in the copy."""
    files = [f"tests/policies/test_{name}.py" for name in ("conformance", "page")]
    reference = "tests/test_docs.py::test_reference_has_every_public_object_once"
    names = "every_policy or SequentialHalving or without_a_name or reference"
    command = [sys.executable, "-m", "pytest", "-q", *files, reference, "-k", names]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_a_new_policy_is_short_and_its_tests_pass(copy: Path) -> None:
    code = POLICY.split('"""')[2::2]  # what stands between the docstrings
    written = [line for part in code for line in part.splitlines() if line.strip()]
    added = [line for _, text in LINES.values() for line in text.splitlines()]
    assert len(written + added) <= 30
    assert len(LINES) <= 5
    for name in LINES:
        add_line(copy, name)
    printed = outcome_of(copy)
    assert " passed" in printed, printed
    assert "SequentialHalving" not in printed, printed  # names of tests that fail
