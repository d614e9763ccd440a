"""Servers are held to the classes where they can be, and asked plainly where they cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Judge, Query
from t2ibench.toyland import draw
from t2ibench.toyland.reader import read
from tests.models.chat import litellm, posted_image, serving, without_waiting

GENDER = ("male", "female")
DECLINES = {"error": {"message": "Unrecognized request argument supplied"}}


def judge(url: str, **args: str) -> Judge:
    (found,) = create_judges(["openai:eye"], {"base_url": url, **args})
    return found


def queries(count: int = 6, *classes: str) -> list[Query]:
    images = [draw(f"a photo of a {('man', 'woman')[n % 2]}", n) for n in range(count)]
    return [
        Query(image, "", n, str(n), "Which?", classes or GENDER)
        for n, image in enumerate(images)
    ]


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    form = body.get("response_format")
    return form["json_schema"]["schema"] if form else None


def constrained(body: dict[str, Any]) -> tuple[int, Any]:
    """A server that says in words what it sees, unless it is held to a schema or a choice."""
    seen = read(posted_image(body)).top("gender")
    schema = schema_of(body)
    if not schema:
        return 200, f"Neither male nor female is certain, but {seen} is likelier"
    options = schema["properties"]["answer"]["enum"]
    return 200, json.dumps({"answer": seen if seen in options else options[-1]})


def test_a_server_is_held_to_the_classes() -> None:
    with serving(constrained) as (url, posted):
        answers = judge(url).answer(queries())
    assert [found.answer for found in answers] == ["male", "female"] * 3
    assert len(posted) == 6
    assert json.loads(answers[0].raw) == {"answer": "male"}
    schema = schema_of(posted[0])
    assert schema and schema["properties"]["answer"]["enum"] == [*GENDER, "unknown"]
    assert posted[0]["response_format"]["json_schema"]["strict"] is True
    assert schema["required"] == ["answer"] and schema["additionalProperties"] is False


def test_without_a_schema_the_reply_is_parsed() -> None:
    with serving(constrained) as (url, posted):
        answers = judge(url, structured="none").answer(queries())
    # It denies both, and then says which is likelier.
    assert all(
        found.raw.endswith(f"but {found.answer} is likelier") for found in answers
    )
    assert not any("response_format" in body for body in posted)


def declining(status: int = 400) -> Callable[[dict[str, Any]], tuple[int, Any]]:
    """A server that declines schemas."""

    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        return (status, DECLINES) if "response_format" in body else (200, "female")

    return speak


@pytest.mark.parametrize("status", [400, 422])
def test_a_declined_schema_is_not_sent_again(status: int) -> None:
    with serving(declining(status)) as (url, posted):
        one = judge(url, workers="1")
        assert all(answer.answer in GENDER for answer in one.answer(queries()))
        assert len(posted) == 2 + 5  # only the first question is sent more than once
        one.answer(queries())
        assert len(posted) == 2 + 5 + 6
    assert not any("response_format" in body for body in posted[1:])


def test_questions_sent_with_a_declined_schema_are_sent_again_without() -> None:
    with serving(declining()) as (url, _):
        answers = judge(url, workers="6").answer(queries())
    assert all(found.answer in GENDER for found in answers)


def test_a_question_declined_with_and_without_schema_affects_no_other() -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        if read(posted_image(body)).top("gender") == "male":
            return 400, {"error": {"message": "image too large"}}
        return constrained(body)

    with serving(speak) as (url, posted):
        answers = judge(url, workers="1").answer(queries())
    assert [found.answer for found in answers] == [None, "female"] * 3
    assert answers[0].reason == "the server replied 400: image too large"
    assert all("response_format" in body for body in posted[2:])  # nothing was unlearnt
    # once these classes were answered, the form is not to blame
    assert len(posted) == 2 + 5


@pytest.mark.parametrize("status", [400, 403, 422])
def test_a_question_that_a_filter_refuses_is_asked_once(status: int) -> None:
    said = {"error": {"code": "content_filter", "message": "The image was flagged."}}
    with serving(lambda _: (status, said)) as (url, posted):
        answers = judge(url, workers="1").answer(queries())
    assert {found.answer for found in answers} == {None} and len(posted) == 6
    assert answers[0].reason == f"the server replied {status}: The image was flagged."


def test_litellm_is_asked_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM's interface, as version 1.109 has it, whose errors are the openai client's."""

    async def acompletion(**given: Any) -> Any:
        own = {
            name: given.pop(name)
            for name in ("model", "messages", "api_base", "api_key")
        }
        limits = {
            name: given.pop(name) for name in ("drop_params", "max_retries", "timeout")
        }
        assert limits == {"drop_params": False, "max_retries": 0, "timeout": 120.0}
        async with openai.AsyncOpenAI(
            base_url=own["api_base"], api_key=own["api_key"], max_retries=0
        ) as client:
            return await client.chat.completions.create(
                model=own["model"], messages=own["messages"], extra_body=given
            )

    refused = type("ContentPolicyViolationError", (Exception,), {})
    litellm(monkeypatch, refused, acompletion=acompletion)
    monkeypatch.setenv("T2IBENCH_LITELLM_KEY", "sk-0123456789")
    waits = without_waiting(monkeypatch)
    with serving(declining()) as (url, posted):
        (one,) = create_judges(["litellm:any/eye"], {"base_url": url, "workers": "1"})
        answers = one.answer(queries())
        assert {found.answer for found in answers} == {"female"}
        assert len(posted) == 7 and posted[0]["authorization"] == "Bearer sk-0123456789"
    said = (401, {"error": {"message": "not sk-0123456789"}})
    with serving(lambda _: said) as (url, posted):
        (one,) = create_judges(["litellm:any/eye"], {"base_url": url, "workers": "1"})
        with pytest.raises(
            T2IBenchError, match=r"grants no access \(401: not \*\*\*\)"
        ):
            one.answer(queries(1))
    with pytest.raises(T2IBenchError, match=r"cannot be reached.*tried 5 times"):
        one.answer(queries(1))
    assert len(waits) == 4 and one.fingerprint != judge(url).fingerprint


def test_stored_answers_of_the_plain_way_are_still_found() -> None:
    url = "http://127.0.0.1:1/v1"
    plain, schema = (judge(url, structured=way) for way in ("none", "schema"))
    before = {"adapter": "openai judge 1", "model": "eye", "max_tokens": 64}
    assert plain.fingerprint == fingerprint(before, url=f"{url}/chat/completions")
    assert plain.fingerprint != schema.fingerprint
