"""docs/papers.md: what it names is there, and whatever `reproduce` builds is on it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from t2ibench.apps.papers.paper import PAPERS
from t2ibench.apps.papers.reproduction import choose
from t2ibench.tasks.index import build_index
from tests.docs.test_commands import parsed

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = {
    title.strip().lower(): body
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
}
COMMANDS = re.findall(r"`(t2ibench [^`]+)`", TEXT)
# Of the papers: how many tables and figures each has.
NUMBERED = {
    "t2iat": (3, 4),
    "mcas": (5, 4),
    "tibet": (5, 23),
    "openbias": (5, 26),
    "vibex": (4, 22),
}


def exhibits_of(given: argparse.Namespace) -> set[str]:
    """The exhibits that a command asks for; none where it asks for all."""
    return set(
        choose(PAPERS.get(given.paper), given.table or (), given.figure or ()) or ()
    )


@pytest.mark.slow
def test_commands_parse_and_name_what_is_there() -> None:
    index, _ = build_index()
    assert len(COMMANDS) > 60
    for command in COMMANDS:
        given = parsed(command)
        index.select(
            [name for name in (getattr(given, "tasks", "") or "").split(",") if name]
        )
        assert getattr(given, "preset", None) in {None, *PAPERS.names()}
        if "paper" in given:
            exhibits_of(given)


@pytest.mark.parametrize("name", sorted(NUMBERED))
def test_every_exhibit_has_its_command_below_its_paper(name: str) -> None:
    assert set(PAPERS.names()) == set(NUMBERED)
    found = set()
    for command in re.findall(r"`(t2ibench reproduce [^`]+)`", SECTIONS[name]):
        given = parsed(command)
        assert given.paper == name
        found |= exhibits_of(given)
    assert found == set(PAPERS.get(name).file.exhibits)


@pytest.mark.parametrize("name", sorted(NUMBERED))
def test_every_table_and_figure_of_the_paper_is_spoken_of(name: str) -> None:
    for kind, most in zip(("Table", "Figure"), NUMBERED[name], strict=True):
        spoken = set()
        for listed in re.findall(
            rf"{kind}s? (\d+(?:(?:, | and | to )\d+)*)", SECTIONS[name]
        ):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
                spoken |= set(range(int(first), int(last or first) + 1))
        assert spoken == set(range(1, most + 1))


def test_every_name_is_there() -> None:
    """A name with an underscore is a task, a key of a task file, or a score."""
    tasks = set(build_index()[0].tasks)
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "t2ibench" / "methods").rglob("*.py")
    )
    for name in set(re.findall(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`", TEXT)) - tasks:
        assert f'"{name}"' in code or re.search(rf"^    {name}: ", code, re.M), name
