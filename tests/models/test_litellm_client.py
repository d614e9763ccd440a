"""LiteLLM asks servers of every provider with clients that have the bounds of every other one."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.chat_server import ChatArguments, ChatServer
from t2ibench.models.generators import create_generator
from t2ibench.models.http import BoundedClient, BoundedSyncClient
from t2ibench.models.litellm_server import LitellmServer
from t2ibench.models.server_errors import BadReplyError
from tests.models.chat import (
    Said,
    bomb,
    litellm,
    speaking,
    without_waiting,
)
from tests.models.parts import refused
from tests.models.test_edits_served import edits, stored
from tests.models.test_served import KEY, PROMPTS, picture, requests
from tests.models.wires import Turn, head, wired

HANDLERS = "litellm.llms.custom_httpx.http_handler"
OPENAI = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "male"},
        }
    ],
}
ANTHROPIC = {
    "id": "1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "male"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
GEMINI = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "male"}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 1,
        "candidatesTokenCount": 1,
        "totalTokenCount": 2,
    },
}
COHERE = {
    "id": "1",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "male"}]},
    "usage": {"tokens": {"input_tokens": 1, "output_tokens": 1}},
}
OLLAMA = {
    "model": "m",
    "message": {"role": "assistant", "content": "male"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 1,
    "eval_count": 1,
}
# A right answer of each kind of provider. LiteLLM asks maritalk in a thread, without `await`.
CHATS = {
    "openai/m": OPENAI,
    "anthropic/m": ANTHROPIC,
    "gemini/m": GEMINI,
    "cohere/m": COHERE,
    "ollama_chat/m": OLLAMA,
    "huggingface/m": OPENAI,
    "maritalk/m": OPENAI,
}
IMAGE = base64.b64encode(picture()).decode()
IMAGES = {
    "openai/m": {"created": 1, "data": [{"b64_json": IMAGE}]},
    "gemini/imagen-3.0": {"predictions": [{"bytesBase64Encoded": IMAGE}]},
}


def test_what_makes_its_clients_makes_bounded_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    litellm(monkeypatch, ValueError)
    library: Any = sys.modules["litellm"]
    library.in_memory_llm_clients_cache["of another provider"] = "without bounds"
    LitellmServer("openai/m", ChatArguments())
    assert isinstance(library.aclient_session, BoundedClient)
    handlers: Any = sys.modules[HANDLERS]
    assert isinstance(handlers.AsyncHTTPHandler().client, BoundedClient)
    assert isinstance(handlers.HTTPHandler(ssl_verify=False).client, BoundedSyncClient)
    assert not library.in_memory_llm_clients_cache


@pytest.mark.parametrize("name", ["AsyncHTTPHandler", "HTTPHandler"])
def test_clients_have_the_timeout_that_litellm_makes_them_with(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of some providers, their requests name none, and a thread would wait for ever."""
    litellm(monkeypatch, ValueError)
    LitellmServer("openai/m", ChatArguments())
    handler_class = getattr(sys.modules[HANDLERS], name)
    assert handler_class(timeout=7.0).client.timeout.read == 7
    assert handler_class().client.timeout.read == 600


