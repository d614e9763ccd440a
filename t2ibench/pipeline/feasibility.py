"""Feasible tasks of a plan: those whose prompts have images or can get them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import Generator
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.proposals.proposal import method_for
from t2ibench.tasks.loader import LoadedTask

_NO_MODEL = "it needs images, and no --model was named"
_NONE = "none of its prompts has an image"
_SHOWN = 12  # tasks in a line
_FEW = 4
_FOLDER = "folder:"


@dataclass(frozen=True, slots=True)
class Feasibility:
    """The feasible tasks of a plan, given the images that a generator has or can make.

    Attributes:
        tasks: The tasks that can be done.
        skipped: The others, each with the reason.
        short_of_images: Prompt to the number of images that there can be, and that is needed.
    """

    tasks: Sequence[LoadedTask]
    skipped: Mapping[str, str]
    short_of_images: Mapping[str, tuple[int, int]]


def feasible(
    plan: Plan, generator: Generator | None, allow_missing: bool
) -> Feasibility:
    """Return which tasks of a plan are feasible, and why the others are not."""
    short_of_images = _short_of_images(plan, generator)
    tasks: list[LoadedTask] = []
    skipped: dict[str, str] = {}
    wanted: set[str] = set()
    for task in plan.tasks:
        prompts = {need.prompt for need in plan.needs[task.id].prompts}
        without_images = [
            prompt for prompt in prompts if short_of_images.get(prompt, (1, 1))[0] == 0
        ]
        if generator is None and prompts:
            skipped[task.id] = _NO_MODEL
        elif prompts and len(without_images) == len(prompts):
            skipped[task.id] = _NONE
            continue
        elif without_images and not allow_missing:
            skipped[task.id] = (
                f"{len(without_images)} of its {len(prompts)} prompts have no image "
                "(--allow-missing scores it without them)"
            )
        else:
            tasks.append(task)
        wanted |= prompts
    if wanted:  # prompts of tasks without any image are not reported
        short_of_images = {
            prompt: counts
            for prompt, counts in short_of_images.items()
            if prompt in wanted
        }
    return Feasibility(tasks, skipped, short_of_images)


def _short_of_images(
    plan: Plan, generator: Generator | None
) -> dict[str, tuple[int, int]]:
    """Return how many images are available and needed, for each prompt that has too few."""
    short_of_images: dict[str, tuple[int, int]] = {}
    if generator is None:
        return short_of_images
    for prompt, needed in plan.prompts.items():
        with failing(
            f"The generator '{generator.name}' failed in available(prompt) with"
        ):
            available = generator.available(prompt)
        if available is not None and available < needed:
            short_of_images[prompt] = (available, needed)
    return short_of_images


def feasible_plan(plan: Plan, feasibility: Feasibility) -> Plan:
    """Return the plan of the feasible tasks, without images that cannot exist."""
    smaller = make_plan(feasibility.tasks, plan.settings, plan.needs)
    short_of_images = feasibility.short_of_images
    existing = tuple(
        request
        for request in smaller.requests
        if request.source is not None
        or request.prompt not in short_of_images
        or request.index < short_of_images[request.prompt][0]
    )
    return replace(smaller, requests=existing)


def without_images(
    tasks: Sequence[LoadedTask], plan: Plan, skipped: Mapping[str, str]
) -> bool:
    """Return whether images were required but no task has any."""
    on_words = not any(plan.needs[task.id].shows_images for task in tasks)
    return bool(skipped) and on_words and all(why == _NONE for why in skipped.values())


def exclusions(plan: Plan, skipped: Mapping[str, str]) -> list[str]:
    """Return lines that say which tasks are not run, and why."""
    none = [task for task, why in skipped.items() if why == _NONE]
    if len(none) < _FEW:
        none = []
    lines = [
        f"{task} is excluded: {why}."
        for task, why in skipped.items()
        if task not in none
    ]
    if none:
        here = [task.id for task in plan.tasks if plan.needs[task.id].shows_images]
        here += [task for task, why in skipped.items() if why not in {_NONE, _NO_MODEL}]
        more = f" and {len(here) - _SHOWN} more" if len(here) > _SHOWN else ""
        lines.insert(
            0,
            f"{len(here)} of {len(here) + len(none)} tasks on images have images here: "
            f"{', '.join(here[:_SHOWN])}{more}; the others have none of their prompts.",
        )
    return lines


def nothing_feasible(
    model: object,
    plan: Plan,
    skipped: Mapping[str, str],
    short_of_images: Mapping[str, tuple[int, int]],
) -> T2IBenchError:
    """Return the error that explains why no task can run."""
    if not short_of_images:
        return T2IBenchError(
            "These tasks need images: name a model with --model.",
            "An --encoder alone runs tasks on texts, such as word embedding tests.",
        )
    without_images = [
        prompt
        for prompt, (available, _) in sorted(short_of_images.items())
        if available == 0
    ]
    plural = "" if len(without_images) == 1 else "s"
    hint = "Add the images, choose other tasks, or score without these prompts: --allow-missing."
    if all(why == _NONE for why in skipped.values()) and str(model).startswith(_FOLDER):
        hint = (
            "Where its prompts are these and a request, add --model-args request=true. This makes "
            "a task of its own prompts, without a model: t2ibench propose "
            f"{method_for('captions')} --captions {shlex.quote(str(model))} "
            "--output my-tasks/mine.yaml"
        )
    return T2IBenchError(
        f"{model} has no images for {len(without_images)} prompt{plural} that the tasks need, such "
        f"as {without_images[0]!r}.",
        hint,
    )
