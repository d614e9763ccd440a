"""`t2ibench reproduce PAPER`: repeat a paper's tests, and write its tables and figures."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from t2ibench.cli.failure import say
from t2ibench.cli.run import add_settings, announce, settings_given
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, visible, visible_lines
from t2ibench.settings import flag_name

if TYPE_CHECKING:
    from t2ibench.apps.papers.paper import Paper
    from t2ibench.apps.papers.reproduction import Reproduction


_EXAMPLES = """examples:
  t2ibench reproduce PAPER                       the paper's own model and settings
  t2ibench reproduce PAPER --model sdxl --table 1
  t2ibench reproduce all --model toy --times .2     every table and figure, small, without network
  t2ibench reproduce PAPER --run runs/sdxl       tables of a run that is done

Flags that are given win over the paper's settings, and the page says what differs. Running the
same command again resumes.
exit status: 0 done; 1 wrong input; 3 finished, but an exhibit lacks numbers; 130 interrupted
"""


def add(verbs: Any) -> None:
    """Add the command `reproduce` and its flags to the command line."""
    verb = verbs.add_parser(
        "reproduce",
        description="Run a paper's tests with its settings, and write its tables and figures: "
        "published, ours, the difference, and what differs. They go into the run folder, below "
        "reproduce/.",
        epilog=_EXAMPLES,
    )
    add_flag(
        verb,
        "paper PAPER",
        "reproduce this paper, which `t2ibench ls papers` lists, or all (required)",
    )
    add_flag(
        verb,
        "--table N",
        "make only table N; repeatable (default: all)",
        action="append",
    )
    add_flag(
        verb,
        "--figure N",
        "make only figure N; repeatable (default: all)",
        action="append",
    )
    add_flag(
        verb,
        "--run RUN",
        "use this finished run and generate nothing (default: a new run)",
    )
    add_settings(verb)
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Reproduce one paper, or all of them, and return the exit status."""
    from t2ibench.apps.papers.paper import PAPERS

    if arguments.paper != "all":
        return _one(arguments, PAPERS.get(arguments.paper))
    if arguments.table or arguments.figure:
        raise T2IBenchError(
            "--table and --figure select from one paper, not from all.",
            "Name the paper.",
        )
    statuses = []
    for name in PAPERS:
        try:
            statuses.append(_one(arguments, PAPERS.get(name)))
        except (
            T2IBenchError
        ) as error:  # an error with one paper must not stop the others
            say(f"{name}: {error}")
            statuses.append(1)
    return next((status for status in (1, 3) if status in statuses), 0)


def _one(arguments: argparse.Namespace, paper: Paper) -> int:
    from t2ibench.apps.papers.call import of_run
    from t2ibench.apps.papers.reproduction import choose

    chosen = choose(paper, arguments.table or (), arguments.figure or ())
    if arguments.run is None:
        return _measured(arguments, paper, chosen)
    further = [flag_name(name) for name in settings_given(arguments)]
    return _show(of_run(paper, chosen, arguments.run, further))


def _measured(
    arguments: argparse.Namespace, paper: Paper, chosen: list[str] | None
) -> int:
    from t2ibench.apps.papers.call import measured, prepared_paper
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.stop_request import on_sigterm

    reporter = ConsoleReporter()
    call = visible(shlex.join(arguments.argv))
    context, models = prepared_paper(paper, settings_given(arguments), chosen, call)
    reporter.say(f"{paper.file.title}: {len(context.plan.tasks)} tasks.")
    announce(context, models, reporter)
    if arguments.dry_run:
        from t2ibench.cli.dry_run import show

        show(context, models, verbose=True)
        return 0
    with on_sigterm():
        reproduction, outcome = measured(paper, context, models, reporter, chosen)
    for line in [*outcome.damaged, *outcome.problems]:
        reporter.warn(line)
    status = _show(reproduction)
    return status if outcome.complete else 3


def _show(reproduction: Reproduction) -> int:
    """Print the tables and figures of a reproduction, and return the exit status."""
    from t2ibench.apps.papers.pages import exhibit_text

    print(
        visible(f"{reproduction.paper.file.title}, {reproduction.results.model.name}")
    )
    for exhibit in reproduction:
        print()
        print(visible(f"{exhibit.label}. {exhibit.title}"))
        print(visible_lines(exhibit_text(exhibit)), end="")
    print("\nWhat differs from the paper:")
    for line in reproduction.differs:
        print(visible(f"- {line}"))
    place = reproduction.page.with_suffix("")
    print()
    print(visible(f"Pages: {place}.md and {place}.html; tables and figures in {place}"))
    incomplete = [exhibit.label for exhibit in reproduction if not exhibit.complete]
    if incomplete:
        say(f"{', '.join(incomplete)} lack some numbers; the lines above say which.")
    return 3 if incomplete else 0
