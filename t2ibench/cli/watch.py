"""`t2ibench run --model folder:DIR --watch`: score what another program keeps writing."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, shown, visible

if TYPE_CHECKING:
    from t2ibench.apps.watching.watch import FolderWatch, ScoredSet
    from t2ibench.reports.destinations import Chosen
    from t2ibench.settings import RunSettings

_INTERRUPTED = 130


def watch(arguments: argparse.Namespace, settings: RunSettings, reporter: Any) -> int:
    """Watch a folder until Ctrl-C or SIGTERM, and return the exit status of the set scored last."""
    from t2ibench.apps.watching.checkpoints import Limits
    from t2ibench.apps.watching.watch import FolderWatch
    from t2ibench.pipeline.engines import check_engine
    from t2ibench.pipeline.stop_request import on_sigterm
    from t2ibench.reports.destinations import chosen_by

    _check_flags(arguments)
    # What cannot work is said now, not once the first set is complete.
    check_engine(settings)
    destinations = chosen_by(settings)
    accept = arguments.accept
    limits = None if accept is None else Limits.read(Path(accept))
    watched = FolderWatch(
        settings,
        reporter,
        call=visible(shlex.join(arguments.argv)),
        limits=limits,
    )
    needed = len(watched.plan.requests)
    reporter.say(
        f"Watching {watched.root} every {arguments.watch:g} seconds for sets of {needed} images "
        f"of {len(watched.plan.prompts)} prompts; Ctrl-C ends it."
    )
    with on_sigterm():
        return _follow(watched, arguments, reporter, destinations)


def _check_flags(arguments: argparse.Namespace) -> None:
    """Raise an error for flags that decide in another way when a run ends."""
    for flag, given in (
        ("--until-precise", arguments.until_precise),
        ("--until-decided", arguments.until_decided),
        ("--plan", arguments.plan),
    ):
        if given is not None:
            raise T2IBenchError(
                f"--watch scores images that another program makes, and {flag} cannot set how "
                "many that program makes.",
                f"Leave {flag} out.",
            )


def _follow(
    watched: FolderWatch,
    arguments: argparse.Namespace,
    reporter: Any,
    destinations: list[Chosen],
) -> int:
    """Show each set that is scored until Ctrl-C, and return the status of the last one.

    SIGTERM ends it, too, with the status that it gives any command.
    """
    from t2ibench.cli.termination import STATUS
    from t2ibench.pipeline.stop_request import terminated

    last: ScoredSet | None = None
    status = _INTERRUPTED
    sets = watched.sets(arguments.watch)
    while True:
        try:
            scored = next(sets)
            last = scored
            # Where it is interrupted before it is shown, its own status is not known.
            status = _INTERRUPTED
            status = _shown(scored, watched, arguments, reporter, destinations)
        except KeyboardInterrupt:
            _say_ended(watched, last, reporter)
            if terminated():
                return STATUS
            return _INTERRUPTED if watched.scoring is not None else status


def _shown(
    scored: ScoredSet,
    watched: FolderWatch,
    arguments: argparse.Namespace,
    reporter: Any,
    destinations: list[Chosen],
) -> int:
    """Print the results of a set, send them where they go, and return its exit status."""
    from t2ibench.cli.run import announce, finish, send_results

    announce(scored.context, scored.models, reporter)
    status = finish(
        scored.outcome,
        scored.context,
        scored.models,
        reporter,
        verbose=arguments.verbose,
    )
    send_results(destinations, scored.results, scored.outcome.folder, reporter)
    if watched.limits is not None:
        status = _decided(scored, watched)
    if len(watched.checkpoints) > 1:
        reporter.say(f"All sets: {watched.trend_page}")
    return status


def _decided(scored: ScoredSet, watched: FolderWatch) -> int:
    """Print the decision about a set, and return its exit status."""
    from t2ibench.decisions.decision import EXIT_STATUS
    from t2ibench.decisions.each_run import decide_each
    from t2ibench.reports.decisions.text import decision_text

    assert watched.limits is not None, "without limits nothing is decided"
    profile = watched.limits.profile
    decisions = decide_each(profile, watched.limits.base, [scored.outcome.folder])
    print(decision_text(decisions), end="")
    return EXIT_STATUS[decisions[0].outcome]


def _say_ended(watched: FolderWatch, last: ScoredSet | None, reporter: Any) -> None:
    """Say what was scored, which set last, and which one was being scored."""
    if watched.scoring is not None:
        reporter.warn(
            f"{watched.scoring} was being scored; run the same command again to continue with it."
        )
    elif last is None:
        reporter.say("No set was complete.")
    if last is None:
        return
    count = len(watched.scored_here)
    plural = "" if count == 1 else "s"
    reporter.say(
        f"Ended; {count} set{plural} scored, the last of them {shown(last.name)} in "
        f"{last.outcome.folder}."
    )
