"""The registry: lazy, extensible, and clear about what is not there."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.registry import LazyModule, Registry, is_target, load_target

REPOSITORY = Path(__file__).parents[1]
PLUGIN = """
from dataclasses import dataclass

@dataclass
class Thing:
    size: int = 1

THING = Thing(3)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with entry points, as pip leaves one."""
    (tmp_path / "things_plugin.py").write_text(PLUGIN)
    (tmp_path / "things_plugin_exits.py").write_text("raise SystemExit(5)\n")
    info = tmp_path / "things_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: things-plugin\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[t2ibench.things]\nown = things_plugin:THING\nbuiltin = things_plugin:THING\n"
        "broken = things_plugin_missing:THING\nother = things_plugin:dataclass\n"
        "exits = things_plugin_exits:THING\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "things_plugin", raising=False)
    return tmp_path


def things() -> Registry[object]:
    return Registry("thing", {"builtin": "posixpath:join"})


def test_plugins_are_found_and_loaded_when_asked_for(plugin: Path) -> None:
    registry = things()
    assert registry.names() == ["builtin", "broken", "exits", "other", "own"]
    assert "things_plugin" not in sys.modules
    assert registry.get("own").size == 3  # type: ignore[attr-defined]
    assert (
        registry.origin("own") == "things-plugin"
        and registry.origin("builtin") == "t2ibench"
    )


def test_a_plugin_never_replaces_an_entry(plugin: Path) -> None:
    registry = things()
    assert registry.get("builtin")("a", "b") == "a/b"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "No module named"),
        ("exits", "SystemExit"),
        ("other", "it has no size"),
    ],
)
def test_a_broken_plugin_is_one_line(name: str, why: str, plugin: Path) -> None:
    with pytest.raises(T2IBenchError, match=why) as raised:
        Registry("thing", {}, members=("size",)).get(name)
    assert f"The thing '{name}' of things-plugin cannot be loaded" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(
        T2IBenchError, match=r"Unknown thing 'bultin'\. Did you mean 'builtin'"
    ):
        things().get("bultin")
    with pytest.raises(
        T2IBenchError, match=r"Unknown method 'tibbet'\. Did you mean 'tibet'"
    ):
        METHODS.get("tibbet")


def test_entries_can_be_added_for_a_process() -> None:
    registry = things()
    registry.add("more", "posixpath:split")
    assert registry.get("more")("a/b") == ("a", "b")  # type: ignore[operator]
    with pytest.raises(ValueError, match="exists already"):
        registry.add("more", "posixpath:split")
    with pytest.raises(ValueError, match="not of the form"):
        registry.add("another", "posixpath.split")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b:c", True), ("a:b.c", True), ("folder:my/pictures", False), ("a:b", True),
        ("vlm:org/model", False), ("a.b", False), ("a:", False), (":b", False), ("1a:b", False),
    ],
)  # fmt: skip
def test_targets(text: str, expected: bool) -> None:
    assert is_target(text) is expected


def test_targets_that_are_not_there_are_one_line() -> None:
    with pytest.raises(T2IBenchError, match="'no_such_module' cannot be imported"):
        load_target("no_such_module:x")
    with pytest.raises(
        T2IBenchError, match=r"'posixpath' has no 'jion'\. Did you mean 'join'"
    ):
        load_target("posixpath:jion")


def test_a_lazy_module_imports_nothing_before_a_call() -> None:
    missing = LazyModule("things_that_are_not_installed")
    function = missing.compute
    with pytest.raises(T2IBenchError, match="things_that_are_not_installed"):
        function()
    assert LazyModule("posixpath").join("a", "b") == "a/b"
    assert copy.copy(missing).compute is not None


def lazy_names(tree: ast.Module) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Of each `if TYPE_CHECKING: … else: …`, names to modules in both of its halves."""
    for node in tree.body:
        if not isinstance(node, ast.If) or not node.orelse:
            continue
        imported = {
            alias.asname or alias.name: f"{line.module}.{alias.name}"
            for line in node.body
            if isinstance(line, ast.ImportFrom)
            for alias in line.names
        }
        lazy = {
            ast.unparse(line.targets[0]): ast.literal_eval(line.value.args[0])
            for line in node.orelse
            if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call)
        }
        yield imported, lazy


def test_lazy_modules_name_the_modules_that_mypy_checks() -> None:
    """A string is not typed, so the import beside it has to name the same module."""
    folders = (REPOSITORY / "t2ibench" / "methods", REPOSITORY / "examples" / "plugin")
    pairs = [
        pair
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        for pair in lazy_names(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(pairs) >= len(METHODS.names())
    for imported, lazy in pairs:
        assert lazy and lazy.items() <= imported.items()
