"""The architecture is a test: who imports whom, where private names may be, sizes, docs.

Each check is a function of one module's path and source that returns what it found. It is
run on the package, where it must find nothing, and on snippets in which it must find
something: a check that cannot fail checks nothing.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from sklearn_halving.policies import BasePolicy

PACKAGE = "sklearn_halving"
ROOT = Path(__file__).parents[1]
PACKAGE_ROOT = ROOT / PACKAGE
UNSTABLE_IMPORTS = "_unstable_imports.py"
UNSTABLE_JOBLIB = "_unstable_joblib.py"
UNSTABLE = (Path(UNSTABLE_IMPORTS), Path(UNSTABLE_JOBLIB))

MEMBERS_OF_POLICY = frozenset(name for name in dir(BasePolicy) if not name.startswith("_"))

MAX_FILE_LINES = 400  # 300 is what to aim at
MAX_FUNCTION_LINES = 60  # 40 is what to aim at; the docstring does not count


@dataclass(frozen=True)
class Layer:
    """What the modules of one folder may import besides the standard library.

    Parameters
    ----------
    inside : frozenset of str
        Modules and folders of the package, relative to it. A folder may import itself.
    outside : frozenset of str
        Third-party packages.
    inside_functions : frozenset of str
        Third-party packages that may be missing or are slow to import: allowed inside
        functions and under ``TYPE_CHECKING``, not when the module is imported.
    """

    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    inside_functions: frozenset[str] = frozenset()


def layer(inside: str = "", outside: str = "", inside_functions: str = "") -> Layer:
    return Layer(
        frozenset(inside.split()), frozenset(outside.split()), frozenset(inside_functions.split())
    )


# DESIGN.md, section 2. Only `search` and the package's `__init__` may import `search`.
LAYERS = {
    "samplers": layer("samplers _checks", "numpy scipy"),
    "policies": layer("policies _checks", "numpy scipy"),
    "resources": layer(
        "resources _checks _typing",
        "sklearn numpy pandas",
        "catboost lightgbm xgboost",
    ),
    "execution": layer(
        "execution policies._arrays policies._types resources._types resources._cloning "
        "resources._early_stopping resources._training_size _typing _unstable_imports "
        "_unstable_joblib",
        "numpy joblib sklearn",
        "dask distributed ray",
    ),
    "search": layer(
        "search policies samplers resources execution splits "
        "_checks _docstrings _typing _unstable_imports",
        "sklearn numpy scipy pandas joblib",
        "tqdm",
    ),
    "simulation": layer("simulation policies _checks", "numpy scipy", "pandas matplotlib"),
    "splits": layer("splits _checks _typing", "sklearn numpy"),
    "plotting": layer("plotting splits _docstrings _typing", "sklearn numpy pandas", "matplotlib"),
    "_checks.py": layer(),
    "_docstrings.py": layer(),
    "_typing.py": layer("", "numpy"),
    UNSTABLE_IMPORTS: layer("", "sklearn"),
    UNSTABLE_JOBLIB: layer("", "joblib cloudpickle"),
    "__init__.py": layer(
        "search policies samplers resources execution splits simulation plotting"
    ),
}


@dataclass(frozen=True)
class Import:
    """One imported name: ``from a.b import c`` is ``a.b.c``, ``import a.b`` is ``a.b``."""

    name: str
    line: int
    is_deferred: bool  # inside a function, or seen by the type checker alone

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


# --------------------------------------------------------------------------- the checks


def broken_import_rules(path: Path, source: str) -> list[str]:
    """Find imports that the layer of the module may not make."""
    allowed = LAYERS.get(path.parts[0])
    if allowed is None:
        return [f"{path}: is in no layer; say in LAYERS what it may import"]
    inside = {f"{PACKAGE}.{name}" for name in allowed.inside}
    found = []
    for imported in imports(path, source):
        if imported.top in sys.stdlib_module_names:
            continue
        if imported.top == PACKAGE:
            ok = any(is_within(imported.name, name) for name in inside)
        else:
            ok = imported.top in allowed.outside or (
                imported.is_deferred and imported.top in allowed.inside_functions
            )
        if not ok:
            found.append(f"{path}:{imported.line}: {path.parts[0]} imports {imported.name}")
    return found


def undeclared_dependencies(path: Path, source: str) -> list[str]:
    """Find imports of what a plain installation does not bring along."""
    installed = core_dependencies() | {PACKAGE} | sys.stdlib_module_names
    if path.name == UNSTABLE_JOBLIB:
        installed |= {"cloudpickle"}  # joblib brings it along, as its own copy or as a package
    return [
        f"{path}:{imported.line}: {imported.top} is not in [project] dependencies"
        for imported in imports(path, source)
        if not imported.is_deferred and imported.top not in installed
    ]


def private_names(path: Path, source: str) -> list[str]:
    """Find private names of scikit-learn or joblib outside the two modules made for them."""
    if path in UNSTABLE:
        return []
    tree = ast.parse(source)
    own = PRIVATE_NAMES | set(private_definitions(tree))
    found = {line: name for line, name in private_attributes(tree) if name not in own}
    for imported in imports(path, source):
        if imported.top in ("sklearn", "joblib") and has_private_part(imported.name):
            found[imported.line] = imported.name
    foreign = dict(names_bound_to("sklearn", tree)) | dict(names_bound_to("joblib", tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in foreign:
                found[node.lineno] = f"{foreign[root.id]}...{node.attr}"
        elif isinstance(node, ast.Constant) and names_private_module(node.value):
            found[node.lineno] = node.value
    modules = " or ".join(map(str, UNSTABLE))
    return [f"{path}:{line}: {name} belongs in {modules}" for line, name in found.items()]


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of private attributes, also where they are given as a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            is_of_library = isinstance(root, ast.Name) and root.id in sys.stdlib_module_names
            if not is_of_library:  # os._exit
                yield node.lineno, node.attr
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("getattr", "hasattr", "setattr", "delattr")
            and isinstance(name := node.args[1], ast.Constant)
            and is_private(name.value)
        ):
            yield node.lineno, name.value


def private_definitions(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that a module defines: functions, classes, attributes it sets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def prints_and_asserts(path: Path, source: str) -> list[str]:
    """Find calls of print, which no user can turn off, and asserts, which -O removes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            found.append(f"{path}:{node.lineno}: assert")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            found.append(f"{path}:{node.lineno}: print")
    return found


