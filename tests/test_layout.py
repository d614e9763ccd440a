"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import t2ibench
from t2ibench.garbage import uncollected
from tests.statements import statements

ROOT = Path(t2ibench.__file__).parent
REPOSITORY = ROOT.parent
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODULES = sorted(ROOT.rglob("*.py"))
FAMILIES = ("weat", "t2iat", "occupations", "mcas", "openbias", "tibet", "vibex")
# Where a family's name may stand outside of its own folder: the list of all of them, and the
# examples of `--help`.
NAMED = {
    "methods/registry.py",
    "cli/parser.py",
    "apps/papers/paper.py",
    "cli/power.py",
    "cli/propose.py",
    "cli/run.py",
    "results/migration.py",
}


def tree(path: Path) -> ast.Module:
    return trees()[path]


@cache
def trees() -> dict[Path, ast.Module]:
    with uncollected():
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's tree, which several tests look through."""
    return tuple(ast.walk(tree(path)))


def rooms() -> list[set[str]]:
    """The order of the rooms as CONTRIBUTING says it, from the top; one floor a line."""
    (block,) = re.findall(r"<!-- rooms -->\n```\n(.*?)```", CONTRIBUTING, re.DOTALL)
    return [set(line.split("  ")[0].split()) for line in block.splitlines()]


FLOORS = rooms()


def floor_of(room: str) -> int:
    (number,) = (k for k, floor in enumerate(FLOORS) if room in floor)
    return number


@cache
def imports(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside functions."""
    names = set()
    for node in statements(tree(path)):
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


def test_imports_only_go_down() -> None:
    wrong = []
    for path in MODULES:
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        used = imports(path)
        if own not in {"__init__", "__main__"}:
            rooms_used = {
                room for room in map(room_of, used) if room not in {None, own}
            }
            up = [room for room in rooms_used if floor_of(str(room)) <= floor_of(own)]
            wrong += [f"{name_of(path)} imports {room}" for room in up]
        if own == "apps" and len(path.relative_to(ROOT).parts) > 2:
            app = ".".join(["t2ibench", *path.relative_to(ROOT).parts[:2]])
            others = [n for n in used if n.startswith("t2ibench.apps.")]
            others = [n for n in others if not f"{n}.".startswith(f"{app}.")]
            wrong += [f"{name_of(path)} imports {n}" for n in others]
        if own in {"methods", "stats"}:
            heavy = ("torch", "PIL", "t2ibench.models", "t2ibench.store")
            wrong += [
                f"{name_of(path)} imports {n}" for n in used if n.startswith(heavy)
            ]
    assert not wrong


def words(path: Path) -> Iterator[str]:
    """Identifiers, modules and strings of a file; documentation does not count."""
    documentation = {
        id(node.body[0].value)
        for node in (tree(path), *statements(tree(path)))
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documentation:
                yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_a_family_is_known_in_its_own_folder_only() -> None:
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(FAMILIES)})(?![a-z])", re.IGNORECASE)
    # One family may cite another's published convention.
    inside = (*(f"methods/{family}/" for family in FAMILIES), "apps/papers/published/")
    named = [
        f"{name_of(path)}: {word}"
        for path in MODULES
        if name_of(path) not in NAMED and not name_of(path).startswith(inside)
        for word in words(path)
        # Plain English uses the word 'occupations' too.
        if pattern.search(re.sub("(?i)occupations", "", word))
    ]
    assert not named


def test_nothing_imports_the_family_whose_name_is_a_plain_word() -> None:
    """'edits' names a part of a method's needs, too, so only imports are held to the rule."""
    importing = [
        name_of(path)
        for path in MODULES
        if not name_of(path).startswith("methods/edits/")
        and any(name.startswith("t2ibench.methods.edits") for name in imports(path))
    ]
    assert not importing


def public_functions() -> Iterator[ast.FunctionDef]:
    """What the package exports, and its statistics."""
    for path in MODULES:
        for node in tree(path).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if node.name in t2ibench.__all__ or path.is_relative_to(ROOT / "stats"):
                yield node


def test_public_functions_document_what_they_take_and_return() -> None:
    silent = []
    for function in public_functions():
        documented = ast.get_docstring(function) or ""
        takes = [
            *function.args.posonlyargs,
            *function.args.args,
            *function.args.kwonlyargs,
        ]
        if takes and "Args:" not in documented:
            silent.append(f"{function.name}: Args")
        returned = ast.unparse(function.returns or ast.Constant(None))
        if returned != "None" and not re.search("Returns:|Yields:", documented):
            silent.append(f"{function.name}: Returns")
    assert not silent


def test_modules_have_the_glossarys_names() -> None:
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = page.partition("## Words in the code")[2]
    rows = [line.split("|")[3] for line in table.splitlines() if line.startswith("| ")][
        2:
    ]
    refused = {word.strip() for row in rows for word in row.split(",")}
    assert {"kept", "blind", "told"} <= refused
    named = [path for path in ROOT.rglob("*.py") if refused & set(path.stem.split("_"))]
    assert not named, named


# Where keys of images are made or looked into; `scoring` reads the rows of methods, and the
# explorer's folders hold images that belong to no run.
MAKE_KEYS = {
    "identity.py",
    "models/protocols.py",
    "pipeline/plan.py",
    "pipeline/planned_edits.py",
    "pipeline/scoring.py",
    "results/samples.py",
    "apps/explorer/album.py",
}
PARTS_OF_KEYS = {"of", "content", "index", "prompt", "source"}


def test_keys_of_images_are_opaque() -> None:
    """Outside of the store and the plan they are passed on."""
    wrong = []
    for path in MODULES:
        name = name_of(path)
        if name in MAKE_KEYS or name.startswith("store/"):
            continue
        for node in nodes(path):
            if not isinstance(node, ast.Attribute) or node.attr not in PARTS_OF_KEYS:
                continue
            text = ast.unparse(node)
            if text == "ImageKey.of" or re.search(
                r"\bkey\.(content|index|prompt|source)$", text
            ):
                wrong.append(f"{name}: {text}")
    assert not wrong
