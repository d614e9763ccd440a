"""The explorer's part of ViBEx: what it starts from, and the task file that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.core.prompting_tree import (
    Exploration,
    ExploredConcept,
    ExploredReference,
)
from t2ibench.methods.core.schema import EVERYDAY
from t2ibench.methods.vibex.schema import VibexTask


class VibexExploration:
    """The part of ViBEx that the explorer uses (see `core.prompting_tree.Exploration`)."""

    def anchors(self, task: VibexTask, /) -> dict[str, str]:
        """Return a task's anchors: the name of each, keyed by its prompt."""
        return {anchor.prompt: anchor.name for anchor in task.anchors}

    def reference(self, task: VibexTask, /) -> ExploredReference:
        """Return the words that the concepts of a task are compared with."""
        return ExploredReference(task.reference.template, task.reference.words)

    def default_reference(self, anchors: Sequence[str], /) -> ExploredReference:
        """Return everyday words as reference, after the words that begin all prompts.

        Examples:
            >>> prompts = ["picture that shows a woman", "picture that shows a man"]
            >>> EXPLORATION.default_reference(prompts).template
            'picture that shows {a word}'
            >>> EXPLORATION.default_reference(["picture taken in Germany", "a lake"]).template
            '{word}'
        """
        prompts = [prompt.split() for prompt in anchors]
        columns = zip(*prompts, strict=False)
        is_shared = [len(set(words)) == 1 for words in columns]
        n_shared = [*is_shared, False].index(False)
        shared = prompts[0][:n_shared]
        if shared[-1:] in (["a"], ["an"]) and not any("{" in word for word in shared):
            return ExploredReference(" ".join([*shared[:-1], "{a word}"]))
        return ExploredReference("{word}")

    def task_file(
        self,
        name: str,
        anchors: Mapping[str, str],
        concepts: Sequence[ExploredConcept],
        pairs: Sequence[tuple[str, str]],
        images_per_prompt: int,
        reference: ExploredReference,
        /,
    ) -> dict[str, Any]:
        """Return the content of a task file that asks about the explored concepts."""
        words = EVERYDAY if reference.words is None else list(reference.words)
        task: dict[str, Any] = {
            "id": name,
            "version": 1,
            "method": "vibex",
            "title": "Concepts explored by hand",
            "description": "Made with t2ibench explore. Say here what is asked, and what the "
            "scores do and do not show.",
            "citation": "Method: Eschner et al. (2025), ViBEx, Computer Graphics Forum.",
            "tags": ["explored"],
            "images_per_prompt": images_per_prompt,
            "anchors": [
                {"name": label, "prompt": prompt} for prompt, label in anchors.items()
            ],
            "reference": {"words": words, "template": reference.template},
            "concepts": _concept_rows(concepts),
        }
        if pairs:
            task["intersections"] = [list(pair) for pair in pairs]
        return task


def _concept_rows(concepts: Sequence[ExploredConcept]) -> list[dict[str, str]]:
    """Return each concept's forward query and, if it has images, its inverse query."""
    rows = []
    for concept in concepts:
        forward = {"name": concept.name, "prompt": concept.prompt}
        rows.append(forward)
        if concept.inverse:
            rows.append({**forward, "query": "inverse"})
    return rows


EXPLORATION: Exploration[VibexTask] = VibexExploration()
