"""Find smaller runs that fit into a number of images: a smaller `--times`, or fewer tasks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from t2ibench.methods import needs

if TYPE_CHECKING:
    from t2ibench.pipeline.run_context import RunContext

_FRACTIONS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
_LONGEST = 60  # characters of a list of tasks, which cannot be broken across lines


@dataclass(frozen=True, slots=True)
class Smaller:
    """A smaller run: the flag that selects it, and its number of missing images."""

    flag: str
    images: int


def smaller_runs(context: RunContext, most: int) -> list[Smaller]:
    """Return runs with at most this many missing images: all tasks reduced, or fewer tasks.

    Args:
        context: The requested run.
        most: Number of images that may be generated.

    Returns:
        The largest run of each kind; empty if not even the smallest fits.
    """
    if most < 1 or context.settings.shard is not None:
        return []
    candidates = (_fewer_images(context, most), _fewer_tasks(context, most))
    return [smaller for smaller in candidates if smaller is not None]


def smallest_run(context: RunContext) -> int:
    """Return how many images are missing for a run with one image of each prompt."""
    return _to_make(context, dict.fromkeys(context.plan.prompts, 1))


def _fewer_images(context: RunContext, most: int) -> Smaller | None:
    """Return a run of all tasks with the largest `--times` that fits; None if none fits."""

    @cache
    def reduced(fraction: float) -> Smaller:
        times = round(context.plan.settings.times * fraction, 4)
        settings = context.plan.settings.model_copy(update={"times": times})
        wanted: Counter[str] = Counter()
        for task in context.plan.tasks:
            wanted |= Counter(needs(task.spec, settings).images_by_prompt)
        return Smaller(f"--times {times:g}", _to_make(context, wanted))

    # A smaller fraction has no more images, so the fractions that fit come last.
    fitting = bisect_left(
        _FRACTIONS, x=True, key=lambda fraction: reduced(fraction).images <= most
    )
    return reduced(_FRACTIONS[fitting]) if fitting < len(_FRACTIONS) else None


def _fewer_tasks(context: RunContext, most: int) -> Smaller | None:
    """Return a run of as many tasks as fit, the cheapest first; None if none or all fit."""
    wanted_by = {
        task.id: Counter(context.plan.needs[task.id].images_by_prompt)
        for task in context.plan.tasks
    }
    by_cost = sorted(wanted_by, key=lambda name: _to_make(context, wanted_by[name]))
    together: Counter[str] = Counter()
    chosen: list[str] = []
    for name in by_cost:
        more = together | wanted_by[name]  # tasks share images
        if wanted_by[name] and _to_make(context, more) <= most:
            together = more
            chosen.append(name)
    if not chosen or len(chosen) == len(by_cost):
        return None
    ordered = [name for name in wanted_by if name in chosen]
    named = 1
    while named < len(ordered) and len(",".join(ordered[: named + 1])) <= _LONGEST:
        named += 1
    hidden = len(ordered) - named
    names = ",".join(ordered[:named])
    more_tasks = f" and {hidden} more" if hidden else ""
    return Smaller(f"--tasks {names}{more_tasks}", _to_make(context, together))


def _to_make(context: RunContext, wanted: Mapping[str, int]) -> int:
    """Return how many of the `wanted` numbers of images of each prompt are not stored yet."""
    images = context.images
    if images is None:
        return 0
    return sum(count - images.n_done(prompt, count) for prompt, count in wanted.items())
