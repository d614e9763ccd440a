"""Which attribute of people or things a test is about: gender, age, skin tone, valence."""

from __future__ import annotations

import re

from t2ibench.results.schema import TaskResult

SEVERAL = "several attributes"
_OBEDIENCE = "obedience:"
# Words that name an attribute or one of its groups.
_WORDS = {
    "gender": {"gender", "male", "female", "men", "women", "man", "woman"},
    "age": {"age", "old", "young", "adult", "elderly"},
    "skin tone": {"skin", "dark-skinned", "light-skinned", "tone"},
    "valence": {"pleasant", "unpleasant"},
}
_WORD = re.compile(r"[\w'-]+")


def attribute_of(task: TaskResult) -> str:
    """Return which attribute a test's guided prompts name, or its question asks about.

    It is one of `gender`, `age`, `skin tone` and `valence` where a name contains one of their
    words; else the names of the groups themselves; `SEVERAL` where a test is about several.
    """
    names = guided_groups(task) or sorted({row.group or "" for row in task.by})
    recognised = {attribute for name in names for attribute in _named_in(name)}
    if len(recognised) > 1:
        return SEVERAL
    if recognised:
        return recognised.pop()
    if guided_groups(task):
        return " / ".join(names)
    return names[0] if len(names) == 1 and names[0] else SEVERAL


def guided_groups(task: TaskResult) -> list[str]:
    """Return the groups that a test's guided prompts ask for, such as male and female."""
    return [
        name.removeprefix(_OBEDIENCE)
        for name in task.scores
        if name.startswith(_OBEDIENCE)
    ]


def _named_in(name: str) -> set[str]:
    words = set(_WORD.findall(name.casefold()))
    return {attribute for attribute, naming in _WORDS.items() if words & naming}
