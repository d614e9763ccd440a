"""Making the source images of a run, before their edits are planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.source_run import (
    check_files,
    limit_cost_of_edits,
    limit_cost_of_sources,
    with_known_edits,
)


def generate_sources(
    context: RunContext,
    models: Models,
    reporter: Reporter,
    execute: Callable[[RunContext, Models, Reporter], Outcome],
) -> Outcome | None:
    """Make the source images of a run, and plan their edits; return None if it has no edits.

    Where that fails, the tasks without edits go on.

    Args:
        context: The run that edits.
        models: Its models.
        reporter: Who is told.
        execute: What does the work of a run.
    """
    sources = context.sources
    if sources is None:
        return None
    check_files(context, reporter)
    limit_cost_of_sources(sources)
    of_sources = sources.context
    update = {"generate_only": context.settings.generate_only}
    of_sources.settings = of_sources.settings.model_copy(update=update)
    folder = sources.context.folder.path
    try:
        outcome = execute(sources.context, sources.models, reporter)
    except CostLimitError:
        raise
    except T2IBenchError as error:
        if all(needs.edits for needs in context.plan.needs.values()):
            raise
        reporter.warn(f"No source images, so nothing is edited: {error}")
        outcome = Outcome(
            results=None,
            folder=folder,
            attempts=Counter(),
            observed=0,
            damaged=[],
            problems=[],
        )
    with_known_edits(context, models.generator)
    limit_cost_of_edits(context, models)
    if outcome.attempts:
        tried = sorted(outcome.attempts.items(), key=lambda item: item[0] != "ok")
        counts = ", ".join(f"{count} {status}" for status, count in tried)
        reporter.say(f"Source images now: {counts} ({folder}).")
    return outcome
