"""How the code reads: measures of the package and of each room, and what is above its limit.

python tools/readability.py              # the table
python tools/readability.py --places     # and where: every place that a limit is about
python tools/readability.py --check      # fail where a room has more than its limit
python tools/readability.py --lower      # lower the limits to the counts of today

Two kinds of measures are printed. Counts are about places that somebody should rewrite: a long
statement, a refused name. `.ci/run` holds them to tools/readability.yaml, room by room, and they
only ever get lower. Densities are about the whole text. Longer names, further files and wider
layout make more lines, so `nodes a line` gets better without anything being simpler; `nodes a
statement` needs no lines, and gets better where a value in the middle of a formula gets a name.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from radon.complexity import cc_visit
from radon.metrics import mi_visit
from radon.visitors import Class
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "t2ibench"
LIMITS = ROOT / "tools" / "readability.yaml"
LARGEST_STATEMENT = 80
HIGHEST_COMPLEXITY = 15
LOWEST_MAINTAINABILITY = 20
DEEPEST_COMPREHENSION = 2
LONGEST_TEMPLATE_LINE = 160
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and return 1 if a room has more than its limits allow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", action="store_true", help="list every place")
    parser.add_argument("--check", action="store_true", help="fail above the limits")
    parser.add_argument("--lower", action="store_true", help="write lower limits")
    parser.add_argument(
        "--room", default="", help="print this room alone (default: all)"
    )
    options = parser.parse_args(arguments)
    configuration = yaml.safe_load(LIMITS.read_text(encoding="utf-8"))
    rooms = measure(PACKAGE, configuration)
    shown = {name: room for name, room in rooms.items() if options.room in ("", name)}
    print(table(shown))
    for folder in ("tests", "tools", "benchmarks"):
        texts = [path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py")]
        print(f"{folder}: {sum(map(counted, texts))} lines of code")
    if options.places:
        for room in shown.values():
            print(*room.places(), sep="\n")
    if options.lower:
        configuration["limits"] = lowered(configuration["limits"], rooms)
        write_limits(configuration)
    problems = above(configuration, rooms) if options.check else []
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


@dataclass
class Room:
    """What was measured in one folder of the package, or in all of it.

    Attributes:
        name: The folder, or "all".
        files: Python files.
        lines: Lines of code, without docstrings, comments and blank lines.
        nodes: Nodes of the syntax trees.
        statements: Number of nodes of each statement, without the statements inside it.
        local_names: Length of each local name of each function.
        tuple_assignments: Assignments such as `a, b = x, y`.
        comprehensions: Comprehensions and generator expressions.
        counts: Places of each measure that has a limit, as "file:line: what".
    """

    name: str
    files: int = 0
    lines: int = 0
    nodes: int = 0
    statements: list[int] = field(default_factory=list)
    local_names: list[int] = field(default_factory=list)
    tuple_assignments: int = 0
    comprehensions: int = 0
    counts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, other: Room) -> None:
        """Add what was measured in another room, or in a file of this one."""
        self.files += other.files
        self.lines += other.lines
        self.nodes += other.nodes
        self.statements += other.statements
        self.local_names += other.local_names
        self.tuple_assignments += other.tuple_assignments
        self.comprehensions += other.comprehensions
        for name, places in other.counts.items():
            self.counts[name] += places

    def places(self) -> Iterator[str]:
        """Every place that a limit is about, a line each."""
        for measure_name, places in sorted(self.counts.items()):
            for place in places:
                yield f"{measure_name}: {place}"

    def columns(self) -> dict[str, Any]:
        """The room's row of the table: a number for each column's title."""
        per_100_lines = 100 / self.lines if self.lines else 0.0
        return {
            "room": self.name,
            "files": self.files,
            "lines": self.lines,
            "nodes": self.nodes,
            "nodes a line": round(self.nodes / self.lines, 2) if self.lines else None,
            "nodes a statement": _mean(self.statements),
            "name length": _mean(self.local_names),
            "tuples /100": round(self.tuple_assignments * per_100_lines, 2),
            "compr. /100": round(self.comprehensions * per_100_lines, 1),
            **{name: len(self.counts[name]) for name in COUNTED},
        }


# What has a limit, in the order of the table.
COUNTED = (
    "statements",
    "complexity",
    "maintainability",
    "nested",
    "fmt: skip",
    "starred",
    "names",
    "words",
    "phrases",
    "templates",
)


def measure(package: Path, configuration: dict[str, Any]) -> dict[str, Room]:
    """Measure every folder of a package, and all of it together as "all".

    Args:
        package: The package's folder.
        configuration: Refused names, words and phrases, of tools/readability.yaml.
    """
    rooms: dict[str, Room] = {"all": Room("all")}
    for path in sorted(package.rglob("*")):
        if path.suffix not in (".py", ".html", ".css"):
            continue
        parts = path.relative_to(package).parts
        name = parts[0] if len(parts) > 1 else "(top)"
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(package.parent).as_posix()
        if path.suffix == ".py":
            measured = _measure_python(place, text, configuration)
        else:
            measured = _measure_template(place, text)
        rooms.setdefault(name, Room(name)).add(measured)
        rooms["all"].add(measured)
    return rooms


def _measure_python(place: str, text: str, configuration: dict[str, Any]) -> Room:
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    names_of_functions = local_names(tree)
    sizes = list(statement_sizes(tree))
    room = Room(
        place,
        files=1,
        lines=counted(text),
        nodes=len(nodes),
        statements=[size for _, size in sizes],
        local_names=[len(name) for names in names_of_functions for name in names],
        tuple_assignments=sum(map(_is_tuple_assignment, nodes)),
        comprehensions=sum(isinstance(node, _COMPREHENSIONS) for node in nodes),
    )
    for line, size in statement_sizes(tree, of_largest_entry=True):
        if size > LARGEST_STATEMENT:
            room.counts["statements"].append(f"{place}:{line}: {size} nodes")
    for measure_name, line, what in _places(tree, text, configuration):
        room.counts[measure_name].append(f"{place}:{line}: {what}")
    for line, name, complexity in complexities(text):
        if complexity > HIGHEST_COMPLEXITY:
            what = f"{name} has complexity {complexity}"
            room.counts["complexity"].append(f"{place}:{line}: {what}")
    maintainability = mi_visit(text, True)
    if maintainability < LOWEST_MAINTAINABILITY:
        what = f"maintainability {maintainability:.1f}"
        room.counts["maintainability"].append(f"{place}:1: {what}")
    return room


def _measure_template(place: str, text: str) -> Room:
    room = Room(place)
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > LONGEST_TEMPLATE_LINE:
            what = f"{len(line)} characters"
            room.counts["templates"].append(f"{place}:{number}: {what}")
    return room


def _places(
    tree: ast.Module, text: str, configuration: dict[str, Any]
) -> Iterator[tuple[str, int, str]]:
    for line in nested_comprehensions(tree):
        yield (
            "nested",
            line,
            f"comprehensions in more than {DEEPEST_COMPREHENSION} levels",
        )
    for line in starred_literals(tree):
        yield "starred", line, "a literal that is unpacked where it stands"
    refused_names = set(configuration["refused_names"])
    for line, name in bound_names(tree):
        if name in refused_names:
            yield "names", line, name
    concepts = {
        word: concept
        for concept, words in configuration["refused_words"].items()
        for word in words
    }
    public_names = set(configuration["public_names"])
    for line, name in [*bound_names(tree), *set_attributes(tree)]:
        if name in public_names:
            continue
        for word in words_of(name):
            if word in concepts:
                yield "words", line, f"{name}: the glossary says {concepts[word]!r}"
    for line, prose in prose_lines(tree, text):
        if re.search(r"fmt: *(skip|off)", prose):
            yield "fmt: skip", line, "the formatter is switched off"
        for pattern in configuration["refused_phrases"]:
            for phrase in re.findall(pattern, prose, flags=re.IGNORECASE):
                yield "phrases", line, phrase


def statement_sizes(
    tree: ast.AST, *, of_largest_entry: bool = False
) -> Iterator[tuple[int, int]]:
    """The line and the number of nodes of each statement; of a block, its head alone.

    Docstrings are no statements, and imports do not count: a split file would have more of them.

    Args:
        tree: The code.
        of_largest_entry: Whether only the largest entry of a table counts. Keyword arguments,
            parameters with their types, and entries of a list or dictionary stand below each other
            and are read one at a time, however many there are.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or _is_text(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        size = _size(node)
        if of_largest_entry:
            entries = [_size(*parts) for parts in _entries(node)]
            size += max(entries, default=0) - sum(entries)
        yield node.lineno, size


def _size(*parts: ast.AST) -> int:
    """The number of nodes of a part of a statement, without the blocks inside it."""
    size = 0
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        size += 1
        children = ast.iter_child_nodes(part)
        waiting.extend(child for child in children if not isinstance(child, _BLOCKS))
    return size


def _entries(statement: ast.stmt) -> list[tuple[ast.AST, ...]]:
    """The entries of a statement that is a table; empty for any other."""
    if isinstance(statement, _FUNCTIONS):
        return [(parameter,) for parameter in statement.args.kwonlyargs]
    table = getattr(statement, "value", None)
    if isinstance(table, ast.Call):
        return [(keyword,) for keyword in table.keywords]
    if isinstance(table, ast.List):
        return [(element,) for element in table.elts]
    if isinstance(table, ast.Dict):
        pairs = zip(table.keys, table.values, strict=True)
        return [(key, value) for key, value in pairs if key is not None]
    return []


def complexities(text: str) -> Iterator[tuple[int, str, int]]:
    """The line, the name and radon's complexity of each function and method."""
    for block in cc_visit(text):
        if not isinstance(block, Class):
            yield block.lineno, block.fullname, block.complexity


def local_names(tree: ast.AST) -> Iterator[set[str]]:
    """The names that each function binds: its parameters, variables and loop variables."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            names = {
                part.arg if isinstance(part, ast.arg) else part.id
                for part in ast.walk(node)
                if isinstance(part, ast.arg)
                or (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            }
            yield names - {"self", "cls", "_"}


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every place that gives a name: variables, parameters, fields, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.lineno, node.name


def set_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every place that sets an attribute, such as `self.name = name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def words_of(identifier: str) -> list[str]:
    """The words of an identifier in lower case, whether it is snake_case, CamelCase or CAPITALS."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    return [word.lower() for word in words]


def nested_comprehensions(tree: ast.AST) -> Iterator[int]:
    """The lines of comprehensions that are in two others."""

    def walk(node: ast.AST, depth: int) -> Iterator[int]:
        deeper = depth + isinstance(node, _COMPREHENSIONS)
        if deeper > depth and deeper == DEEPEST_COMPREHENSION + 1:
            yield node.lineno  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(node):
            yield from walk(child, deeper)

    yield from walk(tree, 0)


def starred_literals(tree: ast.AST) -> Iterator[int]:
    """The lines of `*("a", "b")` and `**{"a": 1}`: literals that are unpacked where they stand."""
    literals = (ast.Tuple, ast.List, ast.Set, ast.Dict)
    for node in ast.walk(tree):
        if isinstance(node, ast.Starred) and isinstance(node.value, literals):
            yield node.lineno
        elif isinstance(node, ast.keyword) and node.arg is None:
            if isinstance(node.value, ast.Dict):
                yield node.lineno
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None and isinstance(value, ast.Dict):
                    yield value.lineno


def prose_lines(tree: ast.AST, text: str) -> Iterator[tuple[int, str]]:
    """Every line of a docstring, a comment or another text, with its number."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


def table(rooms: dict[str, Room]) -> str:
    """The measures as a table, a row for each room."""
    rows = [room.columns() for room in rooms.values()]
    return tabulate(rows, headers="keys", tablefmt="simple", maxheadercolwidths=9)


def above(configuration: dict[str, Any], rooms: dict[str, Room]) -> list[str]:
    """A line for each count or density that is above its limit.

    Args:
        configuration: `limits` maps a count to its limit by room, 0 where a room is not named;
            `densities` maps a density to its highest value by room.
        rooms: What `measure` found.
    """
    problems = []
    for name in COUNTED:
        allowed = configuration["limits"].get(name, {})
        for room in rooms.values():
            limit = allowed.get(room.name, 0)
            if room.name == "all" or len(room.counts[name]) <= limit:
                continue
            count = len(room.counts[name])
            problems.append(
                f"{room.name}: {name}: {count}, and at most {limit} are allowed:"
            )
            problems.extend(f"  {place}" for place in room.counts[name])
    for column, highest in configuration["densities"].items():
        for room_name, limit in highest.items():
            value = rooms[room_name].columns()[column]
            if value is not None and value > limit:
                problems.append(
                    f"{room_name}: {column}: {value}, and {limit} is allowed"
                )
    return problems


def lowered(
    limits: dict[str, dict[str, int]], rooms: dict[str, Room]
) -> dict[str, dict[str, int]]:
    """The limits, lower where a room has fewer places by now."""
    result: dict[str, dict[str, int]] = {}
    for name in COUNTED:
        for room in rooms.values():
            count = min(len(room.counts[name]), limits.get(name, {}).get(room.name, 0))
            if count and room.name != "all":
                result.setdefault(name, {})[room.name] = count
    return result


def write_limits(configuration: dict[str, Any]) -> None:
    """Write the limits back, and leave what stands above them as it is."""
    text = LIMITS.read_text(encoding="utf-8")
    start = text.index("\nlimits:")
    limits = yaml.safe_dump({"limits": configuration["limits"]}, sort_keys=False)
    LIMITS.write_text(text[: start + 1] + limits, encoding="utf-8")


def counted(text: str) -> int:
    """Lines of code of a module, without docstrings, comments and blank lines."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            first = node.body[0] if node.body else None
            if first is not None and _is_text(first):
                docstrings.update(range(first.lineno, (first.end_lineno or 0) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def _is_tuple_assignment(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    return any(isinstance(target, ast.Tuple) for target in node.targets)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _mean(values: list[int]) -> float | None:
    return round(sum(values) / len(values), 1) if values else None


if __name__ == "__main__":
    sys.exit(main())
