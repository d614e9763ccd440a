"""What a chat model's reply says: thoughts are no answer, and half a reply is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.models.judges.replies import class_of
from t2ibench.models.language import RewriteRequest
from t2ibench.models.proposers import create_proposer
from t2ibench.models.protocols import Answer, Query
from t2ibench.models.rewriters import create_rewriter
from t2ibench.models.server_errors import IncompleteReplyError, RefusedError
from t2ibench.models.thinking import without_thinking
from t2ibench.toyland import draw
from tests.models.chat import chat_server, serving, without_waiting

MESSAGES = [{"role": "user", "content": "Who?"}]
GENDER = ("female", "male")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("female", "female"),
        ("<think>male?</think>\n\nfemale", "female"),
        ("male? no.</think>female", "female"),  # the template has opened the thoughts
        ("[THINK]male?[/THINK]female", "female"),
        ("<thinking>male?</thinking>female", "female"),
        ("◁think▷male?◁/think▷female", "female"),
        ("<seed:think>male?</seed:think>female", "female"),
        ("<think>male?</think><think>or?</think>female", "female"),
        ("<think>male?</think><answer>female</answer>", "female"),
        ("<|begin_of_box|>female<|end_of_box|>", "female"),
        (
            "<|channel|>analysis<|message|>male?<|end|><|start|>assistant"
            "<|channel|>final<|message|>female<|return|>",
            "female",
        ),
        ("analysisIs it male?assistantfinalfemale", "female"),
        ("<|channel|>analysis<|message|>male?", None),
        ("<think>male", None),
        ("[THINK]male", None),
        ("<think>male?</think><think>or", None),
        ("A tag such as <think> in a text", "A tag such as <think> in a text"),
        ("analysis of the image: female", "analysis of the image: female"),
    ],
)
def test_thoughts_are_no_answer(reply: str, answer: str | None) -> None:
    assert without_thinking(reply) == answer
    if answer == "female":
        assert class_of(reply, GENDER) == "female"


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "female"}',
        '{"reasoning": "not male", "answer": "Female"}',
        '{"answer": "female", "confidence": 0.9, "other": "male"}',
        'Here: ```json\n{"reasoning": "male or female?", "Final Answer": "female"}\n```',
        '{"result": {"class": "female"}}',
        '{"answer": ["female"]}',
        '{"draft": "male"} and then {"answer": "female"}',
        '<think>{"answer": "male"}</think>{"answer": "female"}',
        "  FEMALE  ",
    ],
)
def test_an_answer_beside_its_reasoning_is_read(reply: str) -> None:
    assert class_of(reply, GENDER) == "female"


def completion_of(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "choices": [
            {"finish_reason": finish, "message": {"content": content, **message}}
        ]
    }


PARTS: dict[str, Any] = {
    "text": completion_of([{"type": "text", "text": "yes"}]),
    "output text": completion_of([{"type": "output_text", "text": "yes"}]),
    "strings": completion_of(["y", "es"]),
    "thinking": completion_of(
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "no?"}]},
            {"type": "text", "text": "yes"},
        ]
    ),
    "reasoning apart": completion_of("yes", reasoning_content="no?"),
    "a response": {
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "yes"}]},
        ]
    },
}


@pytest.mark.parametrize("form", PARTS)
def test_content_in_parts_is_read(form: str) -> None:
    with serving(lambda _: (200, PARTS[form])) as (url, _):
        assert chat_server(url).chat(MESSAGES) == "yes"


def test_a_refusal_among_the_parts_is_one() -> None:
    said = completion_of([{"type": "refusal", "refusal": "No faces."}])
    with (
        serving(lambda _: (200, said)) as (url, _),
        pytest.raises(RefusedError, match=r"No faces\."),
    ):
        chat_server(url).chat(MESSAGES)


CUT: dict[str, Any] = {
    "empty": completion_of("", "length"),
    "no content": completion_of(None, "length", reasoning_content="male or"),
    "half an answer": completion_of('{"answer": "fem', "length"),
    "a whole word": completion_of("female and ", "length"),
    "thoughts alone": completion_of("<think>male or"),
    "reasoning alone": completion_of("", reasoning="male or"),
    "another name": completion_of("", "MAX_TOKENS"),
    "nothing": completion_of(""),
    "a response": {
        "output": [],
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    },
}


@pytest.mark.parametrize("how", CUT)
def test_a_reply_that_was_cut_off_is_asked_for_once_with_room(how: str) -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        return (200, "female") if body["max_tokens"] >= 2048 else (200, CUT[how])

    with serving(speak) as (url, posted):
        server = chat_server(url)
        assert server.chat(MESSAGES) == "female"
        assert [body["max_tokens"] for body in posted] == [64, 2048]
        server.chat(MESSAGES)  # what it needs is remembered
        assert posted[-1]["max_tokens"] == 2048 and len(posted) == 3
        assert server.effective_settings()["max_tokens"] == 2048


@pytest.mark.parametrize("how", CUT)
def test_a_reply_that_stays_cut_off_is_no_answer(how: str) -> None:
    with serving(lambda _: (200, CUT[how])) as (url, posted):
        with pytest.raises(
            IncompleteReplyError, match=r"max_tokens=64 and again at 2048.*--judge"
        ):
            chat_server(url).chat(MESSAGES)
        assert len(posted) == 2


def test_where_there_is_no_more_room_the_first_reason_is_given() -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        if body["max_tokens"] > 64:
            words = "max_tokens is too large: 2048. This model's maximum context length is 512."
            return 400, {"error": {"message": words, "param": "max_tokens"}}
        return 200, CUT["empty"]

    with serving(speak) as (url, posted):
        with pytest.raises(IncompleteReplyError, match="was cut off"):
            chat_server(url).chat(MESSAGES)
        assert len(posted) == 2


def queries(count: int) -> list[Query]:
    return [
        Query(draw("a rose", n), "", n, str(n), "Which?", GENDER) for n in range(count)
    ]


def judge(url: str, **args: str) -> Any:
    (made,) = create_judges(["openai:eye"], {"base_url": url, **args})
    return made


def given(url: str, count: int = 12) -> tuple[list[Answer], str]:
    """The answers of a judge, and what has ended it."""
    answers: list[Answer] = []
    try:
        for part in judge(url).answer_in_parts(queries(count)):
            answers += [answer for _, answer in part]
    except T2IBenchError as error:
        return answers, str(error)
    return answers, ""


def test_a_judge_whose_replies_are_all_cut_off_ends_after_the_first_few() -> None:
    with serving(lambda _: (200, CUT["no content"])) as (url, posted):
        answers, ended = given(url)
    assert [answer.answer for answer in answers] == [None] * 5 and len(posted) == 10
    assert "cut off" in ended and "--judge-args max_tokens=" in ended


def test_a_judge_that_declines_all_questions_ends_after_the_first_few() -> None:
    with serving(lambda _: (400, {"error": {"message": "Bad messages."}})) as (
        url,
        posted,
    ):
        answers, ended = given(url)
    assert len(answers) == 5 and len(posted) == 10 and "400: Bad messages." in ended


BLIND = [
    (400, "This model does not support image input."),
    (404, "No endpoints found that support image input"),
    (400, "Invalid content type. image_url is only supported by certain models."),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (422, "messages[0].content[0]: unknown variant `image_url`, expected `text`"),
    (500, "image input is not supported - hint: you may need to provide the mmproj"),
    (400, "eye is not a multimodal model"),
    (400, "this model is missing data required for image input"),
]


@pytest.mark.parametrize(("status", "words"), BLIND)
def test_a_model_that_takes_no_images_is_one_line(
    status: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    with serving(lambda _: (status, {"error": {"message": words}})) as (url, posted):
        answers, ended = given(url)
    assert answers == [] and len(posted) <= 2
    assert "does not look at images" in ended and words[:20] in ended


def newer(body: dict[str, Any]) -> tuple[int, Any]:
    """A model of OpenAI's newer kind."""

    def declined(words: str, field: str) -> tuple[int, Any]:
        return 400, {
            "error": {"message": words, "param": field, "code": "unsupported_parameter"}
        }

    if "max_tokens" in body:
        words = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead"
        return declined(words, "max_tokens")
    if body.get("temperature", 1) != 1:
        return declined(
            "'temperature' does not support 0 with this model.", "temperature"
        )
    if "seed" in body:
        return declined("Unknown parameter: 'seed'.", "seed")
    return 200, "female"


