"""LiteLLM asks servers of OpenAI's kind with the client of every other server."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from t2ibench.models.chat_server import ChatArguments, ChatServer
from t2ibench.models.http import BoundedClient
from t2ibench.models.servers import LitellmServer
from tests.models.chat import Said, bomb, litellm, speaking, without_waiting
from tests.models.parts import refused

COMPLETION = {
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


def test_it_is_given_a_client_with_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm(monkeypatch, ValueError)
    LitellmServer("openai/m", ChatArguments())
    assert isinstance(sys.modules["litellm"].aclient_session, BoundedClient)


def test_a_client_of_the_users_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    own = object()
    litellm(monkeypatch, ValueError, aclient_session=own)
    LitellmServer("openai/m", ChatArguments())
    assert sys.modules["litellm"].aclient_session is own


@pytest.mark.nightly
def test_redirects_are_not_followed_and_replies_have_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LiteLLM itself, where it is installed: its import takes a while."""
    pytest.importorskip("litellm")
    without_waiting(monkeypatch)
    right = json.dumps(COMPLETION).encode()

    def asked(said: Said) -> Any:
        with speaking(lambda *_: said) as (url, _):
            args = ChatArguments(base_url=url, timeout=60, retries=1)
            server = ChatServer("openai/m", args, "litellm")
            return server.chat([{"role": "user", "content": "?"}])

    assert asked((200, {}, right)) == "male"
    with speaking(lambda *_: (200, {}, right)) as (away, stolen):
        with refused("redirects to another address"):
            asked((307, {"location": f"{away}/chat/completions"}, b""))
        assert stolen == []
    with refused("larger than 100,000,000 bytes"):
        asked((200, {"content-encoding": "gzip"}, bomb(200)))
