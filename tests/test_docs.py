"""The pages: all of their code runs, all of their links lead somewhere, no public name is missing.

What runs, and where. Python stands in fences named ``python`` with ``>>>`` prompts, and .ci/run
doctests every page that has any. Commands stand in fences named ``sh``, from which .ci/run takes
them by a word. The line above a fence says what is otherwise the case:

- ``<!-- run by: FILE -->``: that test file reads the page and runs the block;
- ``<!-- not run: REASON -->``: it cannot be run here, such as a command for a second machine.

A script of `examples/` needs no such line: .ci/run runs all of them. A fence without a name holds
text.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import ROOT, run_script, text_of

DOCS = ROOT / "docs"
MADE_BY_SPHINX = {"_build", "auto_examples", "generated", "backreferences"}
FOLDERS = ["plotting", "policies", "resources", "samplers", "search", "simulation", "spaces"]
FOLDERS += ["splits", "testing"]

FENCE = re.compile(r"^ *(`{3,}|~{3,}|:{3,})\s*(\S*)")
IN_A_LIST = re.compile(r" +\S|([-*+]|\d+\.) ")
MARKER = re.compile(r"^ *<!-- (run by|not run): (.+) -->$")
TAKEN = re.compile(r"run_block(?: \\\n)? +(\S+) (\S+)")
SCRIPT = re.compile(r"^(?:\S*python3? )?(examples/\S+\.py)( --?\S+| [\w.,]+)*$")
LOOKS_LIKE_CODE = re.compile(
    r"^ *(>>> |\$ |import \w|from [\w.]+ import|def \w|class \w|(\S*/)?(python3?|pip) |dask |ray )"
)


@dataclass(frozen=True)
class Block:
    """A block of code or text, its language, and what the line above it says."""

    line: int
    language: str
    lines: tuple[str, ...]
    marker: str = ""
    note: str = ""


def blocks(text: str) -> Iterator[Block]:
    """Yield what is fenced, and what is indented as code (language "indented")."""
    lines = text.splitlines()
    at, above, is_after_blank = 0, "", True
    while at < len(lines):
        fence = FENCE.match(lines[at])
        marker = MARKER.match(above)
        said = marker.groups() if marker else ("", "")
        if fence and not fence[1].startswith(":"):
            end = next(
                (i for i in range(at + 1, len(lines)) if lines[i].strip() == fence[1]), len(lines)
            )
            yield Block(at + 1, fence[2], tuple(lines[at + 1 : end]), *said)
            at, above = end, ""
        elif is_after_blank and lines[at].startswith("    ") and not IN_A_LIST.match(above):
            yield Block(at + 1, "indented", (lines[at],), *said)
        if at < len(lines) and lines[at].strip():
            above = lines[at]
        is_after_blank = at >= len(lines) or not lines[at].strip()
        at += 1


def complaint(block: Block, page: str = "docs/index.md") -> str:
    """Return what is wrong with a block; nothing if it runs, or says why it does not."""
    code = [line for line in block.lines if line.strip()]
    if block.language == "indented":
        return "is indented code: put it in a fence with a name"
    if block.language in {"{code}", "{code-block}"}:
        return "is a directive: write a fence with the language alone"
    if block.marker == "not run" or block.language.startswith("{"):
        return ""
    if block.marker == "run by":
        reader = ROOT / block.note
        reads = reader.is_file() and Path(page).stem in reader.read_text(encoding="utf-8")
        return "" if reads else f"{block.note} does not read the page"
    if block.language == "python":
        return (
            ""
            if code and code[0].lstrip().startswith(">>> ")
            else "has no >>> prompts: nothing runs it"
        )
    if block.language == "sh":
        taken = TAKEN.findall((ROOT / ".ci/run").read_text(encoding="utf-8"))
        if any(page == of and word in "\n".join(code) for of, word in taken):
            return ""
        scripts = [SCRIPT.match(line) for line in code]
        runs = all(found and (ROOT / found[1]).is_file() for found in scripts)
        return "" if runs else ".ci/run does not run it, and nothing says why"
    if any(LOOKS_LIKE_CODE.match(line) for line in code):
        return "looks like code: name its language"
    return ""


def pages() -> list[str]:
    """Return the pages, relative to the root."""
    found = [
        path.relative_to(ROOT).as_posix()
        for path in sorted(DOCS.rglob("*.md"))
        if not MADE_BY_SPHINX.intersection(path.relative_to(DOCS).parts)
    ]
    return ["README.md", *found]


PAGES = pages()


# ------------------------------------------------------------------------------ the pages


def test_the_pages_were_found() -> None:
    assert {"README.md", "docs/index.md", "docs/hyperband.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_or_says_why_not(page: str) -> None:
    found = [
        f"{page}:{block.line}: {wrong}"
        for block in blocks(text_of(page))
        if (wrong := complaint(block, page))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.full  # it takes the twenty seconds that the page gives to the search
@pytest.mark.slow
def test_the_code_of_the_readme_prints_what_it_says(tmp_path: Path, monkeypatch) -> None:
    """It has no prompts, so that it can be pasted from a rendered page. Numbers may differ."""

    def without_numbers(text: str) -> str:
        return re.sub(r"\d[\d.]*", "#", text)

    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads of a busy machine wait for each other
    code, output = (
        next("\n".join(b.lines) for b in blocks(text_of("README.md")) if b.language == language)
        for language in ("python", "text")
    )
    done = run_script(tmp_path, code, temp_folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for line in output.splitlines():
        start = without_numbers(line.partition(":")[0])  # a busy machine has fewer common splits
        assert line.strip() == "..." or start in without_numbers(done.stdout)


@pytest.mark.parametrize("page", PAGES)
def test_included_code_is_run_by_commands_of_the_page(page: str) -> None:
    text = text_of(page)
    run = [line for b in blocks(text) if b.language == "sh" and not b.marker for line in b.lines]
    included = re.findall(r"\{literalinclude\} (\S+)", text)
    assert not [name for name in included if not any(name in line for line in run)]


def anchors(path: Path) -> set[str]:
    """Return the anchors that headings of a page have, here and on GitHub."""
    headings = re.findall(r"^#+ (.+?)\s*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


GITHUB_PAGES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(".github/*.md"))


@pytest.mark.parametrize("page", [*PAGES, *GITHUB_PAGES])
def test_links_and_images_lead_somewhere(page: str) -> None:
    found = []
    prose = re.sub(r"^ *```.*?^ *```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "", prose)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() and "auto_examples" not in name:
            found.append(f"{page}: {target} does not exist")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            found.append(f"{page}: {target} is no heading")
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("page", PAGES)
def test_scripts_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"\bexamples/[\w/]+\.py\b", text_of(page))
    assert not [name for name in named if not (ROOT / name).is_file()]


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    """Such as `search/_base.py`, in code font."""
    named = re.findall(r"`((?:[\w.]+/)+(?:\w+\.\w+)?)`", text_of(page))
    roots = [ROOT, ROOT / "sklearn_halving", DOCS]
    assert not [name for name in named if not any((root / name).exists() for root in roots)]


def test_contributing_draws_every_folder_of_the_package() -> None:
    drawn = re.findall(r"^ +(\w+)/ ", text_of(".github/CONTRIBUTING.md"), flags=re.MULTILINE)
    package = ROOT / "sklearn_halving"
    folders = [path.parent.name for path in package.rglob("__init__.py") if path.parent != package]
    assert sorted(drawn) == sorted(folders)


def test_every_example_is_in_one_group_of_the_gallery() -> None:
    """The page hides the list that the gallery makes itself."""
    grouped = re.findall(r"\.\./examples/(plot_\w+\.py)", text_of("examples/GALLERY_HEADER.rst"))
    assert sorted(grouped) == sorted(path.name for path in ROOT.glob("examples/plot_*.py"))


def test_the_tables_of_the_evidence_are_those_that_scripts_wrote() -> None:
    script = ROOT / "examples" / "benchmarks" / "_evidence.py"
    page = text_of("docs/evidence.md")
    assert runpy.run_path(str(script))["filled"](page) == page, f"run {script.name}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.csv")), ids=lambda p: p.name)
def test_every_figure_names_the_commit_of_the_code_that_wrote_it(path: Path) -> None:
    head, *commits = [line.rpartition(",")[2] for line in path.read_text("utf-8").splitlines()]
    assert head == "commit"
    assert all(re.fullmatch("[0-9a-f]{7}", commit) for commit in commits)


# -------------------------------------------------------------------------- the reference


def public_objects() -> dict[str, object]:
    """Return {full name: object} of everything in the `__all__` of what users import."""
    modules = ["sklearn_halving", *(f"sklearn_halving.{folder}" for folder in FOLDERS)]
    found = {}
    for module in map(importlib.import_module, modules):
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    del found["sklearn_halving.__version__"]
    return found


def reference_names() -> list[str]:
    """Return the full names in the reference, one for each entry."""
    found = []
    for path in sorted((DOCS / "api").glob("*.rst")):
        module, is_list = "", False
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif line.startswith(".. "):
                is_list = line.startswith(".. autosummary::")
            elif is_list and re.fullmatch(r"   \w+", line):
                found.append(f"{module}.{line.strip()}")
            elif line and not line.startswith(" "):
                is_list = False
    return found


def test_reference_has_every_public_object_once() -> None:
    listed, public = reference_names(), public_objects()
    assert not set(listed) - set(public), "in docs/api, but not in an __all__"
    ids = [id(public[name]) for name in listed]
    assert len(set(ids)) == len(ids), "an object is in docs/api twice"
    missing = [name for name, value in public.items() if id(value) not in ids]
    assert not missing, f"without an entry in docs/api/*.rst: {missing}"


DOCUMENTED = {
    name: value
    for name, value in public_objects().items()
    if inspect.isclass(value) or inspect.isfunction(value)
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_object_has_an_example(name: str) -> None:
    """Its own: what a base class says does not count. .ci/run runs all of them."""
    own = vars(DOCUMENTED[name]).get("__doc__") or inspect.getdoc(DOCUMENTED[name]) or ""
    _, heading, examples = inspect.cleandoc(own).partition("\nExamples\n--------\n")
    assert heading, "has no section Examples"
    assert ">>> " in examples
