"""A task about edits, and evidence of edits, made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.edits.schema import EditsTask
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

WOMEN = "a photo of a woman"
MEN = "a photo of a man"
GENDER = "Is the person a man or a woman?"
SMILE = "Does the person smile?"
DOCTOR = {
    "name": "as a doctor",
    "instruction": "Show the person as a doctor",
    "question": "Is the person a doctor?",
}
RAIN = {"name": "rain", "instruction": "Make it rain"}
# What a refused image is answered with in the tables below.
REFUSED = "-"


def edits_task(**changes: Any) -> EditsTask:
    """A task with women and men, two edits, and two attributes."""
    parts: dict[str, Any] = {
        "groups": [
            {"name": "women", "prompts": [WOMEN]},
            {"name": "men", "prompts": [MEN]},
        ],
        "edits": [DOCTOR, RAIN],
        "attributes": [
            {
                "name": "gender",
                "question": GENDER,
                "classes": ["male", "female"],
                "shown_by_group": {"women": "female", "men": "male"},
            },
            {"name": "smile", "question": SMILE, "classes": ["smiling", "not smiling"]},
        ],
        "headline": "gender",
        "images_per_prompt": 4,
    }
    return task_by_hand(EditsTask, "edits", **{**parts, **changes})


def spoken(words: str) -> list[str]:
    """Answers of a table; those of two words are written with an underscore."""
    return [word.replace("_", " ") for word in words.split()]


class HandEdits(HandEvidence):
    """Answers about source images and edits as tables, a word an image.

    Attributes:
        sources: Answers about the source images.
    """

    def __init__(
        self,
        before: Mapping[str, Mapping[str, str]],
        after: Mapping[tuple[str, str], Mapping[str, str]],
        vectors: Mapping[str, Sequence[Sequence[float]]] | None = None,
        edited: Mapping[tuple[str, str], Sequence[Sequence[float]]] | None = None,
    ) -> None:
        """Read the tables.

        Args:
            before: Prompt and question to the answers about its source images.
            after: Instruction and prompt of the source, and question, to the answers.
            vectors: Prompt to the embeddings of its source images.
            edited: Instruction and prompt of the source to the embeddings of the edits.
        """
        super().__init__()
        answers = {
            prompt: {question: spoken(words) for question, words in table.items()}
            for prompt, table in before.items()
        }
        self.sources = HandEvidence(images=vectors, answers=answers)
        self._after = after
        self._edited = edited or {}

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        table = self._after[edit.instruction, edit.source.prompt]
        answer = spoken(table[question])[edit.source.index]
        if answer == REFUSED:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"refused": 1}))
        return AnswerEvidence((answer,), np.zeros(1, np.int64), Counter())

    def edited(self, edit: EditNeed) -> ImageEvidence:
        rows = np.asarray(self._edited[edit.instruction, edit.source.prompt])
        row = rows[[edit.source.index]]
        return ImageEvidence(row, np.zeros(1, np.int64), Counter())
