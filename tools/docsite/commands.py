"""The command line as its own --help prints it, and every setting of a run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from docsite.text import code, escaped, table
from t2ibench.cli.parser import build_parser
from t2ibench.settings import flag_name, flags


def pages() -> dict[str, str | bytes]:
    """The page of the command line."""
    os.environ["COLUMNS"] = "92"
    rows = [
        [code(name), code(flag_name(name)), escaped(flag.help)]
        for name, _, flag in flags()
    ]
    parts = [
        "# Command line",
        "Without a command, `t2ibench` means `t2ibench run`. Exit status: 0 done; 1 the input is "
        "wrong; 2 wrong usage; 3 finished, but evidence is missing; 130 interrupted, and "
        "resumable.",
        "## Settings of a run",
        "Each is a flag of `t2ibench run` and a keyword of `t2ibench.evaluate`; the same checks "
        "apply to both.",
        table(["Setting", "Flag", "What it is"], rows),
    ]
    for name, parser in _verbs(build_parser(), ""):
        level = "##" if " " not in name else "###"
        parts.append(
            f"{level} t2ibench {name}\n\n```text\n{parser.format_help().rstrip()}\n```"
        )
    return {"reference/commands.md": "\n\n".join(parts) + "\n"}


def _verbs(
    parser: argparse.ArgumentParser, prefix: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield f"{prefix}{name}", child
                yield from _verbs(child, f"{prefix}{name} ")
