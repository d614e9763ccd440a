"""`t2ibench ls TASK`: print one task in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from t2ibench.cli.ls_tasks import row_of
from t2ibench.errors import visible
from t2ibench.methods import METHODS
from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.registry import needs_if_decided
from t2ibench.tasks.listing import listed_task
from t2ibench.tasks.named_sets import named_sets, set_lines

if TYPE_CHECKING:
    from t2ibench.methods.core.evidence import Needs, PromptNeed
    from t2ibench.tasks.loader import LoadedTask

Row = dict[str, Any]
_FIRST = 6  # prompts, words and sets that are shown without --verbose
_LABEL = 13  # columns of a line's label


def record_of(task: LoadedTask) -> Row:
    """Return everything about a task for `--json`, keyed by field."""
    spec = task.spec
    sets = [asdict(named) for named in named_sets(spec)]
    published = [value.model_dump() for value in spec.published]
    about = {
        "group": task.group,
        "description": spec.description,
        "estimates": _one_space(METHODS.get(spec.method).estimand),
        "sets": sets,
    }
    source = {
        "published": published,
        "notes": list(spec.notes),
        "citation": spec.citation,
        "hash": task.hash,
        "file": str(task.path),
    }
    return (
        row_of(listed_task(task))
        | about
        | _needs_record(needs_if_decided(spec))
        | source
    )


def _needs_record(asked: Needs | None) -> Row:
    """Return what a task needs, for `--json`."""
    return {
        "prompts": {} if asked is None else dict(asked.images_by_prompt),
        "questions": [text for text, _ in _questions(asked)],
        "texts": 0 if asked is None else len(asked.texts),
        "sources": {} if asked is None else _counts(asked.sources),
        "edits": [] if asked is None else _instructions(asked),
        "edited_images": 0 if asked is None else _n_edited(asked),
    }


def _counts(sources: Sequence[PromptNeed]) -> dict[str, int]:
    """Return the number of source images of each prompt."""
    return {source.prompt: source.images for source in sources}


def _n_edited(asked: Needs) -> int:
    """Return how many images a task's edits make."""
    from t2ibench.methods.core.edit_needs import expected_images

    return expected_images([asked])


def _instructions(asked: Needs) -> list[str]:
    """Return every distinct instruction of a task's edits."""
    return list(dict.fromkeys(edit.instruction for edit in asked.edits))


def page_of(task: LoadedTask, width: int, verbose: bool) -> str:
    """Return the full description of a task as text, with its limitations.

    Args:
        task: The task.
        width: Columns of a line.
        verbose: Every prompt and word, not only the first ones.

    Returns:
        Lines that a terminal shows as they are.
    """
    most = None if verbose else _FIRST
    lines: list[str] = []
    for label, text in _entries(task, most):
        first = f"{label:{_LABEL}}"
        lines += textwrap.wrap(
            visible(_one_space(text)),
            max(width, 2 * _LABEL),
            initial_indent=first,
            subsequent_indent=" " * _LABEL,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _entries(task: LoadedTask, most: int | None) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line on a task's page; '' is the label of a continued line."""
    spec = task.spec
    method = METHODS.get(spec.method)
    asked = needs_if_decided(spec)
    yield "Task", f"{task.id}: {spec.title}"
    yield "Question", spec.description
    yield "Method", f"{method.title}. The headline estimates: {method.estimand}"
    yield "Suite", _suite_text(task)
    yield "Images", _images_text(task, asked)
    yield from _labelled("Groups", set_lines(spec, most), most, "sets of words")
    if isinstance(spec, GuidedTask):
        yield from _labelled("Templates", _template_lines(spec), most, "templates")
    if asked is not None:
        counted = asked.images_by_prompt.items()
        prompts = [f"{count} × {prompt}" for prompt, count in counted]
        yield from _labelled("Prompts", prompts, most, "prompts")
        sources = [
            f"{count} × {prompt}" for prompt, count in _counts(asked.sources).items()
        ]
        yield from _labelled("Sources", sources, most, "prompts of source images")
        yield from _labelled("Edits", _instructions(asked), most, "instructions")
        if not asked.shows_images:
            yield from _labelled("Texts", list(asked.texts), most, "texts")
        questions = [
            _question_text(text, classes) for text, classes in _questions(asked)
        ]
        yield from _labelled("Questions", questions, most, "questions to the judge")
    published = [
        f"{entry.model}: {name} {value:g} ({entry.source})"
        for entry in spec.published
        for name, value in entry.scores.items()
    ]
    yield from _labelled("Published", published, most, "values")
    yield from _labelled("Limits", list(spec.notes), None, "notes")
    yield "Source", spec.citation
    yield (
        "Version",
        f"{spec.version}, SHA-256 {task.hash[:16]}… over everything that determines a score",
    )
    yield "File", str(task.path)


def _suite_text(task: LoadedTask) -> str:
    suite = listed_task(task).suite
    tags = ", ".join(f"tag:{tag}" for tag in task.spec.tags)
    group = f"group {task.group}; " if task.group else ""
    control = "; a positive control, which is no finding" if task.spec.control else ""
    return f"{suite}; {group}{tags or 'no tags'}{control}"


def _images_text(task: LoadedTask, asked: Needs | None) -> str:
    """Return in words how many images a task needs, and what reads them."""
    if asked is None:
        pool = task.spec.awaits
        return (
            "?"
            if pool is None
            else f"as many as its captions give; it needs {pool.flag}"
        )
    if asked.edits:
        n_sources = sum(_counts(asked.sources).values())
        return f"{_n_edited(asked):,} edits of {n_sources:,} source images"
    if not asked.n_images:
        return (
            f"none: {len(asked.texts):,} texts, which describe the text encoder alone"
        )
    readers = ["an encoder"] if asked.embeds else []
    answers = sum(need.images for need in asked.questions)
    if answers:
        readers.append(f"a judge ({answers:,} answers)")
    by = " and ".join(readers)
    return (
        f"{asked.n_images:,} of {len(asked.images_by_prompt):,} prompts, read by {by}"
    )


def _labelled(
    label: str, lines: Sequence[str], most: int | None, what: str
) -> Iterator[tuple[str, str]]:
    """Yield the first `most` lines, labelled, and a line on how many are omitted."""
    shown_lines = lines[:most]
    for number, line in enumerate(shown_lines):
        yield ("" if number else label), line
    hidden = len(lines) - len(shown_lines)
    if hidden:
        yield "", f"… and {hidden:,} more {what} (--verbose)"


def _template_lines(spec: GuidedTask) -> list[str]:
    lines = []
    for wording in spec.prompts.wordings:
        language = f" [{wording.language}]" if wording.language else ""
        lines.append(f"{wording.neutral} | {wording.guided}{language}")
    return lines


def _questions(asked: Needs | None) -> list[tuple[str, tuple[str, ...]]]:
    """Return every distinct question to judges with its classes."""
    if asked is None:
        return []
    each = (*asked.questions, *asked.checks)
    questions = [(need.question, need.classes) for need in each]
    questions += [(need.question, need.classes) for need in asked.pair_questions]
    return list(dict.fromkeys(questions))


def _question_text(question: str, classes: Sequence[str]) -> str:
    return f"{question} ({', '.join(classes) or 'in its own words'})"


def _one_space(text: str) -> str:
    return " ".join(text.split())
