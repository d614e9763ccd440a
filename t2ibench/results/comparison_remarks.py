"""Remarks on what differs between two runs besides the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.describe import listed
from t2ibench.results.display import text_only
from t2ibench.results.schema import GeneratorInfo, Results, TaskResult
from t2ibench.results.unread import unread_line
from t2ibench.store.answers import who_judged


@dataclass(frozen=True, slots=True)
class Remarks:
    """What differs between two results of one task besides the models, and what follows.

    Attributes:
        notes: What differs, or limits both, in words.
        comparable: Whether both measure one quantity, so that a difference has a value.
        testable: Whether they measure it in one way, so that two equal models differ by chance
            alone.
        decidable: Whether, besides, neither test failed a check of its own, so that a difference
            is one of how much the models lean.
    """

    notes: tuple[str, ...]
    comparable: bool = True
    testable: bool = True
    decidable: bool = True


# What remarks call two runs.
_SIDES = ("the first run", "the second run")


def remarks_on(
    first: TaskResult, second: TaskResult, sides: tuple[str, str] = _SIDES
) -> Remarks:
    """Return what differs between two results of one task besides the models, in words.

    Args:
        first: The result in one run.
        second: The result in another.
        sides: What remarks call the two runs.
    """
    if first.task_hash != second.task_hash:
        return _incomparable(_other_task(first, second))
    same_encoders = first.settings.encoders == second.settings.encoders
    if text_only(first) and text_only(second) and same_encoders:
        return _incomparable("measures the text encoder, which both runs share")
    untestable = _other_ways(first, second, sides)
    failed = _failed_checks(first, second, sides)
    limits = _limits(first, second, sides)
    return Remarks(
        (*untestable, *failed, *limits),
        testable=not untestable,
        decidable=not (untestable or failed),
    )


def _incomparable(note: str) -> Remarks:
    return Remarks((note,), comparable=False, testable=False, decidable=False)


def _other_task(first: TaskResult, second: TaskResult) -> str:
    pools = [task.pool for task in (first, second) if task.pool is not None]
    samples = [pool.drawn for pool in pools if pool.drawn is not None]
    descriptions = list(dict.fromkeys(sample.summary for sample in samples))
    if len(descriptions) < 2:
        return "another version of the task"
    return f"other captions: {descriptions[0]}, and {descriptions[1]}"


def _other_ways(
    first: TaskResult, second: TaskResult, sides: tuple[str, str]
) -> list[str]:
    """Return notes on differences in measurement that would make equal models differ."""
    notes = []
    if first.settings.encoders != second.settings.encoders and not text_only(first):
        notes.append(_other_encoders(first, second))
    if who_judged(first.settings.judges) != who_judged(second.settings.judges):
        notes.append("other judges")
    if first.settings.limit != second.settings.limit:
        notes.append("other stimuli (--limit)")
    if first.missing_prompts != second.missing_prompts:
        notes.append("other prompts have no image")
    if _unread_words(first) != _unread_words(second):
        notes.append(_unread_note(first, second, sides))
    return notes


def _failed_checks(
    first: TaskResult, second: TaskResult, sides: tuple[str, str]
) -> list[str]:
    """Return for each of two results that is inconclusive a note with the reason."""
    return [
        f"{side} is inconclusive: {task.inconclusive}"
        for side, task in zip(sides, (first, second), strict=True)
        if task.inconclusive
    ]


def _limits(first: TaskResult, second: TaskResult, sides: tuple[str, str]) -> list[str]:
    """Return notes that leave a comparison valid, such as on the numbers of images."""
    notes = []
    unread = _unread_words(first)
    if unread and unread == _unread_words(second):
        notes.append(_unread_note(first, second, sides))
    limit = first.settings.limit
    if limit is not None and limit == second.settings.limit:
        notes.append("made with --limit")
    missing = first.missing_prompts
    if missing != [] and missing == second.missing_prompts:
        notes.append("some prompts have no image")
    if first.n_images != second.n_images:
        notes.append("other numbers of images")
    return notes


def _other_encoders(first: TaskResult, second: TaskResult) -> str:
    if first.settings.encoders.keys() != second.settings.encoders.keys():
        return "other encoders"
    return "an encoder has the same name and is another network, or of another version of t2ibench"


def _unread_words(task: TaskResult) -> set[tuple[str, str]]:
    """Return each prompt whose end no text encoder of the model read, with the unread end."""
    return {
        (reading.prompt, reading.unread)
        for reading in task.unread_prompts
        if reading.unread
    }


def _unread_note(first: TaskResult, second: TaskResult, sides: tuple[str, str]) -> str:
    parts = []
    for side, task in zip(sides, (first, second), strict=True):
        count = len({prompt for prompt, _ in _unread_words(task)})
        if count:
            parts.append(f"the end of {count} prompts was not read in {side}")
    return "; ".join(parts)


def unread_lines(first: Results, second: Results, names: Sequence[str]) -> list[str]:
    """Return sentences on the prompts whose ends text encoders did not read, for each run.

    Args:
        first: A run.
        second: Another.
        names: What they are called.

    Returns:
        A sentence for each run that has such prompts; one for both where it is the same.
    """
    shared = first.tasks.keys() & second.tasks.keys()
    runs_by_line: dict[str, list[str]] = {}
    for name, results in zip(names, (first, second), strict=True):
        tasks = [task for key, task in results.tasks.items() if key in shared]
        unread = {
            reading.prompt: reading for task in tasks for reading in task.unread_prompts
        }
        line = unread_line(list(unread.values()), None)
        if line is not None:
            runs_by_line.setdefault(line, []).append(name)
    return [
        f"Not read in {listed(runs)}: {line}." for line, runs in runs_by_line.items()
    ]


def rewriting_line(
    first: Results, second: Results, sides: tuple[str, str] = _SIDES
) -> str | None:
    """Return a sentence on how two runs' rewriters differ; None if neither run has one.

    Args:
        first: A run.
        second: Another.
        sides: What the sentence calls the two runs.
    """
    rewriter = first.model.rewriter
    other_rewriter = second.model.rewriter
    if rewriter is None and other_rewriter is None:
        return None
    name = "none" if rewriter is None else rewriter.name
    other_name = "none" if other_rewriter is None else other_rewriter.name
    same = (
        rewriter is not None
        and other_rewriter is not None
        and rewriter.fingerprint == other_rewriter.fingerprint
    )
    differing = _differing_generation(first, second)
    also = f" These differ, too: {listed(differing)}." if differing else ""
    if same:
        return f"Both runs have the same rewriter, {name}.{also}"
    also = also or " Generator, settings and seeds are the same."
    return (
        f"The rewriter differs: {name} in {sides[0]}, {other_name} in {sides[1]}.{also}"
    )


def _differing_generation(first: Results, second: Results) -> list[str]:
    """Return what else than the rewriter differs in how the images of two runs were made."""
    shared = first.tasks.keys() & second.tasks.keys()
    differing = []
    if _generator_behind(first.model) != _generator_behind(second.model):
        differing.append("the generator")
    if _seeds(first, shared) != _seeds(second, shared):
        differing.append("the seed")
    if _libraries(first.model) != _libraries(second.model):
        differing.append("versions of the libraries that made the images")
    return differing


def _generator_behind(model: GeneratorInfo) -> str | None:
    """Return the fingerprint of a run's generator, as it is without any rewriter."""
    if model.rewriter is None:
        return model.fingerprint
    return model.rewriter.generator


def _seeds(results: Results, tasks: set[str]) -> set[int]:
    return {results.tasks[name].settings.seed for name in tasks}


def _libraries(model: GeneratorInfo) -> list[list[tuple[str, str]]]:
    versions = [model.libraries, *model.other_libraries]
    return sorted(sorted(libraries.items()) for libraries in versions)
