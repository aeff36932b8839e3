"""Build the sdist and the wheel, check both, and use them from an empty folder.

    python .ci/package.py

needs the extra `release` and runs on every system. `python -m build` builds the wheel from the
sdist, so an sdist that lacks a file does not pass. The wheel is installed with its required
dependencies only, as `pip install sklearn-halving` does, and has to run the README of the sdist.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_halving"
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")
}


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command and raise if it fails."""
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    subprocess.run(words, cwd=cwd, env=ENVIRONMENT, check=True)


def new_python(folder: Path) -> Path:
    """Return the interpreter of a new environment."""
    run(sys.executable, "-m", "venv", folder)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def check_files(wheel: Path) -> None:
    """Raise if the wheel lacks a module or a marker of the package, or holds anything else."""
    tracked = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    if packed != tracked:
        raise SystemExit(f"The wheel and the package differ: {sorted(packed ^ tracked)}")


def main() -> None:
    """Build and check; any failure ends the script with its error."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(sys.executable, "-m", "build", "--outdir", scratch / "dist", ROOT)
        (sdist,), (wheel,) = ((scratch / "dist").glob(end) for end in ("*.tar.gz", "*.whl"))
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
        check_files(wheel)

        with tarfile.open(sdist) as archive:
            archive.extractall(scratch / "source", filter="data")
        (source,) = (scratch / "source").iterdir()
        empty = scratch / "empty"
        empty.mkdir()
        python = new_python(scratch / "environment")
        run(python, "-m", "pip", "install", "--quiet", wheel, cwd=empty)
        run(python, "-m", "doctest", "-o", "ELLIPSIS", source / "README.md", cwd=empty)
        where = "import sklearn_halving as s; print(s.__version__, s.__file__)"
        run(python, "-c", where, cwd=empty)
    print("The sdist and the wheel are in order.")


if __name__ == "__main__":
    main()
