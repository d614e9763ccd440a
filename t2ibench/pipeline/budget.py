"""`run --budget 2h|4000`: so many images, spread so that the widest intervals shrink most.

A small pilot, of equally many images a prompt in every task, says how wide each task's interval
is; the rest goes to the tasks whose intervals would be the widest. The allocation looks at widths
alone, never at the side that a result leans to, and an image depends on its prompt and index only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.plan import Plan, images_at, prompts_at
from t2ibench.pipeline.preparation import Prepared
from t2ibench.pipeline.progress import Reporter, duration
from t2ibench.pipeline.rounds import joined
from t2ibench.pipeline.run import Outcome, execute
from t2ibench.power.forecasters import forecaster, least
from t2ibench.power.pilots import stored_headline
from t2ibench.results.display import displayed
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import TaskResult

_PILOT = 1 / 3  # of the budget
_FEWEST = 4  # images of a task's prompts in the pilot, for a variance
_UNDECIDED = 2.0  # width of an interval that the pilot could not give: all that a lean can be
_MOST = 16.0  # times the pilot
_UNDECIDED_MOST = 4.0  # times the pilot, for tasks that may decide nothing at any size
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may cost.

    Attributes:
        images: Distinct images in all; None for a time.
        seconds: Time of this call; None for a number of images.
    """

    images: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Spent:
    """What a budget came to.

    Attributes:
        outcome: Of the last round, with the attempts and problems of all.
        images: Distinct images of all tasks at the end.
        budget: Images that the budget allows.
        lines: A sentence for each task.
    """

    outcome: Outcome
    images: int
    budget: int
    lines: list[str] = field(default_factory=list)


def within_budget(
    prepared: Prepared,
    budget: Budget,
    reporter: Reporter,
    clock: Callable[[], float] = time.monotonic,
) -> Spent:
    """Run a pilot, then give each task the images that its interval needs most."""
    started = clock()
    plan = prepared.plan
    if not plan.requests:
        raise T2IBenchError("These tasks need no images.", "Leave --budget out.")
    pilot = pilot_of(plan, budget)
    first = images_at(plan, pilot)
    if budget.images is not None and first > budget.images:
        raise T2IBenchError(
            f"The smallest pilot of these tasks is {first} images; the budget is {budget.images}.",
            "Name fewer tasks, or give a larger budget.",
        )
    _check_time(prepared, budget, pilot)
    reporter.say(f"Pilot of {first:,} images.")
    outcome = _executed(prepared, pilot, {}, reporter)
    elapsed = max(clock() - started, 1e-9)
    allowed = budget.images or _affordable(first, elapsed, budget.seconds or 0.0)
    reporter.say(f"The budget allows {allowed:,} images, {first:,} of the pilot included.")
    times = _allocation(plan, _forecasts(prepared, outcome), pilot, allowed)
    if times != pilot:
        outcome = joined(outcome, _executed(prepared, times, pilot, reporter))
    return Spent(outcome, images_at(plan, times), allowed, _lines(outcome, times, pilot))


def pilot_of(plan: Plan, budget: Budget) -> dict[str, float]:
    """The pilot of a budget: a third of its images, or four a prompt where it is a time."""
    return _pilot(plan, _FEWEST if budget.images is None else int(budget.images * _PILOT))


def _check_time(prepared: Prepared, budget: Budget, pilot: Mapping[str, float]) -> None:
    """Refuse a time that the pilot alone exceeds, where the model's speed is known."""
    rate, images = prepared.folder.record.speed(), prepared.images
    if rate is None or images is None or budget.seconds is None:
        return
    left = sum(
        not images.is_done(prompt, index)
        for prompt, count in prompts_at(prepared.plan, pilot).items()
        for index in range(count)
    )
    if left / rate > budget.seconds:
        raise T2IBenchError(
            f"The smallest pilot of these tasks lacks {left:,} images, which take "
            f"{duration(left / rate)} at the speed of the last run; the budget is "
            f"{duration(budget.seconds)}.",
            "Name fewer tasks (--dry-run says which fit), or give a larger budget.",
        )


def _executed(
    prepared: Prepared, times: Mapping[str, float], before: Mapping[str, float], reporter: Reporter
) -> Outcome:
    """Run the tasks whose size is not that of before, those of one size together."""
    found: Outcome | None = None
    changed = {name: size for name, size in times.items() if before.get(name) != size}
    for size in sorted(set(changed.values())):
        names = tuple(name for name, chosen in changed.items() if chosen == size)
        later = execute(prepared.again(names, size), reporter)
        found = later if found is None else joined(found, later)
    assert found is not None
    return found


