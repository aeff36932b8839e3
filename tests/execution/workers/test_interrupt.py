"""Ctrl-C for a search that runs in a process which `multiprocessing` started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import run_script

IN_A_CHILD = """
import multiprocessing, os, signal, sys, threading, time
import numpy as np
from doubles import Known
from sklearn_halving import HyperbandSearchCV
mark = sys.argv[1]

def marked_score(estimator, X, y):
    with open(mark, "ab") as file:
        file.write(b".")
    return estimator.score(X, y)

def interrupt():
    while os.path.getsize(mark) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

def run_search():
    threading.Thread(target=interrupt, daemon=True).start()
    search = HyperbandSearchCV(
        Known(seconds=0.3), {"quality": list(range(60))}, max_resources=36, min_resources=4,
        cv=3, scoring=marked_score, fit_timeout=600,
    )
    try:
        search.fit(np.zeros((90, 2)), np.arange(90) % 2)
    except KeyboardInterrupt:
        print("interrupted", os.path.getsize(mark) < 12)
    print("as before", signal.getsignal(signal.SIGINT) is signal.default_int_handler)

if __name__ == "__main__":
    open(mark, "w").close()
    child = multiprocessing.get_context("spawn").Process(target=run_search)
    child.start()
    child.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to itself")
def test_a_search_with_limits_in_a_child_process_is_interrupted(tmp_path: Path) -> None:
    """The child is the process of the search, though it is not the main one: no worker."""
    folder = tmp_path / "joblib"
    folder.mkdir()
    done = run_script(tmp_path, IN_A_CHILD, str(tmp_path / "mark"), temp_folder=folder)
    assert done.stdout.splitlines() == ["interrupted True", "as before True"], (
        done.stdout + done.stderr
    )
