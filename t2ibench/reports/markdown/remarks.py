"""The section of results.md on what a reader should know about the results."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.reports import limits, sentences
from t2ibench.reports.markdown.markup import escape
from t2ibench.reports.view import RunView
from t2ibench.results.schema import Results, TaskResult

_NAMED = 5  # prompts


def remarks_section(results: Results, run: RunView) -> list[str]:
    """Return lines of results.md on what to know about the results; empty if there is nothing."""
    earlier_limits = limits.earlier(run)
    of_libraries = limits.warnings_of_libraries(results) + limits.unknown_networks(
        results
    )
    remarks = [
        *([f"- {' '.join(earlier_limits)}"] if earlier_limits else []),
        *(f"- {escape(text)}" for text in of_libraries),
        *_mixed(results),
        *_remarks(results),
    ]
    if not remarks:
        return []
    return ["## What to know about these results", "", *remarks, ""]


def _mixed(results: Results) -> Iterator[str]:
    info = results.model
    for other in info.other_libraries:
        changed = [
            f"{name} {info.libraries.get(name, 'none')} and {other.get(name, 'none')}"
            for name in sorted(info.libraries.keys() | other.keys())
            if info.libraries.get(name) != other.get(name)
        ]
        yield f"- The images are a mixture: generated with {escape(', '.join(changed))}."


def _remarks(results: Results) -> Iterator[str]:
    for name, task in results.tasks.items():
        yield from _without_value(name, task)
        if task.missing_prompts:
            yield f"- `{name}`: {escape(missing_line(task))}"
        for status, reasons in task.excluded_because.items():
            for reason, count in reasons.items():
                plural = "" if count == 1 else "s"
                yield f"- `{name}`: {count} image{plural} {status}: {escape(reason)}"
        for reader, key, control in sentences.controls_by_reader(task):
            is_shown = key.startswith(("obedience", "breakdown", "variances"))
            if is_shown and not control.contradicts:
                of_reader = f" ({escape(reader)})" if reader else ""
                yield f"- `{name}`{of_reader}: {escape(control.says)}"
        for warning in task.warnings:
            yield f"- `{name}`: {escape(warning)}"
        if task.encoder_agreement is False:
            yield f"- `{name}`: the encoders do not agree on the sign of the association."


def missing_line(task: TaskResult) -> str:
    """Return a sentence on the prompts without images that a task was scored without."""
    missing = task.missing_prompts
    named = ", ".join(f"'{prompt}'" for prompt in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    which = (
        "a prompt, which has"
        if len(missing) == 1
        else f"{len(missing)} prompts, which have"
    )
    return f"scored without {which} no image, so it is about the others alone: {named}{more}."


def _without_value(name: str, task: TaskResult) -> Iterator[str]:
    """Yield lines on why a test is inconclusive, or has no score or headline."""
    if task.inconclusive:
        yield f"- `{name}` is inconclusive: {escape(task.inconclusive)}"
        for reader, _, control in sentences.controls_by_reader(task):
            if control.contradicts:
                of_reader = f"{reader}: " if reader else ""
                yield f"  - {escape(of_reader + control.says)}"
    elif task.reason:
        yield f"- `{name}` has no score: {escape(task.reason)}"
    elif task.headline.reason:
        yield f"- `{name}` has no headline: {escape(task.headline.reason)}"