def _pilot(plan: Plan, images: int) -> dict[str, float]:
    """The size of each task with equally many images a prompt: as many as fit, at least four."""
    base = plan.settings.times
    largest = {
        name: max(needed.images_by_prompt.values(), default=0)
        for name, needed in plan.needs.items()
    }

    def sizes(count: int) -> dict[str, float]:
        return {
            name: _rounded(min(base, base * count / most), up=True) if most else base
            for name, most in largest.items()
        }

    low, high = _FEWEST, max(_FEWEST, *largest.values())
    while low < high:
        middle = (low + high + 1) // 2
        fits = images_at(plan, sizes(middle)) <= images
        low, high = (middle, high) if fits else (low, middle - 1)
    return sizes(low)


def _affordable(images: int, elapsed: float, seconds: float) -> int:
    """Images that fit into the time at the pilot's speed, and never fewer than the pilot's."""
    return max(images, int(images * seconds / elapsed))


def _forecasts(prepared: Prepared, outcome: Outcome) -> dict[str, Callable[[float], float]]:
    """Task to the width of its interval at a multiple of the pilot; tasks of texts are absent."""
    found = {}
    for name, needed in prepared.plan.needs.items():
        if needed.prompts:
            prompts = {need.prompt for need in needed.prompts}
            found[name] = _forecast(outcome.scored[name], outcome.paired.get(name), prompts)
    return found


def _forecast(
    result: TaskResult, paired: PairedTask | None, prompts: set[str]
) -> Callable[[float], float]:
    shown = displayed(result.headline)
    unknown = paired is None or result.reason or result.inconclusive or shown.value is None
    if unknown or paired is None or shown.low is None or not paired.headline:
        return lambda times: _UNDECIDED / math.sqrt(min(times, _UNDECIDED_MOST))
    headline = stored_headline(result, paired.headline)
    known = forecaster(headline, headline.question, prompts, result.settings.level)
    effect = abs(shown.value or 0.0)
    return lambda times: known.width(effect, times, 1.0)


def _allocation(
    plan: Plan,
    widths: Mapping[str, Callable[[float], float]],
    pilot: Mapping[str, float],
    images: int,
) -> dict[str, float]:
    """The size of each task for the narrowest widest interval that the images allow."""

    def sizes(width: float) -> dict[str, float]:
        found = dict(pilot)
        for name, forecast in widths.items():
            enough = _enough(forecast, width)
            if enough is not None:
                found[name] *= max(1.0, enough)
            elif forecast(_MOST) < 0.99 * forecast(1.0):  # images help, if never enough
                found[name] *= _helpful(forecast)
        return {name: _rounded(times) for name, times in found.items()}

    low, high = 1e-3, max([forecast(1.0) for forecast in widths.values()], default=1.0)
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if images_at(plan, sizes(middle)) <= images else (middle, high)
    return {name: max(times, pilot[name]) for name, times in sizes(high).items()}


def _enough(forecast: Callable[[float], float], width: float) -> float | None:
    return least(lambda times: forecast(times) <= width, _MOST)


def _helpful(forecast: Callable[[float], float]) -> float:
    """The multiple beyond which more images hardly make an interval narrower."""
    floor = forecast(_MOST)
    return least(lambda times: forecast(times) <= 1.02 * floor, _MOST) or 1.0


def _rounded(times: float, *, up: bool = False) -> float:
    """Two digits, by default downwards: sizes that are nearly alike are one round."""
    scale = float(10 ** (1 - math.floor(math.log10(times))))
    whole = math.ceil(times * scale - 1e-9) if up else math.floor(times * scale + 1e-9)
    return whole / scale


def _lines(outcome: Outcome, times: Mapping[str, float], pilot: Mapping[str, float]) -> list[str]:
    lines = []
    for name, size in times.items():
        result = outcome.scored.get(name)
        if result is None or not result.n_images:
            continue
        shown = displayed(result.headline)
        width = "decides nothing"
        if shown.low is not None and shown.high is not None:
            width = f"± {(shown.high - shown.low) / 2:.2f}"
        grown = size / pilot[name]
        more = f", {grown:.1f} times the pilot" if grown > 1 else ""
        lines.append(f"{name}: {width} with {result.n_images} images{more}")
    return lines
