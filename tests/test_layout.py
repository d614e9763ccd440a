"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import t2ibench

ROOT = Path(t2ibench.__file__).parent
REPOSITORY = ROOT.parent
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODULES = sorted(ROOT.rglob("*.py"))
FAMILIES = ("weat", "t2iat", "occupations", "mcas", "openbias", "tibet", "vibex")
# Where a family's name may stand outside of its own folder: the list of all of them, and the
# examples of `--help`.
NAMED = {"methods/registry.py", "cli/parser.py", "cli/propose_parser.py"}


def rooms() -> list[set[str]]:
    """The order of the rooms as CONTRIBUTING says it, from the top; one floor a line."""
    (block,) = re.findall(r"<!-- rooms -->\n```\n(.*?)```", CONTRIBUTING, re.DOTALL)
    return [set(line.split("  ")[0].split()) for line in block.splitlines()]


FLOORS = rooms()


def floor_of(room: str) -> int:
    (number,) = (k for k, floor in enumerate(FLOORS) if room in floor)
    return number


def imports(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def room_of(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "t2ibench" and len(parts) > 1 else None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_room_has_its_floor() -> None:
    there = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    listed = set().union(*FLOORS)
    assert there - {"__init__", "__main__"} == listed
    assert sum(len(floor) for floor in FLOORS) == len(listed)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    used = imports(path)
    if own not in {"__init__", "__main__"}:
        for room in {room for room in map(room_of, used) if room not in {None, own}}:
            assert floor_of(str(room)) > floor_of(own), f"{own} imports {room}"
    if own in {"methods", "stats"}:
        heavy = ("torch", "PIL", "t2ibench.models", "t2ibench.store")
        assert not {name for name in used if name.startswith(heavy)}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_are_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            # What a function takes and does; its documentation may be as long as it has to be.
            taken = node.body[0].lineno - node.lineno
            assert (node.end_lineno or 0) - first.lineno + taken < 60, f"{node.name} is long"


def words(path: Path) -> Iterator[str]:
    """Identifiers, modules and strings of a file; documentation does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documentation:
                yield node.value
        elif isinstance(node, ast.Name | ast.FunctionDef | ast.ClassDef | ast.Attribute):
            yield getattr(node, "id", None) or getattr(node, "name", None) or node.attr  # type: ignore[union-attr]
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_family_is_known_in_its_own_folder_only(path: Path) -> None:
    name = name_of(path)
    if name in NAMED:
        return
    if name.startswith(tuple(f"methods/{family}/" for family in FAMILIES)):
        return  # one family may cite another's published convention
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(FAMILIES)})(?![a-z])", re.IGNORECASE)
    # Plain English uses the word 'occupations' too.
    named = {word for word in words(path) if pattern.search(re.sub("(?i)occupations", "", word))}
    assert not named


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_functions_document_what_they_take(path: Path) -> None:
    """Ruff checks Returns (DOC201) and that no argument is forgotten; here, that Args is there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for function in getattr(node, "body", []) if isinstance(node, ast.Module) else []:
            if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
                continue
            takes = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            if takes:
                docstring = ast.get_docstring(function) or ""
                assert "Args:" in docstring, f"{function.name} does not say what it takes"
