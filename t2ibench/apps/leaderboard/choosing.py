"""Which images are generated again: chosen by the verifier's own randomness, over all tasks."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from itertools import cycle, zip_longest

from t2ibench.methods import needs
from t2ibench.pipeline.plan import Plan
from t2ibench.settings import Settings
from t2ibench.store.images import Attempt
from t2ibench.tasks.loader import LoadedTask

_TOLD_APART = Settings(images_per_prompt=2, guided_images_per_prompt=1)


def choose(
    attempts: Sequence[Attempt],
    plan: Plan,
    count: int,
    rng: random.Random,
    shown: Collection[str] = (),
) -> list[Attempt]:
    """Choose images so that every task, and every group of its prompts, has its turn.

    A group is the prompts of a task that take one setting for their number of images, such as the
    guided ones, whatever numbers the submitter chose. Few images may decide a task: those of its
    neutral prompts, where guided ones are of whom they name whoever the model prefers. Any
    image of a group may be chosen; prompts that were not chosen yet are preferred.
    """
    by_prompt: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: (one.prompt, one.index)):
        by_prompt.setdefault(attempt.prompt, []).append(attempt)
    tasks = [_groups(task, plan.needs[task.id].images_by_prompt, by_prompt) for task in plan.tasks]
    pictured = [
        attempt for found in by_prompt.values() for attempt in found if attempt.key in shown
    ]
    strata = [[group for group in groups if group] for groups in (*tasks, [pictured])]
    for groups in strata:
        rng.shuffle(groups)
        for group in groups:
            rng.shuffle(group)
    rng.shuffle(strata)
    turns = [group for turn in zip_longest(*strata) for group in turn if group]
    chosen: dict[str, Attempt] = {}
    prompts: set[str] = set()
    missed = 0
    for group in cycle(turns):
        if len(chosen) >= count or missed >= len(turns):
            break
        left = [attempt for attempt in group if attempt.key not in chosen]
        missed = 0 if left else missed + 1
        new = next((attempt for attempt in left if attempt.prompt not in prompts), None)
        for attempt in [new or left[0]] if left else []:
            chosen[attempt.key] = attempt
            prompts.add(attempt.prompt)
    return list(chosen.values())


def _groups(
    task: LoadedTask, needed: Mapping[str, int], by_prompt: Mapping[str, list[Attempt]]
) -> list[list[Attempt]]:
    """The images of a task, by the setting that says how many of a prompt there are."""
    kinds = needs(task.spec, _TOLD_APART).images_by_prompt
    groups: dict[int, list[Attempt]] = {}
    for prompt, count in sorted(needed.items()):
        usable = [attempt for attempt in by_prompt.get(prompt, ()) if attempt.index < count]
        groups.setdefault(kinds.get(prompt, 0), []).extend(usable)
    return list(groups.values())
