"""The block on the page of clusters that needs a Ray cluster: run against a real one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scripts import ROOT, run_script

PAGE = ROOT / "docs" / "clusters.md"

BEFORE = """
from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn_halving import HyperbandSearchCV

X, y = load_iris(return_X_y=True)
search = HyperbandSearchCV(SVC(), {"C": loguniform(1e-2, 1e3)}, max_candidates=9, random_state=0)
"""
AFTER = """
on_ray = search.best_params_
print("same" if search.set_params(n_jobs=None).fit(X, y).best_params_ == on_ray else on_ray)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Ray is a dependency of the tests there")
@pytest.mark.usefixtures("ray_cluster")
def test_block_of_ray_runs(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- run by: \S+ -->\n```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 1
    done = run_script(tmp_path, BEFORE + blocks[0] + AFTER, temp_folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "same"
