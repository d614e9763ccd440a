"""`t2ibench reproduce PAPER`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, did_you_mean, shown, visible, visible_lines
from t2ibench.settings import flags

if TYPE_CHECKING:
    from t2ibench.reproduce.build import Reproduction
    from t2ibench.reproduce.paper import Paper

_ALL = "all"


def run(arguments: argparse.Namespace) -> int:
    """Reproduce one paper, or all.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status: 1 where a paper cannot be reproduced, 3 where an exhibit lacks numbers.
    """
    from t2ibench.cli.failure import say
    from t2ibench.reproduce.registry import PAPERS

    names = list(PAPERS) if arguments.paper == _ALL else [arguments.paper]
    numbered = arguments.table or arguments.figure or arguments.options
    if arguments.paper == _ALL and numbered:
        raise T2IBenchError("--table, --figure and --with are of one paper.", "Name the paper.")
    statuses = []
    for name in names:
        try:
            statuses.append(_one(arguments, PAPERS.get(name)))
        except T2IBenchError as error:  # the other papers do not need this one
            if len(names) == 1:
                raise
            say(f"{name}: {error}")
            statuses.append(1)
    return next((status for status in (1, 3) if status in statuses), 0)


def _one(arguments: argparse.Namespace, paper: Paper) -> int:
    from t2ibench.reproduce.build import choose
    from t2ibench.reproduce.run import from_run

    chosen = choose(paper, {"table": arguments.table, "figure": arguments.figure})
    options = _options(paper, arguments.options or [])
    if arguments.run is not None:
        found = from_run(paper, _folder(arguments), chosen=chosen, options=options)
        return _show(found)
    return _measured(arguments, paper, chosen, options)


def _measured(
    arguments: argparse.Namespace,
    paper: Paper,
    chosen: list[str] | None,
    options: Mapping[str, Path],
) -> int:
    from t2ibench.cli.run import announce, settings_given
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.stopping import on_sigterm
    from t2ibench.reproduce.preset import with_preset
    from t2ibench.reproduce.run import prepared_for, reproduce

    reporter = ConsoleReporter()
    settings = with_preset(paper, settings_given(arguments), chosen)
    if not settings.tasks:
        raise T2IBenchError("These exhibits need no run.", "Give --run, a run that is done.")
    prepared = prepared_for(paper, settings, visible(shlex.join(arguments.argv)))
    reporter.say(f"{paper.file.title}: {len(prepared.plan.tasks)} tasks.")
    announce(prepared, reporter)
    if arguments.dry_run:
        from t2ibench.cli.dry_run import show

        show(prepared)
        return 0
    with on_sigterm():
        found, outcome = reproduce(paper, prepared, reporter, chosen=chosen, options=options)
    for line in [*outcome.damaged, *outcome.problems]:
        reporter.warn(line)
    status = _show(found)
    return status if outcome.complete else 3


def _show(found: Reproduction) -> int:
    """Print the exhibits; the exit status."""
    from t2ibench.cli.failure import say
    from t2ibench.reproduce.write import FOLDER, exhibit_text

    file = found.paper.file
    print(visible(f"{file.title}, {found.results.model.name}"))
    for exhibit in found.shown:
        print()
        print(visible(f"{exhibit.label}. {exhibit.file.title}"))
        print(visible_lines(exhibit_text(exhibit)), end="")
    print("\nWhat differs from the paper:")
    for line in found.differs_in_chosen:
        print(visible(f"- {line}"))
    if found.folder is not None:
        place = found.folder / FOLDER / found.paper.name
        print()
        print(visible(f"Pages: {place}.md and {place}.html; tables and figures in {place}"))
    lacking = [exhibit.label for exhibit in found.shown if not exhibit.complete]
    if lacking:
        say(f"{', '.join(lacking)} lack some numbers; the lines above say which.")
    return 3 if lacking else 0


def _folder(arguments: argparse.Namespace) -> Path:
    given = [name for name, _, _ in flags() if getattr(arguments, name) is not None]
    if given or arguments.config:
        raise T2IBenchError(
            "--run takes a run as it is: no other setting goes with it.",
            "Leave --run out to measure anew; what is stored already is not made again.",
        )
    from t2ibench.results.run import folder_of

    return folder_of(Path(arguments.run))


def _options(paper: Paper, given: list[str]) -> dict[str, Path]:
    """Files of the user's, by name."""
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise T2IBenchError(f"--with {shown(text)}: expected NAME=FILE.")
        if name not in paper.options:
            listed = "; ".join(f"{key}: {line}" for key, line in paper.options.items())
            raise T2IBenchError(
                f"'{paper.name}' reads no file '{shown(name)}'.{did_you_mean(name, paper.options)}",
                f"It reads {listed or 'none'}.",
            )
        found[name] = Path(path)
    return found