def test_clients_are_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made since is kept, as requests may be under way."""
    litellm(monkeypatch, ValueError)
    library: Any = sys.modules["litellm"]
    LitellmServer("openai/m", ChatArguments())
    library.in_memory_llm_clients_cache["of a provider"] = "bounded"
    LitellmServer("cohere/m", ChatArguments())
    assert library.in_memory_llm_clients_cache == {"of a provider": "bounded"}


def test_a_session_of_the_users_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    own = object()
    litellm(monkeypatch, ValueError, aclient_session=own)
    LitellmServer("openai/m", ChatArguments())
    assert sys.modules["litellm"].aclient_session is own


def test_a_version_that_makes_its_clients_otherwise_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    litellm(monkeypatch, ValueError)
    del sys.modules[HANDLERS].HTTPHandler
    with refused("makes its HTTP clients in a way that t2ibench does not know"):
        LitellmServer("openai/m", ChatArguments())


def test_a_provider_with_a_client_of_its_own_is_refused() -> None:
    with refused("follows redirects", "litellm:openai/m"):
        LitellmServer("aiohttp_openai/m", ChatArguments())


def asked_in_a_thread(url: str, **options: Any) -> httpx.Response:
    with BoundedSyncClient(1000) as client:
        return client.post(url, json={}, **options)


def test_a_client_without_await_follows_no_redirect() -> None:
    with speaking(lambda *_: (200, {}, b"{}")) as (away, stolen):
        moved = 307, {"location": away, "set-cookie": "a=b"}, b"moved"
        with speaking(lambda *_: moved) as (url, posted):
            with BoundedSyncClient(1000) as client:
                for _ in range(2):
                    reply = client.get(url, follow_redirects=True)
            assert (reply.status_code, reply.content) == (307, b"moved")
        assert stolen == []
        assert all("cookie" not in body["headers"] for body in posted)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ((200, {}, b"x" * 1001), "larger than 1,000 bytes"),
        ((200, {"content-encoding": "gzip"}, bomb(1)), "larger than 1,000 bytes"),
        ((200, {"content-encoding": "gzip"}, b"{}"), "cannot be unpacked"),
        ((200, {"content-encoding": "br"}, b"{}"), "has the encoding 'br'"),
        ((206, {}, b"{}"), "a part of its reply"),
    ],
)
def test_a_client_without_await_bounds_replies(said: Said, problem: str) -> None:
    with (
        speaking(lambda *_: said) as (url, _),
        pytest.raises(BadReplyError, match=problem),
    ):
        asked_in_a_thread(url)


def test_a_client_without_await_has_one_deadline_for_a_reply() -> None:
    def trickle(turn: Turn) -> None:
        turn.send(head())
        turn.repeat(b" ", 0.02)

    with (
        wired(lambda *_: (200, {}, b""), trickle) as (url, _),
        pytest.raises(httpx.ReadTimeout, match=r"no reply within 0\.2 s"),
    ):
        asked_in_a_thread(url, timeout=0.2)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM itself, where it is installed (its import takes a while), and its keys."""
    pytest.importorskip("litellm")
    without_waiting(monkeypatch)
    monkeypatch.setenv("T2IBENCH_LITELLM_KEY", KEY)


def chat(model: str, said: Said) -> Any:
    with speaking(lambda *_: said) as (url, _):
        args = ChatArguments(base_url=url, timeout=60, retries=1)
        server = ChatServer(model, args, "litellm")
        return server.chat([{"role": "user", "content": "?"}])


def image(model: str, said: Said) -> Any:
    with speaking(lambda *_: said) as (url, _):
        args = {"base_url": url, "timeout": 60, "retries": 1}
        generator = create_generator(f"litellm:{model}", args)
        (made,) = generator.generate(requests(PROMPTS[:1], 1))
        if made.status != "ok":
            raise T2IBenchError(str(made.reason))
        return made.status


ASKED = [(chat, model, reply, "male") for model, reply in CHATS.items()] + [
    (image, model, reply, "ok") for model, reply in IMAGES.items()
]


@pytest.mark.nightly
@pytest.mark.parametrize(("ask", "model", "reply", "answer"), ASKED)
def test_redirects_are_not_followed_and_replies_have_bounds(
    keys: None, ask: Any, model: str, reply: Any, answer: str
) -> None:
    right = json.dumps(reply).encode()
    assert ask(model, (200, {}, right)) == answer
    with speaking(lambda *_: (200, {}, right)) as (away, stolen):
        with refused("redirects to another address"):
            ask(model, (307, {"location": f"{away}/chat/completions"}, b""))
        assert stolen == []
    with refused("larger than 100,000,000 bytes"):
        ask(model, (200, {"content-encoding": "gzip"}, bomb(200)))


@pytest.mark.nightly
def test_a_source_image_is_sent_as_a_file(keys: None, tmp_path: Path) -> None:
    (request,) = edits([stored(tmp_path, 1)])[:1]
    assert request.source is not None
    with speaking(lambda *_: (200, {}, json.dumps(IMAGES["openai/m"]).encode())) as (
        url,
        posted,
    ):
        model: Any = create_generator("litellm:openai/m", {"base_url": url})
        (image,) = model.generate([request])
        assert image.status == "ok", image.reason
    _, media_type, data = posted[0]["image[]"]
    assert (media_type, data) == ("image/png", request.source.path.read_bytes())
