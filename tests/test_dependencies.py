"""What is imported is declared, and what is declared is needed."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.statements import statements

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
RUNTIME = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = {
    extra: [Requirement(line) for line in lines]
    for extra, lines in PROJECT["optional-dependencies"].items()
}
OPTIONAL = [
    one
    for extra, lines in EXTRAS.items()
    if extra not in {"dev", "docs"}
    for one in lines
]
# The development extra takes that of the docs in, whose site the tests build.
DEV = [one for one in (*EXTRAS["dev"], *EXTRAS["docs"]) if one.name != "t2ibench"]
OWN = {
    "t2ibench",
    "tests",
    "tools",
    "toymodels",
    "docsite",
    "generate",
    "sdxl_shape",
    "timing",
    "real",
    "examples",
}
STANDARD = sys.stdlib_module_names | {"tomllib"}  # of Python 3.11


def names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(one.name) for one in requirements}


@cache
def providers() -> dict[str, set[str]]:
    """Module to the distributions that install it; Python 3.10's own list of them has holes."""
    found: dict[str, set[str]] = {}
    for one in distributions():
        tops = (one.read_text("top_level.txt") or "").split()
        # Not .files: as paths, the hundred thousand names of CUDA's packages take 40 s.
        record = (one.read_text("RECORD") or "").splitlines()
        files = {line.partition(",")[0].partition("/")[0] for line in record}
        tops += {file.removesuffix(".py") for file in files}
        name = canonicalize_name(one.metadata["Name"])
        for top in tops:
            found.setdefault(top, set()).add(name)
    return found


# Where a statement begins that may import, and the line to its end.
_MAY_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(import|from)[ \t]+([^\n;#]*)", re.MULTILINE)


def may_import(text: str) -> set[str]:
    """The first parts of all module names that a file imports, and of some that it does not.

    Lines of a string that look like statements count, too: a file is parsed only where it matters.
    """
    modules: list[str] = []
    for keyword, rest in _MAY_IMPORT.findall(text):
        modules += rest.split(",") if keyword == "import" else [rest]
    words = (module.split() for module in modules)
    return {first[0].split(".")[0] for first in words if first}


def modules_of(text: str) -> set[str]:
    """The first parts of the names of all modules that a file imports."""
    modules: list[str] = []
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.append(node.module)
    return {module.split(".")[0] for module in modules}


@cache
def imported(*folders: str) -> dict[str, str]:
    """Distribution to one file that imports it; standard library and own modules left out."""
    found: dict[str, str] = {}
    seen: set[str] = OWN | STANDARD
    for path in (
        path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))
    ):
        text = path.read_text(encoding="utf-8")
        # A backslash may continue the line of an import.
        if not may_import(text) - seen and not re.search(r"\\$", text, re.MULTILINE):
            continue
        for top in modules_of(text) - seen:
            # One that is not installed here (a marker keeps it out) has its module's name.
            for distribution in providers().get(top, {top}):
                found[distribution] = str(path.relative_to(ROOT))
            seen.add(top)
    return found


def test_every_import_is_looked_for_where_it_may_be() -> None:
    text = "import a.b, c as d\nif x: import e\ny = 1; from f.g import h\nfrom . import i\n"
    assert modules_of(text) == {"a", "c", "e", "f"} <= may_import(text)
    assert "j" in may_import('"""\nimport j\n"""')


def explained() -> set[str]:
    """Requirements whose line in pyproject.toml ends in a comment."""
    lines = re.findall(
        r'^\s*"([A-Za-z0-9_.-]+)[^"]*",\s*#\s*\S', PYPROJECT, re.MULTILINE
    )
    return {canonicalize_name(line) for line in lines}


def test_imported_packages_are_declared() -> None:
    for folders, declared in (
        (("t2ibench",), [*RUNTIME, *OPTIONAL]),
        (("tests", "tools", "benchmarks"), [*RUNTIME, *DEV]),
    ):
        used = imported(*folders)
        assert used
        assert not {
            name: file for name, file in used.items() if name not in names(declared)
        }


def test_declared_packages_are_imported_or_explained() -> None:
    needless = names(RUNTIME) - set(imported("t2ibench")) - explained()
    everywhere = imported("t2ibench", "tests", "tools", "benchmarks")
    needless |= names(DEV) - set(everywhere) - explained()
    assert not needless
    assert names(OPTIONAL) - explained() <= set(imported("t2ibench"))
    # litellm is large; the tests use what speaks its interface.
    assert names(OPTIONAL) - {"litellm"} <= names(DEV)


def test_every_dependency_has_a_lower_bound_that_can_be_installed() -> None:
    """`.ci/nightly` installs the bounds themselves; an upper bound would need a reason."""
    for one in [*RUNTIME, *OPTIONAL, *DEV]:
        assert {bound.operator for bound in one.specifier} == {">="}, one


def test_the_oldest_python_is_listed() -> None:
    """`.ci/nightly` tries every Python that is listed, and mypy reads the oldest."""
    listed = re.findall(r"Programming Language :: Python :: 3\.(\d+)", PYPROJECT)
    oldest = min(map(int, listed))
    assert PROJECT["requires-python"] == f">=3.{oldest}"
    assert tomllib.loads(PYPROJECT)["tool"]["mypy"]["python_version"] == f"3.{oldest}"
