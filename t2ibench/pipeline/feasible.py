"""What of a plan can be done: tasks whose prompts have images, or can get them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from t2ibench.errors import failing
from t2ibench.models.protocols import Generator
from t2ibench.pipeline.plan import Plan
from t2ibench.tasks.loader import LoadedTask


def feasible(
    plan: Plan, generator: Generator | None, allow_missing: bool
) -> tuple[list[LoadedTask], dict[str, str], dict[str, tuple[int, int]]]:
    """What can be done of a plan.

    Args:
        plan: Everything that was asked for.
        generator: The model; None without one.
        allow_missing: Whether a task runs without the prompts that have no image.

    Returns:
        The tasks that can run, why others cannot, and the prompts with fewer images than needed,
        each with how many there are and how many are needed.
    """
    lacking: dict[str, tuple[int, int]] = {}
    if generator is not None:
        for prompt, needed in plan.prompts.items():
            available = _available(generator, prompt)
            if available is not None and available < needed:
                lacking[prompt] = (available, needed)
    tasks, skipped = [], {}
    for task in plan.tasks:
        prompts = {need.prompt for need in plan.needs[task.id].prompts}
        absent = [prompt for prompt in prompts if lacking.get(prompt, (1, 1))[0] == 0]
        if generator is None and prompts:
            skipped[task.id] = "it needs images, and no --model was named"
        elif absent and not allow_missing:
            skipped[task.id] = (
                f"{len(absent)} of its {len(prompts)} prompts have no image "
                "(--allow-missing scores it without them)"
            )
        elif prompts and len(absent) == len(prompts):
            skipped[task.id] = "none of its prompts has an image"
        else:
            tasks.append(task)
    return tasks, skipped, lacking


def nothing_feasible(model: object, plan: Plan, lacking: Mapping[str, tuple[int, int]]) -> str:
    """Why no task can run.

    Args:
        model: As the user named it.
        plan: Everything that was asked for.
        lacking: Prompts with fewer images than needed, from `feasible`.

    Returns:
        What is missing, and what to do.
    """
    if not lacking:
        return (
            "These tasks need images: name a model with --model. "
            "An --encoder alone runs tasks on texts, such as word embedding tests."
        )
    absent = [prompt for prompt, (available, _) in sorted(lacking.items()) if available == 0]
    shown = "; ".join(repr(prompt) for prompt in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    some = len(absent) < len(plan.prompts)
    plural = "" if len(absent) == 1 else "s"
    return (
        f"{model} has no images for {len(absent)} prompt{plural} that the tasks need: "
        f"{shown}{more}. `t2ibench --model toyland --tasks … --dry-run` lists all prompts of a "
        "task; add the images or choose other tasks"
        + (", or score them without these prompts: --allow-missing." if some else ".")
    )


def cut(plan: Plan, lacking: Mapping[str, tuple[int, int]]) -> Plan:
    """The plan without the images that cannot exist.

    Args:
        plan: The plan.
        lacking: Prompts with fewer images than needed, from `feasible`.

    Returns:
        The plan.
    """
    kept = tuple(
        request
        for request in plan.requests
        if request.index < lacking.get(request.prompt, (request.index + 1, 0))[0]
    )
    return replace(plan, requests=kept)


def _available(generator: Generator, prompt: str) -> int | None:
    with failing(f"The generator '{generator.name}' failed in available(prompt) with"):
        return generator.available(prompt)
