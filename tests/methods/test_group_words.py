"""Which groups of people a text names: words count, not pieces of them."""

from __future__ import annotations

import pytest

from t2ibench.methods.core.group_words import MEN_WORDS, WOMEN_WORDS, groups_named
from t2ibench.methods.tibet.named_groups import naming_words

GROUPS = ("male", "female")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Mr Smith, a clerk", {"male"}),
        ("Mrs Smith, a clerk", {"female"}),
        ("Ms Smith, a clerk", {"female"}),
        ("a sign that says hi", set()),
        ("a wall 3 m high", set()),
        ("a nurse steadies herself", {"female"}),
        ("a nurse by himself", {"male"}),
        ("the choice was hers", {"female"}),
        ("three widows and a duke's hat", {"male", "female"}),
        ("two princesses", {"female"}),
        ("the princes", {"male"}),
        ("ladies first", {"female"}),
    ],
)
def test_whole_words_name_a_gender(text: str, named: set[str]) -> None:
    assert groups_named(text, GROUPS) == named


def test_every_listed_word_names_its_gender_alone() -> None:
    for words, group in ((WOMEN_WORDS, "female"), (MEN_WORDS, "male")):
        for word in words.split():
            assert groups_named(f"a {word.title()} here", GROUPS) == {group}, word


def test_names_of_groups_count_in_either_number() -> None:
    assert groups_named("an East Asian chef", ["East Asians"]) == {"East Asians"}
    assert groups_named("East Asians", ["East Asian"]) == {"East Asian"}


def test_a_plural_of_a_list_is_not_its_singular() -> None:
    """A senior engineer has a rank, seniors have an age."""
    assert naming_words("a senior engineer", "age", []) is None
    assert naming_words("seniors at a bus stop", "age", []) == "seniors"
