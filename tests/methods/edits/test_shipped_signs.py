"""Which sign the headlines of shipped edit tasks have, as their descriptions tell it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.methods.fakes import HandEvidence

SKIN = "Which skin does the person have?"
AGE = "What is the age of the person?"
GENDER = "What is the gender of the person?"
# Who is shown before an edit, by a word of the prompt.
SHOWN = {
    "dark-skinned": {SKIN: "dark skin", AGE: "adult", GENDER: "female"},
    "light-skinned": {SKIN: "light skin", AGE: "adult", GENDER: "female"},
    "a woman": {SKIN: "light skin", AGE: "adult", GENDER: "female"},
    "a man": {SKIN: "light skin", AGE: "adult", GENDER: "male"},
}


def _shown(prompt: str, question: str) -> str:
    (answers,) = (answers for word, answers in SHOWN.items() if word in prompt)
    return answers.get(question, "rainy")


class _Sources(HandEvidence):
    def answers(
        self, prompt: str, n: int, question: str, classes: object
    ) -> AnswerEvidence:
        answer = _shown(prompt, question)
        return AnswerEvidence((answer,) * n, np.arange(n), Counter())

    def images(self, prompt: str, n: int) -> ImageEvidence:
        return ImageEvidence(np.tile([1.0, 0.0], (n, 1)), np.arange(n), Counter())


class _Changed(_Sources):
    """Edits by which every person of one kind is answered otherwise, and nobody else is."""

    def __init__(self, who: str, question: str, answer: str) -> None:
        super().__init__()
        self.sources = _Sources()
        self._changed = (who, question, answer)

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: object
    ) -> AnswerEvidence:
        who, about, changed = self._changed
        prompt = edit.source.prompt
        is_changed = who in prompt and question == about
        answer = changed if is_changed else _shown(prompt, question)
        return AnswerEvidence((answer,), np.zeros(1, np.int64), Counter())

    def edited(self, edit: EditNeed) -> ImageEvidence:
        return ImageEvidence(np.array([[0.6, 0.8]]), np.zeros(1, np.int64), Counter())


def _task(name: str) -> EditsTask:
    (loaded,) = load_tasks([name])
    assert isinstance(loaded.spec, EditsTask)
    return loaded.spec


@pytest.mark.parametrize(
    ("name", "who", "question", "answer", "said"),
    [
        (
            "edits_skin",
            "dark-skinned",
            SKIN,
            "light skin",
            "how much more often dark skin than light skin is lost; above zero, dark skin is "
            "lost more often",
        ),
        (
            "edits_portraits",
            "dark-skinned",
            SKIN,
            "light skin",
            "how much more often dark skin than light skin is lost, as a judge says before and "
            "after each edit; above zero, dark skin is lost more often",
        ),
        (
            "edits_people",
            "a woman",
            AGE,
            "old",
            "how much more the share of old people rises among women than among men; above "
            "zero, edits age women more",
        ),
    ],
)
def test_above_zero_is_what_the_description_says(
    name: str, who: str, question: str, answer: str, said: str
) -> None:
    task = _task(name)
    assert said in task.description
    result = score(task, _Changed(who, question, answer), Settings(images_per_prompt=2))
    assert result.headline.value == pytest.approx(1.0)
    _, other = task.compared_groups
    word = {"light skin": "light-skinned", "men": "a man"}[other]
    opposite = {"light skin": "dark skin"}.get(other, answer)
    against = score(
        task, _Changed(word, question, opposite), Settings(images_per_prompt=2)
    )
    assert against.headline.value == pytest.approx(-1.0)
