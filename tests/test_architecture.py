"""The architecture is a test: who imports whom, where private names may be, sizes, docs.

The rules for imports are the contracts of import-linter in pyproject.toml.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = "sklearn_halving"
ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))
OPTIONAL = ("catboost", "dask", "distributed", "lightgbm", "matplotlib", "ray", "xgboost")
"""Packages that may be missing: imported inside functions only."""
MAX_FILE_LINES, MAX_FUNCTION_LINES = 400, 60  # of code


def lines_of_code(tree: ast.AST, text: str) -> list[int]:
    """Return the numbers of the lines that are neither blank, comments nor docstrings."""
    documented = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            documented.update(range(first.lineno, (first.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return [
        n for n, line in lines if n not in documented and line.strip() and line.strip()[0] != "#"
    ]


def test_contracts_for_imports() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_needs_an_optional_package() -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL}))\n"
        "import importlib, pkgutil, sklearn_halving as package\n"
        "for info in pkgutil.walk_packages(package.__path__, 'sklearn_halving.'):\n"
        "    importlib.import_module(info.name)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_import_loads_no_more_packages_than_scikit_learn() -> None:
    """Import time: a plotting or boosting library must not be paid for by everyone."""
    extra = top_level_packages(PACKAGE) - top_level_packages("sklearn.model_selection")
    assert extra - sys.stdlib_module_names == {PACKAGE}


def top_level_packages(module: str) -> set[str]:
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


PRIVATE = re.compile(
    r"(from|import) (sklearn|joblib)\b[\w.]*\._|from (sklearn|joblib)\b[\w.]* import .*\b_[a-z]"
    r"|['\"](sklearn|joblib)(\.\w+)*\._[a-z]"
)
"""Imports of private names."""
PEEKS = re.compile(
    r"(getattr|hasattr|isinstance)\((self\.)?_?(policy|game)\b(?!, (str|Believes|ChoosesPoints"
    r"|Game|GrowsArms|Guarantees|PlaysLevels|PlaysStages|StopsEarly)\b)"
)
"""Questions to a policy that no protocol of policies answers."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    numbers = lines_of_code(tree, text)
    assert len(numbers) <= MAX_FILE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_own = sum(node.lineno < n <= (node.end_lineno or 0) for n in numbers)
            assert n_own <= MAX_FUNCTION_LINES, node.name
    if not path.name.startswith("_unstable"):
        assert not PRIVATE.findall(text)
    if "policies" not in path.parts:
        assert not PEEKS.findall(text)


def test_tests_mirror_the_folders_of_the_package() -> None:
    def folders(root: Path) -> set[str]:
        return {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")}

    assert folders(ROOT / "tests") == folders(ROOT / PACKAGE)


def test_version_is_that_of_the_metadata() -> None:
    """The version is written twice; reading the metadata would slow down every import."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    package = importlib.import_module(PACKAGE)
    assert package.__version__ == tomllib.loads(text)["project"]["version"]
