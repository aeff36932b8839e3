"""Files around the package: recipe, citation, workflows, and the one placeholder."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from scripts import ROOT, text_of

yaml = pytest.importorskip("yaml")  # comes with dask, one of the extras of the tests
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLACEHOLDER = PROJECT["urls"]["Repository"]


def canonical(requirement: str) -> str:
    return requirement.replace(" ", "").lower()


def test_the_recipe_has_the_requirements_of_the_package():
    recipe = yaml.safe_load(
        re.search(r"```yaml\n(.*?)```", text_of(".github/CONTRIBUTING.md"), re.DOTALL)[1]
    )
    wanted = {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    assert set(map(canonical, recipe["requirements"]["run"])) == set(map(canonical, wanted))
    assert recipe["package"]["name"] == PROJECT["name"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_citation_has_the_version_of_the_package():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_workflows_run_every_part_of_ci_run_on_linux():
    jobs = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]
    in_workflow = " ".join(jobs["linux"]["strategy"]["matrix"]["parts"]).split()
    known = re.findall(r"^ +part ([\w-]+)|^part ([\w-]+)", text_of(".ci/run"), re.MULTILINE)
    assert sorted(in_workflow) == sorted({a or b for a, b in known})


def test_the_address_of_the_repository_stands_in_one_place():
    """It is a placeholder until there is an address: nobody invents one."""
    if not (ROOT / ".git").exists():
        pytest.skip("git lists the files; this is an sdist")
    command = ["git", "grep", "-lF", PLACEHOLDER]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["pyproject.toml"]
    upload_is_refused = "Private :: Do Not Upload" in PROJECT["classifiers"]
    assert upload_is_refused == (".invalid/" in PLACEHOLDER)