def undeclared_members(path: Path, source: str) -> list[str]:
    """Find reads of a policy that `Policy` and `BasePolicy` do not declare.

    A policy is what is called ``policy``, whatever it is an attribute of, and what is annotated
    as one. Whether it is a name may be asked: ``isinstance(policy, str)``.
    """
    if path.parts[0] not in ("search", "execution", "simulation"):
        return []
    tree, found = ast.parse(source), []
    annotated = {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg)
        and node.annotation is not None
        and re.fullmatch(r"(Base)?Policy", ast.unparse(node.annotation))
    }

    def is_policy(node: ast.AST) -> bool:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return name in ("policy", "_policy") or (isinstance(node, ast.Name) and name in annotated)

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_policy(node.value):
            if node.attr not in MEMBERS_OF_POLICY:
                found.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.Call) and node.args and is_policy(node.args[0]):
            call, asked = ast.unparse(node.func), node.args[1:]
            is_of_name = call == "isinstance" and ast.unparse(asked[0]) == "str"
            if call in ("getattr", "hasattr", "isinstance", "type", "vars") and not is_of_name:
                found.append((node.lineno, ast.unparse(node)))
    return [f"{path}:{line}: {text} is not what policies describe" for line, text in found]


def oversized(path: Path, source: str) -> list[str]:
    """Find files and functions that are longer than the limits."""
    found = []
    n_lines = len(source.splitlines())
    if n_lines > MAX_FILE_LINES:
        found.append(f"{path}: {n_lines} lines, at most {MAX_FILE_LINES}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_lines = body_lines(node)
            if n_lines > MAX_FUNCTION_LINES:
                found.append(
                    f"{path}:{node.lineno}: {node.name} has {n_lines} lines, "
                    f"at most {MAX_FUNCTION_LINES}"
                )
    return found


def import_cycle(sources: dict[Path, str]) -> list[Path]:
    """Return modules that import each other in a circle, the first one twice; or none."""
    path_of = {module_name(path): path for path in sources}
    edges: dict[Path, set[Path]] = {}
    for path, source in sources.items():
        names = [imported.name for imported in imports(path, source) if not imported.is_deferred]
        # What is imported from a module, such as a class, is no module itself.
        names = [name if name in path_of else name.rpartition(".")[0] for name in names]
        edges[path] = {path_of[name] for name in names if name in path_of} - {path}
    return cycle(edges)


def wing_cycle(sources: dict[Path, str]) -> list[Path]:
    """Return folders below one room that import each other in a circle; or none."""
    rooms = ("execution", "policies", "search")
    wings = {p: p.parent for p in sources if len(p.parts) == 3 and p.parts[0] in rooms}
    edges: dict[Path, set[Path]] = {wing: set() for wing in wings.values()}
    for path, wing in wings.items():
        names = [imported.name for imported in imports(path, sources[path])]
        edges[wing] |= {
            other
            for other in edges
            if other != wing and any(is_within(name, module_name(other)) for name in names)
        }
    return cycle(edges)


def undocumented(module: types.ModuleType) -> list[str]:
    """Find names in ``__all__`` that do not exist or that nobody explains.

    Every public class and function has an example, except protocols, exceptions and plain
    records: an example of those would repeat their fields.
    """
    found = []
    for name in module.__all__:
        if not hasattr(module, name):
            found.append(f"{module.__name__}.{name}: does not exist")
            continue
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        # Not inspect.getdoc, which would take the base class's word for it.
        doc = inspect.cleandoc(value.__doc__ or "")
        if not doc:
            found.append(f"{module.__name__}.{name}: has no docstring")
        elif needs_example(value) and not re.search(r"^Examples\n-{8}$", doc, re.MULTILINE):
            found.append(f"{module.__name__}.{name}: its docstring has no Examples")
    return found


# -------------------------------------------------------------------- what the checks use


def imports(path: Path, source: str) -> Iterator[Import]:
    """Yield every name imported by the module at ``path``, relative imports resolved."""

    def visit(node: ast.AST, is_deferred: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, is_deferred)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the folder of the module, each further one a folder above it.
            folders = [PACKAGE, *path.parts[:-1]]
            base = folders[: len(folders) - node.level + 1] if node.level else []
            base = [*base, *([node.module] if node.module else [])]
            for alias in node.names:
                yield Import(".".join([*base, alias.name]), node.lineno, is_deferred)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, True)
            for child in node.orelse:
                yield from visit(child, is_deferred)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, is_deferred or is_function)

    yield from visit(ast.parse(source), False)


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def cycle(edges: dict[Path, set[Path]]) -> list[Path]:
    try:
        tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def names_bound_to(package: str, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (local name, full name) of all that the module imports from ``package``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if is_within(alias.name, package):
                    yield (alias.asname or package), (alias.name if alias.asname else package)
        elif isinstance(node, ast.ImportFrom) and is_within(node.module or "", package):
            for alias in node.names:
                yield (alias.asname or alias.name), f"{node.module}.{alias.name}"


def is_within(name: str, ancestor: str) -> bool:
    return name == ancestor or name.startswith(f"{ancestor}.")


def is_private(part: str) -> bool:
    return part.startswith("_") and not part.endswith("__")


def has_private_part(name: str) -> bool:
    return any(is_private(part) for part in name.split("."))


def names_private_module(value: object) -> bool:
    """Return whether a constant is what ``import_module`` takes."""
    pattern = r"(sklearn|joblib)(\.\w+)*\._[a-z]\w*(\.\w+)*"
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function from the first after its docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def needs_example(value: type | types.FunctionType) -> bool:
    if not inspect.isclass(value):
        return True
    if issubclass(value, BaseException) or getattr(value, "_is_protocol", False):
        return False
    is_record = is_dataclass(value) or (issubclass(value, tuple) and hasattr(value, "_fields"))
    has_methods = any(
        isinstance(member, types.FunctionType | classmethod | staticmethod)
        for base in value.__mro__
        if base.__module__.startswith(PACKAGE) or base is value
        for name, member in vars(base).items()
        # What NamedTuple and dataclass make themselves is private: _asdict, __eq__.
        if not name.startswith("_")
    )
    return has_methods or not is_record


def core_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^\w-]", text, maxsplit=1)[0] for text in project["dependencies"]}
    return {"sklearn" if name == "scikit-learn" else name for name in names}


