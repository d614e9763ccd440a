"""`run --until-precise W`: more images, round after round, until intervals are narrow enough.

A round's variance says how many images the next one needs (an internal pilot: Wittes and Brittain
1990, "The role of internal pilot studies in increasing the efficiency of clinical trials"). A task
stops for the width of its interval alone, never for its p-value or the side it leans to, so its
tests and intervals hold as those of a run of a fixed size do; docs/power.md has the simulation. An
image depends on its prompt and index only: every round resumes the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from t2ibench.pipeline.plan import images_at
from t2ibench.pipeline.preparation import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run import Outcome, execute
from t2ibench.pipeline.score_cache import TaskScored
from t2ibench.power.forecasters import forecaster, least
from t2ibench.power.pilots import Size, stored_headline
from t2ibench.results.display import displayed
from t2ibench.tasks.loader import LoadedTask

ROUNDS = 6
MOST = 8.0  # times the first round's images, unless the user names a number
_LEAST_GROWTH = 1.25
_MARGIN = 0.95  # of the width is aimed at, so that one round more is usually enough


@dataclass(slots=True)
class Precision:
    """What the rounds came to."""

    outcome: Outcome
    images: int = 0  # distinct ones at the end
    fixed: int = 0  # images if every task had as many as it may have
    lines: list[str] = field(default_factory=list)
    precise: bool = True  # every task that decides something


@dataclass(slots=True)
class _Task:
    """One task over the rounds."""

    loaded: LoadedTask
    first: int  # images of the prompts that have most, in the first round
    started: float  # the setting `times` of the first round
    most: float
    times: float
    said: str | None = None
    precise: bool = True


def until_precise(
    prepared: Prepared,
    width: float,
    reporter: Reporter,
    *,
    most_images: int | None = None,
) -> Precision:
    """Run, and run with more images, until intervals are narrow enough."""
    settings = prepared.settings
    tasks, times = {}, settings.times
    for task in prepared.plan.tasks:
        images = Size.of(prepared.plan.needs[task.id]).images
        largest = (
            MOST if most_images is None else max(1.0, most_images / max(images, 1))
        )
        tasks[task.id] = _Task(task, images, times, times * largest, times)
    found = Precision(execute(prepared, reporter))
    for _ in range(ROUNDS):
        waiting = [one for one in tasks.values() if one.said is None]
        if found.outcome.stopped:  # more images would have no answers, either
            _stop(waiting, next(iter(found.outcome.stopped)))
            break
        for one in waiting:
            one.said = _judge(one, found.outcome.scored[one.loaded.id], prepared, width)
        waiting = [one for one in waiting if one.said is None]
        for times in sorted({one.times for one in waiting}):
            names = tuple(one.loaded.id for one in waiting if one.times == times)
            reporter.say(
                f"{', '.join(names)}: {times / settings.times:.2f} times the images."
            )
            later = execute(prepared.again(names, times), reporter)
            found.outcome = joined(found.outcome, later)
        if not waiting:
            break
    for one in tasks.values():
        one.precise = one.precise and one.said is not None
        found.lines.append(f"{one.loaded.id}: {one.said or 'no more rounds'}")
    found.precise = all(one.precise for one in tasks.values())
    found.images = images_at(
        prepared.plan, {name: one.times for name, one in tasks.items()}
    )
    found.fixed = images_at(
        prepared.plan, {name: one.most for name, one in tasks.items()}
    )
    return found


def _stop(waiting: Sequence[_Task], name: str) -> None:
    """End the rounds of tasks whose encoder or judge was stopped."""
    for task in waiting:
        task.said = (
            f"no more rounds, because {name} was stopped; the same command goes on"
        )
        task.precise = False


def _judge(
    one: _Task, scored: TaskScored, prepared: Prepared, width: float
) -> str | None:
    """Why a task stops; None where it is to have more images in the next round."""
    result, shown = scored.result, displayed(scored.result.headline)
    reason = result.reason or result.inconclusive or result.headline.reason
    if reason is not None or shown.low is None or shown.high is None:
        return f"decides nothing: {reason or 'its headline has no interval'}"
    count = math.ceil(one.first * one.times / one.started - 1e-9)
    now = f"± {(shown.high - shown.low) / 2:.2f} with {count} images a prompt"
    one.precise = shown.high - shown.low <= width
    if one.precise:
        return now
    prompts = {need.prompt for need in prepared.plan.needs[one.loaded.id].prompts}
    if not prompts or prompts & prepared.lacking.keys():
        return f"{now}; there are no more images"
    if prompts & {repeated.prompt for repeated in result.repeated_prompts}:
        return f"{now}; the generator repeats its images"
    if one.times >= one.most:
        return f"{now}, the most that it may have"
    # How many times the images of this round the next one needs.
    headline, effect = (
        stored_headline(result, scored.paired.headline),
        abs(shown.value or 0.0),
    )
    known = forecaster(headline, headline.question, prompts, result.settings.level)
    times = least(lambda times: known.width(effect, times, 1.0) <= _MARGIN * width)
    if times is None:
        return f"{now}; more images alone do not make it narrow enough"
    one.times = min(one.most, one.times * max(times, _LEAST_GROWTH))
    one.precise = True
    return None


def joined(before: Outcome, after: Outcome) -> Outcome:
    """Two rounds of one run as one."""
    return replace(
        after,
        attempts=before.attempts + after.attempts,
        observed=before.observed + after.observed,
        damaged=[*before.damaged, *after.damaged],
        problems=[*before.problems, *after.problems],
        complete=before.complete and after.complete,
        scored={**before.scored, **after.scored},
        lost=before.lost + after.lost,
        stopped={**before.stopped, **after.stopped},
    )
