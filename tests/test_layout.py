"""The house rules that a program can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import t2ibench

ROOT = Path(t2ibench.__file__).parent
# From the top of the house to the ground: an import only goes down.
ROOMS = [
    "cli", "api", "explorer", "leaderboard", "pipeline", "proposals", "reports", "results",
    "methods", "stats", "tasks", "models", "store", "toyland", "arguments", "arrays", "errors",
    "version",
]  # fmt: skip
MODULES = sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def room_of(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "t2ibench" and len(parts) > 1 else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_and_modules_are_small(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    used = imports(path)
    if own in ROOMS:
        for room in filter(None, map(room_of, used)):
            assert ROOMS.index(room) >= ROOMS.index(own), f"{own} imports {room}"
    if own in {"methods", "stats"}:
        heavy = {"torch", "PIL", "t2ibench.models", "t2ibench.store"}
        assert not {name for name in used if any(name.startswith(one) for one in heavy)}
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 480


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_small(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            # What a function takes and does; its documentation may be as long as it has to be.
            taken = node.body[0].lineno - node.lineno
            assert (node.end_lineno or 0) - first.lineno + taken < 70, f"{node.name} is long"
