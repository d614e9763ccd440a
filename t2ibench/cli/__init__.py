"""The command line. Heavy modules are imported only when a command needs them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

# The commands in the groups and the order of `--help`.
GROUPS = {
    "measure a model": ("run", "prefetch", "score", "merge", "power", "reproduce"),
    "look at a run": ("report", "compare", "frontier", "explore"),
    "decide about a run": ("plan", "decide"),
    "tasks": ("ls", "validate", "propose"),
    "people, judges and adapters": ("label", "check"),
    "publish": ("leaderboard", "export", "cite"),
}
VERBS = tuple(verb for verbs in GROUPS.values() for verb in verbs)


def _normalise(argv: Sequence[str]) -> list[str]:
    """Return the arguments, with `run` first if they name no command; exit for an unknown one."""
    words = list(argv)
    if (
        words
        and words[0] not in VERBS
        and words[0] not in {"-h", "--help", "--version"}
    ):
        if words[0].startswith("-"):
            return ["run", *words]
        from t2ibench.cli.failure import say
        from t2ibench.errors import did_you_mean, shown

        message = f"unknown command '{shown(words[0])}'.{did_you_mean(words[0], VERBS)}"
        say(f"{message} `t2ibench --help` lists the commands.")
        raise SystemExit(2)
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Every error is one line on standard error; T2IBENCH_TRACEBACK=1 also prints its traceback.
    """
    from t2ibench.cli import failure

    failure.usable_streams()
    given = list(sys.argv[1:] if argv is None else argv)
    with failure.explained() as outcome:
        arguments = _parsed(given)
        if arguments is None:
            return 0
        outcome.status = int(arguments.handler(arguments))
    error = failure.flush_output()
    if error is None:
        return outcome.status
    return failure.report_output_error(error, outcome.status)


def _parsed(given: Sequence[str]) -> argparse.Namespace | None:
    """Return the parsed arguments; None if help was printed because there was no command."""
    from t2ibench.cli.parser import build_parser

    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # deleted; absolute paths still work
        here = ""
    if "" not in sys.path and here and here not in sys.path:
        # For package.module:factory in this folder; last, so that no installed package is hidden.
        sys.path.append(here)
    parser = build_parser()
    if not given:
        parser.print_help()
        return None
    arguments = parser.parse_args(_normalise(given))
    arguments.argv = ["t2ibench", *given]
    return arguments
