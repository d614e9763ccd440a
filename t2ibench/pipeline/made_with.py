"""What the images of a run were made with: settings in effect, and versions of libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import libraries_of
from t2ibench.models.language import Priced, Rewriter
from t2ibench.models.protocols import Charges, Generator, ReportsSettings
from t2ibench.results.environment import versions
from t2ibench.results.record import RunRecord
from t2ibench.results.run import RunFolder


def record_generator(
    folder: RunFolder, generator: Generator | None, from_object: bool, images: int
) -> None:
    """Note what a generator really used, before its first image is stored."""
    known = folder.record.generator
    if known is None or generator is None:
        return
    update: dict[str, Any] = {}
    if isinstance(generator, ReportsSettings):
        update["effective_settings"] = dict(generator.effective_settings())
    if not known.libraries and not from_object and not images:
        # Of images that are there already it is not known what made them.
        update["libraries"] = versions(libraries_of(known.model))
    elif known.libraries and not from_object:
        now = versions(libraries_of(known.model))
        if now not in (known.libraries, *known.other_libraries):
            update["other_libraries"] = [*known.other_libraries, now]
    if known.model_copy(update=update) != known:
        folder.change(lambda record: _with_generator(record, update))


def limit_cost(
    most: float | None,
    generator: Generator | None,
    folder: RunFolder,
    rewriter: Rewriter | None = None,
) -> None:
    """Have a generator keep to --max-cost, what the run has cost before included."""
    if most is None:
        return
    if not isinstance(generator, Charges):
        if isinstance(rewriter, Priced) and rewriter.price is not None:
            return
        name = "a run without a model" if generator is None else generator.name
        raise T2IBenchError(f"--max-cost: {name} costs nothing.", "Leave --max-cost out.")
    generator.limit_cost(most, spent(folder))


def spent(folder: RunFolder) -> float:
    """What a run has cost so far."""
    known = folder.record.generator
    return (known.cost or 0.0) if known else 0.0


def settle(folder: RunFolder, generator: Generator | None, most: float | None) -> None:
    """Write down what images have cost since the last time, and keep to what is left.

    It is done with everything that is stored, so that a process that is killed has spent nothing
    that the next one does not know of, and so that several processes keep to one limit. What each
    has under way is known to itself alone.
    """
    if not isinstance(generator, Charges):
        return
    now, generator.cost = generator.cost, 0.0 if generator.cost is not None else None
    if now:
        add_cost(folder, now)
    if most is not None:
        folder.reread()
        generator.limit_cost(most, spent(folder))


def add_cost(folder: RunFolder, now: float) -> None:
    """Add to what a run has cost."""

    def added(record: RunRecord) -> dict[str, object]:
        before = record.generator.cost if record.generator else None
        return _with_generator(record, {"cost": round((before or 0.0) + now, 9)})

    folder.change(added)


def tell_cost(folder: RunFolder, before: float, what: str, say: Callable[[str], None]) -> None:
    """Say what was spent, if anything was."""
    folder.reread()
    total = spent(folder)
    if total > before:
        say(f"{what} now have cost {total - before:,.2f}; all of this run {total:,.2f}.")


def _with_generator(record: RunRecord, update: Mapping[str, Any]) -> dict[str, object]:
    generator = record.generator
    return {"generator": generator.model_copy(update=update)} if generator else {}
