"""The measures of how code reads see what they are about, and little else moves them."""

from __future__ import annotations

import ast
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import readability

CONFIGURATION: dict[str, Any] = {
    "refused_names": ["one"],
    "refused_words": {"missing": ["lacking", "lost"]},
    "public_names": ["lost_and_found"],
    "refused_phrases": [r"\bmade anew\b"],
    "limits": {},
    "densities": {},
}
CODE = '''
import json
from pathlib import Path


def total_of(path, wanted):
    """The sum of the wanted values of a file of JSON."""
    values = json.loads(Path(path).read_text())["values"]  # a list
    totals = [value["x"] * 2 + 1 for value in values if value["name"] in wanted and value["x"] > 0]
    return sum(totals), max(totals, default=0), {total: len(values) for total in totals}


def largest(rows):
    return max((abs(row["a"] - row["b"]), row["name"]) for row in rows if row["a"] != row["b"])
'''


def measured(folder: Path, **texts: str) -> readability.Room:
    package = folder / "package"
    package.mkdir(exist_ok=True)
    for name, text in texts.items():
        (package / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return readability.measure(package, CONFIGURATION)["all"]


class LongNames(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        longer = f"{node.id}_with_a_name_that_is_longer_than_before"
        return ast.copy_location(ast.Name(longer, node.ctx), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = f"{node.arg}_with_a_name_that_is_longer_than_before"
        return node


def laid_out(text: str) -> str:
    """The text as ruff lays it out."""
    command = ["ruff", "format", "--isolated", "-"]
    return subprocess.run(
        command, input=text, text=True, capture_output=True, check=True
    ).stdout


def test_longer_names_change_lines_but_not_nodes_a_statement(tmp_path: Path) -> None:
    short = ast.unparse(ast.parse(CODE))
    before = measured(tmp_path, a=laid_out(short)).columns()
    longer = ast.unparse(LongNames().visit(ast.parse(CODE)))
    after = measured(tmp_path, a=laid_out(longer)).columns()
    assert after["nodes a line"] < before["nodes a line"]
    assert after["nodes a statement"] == before["nodes a statement"]


def test_commas_that_spread_code_change_lines_but_not_nodes_a_statement(
    tmp_path: Path,
) -> None:
    call = "values = describe(first, second, third)\n"
    spread = "values = describe(\n    first,\n    second,\n    third,\n)\n"
    before = measured(tmp_path, a=call).columns()
    after = measured(tmp_path, a=spread).columns()
    assert after["nodes a line"] < before["nodes a line"]
    assert after["nodes a statement"] == before["nodes a statement"]


def test_a_split_file_changes_neither_counts_nor_nodes_a_statement(
    tmp_path: Path,
) -> None:
    imports, first, second = (part for part in CODE.split("\n\n\n"))
    whole = measured(tmp_path, a=CODE).columns()
    (tmp_path / "package" / "a.py").unlink()
    parts = measured(
        tmp_path, b=f"{imports}\n\n\n{first}\n", c=f"{imports}\n\n\n{second}"
    ).columns()
    assert parts["files"] == 2
    assert parts["nodes a statement"] == whole["nodes a statement"]
    for count in ("statements", "complexity", "nested", "starred", "names"):
        assert parts[count] == whole[count]


def test_named_intermediate_values_make_statements_smaller(tmp_path: Path) -> None:
    packed = "answer = first(second(a + b) * c, third(d, e) - f, [g(h) for h in i if h > 0])\n"
    unpacked = """
        total = a + b
        scaled = second(total) * c
        difference = third(d, e) - f
        positive = [h for h in i if h > 0]
        answer = first(scaled, difference, positive)
    """
    before = measured(tmp_path, a=packed).columns()
    after = measured(tmp_path, a=unpacked).columns()
    assert after["nodes a statement"] < before["nodes a statement"] / 1.5


@pytest.mark.parametrize(
    ("measure", "code", "place"),
    [
        ("statements", f"x = f({', '.join(['a.b'] * 30)})", "126 nodes"),
        ("statements", f"x = f(a={' + '.join(['a.b'] * 30)})", "185 nodes"),
        (
            "complexity",
            "def f(a):\n    return " + " or ".join(["a"] * 16),
            "f has complexity 16",
        ),
        (
            "nested",
            "x = [[[a for a in b] for b in c] for c in d]",
            "in more than 2 levels",
        ),
        ("fmt: skip", "x = 1  # fmt: skip", "switched off"),
        ("starred", 'x = f(*("a", "b"))', "a literal"),
        ("starred", 'x = f(**{"a": 1})', "a literal"),
        ("starred", 'x = {**{"a": 1}}', "a literal"),
        ("names", "for one in rows:\n    pass", "one"),
        ("names", "def f(one):\n    pass", "one"),
        ("names", "class C:\n    one: int", "one"),
        ("words", "def lacking_files():\n    pass", "lacking_files"),
        ("words", "def f(lost_images):\n    pass", "glossary says 'missing'"),
        ("words", "class LostImage:\n    pass", "LostImage"),
        ("words", "class C:\n    n_lost: int", "a.py:2: n_lost"),
        ("words", "def f(x):\n    x.isLost = 1", "a.py:2: isLost"),
        ("words", "_MUCH_LOST = 1", "_MUCH_LOST"),
        ("words", "for lost in rows:\n    pass", "lost"),
        ("phrases", "x = 1  # the file is made anew", "made anew"),
        ("phrases", '"""A file.\n\nIt is made anew.\n"""', "a.py:3: made anew"),
    ],
)
def test_each_count_names_the_place(
    measure: str, code: str, place: str, tmp_path: Path
) -> None:
    room = measured(tmp_path, a=code)
    assert [name for name in readability.COUNTED if room.counts[name]] == [measure]
    (found_place,) = room.counts[measure]
    assert place in found_place


@pytest.mark.parametrize(
    "code",
    [
        "x = [[a for a in b] for b in c]",
        "x = f(*rows, **options)",
        "x = {**defaults, 'a': 1}",
        "someone = one_of(rows)",
        f"x = f({', '.join(f'a{n}=b.c' for n in range(30))})",
        f"x = [{', '.join(['f(a.b)'] * 30)}]",
        "def f(*, " + ", ".join(f"a{n}: str | None = None" for n in range(30)) + "): 0",
        "lost_and_found = 1",  # a public name
        "glossary = lacklustre = losses = 1",
        "x = y.lost + lost(z)",  # only what gives a name counts
        "def f(a):\n    return " + " or ".join(["a"] * 15),
    ],
)
def test_allowed_code_counts_as_no_place(code: str, tmp_path: Path) -> None:
    assert list(measured(tmp_path, a=code).places()) == []


def test_identifiers_are_split_at_underscores_and_capitals() -> None:
    assert readability.words_of("_MAX_lostImages2") == ["max", "lost", "images"]
    assert readability.words_of("HTTPServer") == ["http", "server"]


def test_the_glossary_has_every_refused_word_beside_its_replacement() -> None:
    configuration = yaml.safe_load(readability.LIMITS.read_text(encoding="utf-8"))
    page = (readability.ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = page.partition("## Words in the code")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    glossary = {term.strip(): not_terms.split(",") for _, term, _, not_terms, _ in rows}
    for concept, words in configuration["refused_words"].items():
        not_terms = {word.strip() for word in glossary[concept]}
        assert set(words) <= not_terms, concept


def test_a_long_line_of_a_template_is_a_place(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "page.html").write_text("<p>\n" + "x" * 161)
    (place,) = readability.measure(package, CONFIGURATION)["all"].counts["templates"]
    assert place == "package/page.html:2: 161 characters"


def test_a_room_above_its_limit_is_a_problem_and_one_below_lowers_it(
    tmp_path: Path,
) -> None:
    room = tmp_path / "package" / "room"
    room.mkdir(parents=True)
    (room / "a.py").write_text("one = 1\none = 2\n")
    rooms = readability.measure(tmp_path / "package", CONFIGURATION)
    configuration = {**CONFIGURATION, "limits": {"names": {"room": 1}}}
    first, *places = readability.above(configuration, rooms)
    assert first == "room: names: 2, and at most 1 are allowed:"
    assert len(places) == 2
    assert readability.lowered({"names": {"room": 3}}, rooms) == {"names": {"room": 2}}
    assert readability.lowered({}, rooms) == {}


def test_a_density_above_its_limit_is_a_problem(tmp_path: Path) -> None:
    measured(tmp_path, a=CODE)
    rooms = readability.measure(tmp_path / "package", CONFIGURATION)
    configuration = {**CONFIGURATION, "densities": {"nodes a line": {"all": 0.5}}}
    (problem,) = readability.above(configuration, rooms)
    assert problem.startswith("all: nodes a line: ")
