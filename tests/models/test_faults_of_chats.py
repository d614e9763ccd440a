"""Every fault of a chat model's reply, for judges and rewriters and in every form of a reply."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.chat_server import ChatServer
from t2ibench.models.judges.openai import OpenAiArguments, OpenAiJudge
from t2ibench.models.judges.replies import class_of
from t2ibench.models.language import RewriteRequest
from t2ibench.models.protocols import Query
from t2ibench.models.rewriters.chat import OpenAiRewriterArguments, ServerRewriter
from t2ibench.models.thinking import without_thinking
from t2ibench.redaction import Redaction
from tests.chaos.tries import in_time
from tests.models.chat import (
    Said,
    Wire,
    chat_server,
    completion,
    posted_text,
    response,
    serving,
    speaking,
    wiring,
    without_waiting,
)

KEY = "sk-very-secret-0123456789"
ABOUT = ("nurses", "roses", "chefs", "wasps")
FAULTY = "roses"  # what the question with the fault is about
LONG = 1_000_000  # characters
WAITS = (
    "-5",
    "",
    "NaN",
    "1e-9",
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "0001-01-01T00:00:00+23:59",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    without_waiting(monkeypatch)


def of_completion(text: str) -> Any:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def of_parts(text: str) -> Any:
    halves = [text[: len(text) // 2], text[len(text) // 2 :]]
    content = [{"type": "text", "text": half} for half in halves]
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def of_responses(text: str) -> Any:
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    return {"output": [{"type": "reasoning", "summary": []}, message]}


FORMS = {
    "completions": of_completion,
    "content in parts": of_parts,
    "Responses": of_responses,
}


@dataclass(frozen=True)
class Fault:
    """A fault of the replies to one question.

    Attributes:
        reply: The reply, made of the form of a right one.
        requests: How many requests there are for the question.
        text: The text that is read in spite of it; None where there is none.
        times: How many replies have it; the next ones are right.
    """

    reply: Callable[[Callable[[str], Any]], Said]
    requests: int = 1
    text: str | None = None
    times: int = 99


def says(said: str, text: str) -> Fault:
    return Fault(lambda form: _json(form(said)), text=text)


def sends(body: bytes, status: int = 200, requests: int = 1, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(lambda _: (status, named, body), requests)


def _json(value: Any, status: int = 200) -> Said:
    return status, {}, json.dumps(value).encode()


def _cut_off(form: Callable[[str], Any]) -> Said:
    data = json.dumps(form("male")).encode()
    return 200, {"content-length": str(len(data))}, data[: len(data) // 2]


FAULTS = {
    "204": sends(b"", 204),
    "409": sends(b"{}", 409, requests=2),
    "413": sends(b"too large", 413),
    "418": sends(b'{"error": 7}', 418),
    "422 of FastAPI without places": sends(
        b'{"detail": [{"loc": 7, "msg": "no"}, {"loc": {"a": 1}}, 3]}', 422
    ),
    **{
        f"429 with a wait of '{wait}'": Fault(
            lambda _, wait=wait: (429, {"retry-after": wait}, b""),
            requests=2,
            text=f"male, of {FAULTY}",
            times=1,
        )
        for wait in WAITS
    },
    "500": sends(b"<html>", 500, requests=2),
    "529": sends(b"", 529, requests=2),
    "a page": sends(b"<html>Log in</html>", content_type="text/html"),
    "a body that is cut off": Fault(_cut_off, requests=2),
    "nested JSON": sends(b'{"choices":' * 100_000),
    "a number of 5000 digits": sends(b'{"choices": [' + b"9" * 5000 + b"]}"),
    "a hundred thousand keys": sends(
        json.dumps(dict.fromkeys(map(str, range(100_000)))).encode()
    ),
    "NaN": sends(b'{"choices": [{"message": {"content": NaN}}]}'),
    "a byte-order mark and another charset": sends("\ufeff{}".encode("utf-16")),
    "tool calls alone": sends(
        b'{"choices": [{"message": {"content": null, "tool_calls": [{"id": 1}]}}]}',
        200,
        2,
    ),
    "the key alone, in the form of the API": says(KEY, "***"),
}


class Asked:
    """A server that answers each question, one of them with a fault."""

    def __init__(self, form: Callable[[str], Any], fault: Fault) -> None:
        self.requests: Counter[str] = Counter()
        self._form, self._fault = form, fault

    def __call__(self, body: dict[str, Any], _: Any) -> Said:
        (about,) = [word for word in ABOUT if word in posted_text(body)]
        self.requests[about] += 1
        if about == FAULTY and self.requests[about] <= self._fault.times:
            return self._fault.reply(self._form)
        return _json(self._form(f"male, of {about}"))


def judged(server: ChatServer) -> list[tuple[str | None, str | None]]:
    judge = OpenAiJudge("openai:m", server, OpenAiArguments(structured="none"))
    image = Image.new("RGB", (8, 8))
    queries = [Query(image, "a", 0, "0", f"What of {about}?") for about in ABOUT]
    return [(answer.answer, answer.reason) for answer in judge.answer(queries)]


def rewritten(server: ChatServer) -> list[tuple[str | None, str | None]]:
    rewriter = ServerRewriter("openai:m", server, OpenAiRewriterArguments())
    requests = [RewriteRequest(f"a photo of {about}", None, 0) for about in ABOUT]
    return [(one.text or None, one.reason) for one in rewriter.rewrite(requests)]


def each_fault() -> Iterator[Any]:
    """Each fault in each form, by day of judges and rewriters in turn, who share one client."""
    for number, (name, form) in enumerate(itertools.product(FAULTS, FORMS)):
        for turn, ask in enumerate((judged, rewritten)):
            by_day = number % 2 == turn
            yield pytest.param(
                *(name, form, ask),
                id=f"{name}-{form}-{ask.__name__}",
                marks=[] if by_day else [pytest.mark.nightly],
            )


@pytest.mark.parametrize(("name", "form", "ask"), [*each_fault()])
def test_a_fault_of_one_reply_is_a_line_and_costs_no_other(
    name: str, form: str, ask: Callable[[ChatServer], list[Any]]
) -> None:
    fault = FAULTS[name]
    asked = Asked(FORMS[form], fault)
    with speaking(asked) as (url, _):
        found = dict(zip(ABOUT, ask(chat_server(url, retries=2)), strict=True))
    text, reason = found.pop(FAULTY)
    assert text == fault.text
    assert (reason is None) == (fault.text is not None)
    assert len(reason or "") < 400 and (reason or "").isprintable()
    assert KEY not in (reason or "")
    assert found == {about: (f"male, of {about}", None) for about in found}
    wanted = {about: fault.requests if about == FAULTY else 1 for about in ABOUT}
    assert asked.requests == wanted


def test_what_a_server_sends_beyond_a_reply_answers_no_other_question() -> None:
    """It may come with the reply, or later, when the next question is already on its way."""
    questions = iter(range(20))
    connections: list[Any] = []

    def handle(wire: Wire) -> bool:
        if wire.connection in connections:
            wire.send(response(completion("of another image, late")))
            return True
        connections.append(wire.connection)
        right = response(completion(f"answer {next(questions)}"))
        together = len(connections) % 2 == 0
        wire.send(right + response(completion("of another image")) * together)
        return True

    with wiring(handle) as url:
        server = chat_server(url)
        found = [server.chat([{"role": "user", "content": "?"}]) for _ in range(6)]
    assert found == [f"answer {number}" for number in range(6)]


HOSTILE = {
    "a class that is negated over and over": "not male " * (LONG // 9),
    "negated late in a long clause": "x" * (LONG // 2) + " not male" * (LONG // 18),
    "combining marks in no order": "\u0300" * (LONG // 2) + "\u0316" * (LONG // 2),
    "a channel whose name does not end": "<|channel|>" + "a" * LONG,
    "a million channels": "<|channel|>final<|message|>x" * (LONG // 28),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_long_reply_is_read_at_once(name: str) -> None:
    """A reader whose time grows with the square of a reply would take hours for these."""
    reply = HOSTILE[name]
    with in_time():
        assert class_of(reply, ["female", "male"]) == "unknown"
        assert (without_thinking(reply) or "")[:1] in reply


def test_a_hundred_thousand_backslashes_are_searched_for_a_secret_at_once() -> None:
    hide = Redaction([KEY]).values
    slashes = "\\" * (LONG // 10)
    with in_time():
        assert hide(slashes) == slashes
    # In the middle of them, and beside a few, it is hidden all the same.
    escaped = "".join(f"{{}}u{ord(character):04x}" for character in KEY)
    for count in (1, 3, 7, 100):
        assert KEY not in hide(slashes + escaped.format(*["\\" * count] * len(KEY)))
        assert "***" in hide(escaped.format(*["\\" * count] * len(KEY)))


@pytest.mark.parametrize("ask", [judged, rewritten])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("thoughts", ["<think>x</think>", "<thinking>x</thinking>"])
def test_a_key_around_thoughts_is_hidden(
    thoughts: str, form: str, ask: Callable[[ChatServer], list[Any]]
) -> None:
    parted = f"{KEY[:9]}{thoughts}{KEY[9:]}"
    with speaking(Asked(FORMS[form], says(parted, "***"))) as (url, _):
        found = dict(zip(ABOUT, ask(chat_server(url)), strict=True))
    assert found[FAULTY] == ("***", None)


def test_a_key_in_several_parts_of_an_answer_is_hidden() -> None:
    parts = [{"type": "text", "text": part} for part in (KEY[:9], KEY[9:15], KEY[15:])]
    said = {"choices": [{"message": {"content": parts}}]}
    with serving(lambda _: (200, said)) as (url, _):
        assert chat_server(url).chat([{"role": "user", "content": "?"}]) == "***"
    refused = {
        "choices": [
            {
                "message": {
                    "refusal": None,
                    "content": [
                        {"type": "refusal", "refusal": part["text"]} for part in parts
                    ],
                }
            }
        ]
    }
    with (
        serving(lambda _: (200, refused)) as (url, _),
        pytest.raises(T2IBenchError) as caught,
    ):
        chat_server(url).chat([{"role": "user", "content": "?"}])
    assert KEY not in str(caught.value) and "refused" in str(caught.value)
