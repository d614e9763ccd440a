"""Every command that a page shows is one that the program accepts."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from pathlib import Path

import pytest

from t2ibench.cli import _normalise
from t2ibench.cli.parser import build_parser
from t2ibench.reports.writers import WRITERS
from t2ibench.tasks.index import build_index

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "t2ibench").rglob("*.md"),
        ROOT / "leaderboard" / "README.md",
        ROOT / "examples" / "plugin" / "README.md",
    ]
)
BLOCK = re.compile(r"^```(?P<kind>[^`\n]*)\n(?P<text>.*?)^```[ ]*$", re.M | re.S)
# Of the worked examples in CONTRIBUTING.md and of the example plug-in.
OTHERS = {"coffee_tea", "tone_day_night", "coco", "chef", "mine"}


def commands(page: Path) -> list[str]:
    """The lines of a page's code blocks that call t2ibench, continued lines joined."""
    blocks = BLOCK.finditer(page.read_text(encoding="utf-8"))
    shells = [
        found["text"] for found in blocks if found["kind"].strip() in {"", "bash"}
    ]
    lines = "\n".join(shells).replace("\\\n", " ").splitlines()
    parts = [
        part.strip().removeprefix("$ ") for line in lines for part in line.split("&&")
    ]
    return [part for part in parts if part.startswith("t2ibench ")]


_parser = functools.cache(build_parser)


def parsed(line: str) -> argparse.Namespace:
    return _parser().parse_args(_normalise(shlex.split(line, comments=True)[1:]))


FOUND = [
    (page.relative_to(ROOT).as_posix(), line)
    for page in PAGES
    for line in commands(page)
]


def test_pages_show_commands() -> None:
    pages = {page for page, _ in FOUND}
    assert {"README.md", "CONTRIBUTING.md", "docs/index.md", "docs/reports.md"} <= pages
    assert len(FOUND) > 50


def test_the_groups_and_tags_that_readme_names_can_be_chosen() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    _, _, after = text.partition("`--tasks` takes")
    names = re.findall(r"`([a-z0-9]+|tag:[a-z]+)`", after.partition("`core`")[0])
    assert len(names) >= 9
    index, _ = build_index()
    for name in names:
        assert index.select([name])


@pytest.mark.parametrize(("page", "line"), FOUND)
def test_a_command_parses(page: str, line: str) -> None:
    arguments = parsed(line)
    assert callable(arguments.handler)
    tasks = getattr(arguments, "tasks", None) or ""
    index, _ = build_index()
    index.select([name for name in tasks.split(",") if name and name not in OTHERS])
    formats = {None, "jsonl", "html", "pdf", "svg", *WRITERS.names()}
    assert getattr(arguments, "format", None) in formats
