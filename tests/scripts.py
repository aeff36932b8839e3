"""Scripts that tests run in a process of their own, and what these leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def run_script(
    tmp_path: Path, code: str, *arguments: str, temp_folder: Path
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "JOBLIB_TEMP_FOLDER": str(temp_folder)}
    environment["TMPDIR"] = str(temp_folder)
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=environment,
    )


def left_in(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]
