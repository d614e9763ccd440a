"""Concept queries as the explorer starts from them and writes them down."""

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
    """See `t2ibench.methods.core.exploration.Exploration`."""

    def anchors(self, task: VibexTask, /) -> dict[str, str]:
        """The anchors of a task."""
        return {anchor.prompt: anchor.name for anchor in task.anchors}

    def reference(self, task: VibexTask, /) -> ExploredReference:
        """The words that the concepts of a task are compared with."""
        return ExploredReference(task.reference.template, task.reference.words)

    def default_reference(self, anchors: Sequence[str], /) -> ExploredReference:
        """Everyday words, put as the anchors are where these share their first words.

        Examples:
            >>> prompts = ["picture that shows a woman", "picture that shows a man"]
            >>> EXPLORATION.default_reference(prompts).template
            'picture that shows {a word}'
            >>> EXPLORATION.default_reference(["picture taken in Germany", "a lake"]).template
            '{word}'
        """
        words = [prompt.split() for prompt in anchors]
        same = [len(set(column)) == 1 for column in zip(*words, strict=False)]
        shared = words[0][: [*same, False].index(False)]
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
        """A task file of what was explored."""
        rows = []
        for concept in concepts:
            forward = {"name": concept.name, "prompt": concept.prompt}
            rows += (
                [forward, {**forward, "query": "inverse"}]
                if concept.inverse
                else [forward]
            )
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
            "reference": {
                "words": EVERYDAY if reference.words is None else list(reference.words),
                "template": reference.template,
            },
            "concepts": rows,
        }
        return task | (
            {"intersections": [list(pair) for pair in pairs]} if pairs else {}
        )


EXPLORATION: Exploration[VibexTask] = VibexExploration()
