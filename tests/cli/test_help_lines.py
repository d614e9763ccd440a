"""Every line of --help says what a flag does, and what happens without it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from t2ibench.cli.parser import build_parser

# A help line is verb, object, default; these are the verbs.
VERBS = [
    "add",
    "ask",
    "check",
    "choose",
    "compare",
    "correct",
    "download",
    "draw",
    "embed",
    "export",
    "generate",
    "join",
    "keep",
    "link",
    "list",
    "limit",
    "make",
    "measure",
    "multiply",
    "name",
    "open",
    "plan",
    "print",
    "propose",
    "read",
    "regenerate",
    "reproduce",
    "rewrite",
    "run",
    "sample",
    "score",
    "select",
    "send",
    "serve",
    "set",
    "show",
    "start",
    "state",
    "stop",
    "store",
    "supply",
    "take",
    "test",
    "treat",
    "try",
    "use",
    "validate",
    "verify",
    "write",
]


def help_lines() -> Iterator[tuple[str, str]]:
    """Command with flag, and its line of help."""

    def walk(
        parser: argparse.ArgumentParser, command: str
    ) -> Iterator[tuple[str, str]]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, below in action.choices.items():
                    yield from walk(below, f"{command} {name}")
            elif action.help != argparse.SUPPRESS and not isinstance(
                action, argparse._HelpAction | argparse._VersionAction
            ):
                flag = "/".join(action.option_strings) or str(action.metavar)
                yield f"{command} {flag}", action.help or ""

    return walk(build_parser(), "t2ibench")


LINES = dict(help_lines())


def test_there_are_lines() -> None:
    assert len(LINES) > 100


@pytest.mark.parametrize("flag", LINES)
def test_a_line_begins_with_a_verb_and_ends_with_the_default(flag: str) -> None:
    line = LINES[flag]
    first, *_ = line.split()
    assert first in VERBS, line
    assert re.search(r"\((?:default: .+|required)\)$", line), line
