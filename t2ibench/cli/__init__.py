"""The command line.

A command's module is imported for its flags if that command is given, and what it works with when
it runs; `--help` and `--version` import neither. Importing this module takes milliseconds, because
an interruption meanwhile shows a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from t2ibench.cli import termination

if TYPE_CHECKING:
    import argparse

# The commands with their lines in `--help`, in its groups and its order.
COMMANDS = {
    "measure a model": {
        "run": "generate, embed and score (the default command)",
        "prefetch": "list and download every weight that a run will need",
        "score": "score a run again from stored evidence; generates nothing",
        "merge": "join the parts that `run --shard I/N` made, and score the whole",
        "power": "plan how many images and prompts a run needs to be precise enough",
        "reproduce": "reproduce a paper's tables and figures, its numbers beside yours",
    },
    "look at a run": {
        "report": "write report.html; with --format, the results as pdf, csv, md, latex, card, …",
        "compare": "compare two runs: how much more the second leans; or up to twenty",
        "frontier": "show what a remedy changes and what it costs, before and after",
        "where": "show whether a lean comes from words, from images or from a rewriter",
        "explore": "look at every image of a run, its tests and answers, and type words, in "
        "the browser",
    },
    "decide about a run": {
        "plan": "fix limits, tasks and sizes before a run, and print the chances of a decision",
        "decide": "decide about a run by limits fixed before: pass, fail or undecided",
    },
    "tasks": {
        "ls": "list tasks, runs, methods, models, encoders, judges, …; print one task",
        "validate": "check task files; prints every problem with its line",
        "propose": "have a language model propose biases, and write a task file",
    },
    "people, judges and adapters": {
        "label": "collect human labels in the browser or in sheets, and measure agreement",
        "check": "test an adapter of your own, how often a judge is right, or whether "
        "methods agree",
    },
    "publish": {
        "leaderboard": "submit a run (add), recompute submissions (verify), build the site",
        "export": "export a run's images as a data set, or its results to a tracker or hub",
        "cite": "print BibTeX of the methods, tasks, model, encoders and judges of a run",
    },
}
VERBS = tuple(verb for lines in COMMANDS.values() for verb in lines)


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


def program() -> int:
    """Run the command that this process was started for, and return its exit status.

    Ctrl-C ends the process with one line from here to its very end, where `main`, which a program
    may call more than once, only handles it while the command works.
    """
    termination.listen_to_interruptions()
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Every error is one line on standard error; T2IBENCH_TRACEBACK=1 also prints its traceback.
    """
    termination.listen()
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
        here = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:  # deleted; absolute paths still work
        here = ""
    if "" not in sys.path and here and here not in sys.path:
        # For package.module:factory in this folder; last, so that no installed package is hidden.
        sys.path.append(here)
    words = _normalise(given)
    parser = build_parser([verb for verb in words[:1] if verb in VERBS])
    if not words:
        parser.print_help()
        return None
    arguments = parser.parse_args(words)
    arguments.argv = ["t2ibench", *given]
    return arguments
