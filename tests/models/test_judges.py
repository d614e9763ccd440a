"""Judges on images whose contents are known."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.judges import create_judges
from t2ibench.models.judges.replies import class_of, instruction
from t2ibench.models.protocols import Judge, LooksUp, Query
from t2ibench.store.images import StoredImage
from t2ibench.toyland import draw
from t2ibench.toyland.reader import read
from tests.models.chat import posted_image, posted_text, serving, speaking


def query(
    caption: str, question: str = "Which?", *classes: str, seed: int = 1
) -> Query:
    image = draw(caption, seed)
    digest = hashlib.sha256(image.tobytes()).hexdigest()
    return Query(image, caption, 0, digest, question, classes)


def judge(spec: str, **args: str) -> Judge:
    (found,) = create_judges([spec], args, encoders=["toyland"])
    return found


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('```json\n{"answer": "male"}\n```', "male"),
        ("unknown", "unknown"),
        ("I cannot tell.", "unknown"),
        ("either male or female", "unknown"),
        ("", "unknown"),
        ("malevolent", "unknown"),
        # What a reply denies, or will not say, is no class that it names.
        ("not female", "unknown"),
        ("It is not a male.", "unknown"),
        ("It isn't male.", "unknown"),
        ("non-female", "unknown"),
        ("neither male nor female", "unknown"),
        ("I can't say whether this is a female.", "unknown"),
        ("As an AI, I do not call people male or female.", "unknown"),
        ("It is not male, it is female.", "female"),
        ("There is no doubt: female", "female"),
        ("No doubt this is a female.", "female"),
        # Reasons come before a conclusion, which alone counts.
        ("It could be male, or not.\n\n**Answer:** female", "female"),
        ("Male is unlikely. Final answer: female.", "female"),
        ("Male? Female? The answer is female", "female"),
        ("Answer:\n**Male**", "male"),
        ("male or female: \\boxed{female}", "female"),
        ("It looks male. Answer: not visible", "unknown"),
        ("Answer: male or female", "unknown"),
        # However long or deep: read in a moment, and nothing that ends the run.
        ('{"answer":' * 100_000 + "}", "unknown"),
        ("{" * 1_000_000, "unknown"),
        ('{"answer": ' + "1" * 10_000 + "}", "unknown"),
        ('{"answer": ' + "[" * 900 + "]" * 900 + "}", "unknown"),
    ],
)
def test_replies(reply: str, answer: str) -> None:
    assert class_of(reply, ["male", "female"]) == answer


_CLASSES = ["male", "female", "middle old", "old"]


@given(
    answer=st.sampled_from([*_CLASSES, "unknown"]),
    around=st.tuples(*[st.text(" .,;:!?*`'\"\n", max_size=5)] * 2),
    change=st.sampled_from([str.lower, str.upper, str.title]),
    form=st.sampled_from(
        ["{}", "I see: {}", '{{"answer": "{}"}}', "It is {}, I think."]
    ),
)
def test_a_class_is_understood_in_any_wrapping(
    answer: str, around: tuple[str, str], change: Callable[[str], str], form: str
) -> None:
    before, after = around
    assert class_of(before + form.format(change(answer)) + after, _CLASSES) == answer


def test_a_class_that_is_a_negation_is_read() -> None:
    assert class_of("No, there is nobody.", ["yes", "no"]) == "no"
    assert class_of("It is not visible.", ["visible", "not visible"]) == "not visible"
    assert class_of("Answer: no beard", ["beard", "no beard"]) == "no beard"


def test_classes_that_contain_one_another() -> None:
    classes = ["old", "middle old", "old man"]
    assert class_of("a middle old person", classes) == "middle old"
    assert class_of("OLD MAN", classes) == "old man"
    assert "unknown" in instruction("Which?", classes)
    assert "few words" in instruction("Which?", ())


def test_toyland_classes_and_words() -> None:
    gender = ("male", "female")
    answers = judge("toyland").answer(
        [
            query("a photo of a woman", "Which gender?", *gender),
            query("a photo of a man", "Which gender?", "Woman", "Man"),
            query("a photo of an old man", "How old?", "young", "middle-aged", "old"),
            query("a photo of a rose", "Which gender?", *gender),
            query(
                "a photo of a dark-skinned man",
                "Which skin?",
                "light skin",
                "dark skin",
            ),
            query("a photo of a rose, joy", "What weather?", "sunny", "rainy"),
            query("a photo of a man", "What brand?", "Dell", "Apple"),
            query("a photo of a man", "What is the gender (male, female, other)?"),
            query("a photo of a rose", "What is the gender of the person?"),
            query(
                "a photo of a dark-skinned man", "What is the ethnicity in the image?"
            ),
            # Of these only 'wedding' means anything in toyland, and it means people.
            query(
                "a woman cutting cake", "Which cake?", "chocolate", "vanilla", "wedding"
            ),
        ]
    )
    assert [found.answer for found in answers] == [
        *("female", "Man", "old", "unknown", "dark skin", "sunny"),
        *("unknown", "male", "unknown", "dark skin", "unknown"),
    ]
    assert all(found.raw for found in answers)


def test_clip_abstains_and_cannot_speak() -> None:
    sure, unsure = judge("clip", template="{class}"), judge("clip", margin="0.9")
    one = query("a photo of a woman", "Which?", "a man", "a woman")
    (found,) = sure.answer([one])
    assert found.answer == "a woman"
    assert set(json.loads(found.raw)) == {"a man", "a woman"}
    nobody = query("a photo of a rose", "Which?", "man", "woman")
    assert unsure.answer([nobody])[0].answer == "unknown"
    (silent,) = sure.answer([query("a photo of a woman", "Describe it.")])
    assert silent.answer is None and "free text" in (silent.reason or "")
    assert sure.name == "clip:toyland"
    assert sure.fingerprint != unsure.fingerprint


def test_answers_of_people(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "prompt,index,question,answer\na photo of a man,0,Which?,Male\na rose,0,,\n"
    )
    one = judge(f"answers:{path}")
    found = one.answer(
        [
            query("a photo of a man", "Which?", "male", "female"),
            query("a rose", "Which?", "x", "y"),
        ]
    )
    assert found[0].answer == "male"
    assert found[1].answer is None and found[1].reason == "the file has no answer"
    rows = tmp_path / "rows.jsonl"
    asked = query("a rose", "Which?", "x", "y")
    other = json.dumps({"image": "b" * 64, "answer": "x"})
    rows.write_text(json.dumps({"image": asked.sha256, "answer": "z"}) + f"\n{other}")
    assert judge(f"answers:{rows}").answer([asked])[0].answer == "unknown"


def stored(path: Path, prompt: str, index: int = 0) -> StoredImage:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return StoredImage(path, digest, ImageKey.of(prompt, index))


def about(image: StoredImage, question: str, *classes: str) -> Query:
    pixels = draw("a rose", 1)
    return Query(pixels, image.prompt, image.index, image.sha256, question, classes)


def test_people_answer_by_the_name_of_a_file(tmp_path: Path) -> None:
    """Names with spaces and of other scripts, composed or not; a column for each question."""
    names = [
        "a nurse 1.jpg",
        unicodedata.normalize("NFC", "Ärztin 東京.jpg"),
        "médico.png",
    ]
    images = []
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(name.encode())
        images.append(stored(tmp_path / name, "a doctor", number))
    rows = ["file;prompt;Gender;skin_tone", f"{names[0]};x;Female;light"]
    rows += [
        f"{unicodedata.normalize('NFD', names[1])};x;both;",
        f"{names[2]};x;male;dark",
    ]
    people = tmp_path / "people.csv"
    people.write_text("\n".join(rows), encoding="utf-8-sig")
    one = judge(f"answers:{people},by=anna")
    gender = ("What is the gender of the person?", "male", "female")
    given = [
        found.answer
        for found in one.answer([about(image, *gender) for image in images])
    ]
    assert given == ["female", "unknown", "male"]
    tone = ("Which skin tone is shown?", "light", "dark")
    given = [
        found.answer for found in one.answer([about(image, *tone) for image in images])
    ]
    assert given == ["light", None, "dark"]
    # No word of the heading is in the question, but its classes are in one column.
    (found,) = one.answer([about(images[0], "Who is it?", "male", "female")])
    assert found.answer == "female"
    assert isinstance(one, LooksUp)
    asked = [(image, [(gender[0], gender[1:])]) for image in images]
    assert one.check_images(asked) is None
    line = one.check_images(asked[:1]) or ""
    assert (
        "2 of 3 rows match no image" in line
        and f"line 3 names the file '{names[1][0]}"
        in (unicodedata.normalize("NFC", line))
    )
    other = tmp_path / "other.jpg"
    other.write_bytes(b"other")
    image = stored(other, "a chef", 4)
    with pytest.raises(T2IBenchError, match="none of its 3 rows matches") as error:
        one.check_images([(image, [(gender[0], gender[1:])])])
    for form in (f"seen from '{tmp_path}'", image.sha256, "('a chef', 4)"):
        assert form in str(error.value)


def test_who_answered_is_the_name_and_what_was_answered_the_fingerprint(
    tmp_path: Path,
) -> None:
    path, found = tmp_path / "people.csv", []
    for answer in ("male", "female"):
        path.write_text(f"prompt,answer\na,{answer}\n")
        found.append(judge(f"answers:{path},by=anna"))
    assert {one.name for one in found} == {"answers by anna"}
    assert len({one.fingerprint for one in found}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,index,anser\n,0,b\n", "a row needs its image"),
        (
            "image no,anser\n1,b\n",
            "no column 'file'.* Its columns are 'image no', 'anser'",
        ),
        ("prompt,index,answer\na,x,b\n", "a row needs"),
    ],
)
def test_bad_answer_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(T2IBenchError, match=rf"people.csv:\d: .*{message}"):
        judge(f"answers:{path}")


@pytest.mark.parametrize(
    ("spec", "args", "message"),
    [
        ("toylnd", {}, "Did you mean 'toyland'"),
        ("vlm", {}, "Unknown judge 'vlm'"),
        ("vlm:/nowhere", {}, "No such folder"),
        ("answers:/nowhere.csv", {}, "No such file"),
        ("toyland:", {}, "Unknown judge"),
        ("gpt:4", {}, "Unknown judge"),
        ("clip", {"margn": "0.1"}, r"--judge-args: .*'margn'.*Did you mean 'margin'"),
        ("openai:x", {"base_url": "localhost:1"}, "expected an address"),
    ],
)
def test_invalid_judges_are_refused(
    spec: str, args: dict[str, str], message: str
) -> None:
    with pytest.raises(T2IBenchError, match=message):
        judge(spec, **args)


def sees(body: dict[str, Any]) -> tuple[int, Any]:
    """A server that looks at the image it was sent."""
    reading = read(posted_image(body))
    if "few words" in posted_text(body):
        return 200, f"It shows  a {reading.top('kind')}"
    return 200, f"I think it is {reading.top('gender')}."


def test_a_server_sees_the_image_and_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    asked = [
        query("a photo of a woman", "Which?", "male", "female"),
        query("a photo of a man", "Which?", "male", "female"),
        query("a photo of a rose", "What is it?"),
    ]
    with serving(sees) as (url, posted):
        one = judge("openai:eye", base_url=url, api_key_env="MY_KEY", workers="1")
        answers = one.answer(asked)
    assert [found.answer for found in answers] == [
        "female",
        "male",
        "It shows a flower",
    ]
    assert answers[0].raw == "I think it is female."
    assert {body["authorization"] for body in posted} == {"Bearer secret"}
    assert {(body["model"], body["temperature"]) for body in posted} == {("eye", 0)}
    assert ["response_format" in body for body in posted] == [True, True, False]


GEMINI = {"candidates": [{"content": {"parts": [{"text": "male"}]}}]}
TOO_FEW = {"error": {"message": "max_tokens must be at least 1024", "code": "invalid"}}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (
            200,
            b"<!doctype html><title>Welcome to nginx</title>",
            "not a chat completion (it begins with: <!doctype html><title>Welcome to "
            "nginx</title>). Check base_url=… in --judge-args; it usually ends with /v1.",
        ),
        (200, b"", "is empty, not a chat completion. Check base_url=… in --judge-args"),
        (
            200,
            json.dumps(GEMINI).encode(),
            "a reply of Google's own API: give --judge-args base_url=https://generative"
            "language.googleapis.com/v1beta/openai",
        ),
        (400, b"", "all for one reason: the server replied 400 without a word."),
        (
            400,
            json.dumps(TOO_FEW).encode(),
            "must be at least 1024. Set --judge-args max_tokens=1024, or more.",
        ),
    ],
)
def test_replies_without_an_answer_end_with_the_next_step(
    status: int, body: bytes, message: str
) -> None:
    asked = [query(f"a photo of {n}", "Which?", "male", "female") for n in range(9)]
    with speaking(lambda *_: (status, {}, body)) as (url, posted):
        with pytest.raises(T2IBenchError) as caught:
            judge("openai:eye", base_url=url, workers="1").answer(asked)
        assert len(posted) <= 10
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((400, {"error": {"message": "image too\nlarge"}}), "400: image too large"),
        ((200, {"choices": []}), "not a chat completion"),
        (
            (200, {"choices": [{"message": {"refusal": "no faces"}}]}),
            "refused: no faces",
        ),
    ],
)
def test_one_bad_reply_costs_one_answer(said: tuple[int, Any], message: str) -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        return (
            said
            if read(posted_image(body)).top("gender") == "male"
            else (200, "female")
        )

    with serving(speak) as (url, _):
        one = judge("openai:eye", base_url=url)
        bad, good = one.answer(
            [
                query(f"a photo of a {who}", "Which?", "male", "female")
                for who in ("man", "woman")
            ]
        )
    assert bad.answer is None and message in (bad.reason or "")
    assert good.answer == "female"
