"""`mypy --strict` passes on what a user writes, with scikit-learn as users have it: untyped."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "user_script.py"
CONFIG = """\
[mypy]
strict = True
mypy_path = {root}

[mypy-sklearn.*,scipy.*]
# Neither has types, which is no matter of this package.
ignore_missing_imports = True
follow_imports = skip

[mypy-sklearn_halving.*]
# As if installed: users see the types of the package, not the checks of its inside.
follow_imports = silent
"""
WRONG = """
search = HyperbandSearchCV(LogisticRegression(), {"C": [1.0]}, n_jobs="many")
text: int = HyperbandSearchCV(LogisticRegression(), {}).summary()
VarianceHalving("many")
HyperbandSearchCV(LogisticRegression(), {}).fit([[0.0]]).summary("all of it")
VarianceHalvingSearchCV(LogisticRegression(), {}, allocation="likelyhood")
"""


def check(path: Path, folder: Path) -> str:
    """Return what mypy says of a file."""
    pytest.importorskip("mypy", reason="mypy comes with the extra `lint`")
    if not any((Path(folder) / "pandas-stubs").is_dir() for folder in sys.path):
        pytest.skip("pandas-stubs comes with the extra `lint`")
    config = folder / "mypy.ini"
    config.write_text(CONFIG.format(root=ROOT))
    command = [sys.executable, "-m", "mypy", "--config-file", config, path]
    command += ["--cache-dir", folder / "cache", "--no-error-summary"]
    environment = {name: v for name, v in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert not done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with mypy's cache: the second check is quicker than the first."""
    return tmp_path_factory.mktemp("mypy")


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "sklearn_halving" / "py.typed").is_file()


@pytest.mark.slow
@pytest.mark.full
def test_a_script_passes_in_strict_mode(folder: Path) -> None:
    assert check(SCRIPT, folder) == ""


@pytest.mark.slow
def test_what_is_wrong_in_a_script_is_found(folder: Path) -> None:
    """Otherwise everything would be Any, and the test above could not fail."""
    path = folder / "wrong.py"
    path.write_text(SCRIPT.read_text() + WRONG)
    said = check(path, folder)
    assert said.count("error:") == 5
    assert 'Argument "n_jobs"' in said
    assert "[assignment]" in said
    assert 'Too many arguments for "summary"' in said  # what `fit` returns is known
    assert 'Argument 1 to "VarianceHalving"' in said
    assert 'Argument "allocation"' in said


def test_the_script_runs() -> None:
    """So that its types are those of what there is."""
    pytest.importorskip("matplotlib").use("Agg")
    lines = runpy.run_path(str(SCRIPT))["main"]()
    assert "ConfidenceDisplay" in lines
    assert sum(line.startswith("HyperbandSearchCV of SGDClassifier") for line in lines) == 1
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
