"""`t2ibench reproduce PAPER`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, shown, visible, visible_lines
from t2ibench.settings import flags

if TYPE_CHECKING:
    from t2ibench.reproduction.build import Reproduction
    from t2ibench.reproduction.paper import Paper


def run(arguments: argparse.Namespace) -> int:
    """Reproduce one paper, or all."""
    from t2ibench.cli.failure import say
    from t2ibench.reproduction.call import ALL
    from t2ibench.reproduction.registry import PAPERS

    names = list(PAPERS) if arguments.paper == ALL else [arguments.paper]
    numbered = arguments.table or arguments.figure or arguments.options
    if arguments.paper == ALL and numbered:
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
    from t2ibench.cli.run import settings_given
    from t2ibench.reproduction.call import checked_files, chosen_exhibits, done_run, without_run
    from t2ibench.reproduction.run import from_run

    chosen = chosen_exhibits(paper, arguments.table or (), arguments.figure or ())
    options = checked_files(paper, _files(arguments.options or []))
    if arguments.run is None:
        found = None if settings_given(arguments) else without_run(paper, chosen, options)
        if found is not None:
            return _show(found)
        return _measured(arguments, paper, chosen, options)
    given = [name for name, _, _ in flags() if getattr(arguments, name) is not None]
    given += ["config"] if arguments.config else []
    names = [f"--{name.replace('_', '-')}" for name in given]
    folder = done_run(arguments.run, names)
    return _show(from_run(paper, folder, chosen=chosen, options=options))


def _measured(
    arguments: argparse.Namespace,
    paper: Paper,
    chosen: list[str] | None,
    options: Mapping[str, Path],
) -> int:
    from t2ibench.cli.run import announce, settings_given
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.stopping import on_sigterm
    from t2ibench.reproduction.call import prepared_paper
    from t2ibench.reproduction.run import reproduce

    reporter = ConsoleReporter()
    call = visible(shlex.join(arguments.argv))
    prepared = prepared_paper(paper, settings_given(arguments), chosen, call)
    reporter.say(f"{paper.file.title}: {len(prepared.plan.tasks)} tasks.")
    announce(prepared, reporter)
    if arguments.dry_run:
        from t2ibench.cli.dry_run import show

        show(prepared, verbose=True)
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
    from t2ibench.reproduction.write import exhibit_text

    file = found.paper.file
    print(visible(f"{file.title}, {found.results.model.name or 'without a run'}"))
    for exhibit in found.shown:
        print()
        print(visible(f"{exhibit.label}. {exhibit.file.title}"))
        print(visible_lines(exhibit_text(exhibit)), end="")
    print("\nWhat differs from the paper:")
    for line in found.differs_in_chosen:
        print(visible(f"- {line}"))
    if found.page is not None:
        place = found.page.with_suffix("")
        print()
        print(visible(f"Pages: {place}.md and {place}.html; tables and figures in {place}"))
    lacking = [exhibit.label for exhibit in found.shown if not exhibit.complete]
    if lacking:
        say(f"{', '.join(lacking)} lack some numbers; the lines above say which.")
    return 3 if lacking else 0


def _files(given: list[str]) -> dict[str, str]:
    """Files of the user's, by name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not path:
            raise T2IBenchError(f"--with {shown(text)}: expected NAME=FILE.")
        found[name] = path
    return found
