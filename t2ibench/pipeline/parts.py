"""Checks that runs are parts of one run before merging, and the search for missing parts.

A part says itself which one it is: `--shard I/N` is among the settings of its record.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.images_of_parts import (
    ImageCounts,
    ImagesOfRuns,
    required_images,
)
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.differences import differences_in_words, record_differences
from t2ibench.results.record import RunRecord
from t2ibench.results.run import RunFolder

_SHOWN = 12  # parts that a message names
# What all parts must share; they differ in output, cost and history.
_SAME = ("tasks", "measurement", "encoders", "controls", "judges", "pools")


@dataclass(slots=True)
class MissingParts:
    """The missing parts and images of a run that is merged."""

    count: int = 0  # parts of the run; 0 where no part is numbered
    # numbers of parts that were not given
    not_given: list[int] = field(default_factory=list)
    # part to what is missing of it
    unfinished: dict[int, str] = field(default_factory=dict)
    images: int = 0  # that no run has, where no part is numbered

    def __bool__(self) -> bool:
        return bool(self.not_given or self.unfinished or self.images)


def check_alike(first: RunFolder, other: RunFolder) -> None:
    """Raise an error for runs that differ in model, tasks or settings, and name the difference."""
    records = (first.record, other.record)
    made = [
        record.generator.fingerprint if record.generator else None for record in records
    ]
    alike = all(
        getattr(first.record, name) == getattr(other.record, name) for name in _SAME
    )
    sizes = {record.batch_size for record in records} - {None}
    if made[0] == made[1] and alike and len(sizes) < 2:
        return
    sides = (f"in {first.path}", f"in {other.path}")
    clauses = differences_in_words(record_differences(*records, sides))
    raise T2IBenchError(
        f"{first.path} and {other.path} are no parts of one run: {clauses}.",
        "Start every part with the same command, but for --shard.",
    )


def check_split(sources: Sequence[RunFolder], target: RunFolder | None) -> None:
    """Raise an error for parts of different splits, and for duplicate parts."""
    counted: dict[int, RunFolder] = {}
    for folder in [*sources, *([target] if target else [])]:
        count = _count(folder.record)
        if count is None:
            continue
        counted.setdefault(count, folder)
        if len(counted) > 1:
            first, second = [
                f"{folder.path} of {count}" for count, folder in counted.items()
            ]
            raise T2IBenchError(
                f"These are parts of different splits: {first} parts, {second}.",
                "Merge parts I/N of one N; another N has other images in every part.",
            )
    seen: dict[int, RunFolder] = {}
    for folder in sources:
        part = folder.record.part
        if part is None:
            continue
        number, count = part
        if number in seen:
            raise T2IBenchError(
                f"Part {number} of {count} is there twice: {seen[number].path} and {folder.path}.",
                "Give the one that is finished.",
            )
        seen[number] = folder


def missing_parts(
    sources: Sequence[RunFolder], target: RunFolder | None
) -> MissingParts:
    """Return which parts and images of a run neither the sources nor the target contain."""
    folders = [*sources, *([target] if target else [])]
    plan = stored_plan(folders[0])
    counts = [_count(folder.record) for folder in folders]
    missing = MissingParts(count=next(filter(None, counts), 0))
    # In the order in which they are merged: what the target has stays.
    there = ImagesOfRuns([*([target] if target else []), *sources])
    if not missing.count:
        if not _failures_are_accepted(sources):
            for required in required_images(plan).values():
                missing.images += there.counts(required).missing
        return missing
    by_number = _parts_by_number(sources)
    for number, required in required_images(plan, missing.count).items():
        folder = by_number.get(number)
        images = there.counts(required, folder.path if folder else None)
        if folder is None and not _may_have(folders, number):
            if images.missing:
                missing.not_given.append(number)
            continue
        reason = _unfinished(folder, images)
        if reason:
            missing.unfinished[number] = reason
    return missing


def _parts_by_number(sources: Sequence[RunFolder]) -> dict[int, RunFolder]:
    """Return the folders of parts, keyed by their number I in --shard I/N."""
    by_number: dict[int, RunFolder] = {}
    for source in sources:
        if source.record.part is not None:
            number, _ = source.record.part
            by_number[number] = source
    return by_number


def _may_have(folders: Sequence[RunFolder], number: int) -> bool:
    """Return whether a run that is not split, or a merged one, may have the images of a part."""
    records = [folder.record for folder in folders]
    return any(_is_whole(record) or _covers(record, number) for record in records)


def refusal(missing: MissingParts, first: RunFolder) -> T2IBenchError:
    """Return an error with the missing parts and the command that creates them."""
    sentences, to_run = [], []
    if missing.not_given:
        plural = "" if len(missing.not_given) == 1 else "s"
        verb = "are" if plural else "is"
        numbers = _listed(missing.not_given)
        sentences.append(f"Part{plural} {numbers} of {missing.count} {verb} missing.")
        to_run += missing.not_given
    for number, what in list(missing.unfinished.items())[:_SHOWN]:
        sentences.append(f"Part {number} of {missing.count} is not finished: {what}.")
        to_run.append(number)
    if missing.images:
        sentences.append(f"{missing.images} images of the run are missing.")
    command = _command(first.record, to_run[0] if to_run else None, missing.count)
    more = f" (and so for {_listed(to_run[1:])})" if len(to_run) > 1 else ""
    hint = (
        f"Run it: {command}{more}; then merge again."
        if command
        else "Finish them first."
    )
    return T2IBenchError(
        f"{' '.join(sentences)} Nothing was merged.",
        f"{hint} --allow-missing merges and scores what is there, and results say what is not.",
    )


def _command(record: RunRecord, number: int | None, count: int) -> str:
    """Return the command that creates a part or the whole run; "" if it used Python objects."""
    if record.from_objects:
        return ""
    size = record.batch_size or record.settings.batch_size
    update = {"shard": None, "batch_size": size}
    words = record.settings_of_command.model_copy(update=update).command()
    if number is not None:
        words += ["--shard", f"{number}/{count}"]
    return shlex.join(words)


def _listed(numbers: Sequence[int]) -> str:
    """Return the numbers of parts as text, such as '3' or '3 and 7'; a long list is shortened."""
    texts = [str(number) for number in numbers[:_SHOWN]]
    if len(numbers) > _SHOWN:
        return f"{', '.join(texts)} and {len(numbers) - _SHOWN} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _count(record: RunRecord) -> int | None:
    """Return into how many parts a run was split; None unless the folder is a part or merged."""
    if record.part is not None:
        return record.part[1]
    return record.merged.count if record.merged else None


def _is_whole(record: RunRecord) -> bool:
    return record.part is None and record.merged is None


def _covers(record: RunRecord, number: int) -> bool:
    """Return whether a merged folder contains a part already."""
    return record.merged is not None and number not in record.merged.missing


def _failures_are_accepted(folders: Sequence[RunFolder]) -> bool:
    """Return whether all runs are complete and were allowed to go on without failed images."""
    records = [folder.record for folder in folders]
    return all(
        record.settings.allow_missing and record.status == "complete"
        for record in records
    )


def _unfinished(folder: RunFolder | None, counts: ImageCounts) -> str:
    """Return a text on what an existing part still misses; "" if it is finished."""
    if folder is not None and _failures_are_accepted([folder]):
        return ""
    if counts.missing:
        return counts.in_words()
    if folder is not None and folder.record.status != "complete":
        return (
            "some of its images are not embedded, or some of its questions not answered"
        )
    return ""