def test_a_declined_field_costs_one_request_with_any_number_of_workers() -> None:
    with serving(newer) as (url, posted):
        answers, ended = given(url)
        assert [answer.answer for answer in answers] == ["female"] * 12 and not ended
        assert len(posted) == 12 + 2
    assert all("max_tokens" not in body for body in posted[2:])


def test_rewriters_and_proposers_leave_out_what_is_declined() -> None:
    lines: list[str] = []
    with serving(newer) as (url, posted):
        rewriter: Any = create_rewriter("openai:m", {"base_url": url, "per": "image"})
        rewriter.report_waits(lines.append)
        requests = [RewriteRequest("a nurse", n, n) for n in range(10)]
        assert {one.status for one in rewriter.rewrite(requests)} == {"ok"}
        assert len(posted) == 10 + 2
        used = rewriter.effective_settings()
        assert used["max_completion_tokens"] == 256 and used["left_out"] == ["seed"]
        assert len(lines) == 1 and "does not take seed" in lines[0]
        proposer: Any = create_proposer("openai:m", {"base_url": url})
        assert proposer.reply(MESSAGES) == "female"
        assert proposer.effective_settings()["left_out"] == ["temperature"]


def test_a_temperature_of_the_user_is_never_left_out() -> None:
    with serving(newer) as (url, _):
        rewriter = create_rewriter("openai:m", {"base_url": url, "temperature": "0.5"})
        with pytest.raises(
            T2IBenchError, match=r"not take temperature=0.5.*--rewriter-args"
        ):
            rewriter.rewrite([RewriteRequest("a nurse")])


def test_fields_are_left_out_by_list_and_by_name_alone() -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        if "temperature" in body:
            words = "eye does not support parameters: ['temperature', 'max_tokens']"
            return 400, {"error": {"message": words}}
        if "max_tokens" in body:
            return 422, {
                "detail": [{"loc": ["body", "max_tokens"], "msg": "Extra inputs"}]
            }
        if "max_completion_tokens" in body:
            return 400, {"error": {"message": "unknown field max_completion_tokens"}}
        return 200, json.dumps({"answer": "female"})

    with serving(speak) as (url, posted):
        answers, ended = given(url, 3)
        assert [answer.answer for answer in answers] == ["female"] * 3 and not ended
    assert len(posted) == 3 + 3


def test_an_error_behind_a_gateway_is_no_text() -> None:
    failed = {"finish_reason": "error", "error": {"message": "upstream"}, "message": {}}
    with (
        serving(lambda _: (200, {"choices": [failed]})) as (url, _),
        pytest.raises(T2IBenchError, match="is an error: upstream"),
    ):
        chat_server(url).chat(MESSAGES)
