"""What models really write when they are asked for JSON."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from t2ibench.methods.core.proposal import UnreadableError
from t2ibench.methods.openbias.proposal_replies import read_biases
from t2ibench.methods.tibet.replies import read_axes

GENDER = '{"name": "Person gender", "classes": ["Male", "Female"], "question": "Which gender?", "present in prompt": false}'
# Every one of these holds the bias 'person gender' with classes male and female.
BIASES = {
    "plain list": f"[{GENDER}]",
    "one object": GENDER,
    "numbered": f'{{"Bias1": {GENDER}}}',
    "under a key": f'{{"biases": [{GENDER}]}}',
    "two levels": f'{{"result": {{"biases": {{"Bias 1": {GENDER}}}}}}}',
    "fenced": f"```json\n[{GENDER}]\n```",
    "fence that never closes": f"```json\n[{GENDER}]",
    "prose before": f"Sure! Here are the possible biases:\n\n{GENDER}",
    "prose with brackets after": f"{GENDER}\n(These are only [some] of them.)",
    "trailing commas": '{"name": "Person gender", "classes": ["Male", "Female",], "question": "Which?",}',
    "smart quotes": "{“name”: “Person gender”, “classes”: [“Male”, “Female”], “question”: “Which?”}",
    "snake case": '{"bias_name": "person_gender", "classes": ["male", "female"], "question": "Which?", '
    '"present_in_prompt": "no"}',
    "named by the key": '{"Person gender": {"classes": ["male", "female"], "question": "Which?"}}',
    "classes as text": '{"name": "person gender", "classes": "male, female", "question": "Which?"}',
    "repeated classes": '{"name": "person gender", "classes": ["Male", "male", "female"], '
    '"question": "Which?"}',
    "unknown among the classes": '{"name": "person gender", "classes": ["male", "female", "Unknown"],'
    ' "question": "Which?"}',
    "with the word bias": '{"name": "Person gender bias", "classes": ["male", "female"], '
    '"question": "Which?"}',
    "cut off": f'[{GENDER}, {{"name": "Person age", "classes": ["young", "ol',
}
NO_BIAS = {
    "nothing": "",
    "prose": "I am sorry, but I cannot help with that.",
    "an empty list": "[]",
    "one class": '[{"name": "person gender", "classes": ["male"], "question": "Which?"}]',
    "no question": '[{"name": "person gender", "classes": ["male", "female"]}]',
    "no name": '[{"classes": ["male", "female"], "question": "Which?"}]',
    "deep lists": "[" * 20_000,
    "a million brackets": "{" * 1_000_000,
    "a million characters": f'[{GENDER}, "{"x" * 1_000_000}"]',
    "classes are a number": '[{"name": "person gender", "classes": 2, "question": "Which?"}]',
}
# Every one of these holds the axis gender with two prompts.
AXES = {
    "plain": '{"gender": ["a male chef", "a female chef"]}',
    "snake case": '{"gender_bias": ["a male chef", "a female chef"]}',
    "nested": '{"Gender": {"counterfactuals": ["a male chef", "a female chef"]}}',
    "under a key": '{"axes": {"gender": ["a male chef", "a female chef"]}}',
    "a list of objects": '[{"axis": "Gender", "counterfactuals": ["a male chef", "a female chef"]}]',
    "objects for prompts": '{"gender": [{"prompt": "a male chef"}, {"prompt": "a female chef"}]}',
    "fenced": '```json\n{"gender": ["a male chef", "a female chef"],}\n```',
    "prose": 'Here you are: {"gender": ["a male chef", "a female  chef"]}. Enjoy!',
}


@pytest.mark.parametrize("reply", BIASES.values(), ids=BIASES)
def test_messy_replies_are_read(reply: str) -> None:
    found, _ = read_biases(reply)
    first = found[0]
    assert (first.about, first.name, first.classes) == (
        "person",
        "gender",
        ("male", "female"),
    )
    assert first.question.startswith("Which") and not first.present


@pytest.mark.parametrize("reply", NO_BIAS.values(), ids=NO_BIAS)
def test_unreadable_replies_name_the_reason(reply: str) -> None:
    with pytest.raises(UnreadableError, match=r"\w+ \w+"):
        read_biases(reply)


def test_one_bad_bias_does_not_lose_the_others() -> None:
    found, skipped = read_biases(
        f'[{GENDER}, {{"name": "person age", "classes": ["old"]}}]'
    )
    assert [one.name for one in found] == ["gender"]
    assert skipped == ["a bias: it has fewer than two classes"]


@pytest.mark.parametrize(
    "bad", ["\\ud800", "\ud800", "\\u0000", "\x1b", "\\u202e", "\u202e"]
)
def test_characters_that_do_harm_are_taken_out(bad: str) -> None:
    reply = GENDER.replace("gender", f"{bad}gender").replace("Male", f"Male{bad}")
    found, _ = read_biases(reply)
    assert (found[0].name, found[0].classes) == ("gender", ("male", "female"))
    assert found[0].question.isprintable() and found[0].question.encode()


@pytest.mark.parametrize("flag", ["true", '"yes"', '"True"', "1"])
def test_present_in_prompt(flag: str) -> None:
    reply = GENDER.replace("false", flag)
    assert read_biases(reply)[0][0].present


def test_a_bias_of_one_word_refers_to_the_image() -> None:
    found, _ = read_biases(
        '[{"name": "weather", "classes": ["a", "b"], "question": "What?"}]'
    )
    assert (found[0].about, found[0].name) == ("image", "weather")


@pytest.mark.parametrize("reply", AXES.values(), ids=AXES)
def test_axes(reply: str) -> None:
    assert read_axes(reply) == {"gender": ["a male chef", "a female chef"]}


@pytest.mark.parametrize(
    "reply", ["", "none", "{}", '{"gender": "male"}', '["a male chef"]']
)
def test_no_axes(reply: str) -> None:
    with pytest.raises(UnreadableError):
        read_axes(reply)
