"""Rounds of more images until intervals are narrow enough (`run --until-precise W`).

A round's variance says how many images the next one needs (an internal pilot: Wittes and Brittain
1990, "The role of internal pilot studies in increasing the efficiency of clinical trials"). A task
stops for the width of its interval alone, never for its p-value or the side it leans to, so its
tests and intervals hold as those of a run of a fixed size do; docs/power.md has the simulation. An
image depends on its prompt and index only: every round resumes the one before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from t2ibench.methods.core.evidence import Needs
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.plan import images_at
from t2ibench.pipeline.preparation import prepare_round
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run import execute
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.score_cache import TaskScored
from t2ibench.power.forecasters import forecaster, least
from t2ibench.power.pilots import Size, stored_headline
from t2ibench.results.display import displayed
from t2ibench.settings import MOST_TIMES
from t2ibench.tasks.loader import LoadedTask

ROUNDS = 6
MOST = 8.0  # times the first round's images, unless the user names a number
_LEAST_GROWTH = 1.25
_MARGIN = 0.95  # of the width is the goal, so that one more round is usually enough


@dataclass(slots=True)
class Precision:
    """The outcome of a run with its rounds of images, and the precision that it reached.

    Attributes:
        outcome: All rounds as one.
        images: Distinct images at the end.
        fixed: Images if every task had as many as it may have.
        lines: A line a task: how wide its interval is, and why it has no more rounds.
        precise: Whether the intervals of all tasks that decide something are narrow enough.
    """

    outcome: Outcome
    images: int = 0
    fixed: int = 0
    lines: list[str] = field(default_factory=list)
    precise: bool = True


@dataclass(slots=True)
class _TaskRounds:
    """The state of one task over the rounds of images.

    Attributes:
        loaded: The task.
        first_images: Images of the prompts that have most, in the first round.
        first_times: The setting `times` of the first round.
        most_times: The largest `times` that it may have.
        times: The setting `times` of its latest or next round.
        end: Why it has no more rounds; None while it has.
        precise: Whether its interval is narrow enough.
    """

    loaded: LoadedTask
    first_images: int
    first_times: float
    most_times: float
    times: float
    end: str | None = None
    precise: bool = True


def until_precise(
    context: RunContext,
    models: Models,
    width: float,
    reporter: Reporter,
    *,
    most_images: int | None = None,
) -> Precision:
    """Repeat a run with more images until its intervals are at most `width` wide."""
    tasks = _first_rounds(context, most_images)
    first_times = context.settings.times
    precision = Precision(execute(context, models, reporter))
    for _ in range(ROUNDS):
        waiting = [task for task in tasks.values() if task.end is None]
        outcome = precision.outcome
        if outcome.stopped:  # more images would not be answered, either
            _stop(waiting, next(iter(outcome.stopped)))
            break
        for task in waiting:
            scored = outcome.scored[task.loaded.id]
            task.end = _reason_to_stop(task, scored, context, width)
        waiting = [task for task in waiting if task.end is None]
        for times in sorted({task.times for task in waiting}):
            names = tuple(task.loaded.id for task in waiting if task.times == times)
            reporter.say(
                f"{', '.join(names)}: {times / first_times:.2f} times the images."
            )
            later, later_models = prepare_round(
                context, models.adapters, tasks=names, times=times
            )
            later_outcome = execute(later, later_models, reporter)
            precision.outcome = joined(precision.outcome, later_outcome)
        if not waiting:
            break
    _conclude(precision, tasks, context)
    return precision


def _conclude(
    precision: Precision, tasks: Mapping[str, _TaskRounds], context: RunContext
) -> None:
    """Add a line on the precision of each task, and the total numbers of images."""
    for task in tasks.values():
        task.precise = task.precise and task.end is not None
        precision.lines.append(f"{task.loaded.id}: {task.end or 'no more rounds'}")
    precision.precise = all(task.precise for task in tasks.values())
    times = {name: task.times for name, task in tasks.items()}
    most_times = {name: task.most_times for name, task in tasks.items()}
    precision.images = images_at(context.plan, times)
    precision.fixed = images_at(context.plan, most_times)


def _first_rounds(
    context: RunContext, most_images: int | None
) -> dict[str, _TaskRounds]:
    """Return the state of every task before its first round, keyed by task."""
    times = context.settings.times
    tasks = {}
    for task in context.plan.tasks:
        images = Size.of(context.plan.needs[task.id]).images
        largest = MOST
        if most_images is not None:
            images_of_task = max(images, 1)
            largest = min(most_images, MOST_TIMES * images_of_task) / images_of_task
        # `times` is bounded, and a task keeps the images of its first round.
        largest = max(1.0, min(largest, MOST_TIMES / times))
        tasks[task.id] = _TaskRounds(
            loaded=task,
            first_images=images,
            first_times=times,
            most_times=times * largest,
            times=times,
        )
    return tasks


def _stop(waiting: Sequence[_TaskRounds], name: str) -> None:
    """End the rounds of tasks whose encoder or judge was stopped."""
    for task in waiting:
        task.end = (
            f"no more rounds, because {name} was stopped; the same command goes on"
        )
        task.precise = False


def _reason_to_stop(
    task: _TaskRounds, scored: TaskScored, context: RunContext, width: float
) -> str | None:
    """Return why a task gets no more images; None if the next round gives it more."""
    result = scored.result
    shown = displayed(result.headline)
    reason = result.reason or result.headline.reason
    if reason is not None:
        return f"has no headline: {reason}"
    if result.inconclusive is not None:
        return f"is inconclusive: {result.inconclusive}"
    if shown.low is None or shown.high is None:
        return "has a headline without an interval"
    count = math.ceil(task.first_images * task.times / task.first_times - 1e-9)
    now = f"± {(shown.high - shown.low) / 2:.2f} with {count} images a prompt"
    task.precise = shown.high - shown.low <= width
    if task.precise:
        return now
    needs = context.plan.needs[task.loaded.id]
    no_more_images = _reason_for_no_more_images(needs, scored, context)
    if no_more_images is not None:
        return f"{now}; {no_more_images}"
    prompts = {need.prompt for need in needs.prompts}
    if task.times >= task.most_times:
        return f"{now}, the most that it may have"
    more = _times_needed(scored, prompts, abs(shown.value or 0.0), width)
    if more is None:
        return f"{now}; more images alone do not make it narrow enough"
    task.times = min(task.most_times, task.times * max(more, _LEAST_GROWTH))
    task.precise = True
    return None


def _reason_for_no_more_images(
    needs: Needs, scored: TaskScored, context: RunContext
) -> str | None:
    """Return why there are no further images of a task's prompts; None if there are."""
    if needs.edits:
        return "further source images are not made in rounds"
    prompts = {need.prompt for need in needs.prompts}
    if not prompts or prompts & context.short_of_images.keys():
        return "there are no more images"
    if prompts & {repeated.prompt for repeated in scored.result.repeated_prompts}:
        return "the generator repeats its images"
    return None


def _times_needed(
    scored: TaskScored, prompts: set[str], effect: float, width: float
) -> float | None:
    """Return by what factor a task's images must grow until its interval is narrow enough.

    None if no multiple is enough.
    """
    result = scored.result
    headline = stored_headline(result, scored.paired.headline)
    forecast = forecaster(headline, headline.question, prompts, result.settings.level)
    return least(lambda times: forecast.width(effect, times, 1.0) <= _MARGIN * width)


def joined(before: Outcome, after: Outcome) -> Outcome:
    """Return the combined outcome of two rounds of a run."""
    done_and_problems = replace(
        after,
        damaged=[*before.damaged, *after.damaged],
        problems=[*before.problems, *after.problems],
        not_generated=before.not_generated + after.not_generated,
        stopped={**before.stopped, **after.stopped},
    )
    return replace(
        done_and_problems,
        attempts=before.attempts + after.attempts,
        observed=before.observed + after.observed,
        complete=before.complete and after.complete,
        scored={**before.scored, **after.scored},
    )
