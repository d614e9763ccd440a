"""The record of how images were generated: effective settings and library versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.observed_settings import with_earlier
from t2ibench.models.protocols import Charges, Generator, TowerReading
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder
from t2ibench.results.unread import PromptReading


def record_generator(
    folder: RunFolder,
    settings: Mapping[str, Any],
    libraries: Mapping[str, str],
    from_object: bool,
    images: int,
) -> None:
    """Record a generator's effective settings and libraries before its images are stored."""
    record = folder.record.generator
    if record is None:
        return
    update: dict[str, Any] = {}
    _check_batch_size(record, settings)
    if settings:
        update["effective_settings"] = with_earlier(record.effective_settings, settings)
    now = dict(libraries)
    if not record.libraries and not from_object and not images:
        # what generated existing images is not known
        update["libraries"] = now
    elif (
        record.libraries
        and not from_object
        and now not in (record.libraries, *record.other_libraries)
    ):
        update["other_libraries"] = [*record.other_libraries, now]
    _update_generator(folder, **update)


def check_batch_size(recorded: int | None, wanted: int | None) -> None:
    """Raise an error if a run that has images is to generate others in batches of another size."""
    if recorded is None or wanted in {None, recorded}:
        return
    raise T2IBenchError(
        f"--batch-size {wanted}: this run's images were generated {recorded} at a time; others "
        "would differ in their last digits.",
        "Leave it out, or give --name for a run of its own.",
    )


def _check_batch_size(record: GeneratorRecord, settings: Mapping[str, Any]) -> None:
    """Raise an error if a worker generated images in batches of another size than the first ones.

    Cards of other memory suit other sizes.
    """
    size = settings.get("batch_size")
    if record.batch_size is None or size in {None, record.batch_size}:
        return
    smaller = min(size, record.batch_size)
    raise T2IBenchError(
        f"A worker generates {size} images at a time, and the run's first images were generated "
        f"{record.batch_size} at a time: they would differ in their last digits.",
        f"Give --batch-size {smaller} and --name, for a run in which all workers do the same.",
    )


def record_unread(
    folder: RunFolder, unread: Mapping[str, Sequence[TowerReading]]
) -> None:
    """Record what was read of prompts that a generator truncated, beside earlier ones."""
    record = folder.record.generator
    if record is None or not unread:
        return
    readings = dict(record.unread_prompts)
    for prompt, towers in unread.items():
        readings[prompt] = [PromptReading(**asdict(tower)) for tower in towers]
    # In one order, whatever was generated first.
    _update_generator(folder, unread_prompts=dict(sorted(readings.items())))


def limit_cost(
    most: float | None,
    generator: Generator | None,
    folder: RunFolder,
    elsewhere: float = 0.0,
) -> None:
    """Limit a generator to --max-cost, including the earlier cost of the run.

    What was spent `elsewhere` counts, too: on source images, or on their edits.
    """
    if most is None:
        return
    if not isinstance(generator, Charges):
        name = "a run without a model" if generator is None else generator.name
        raise T2IBenchError(
            f"--max-cost: {name} costs nothing.", "Leave --max-cost out."
        )
    generator.limit_cost(most, spent(folder) + elsewhere)


def spent(folder: RunFolder) -> float:
    """Return what a run's images have cost so far; 0 if nothing is recorded."""
    record = folder.record.generator
    return (record.cost or 0.0) if record else 0.0


def settle(
    folder: RunFolder,
    generator: Generator | None,
    most: float | None,
    elsewhere: float = 0.0,
) -> None:
    """Record what images cost since the last call, and limit the generator to what remains.

    It is done with everything that is stored, so that a process that is killed has spent nothing
    that the next one does not know of.
    """
    if not isinstance(generator, Charges):
        return
    now, generator.cost = generator.cost, 0.0 if generator.cost is not None else None
    if now:
        _update_generator(folder, cost=round(spent(folder) + now, 9))
    if most is not None:
        generator.limit_cost(most, spent(folder) + elsewhere)


def tell_cost(
    folder: RunFolder, before: float, what: str, say: Callable[[str], None]
) -> None:
    """Report what images cost since `before` and in total, unless they cost nothing."""
    total = spent(folder)
    if total > before:
        say(
            f"{what} now have cost {total - before:,.2f}; all of this run {total:,.2f}."
        )


def _update_generator(folder: RunFolder, **update: Any) -> None:
    generator = folder.record.generator
    if generator is not None and generator.model_copy(update=update) != generator:
        folder.update(generator=generator.model_copy(update=update))
