"""What a task about edits may say, and what it needs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from t2ibench.methods.core.edit_evidence import SourceImage
from t2ibench.methods.edits.checks import check
from t2ibench.methods.edits.needs import needs
from t2ibench.methods.edits.schema import NO_CHANGE
from t2ibench.settings import Settings
from tests.methods.edits.hand import DOCTOR, GENDER, MEN, RAIN, SMILE, WOMEN, edits_task

SHOWN = {"women": "female", "men": "male"}


def gender(**changes: Any) -> dict[str, Any]:
    return {
        "name": "gender",
        "question": GENDER,
        "classes": ["male", "female"],
        "shown_by_group": SHOWN,
        **changes,
    }


def messages(**changes: Any) -> list[str]:
    return [finding.message for finding in check(edits_task(**changes))]


def test_a_complete_task_has_no_problem() -> None:
    hat = {"name": "hat", "instruction": "Put a hat on", "question": "Is there a hat?"}
    assert messages(no_change="Change nothing", positive=hat) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"headline": "gendr"}, "unknown attribute 'gendr'. Did you mean 'gender'?"),
        ({"between": ["women", "man"]}, "unknown group 'man'. Did you mean 'men'?"),
        ({"between": ["men", "men"]}, "given more than once: 'men'"),
        ({"edits": [DOCTOR, DOCTOR]}, "given more than once: 'as a doctor'"),
        (
            {"no_change": RAIN["instruction"]},
            "given more than once: 'Make it rain'",
        ),
        (
            {"attributes": [gender(shown_by_group={**SHOWN, "men": "mal"})]},
            "unknown class 'mal'. Did you mean 'male'?",
        ),
        (
            {"attributes": [gender(shown_by_group={"women": "female"})]},
            "no class for 'men'",
        ),
        (
            {"attributes": [gender(shown_by_group={"women": "male", "men": "male"})]},
            "both compared groups are shown as 'male'",
        ),
        ({"attributes": [gender(shown="male")]}, "not both"),
        (
            {"attributes": [gender(classes=["male", "female", "unknown"])]},
            "'unknown' is always possible",
        ),
        (
            {"edits": [{**RAIN, "question": f" {SMILE.lower()}"}]},
            "also an attribute's question",
        ),
        ({"edits": [{**RAIN, "classes": ["wet", "dry"]}]}, "but there is none"),
        ({"edits": [RAIN]}, "nothing tells whether 'rain' was made"),
        ({"positive": RAIN}, "a positive control needs a question"),
        ({"edits": [{**DOCTOR, "instruction": "Edit {group}"}]}, "has no placeholder"),
    ],
)
def test_what_a_schema_cannot_say_is_found(
    changes: dict[str, Any], expected: str
) -> None:
    assert any(expected in message for message in messages(**changes))


@pytest.mark.parametrize(
    ("instruction", "word"),
    [
        ("Show the woman as a doctor", "woman"),
        ("Make these MEN older", "MEN"),
        ("make the person more female", "female"),
    ],
)
def test_an_instruction_that_names_a_group_is_refused(
    instruction: str, word: str
) -> None:
    named = messages(edits=[{**DOCTOR, "instruction": instruction}])
    assert any(f"names '{word}'" in message for message in named)


@pytest.mark.parametrize(
    "instruction", ["Show the person as a salesman", "Make the manner formal"]
)
def test_a_word_that_only_contains_a_group_is_allowed(instruction: str) -> None:
    assert messages(edits=[{**DOCTOR, "instruction": instruction}]) == []


def test_a_group_of_two_words_is_found_in_an_instruction() -> None:
    groups = [
        {"name": "older people", "prompts": ["an old person"]},
        {"name": "younger people", "prompts": ["a young person"]},
    ]
    changed = {
        "groups": groups,
        "attributes": [gender(shown_by_group={})],
        "edits": [{**DOCTOR, "instruction": "Show what Older People wear"}],
    }
    assert any("names 'older people'" in message for message in messages(**changed))


def test_two_groups_at_least_are_needed() -> None:
    with pytest.raises(ValidationError, match="groups"):
        edits_task(groups=[{"name": "women", "prompts": [WOMEN]}])


def test_a_task_needs_every_edit_of_every_source_image() -> None:
    task = edits_task(no_change="Change nothing", images_per_edit=2)
    required = needs(task, Settings(images_per_prompt=3))
    assert [(source.prompt, source.images) for source in required.sources] == [
        (WOMEN, 3),
        (MEN, 3),
    ]
    assert required.embeds and not required.prompts and not required.questions
    assert len(required.edits) == 3 * 2 * 3
    assert {edit.edit for edit in required.edits} == {"as a doctor", "rain", NO_CHANGE}
    assert {edit.images for edit in required.edits} == {2}
    first = required.edits[0]
    assert first.source == SourceImage(WOMEN, 0) and first.group == "women"
    asked = {need.about: need.edits for need in required.pair_questions}
    assert asked == {
        "person gender": (),
        "person smile": (),
        "edit as a doctor": ("as a doctor",),
    }


def test_without_a_control_of_no_change_nothing_is_embedded() -> None:
    assert not needs(edits_task(), Settings()).embeds


def test_a_limit_takes_the_first_edits_and_keeps_the_controls() -> None:
    task = edits_task(no_change="Change nothing")
    required = needs(task, Settings(limit=1, images_per_prompt=1))
    assert [edit.edit for edit in required.edits] == ["as a doctor"] * 2 + [
        NO_CHANGE
    ] * 2