def package_modules() -> Iterator[str]:
    package = importlib.import_module(PACKAGE)
    yield PACKAGE
    for info in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        yield info.name


# ------------------------------------------------------------------ the package passes

CHECKS = [
    broken_import_rules,
    undeclared_dependencies,
    private_names,
    prints_and_asserts,
    undeclared_members,
    oversized,
]
SOURCES = sorted(path.relative_to(PACKAGE_ROOT) for path in PACKAGE_ROOT.rglob("*.py"))


# Private names that the package may use: its own, and those of every named tuple.
PRIVATE_NAMES = {"_replace", "_fields"}.union(
    *(
        private_definitions(ast.parse((PACKAGE_ROOT / path).read_text(encoding="utf-8")))
        for path in SOURCES
        if path not in UNSTABLE
    )
)


def test_the_package_was_found() -> None:
    assert Path("policies/_types.py") in SOURCES


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_package_passes(check: Callable[[Path, str], list[str]]) -> None:
    found = [
        line
        for path in SOURCES
        for line in check(path, (PACKAGE_ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("check", [import_cycle, wing_cycle], ids=lambda check: check.__name__)
def test_package_has_no_import_cycle(check: Callable[[dict[Path, str]], list[Path]]) -> None:
    found = check({path: (PACKAGE_ROOT / path).read_text(encoding="utf-8") for path in SOURCES})
    assert not found, " -> ".join(map(str, found))


def test_tests_mirror_the_folders_of_the_package() -> None:
    def folders(root: Path) -> set[str]:
        return {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")}

    assert folders(ROOT / "tests") == folders(PACKAGE_ROOT)


def test_public_names_are_documented() -> None:
    found = []
    for name in package_modules():
        module = importlib.import_module(name)
        # Users import from the package and its folders, `execution` apart; not from the wings
        # of a folder.
        is_public = (
            not has_private_part(name)
            and name.count(".") <= 1
            and not is_within(name, f"{PACKAGE}.execution")
        )
        if is_public and not hasattr(module, "__all__"):
            found.append(f"{name}: has no __all__")
        elif is_public:
            found += undocumented(module)
        else:
            missing = [n for n in getattr(module, "__all__", ()) if not hasattr(module, n)]
            found += [f"{name}.{n}: does not exist" for n in missing]
    assert not found, "\n" + "\n".join(found)


def test_version_is_that_of_the_metadata() -> None:
    """The version is written twice; reading the metadata would slow down every import."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    package = importlib.import_module(PACKAGE)
    assert package.__version__ == tomllib.loads(text)["project"]["version"]


def test_import_loads_no_more_packages_than_scikit_learn() -> None:
    """Import time: a plotting or boosting library must not be paid for by everyone."""
    extra = top_level_packages(PACKAGE) - top_level_packages("sklearn.model_selection")
    assert extra - sys.stdlib_module_names == {PACKAGE}


def top_level_packages(module: str) -> set[str]:
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


# ------------------------------------------------------------------- each check can fail


def find(check: Callable[[Path, str], list[str]], path: str, source: str) -> list[str]:
    return check(Path(path), source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("policies/_a.py", "import sklearn"),
        ("policies/_a.py", "from sklearn.base import clone"),
        ("policies/_a.py", "import pandas as pd"),
        ("policies/_a.py", "def f():\n    import joblib"),
        ("policies/_a.py", "from sklearn_halving.resources import Resource"),
        ("policies/_a.py", "from ..resources import Resource"),
        ("policies/_a.py", "from .. import resources"),
        ("policies/_a.py", "from sklearn_halving import _unstable_imports"),
        ("policies/_a.py", "if TYPE_CHECKING:\n    from sklearn_halving.execution import a"),
        ("resources/_a.py", "import sklearn_halving.execution._train_test_rows"),
        ("resources/_a.py", "import lightgbm"),
        ("resources/_a.py", "try:\n    import lightgbm\nexcept ImportError:\n    pass"),
        ("resources/_a.py", "class A:\n    import lightgbm"),
        ("execution/_a.py", "from sklearn_halving.policies import Hyperband"),
        ("execution/_a.py", "from sklearn_halving.policies._hyperband import Hyperband"),
        ("execution/_a.py", "from sklearn_halving.policies import *"),
        ("execution/_a.py", "from sklearn_halving.search import BanditSearchCV"),
        ("execution/_a.py", "from sklearn_halving import HyperbandSearchCV"),
        ("search/_a.py", "from sklearn_halving.simulation import simulate"),
        ("search/_a.py", "from sklearn_halving import plotting"),
        ("simulation/_a.py", "from sklearn_halving.search import BanditSearchCV"),
        ("plotting/_a.py", "from sklearn_halving.search import BanditSearchCV"),
        ("plotting/_a.py", "import matplotlib.pyplot as plt"),
        ("_unstable_imports.py", "from sklearn_halving.policies import Pull"),
        ("__init__.py", "import numpy"),
        ("utils/_a.py", ""),
    ],
)
def test_import_rule_finds(path: str, source: str) -> None:
    assert find(broken_import_rules, path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("policies/_a.py", "import math\nfrom scipy.special import ndtr\nimport numpy as np"),
        ("policies/_a.py", "from ._types import Pull\nfrom . import _rungs"),
        ("resources/_a.py", "def f():\n    import lightgbm"),
        ("execution/_a.py", "from sklearn_halving.policies._types import Pull"),
        ("execution/_a.py", "from sklearn_halving.policies import _types"),
        ("execution/_a.py", "from sklearn_halving._unstable_joblib import BatchedCalls"),
        (
            "search/_a.py",
            "from sklearn_halving.search.reporting._cv_results import make_cv_results",
        ),
        ("plotting/_a.py", "def f():\n    import matplotlib.pyplot as plt"),
        ("__init__.py", "from sklearn_halving.search import HyperbandSearchCV"),
    ],
)
def test_import_rule_allows(path: str, source: str) -> None:
    assert not find(broken_import_rules, path, source)


def test_import_cycle_finds() -> None:
    a, b = Path("search/_a.py"), Path("search/_b.py")
    there, back = "from ._b import f", "from sklearn_halving.search import _a"
    assert set(import_cycle({a: there, b: back})) == {a, b}
    assert not import_cycle({a: there, b: f"if TYPE_CHECKING:\n    {back}"})
    assert not import_cycle({a: there, b: "import math"})


def test_wing_cycle_finds() -> None:
    bases, posterior = Path("policies/bases"), Path("policies/posterior")
    up = "from sklearn_halving.policies.posterior._a import f"
    down = "from sklearn_halving.policies.bases._c import f"
    files = [bases / "_b.py", posterior / "_a.py"]
    assert set(wing_cycle(dict(zip(files, [up, down], strict=True)))) == {bases, posterior}
    assert not wing_cycle(dict(zip(files, ["", down], strict=True)))


@pytest.mark.parametrize("source", ["import dask", "if True:\n    from yaml import load"])
def test_undeclared_dependencies_finds(source: str) -> None:
    assert find(undeclared_dependencies, "search/_a.py", source)


@pytest.mark.parametrize("source", ["import sklearn, numpy", "def f():\n    import dask"])
def test_undeclared_dependencies_allows(source: str) -> None:
    assert not find(undeclared_dependencies, "search/_a.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.model_selection._search import BaseSearchCV",
        "from sklearn.utils import _safe_indexing",
        "from sklearn.utils import metaestimators, _safe_indexing as rows",
        "import sklearn.utils._param_validation",
        "import joblib._parallel_backends as backends",
        "def f():\n    from joblib._utils import eval_expr",
        "import sklearn.utils\nsklearn.utils._safe_indexing(X, 0)",
        "import sklearn.utils as u\nu._safe_indexing(X, 0)",
        "from joblib import parallel\nparallel._backend",
        "from sklearn.svm import SVC\nSVC._get_param_names()",
        "import_module('sklearn.utils._param_validation')",
        "scorer._scorers",
        "search.estimator._skl_callbacks",
        "hasattr(search, '_parent_callback_ctx')",
        "getattr(search, '_parent_callback_ctx', None)",
        "self._check_refit_for_multimetric(scores)",
        "import joblib\njoblib.Parallel()._backend",
    ],
)
def test_private_names_finds(source: str) -> None:
    assert len(find(private_names, "search/_a.py", source)) == 1
    assert not find(private_names, UNSTABLE_IMPORTS, source)


@pytest.mark.parametrize(
    "source",
    [
        "from sklearn.base import clone\nclone.__doc__",
        "from sklearn_halving.search.reporting._cv_results import make_cv_results",
        "self._sklearn = 1\nself._sklearn",
        "class A:\n    def _own(self): pass\nA()._own()",
        "import os\nos._exit(0)",
        "job._replace(model=None)",
        '"""Uses sklearn.utils._param_validation in a sentence."""',
    ],
)
def test_private_names_allows(source: str) -> None:
    assert not find(private_names, "search/_a.py", source)


@pytest.mark.parametrize("source", ["print(1)", "def f():\n    assert x, 'no'"])
def test_prints_and_asserts_finds(source: str) -> None:
    assert find(prints_and_asserts, "search/_a.py", source)


def test_prints_and_asserts_allows() -> None:
    source = '">>> print(1)"\nself.print(1)\nassert_all_finite(X)'
    assert not find(prints_and_asserts, "search/_a.py", source)


@pytest.mark.walk
@pytest.mark.parametrize(
    "source",
    [
        "run.policy.n_pulls",
        "def f(policy): return policy.stages(3)",
        "def f(halving: Policy): return halving.levels",
        "def f(rule: BasePolicy): return hasattr(rule, 'n_points')",
        "getattr(run.prepared.policy, 'pulls_in_flight', None)",
        "isinstance(self.policy, VarianceHalving)",
        "type(policy).__name__",
        "x = self._policy.covariance",
    ],
)
@pytest.mark.parametrize("folder", ["search", "execution", "simulation"])
def test_undeclared_members_finds(folder: str, source: str) -> None:
    assert len(find(undeclared_members, f"{folder}/_a.py", source)) == 1
    assert not find(undeclared_members, "policies/_a.py", source)


def test_a_walk_runs_each_value_once_by_default(request: pytest.FixtureRequest) -> None:
    """If the sample of `tests/conftest.py` were not drawn, the suite would take much longer."""
    cases = [
        item.callspec.params
        for item in request.session.items
        if item.name.startswith("test_undeclared_members_finds[")
    ]
    if not cases:
        pytest.skip("the walk is not a part of this run")
    n_sources = len({case["source"] for case in cases})
    assert len({case["folder"] for case in cases}) == 3
    assert len(cases) == n_sources * (3 if request.config.getoption("cases") == "all" else 1)


def test_undeclared_members_allows() -> None:
    source = (
        "policies.VarianceHalving\npolicy.describe().max_pulls\nisinstance(self.policy, str)\n"
        "run.policy.ask(state, 1).arm\npolicy.is_confident(state)\nas_policy(policy)"
    )
    assert not find(undeclared_members, "search/_a.py", source)


def function_of(n_lines: int, indent: str = "") -> str:
    lines = ["def f():", '    """Long', *["    doc"] * 99, '    """', *["    a = 1"] * n_lines]
    return "\n".join(indent + line for line in lines)


def test_oversized_finds() -> None:
    assert find(oversized, "search/_a.py", "\n" * (MAX_FILE_LINES + 1))
    assert find(oversized, "search/_a.py", function_of(MAX_FUNCTION_LINES + 1))
    in_class = "class A:\n" + function_of(MAX_FUNCTION_LINES + 1, indent="    ")
    assert find(oversized, "search/_a.py", in_class)


def test_oversized_allows() -> None:
    assert not find(oversized, "search/_a.py", "\n" * MAX_FILE_LINES)
    assert not find(oversized, "search/_a.py", function_of(MAX_FUNCTION_LINES))


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("snippet")
    # dont_inherit: this file's __future__ import would turn annotations into strings.
    exec(compile(source, "<snippet>", "exec", dont_inherit=True), vars(module))
    return module


RECORD = 'from dataclasses import dataclass\n@dataclass\nclass name:\n    """It."""\n    a: int'
DOCUMENTED = '"""Do it.\n\n    Examples\n    --------\n    >>> 1\n    1\n    """'


@pytest.mark.parametrize(
    "source",
    [
        "",
        "class name: pass",
        "def name(): pass",
        'def name():\n    """Do it."""',
        'class name:\n    """It."""',
        f"class base:\n    {DOCUMENTED}\nclass name(base): pass",
        f"{RECORD}\n    def do(self): pass",
    ],
)
def test_undocumented_finds(source: str) -> None:
    module = module_of(source)
    module.__all__ = ["name"]
    assert len(undocumented(module)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "name = 1",
        f"class name:\n    {DOCUMENTED}",
        f"def name():\n    {DOCUMENTED}",
        RECORD,
        'import typing\nclass name(typing.NamedTuple):\n    """It."""\n    a: int',
        'import typing\nclass name(typing.Protocol):\n    """It."""\n    def f(self): ...',
        'class name(Exception):\n    """It."""',
    ],
)
def test_undocumented_allows(source: str) -> None:
    module = module_of(source)
    module.__all__ = ["name"]
    assert not undocumented(module)
