"""A client for any server that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from t2ibench.arguments import PositiveInt
from t2ibench.models.api_key import ApiKey
from t2ibench.models.http import (
    BadReplyError,
    HttpSession,
    Reply,
    ServerAwayError,
    checked_address,
    one_line,
)
from t2ibench.models.on_server import OnServer
from t2ibench.models.told import blocked, passes, told

__all__ = [
    "ChatServer",
    "RefusedError",
    "ServerArguments",
    "ServerAwayError",
    "declined",
    "logprob",
]


class RefusedError(BadReplyError):
    """The model, or a filter of its server, declines."""


class ServerArguments(OnServer):
    """Arguments of a language model on a server.

    Attributes:
        max_tokens: Longest answer.
    """

    base_url: str = "https://api.openai.com/v1"
    max_tokens: PositiveInt = 64


class ChatServer:
    """Asks a model on a server, again where the server is busy or away for a moment.

    A server that limits the rate of requests is waited for as long as it asks, up to five minutes.

    Args:
        model: The model's name on the server.
        base_url: See `ServerArguments`, as for the others.
        api_key_env: Name of the variable that holds the key.
        timeout: Seconds that one attempt may take.
        retries: Attempts at one request.
        max_tokens: Longest answer.

    Raises:
        T2IBenchError: the address is not an http(s) address, or the key cannot be sent.
    """

    def __init__(
        self,
        model: str,
        base_url: str = "https://api.openai.com/v1",
        api_key_env: str = "OPENAI_API_KEY",
        timeout: int = 120,
        retries: int = 5,
        max_tokens: int = 64,
    ) -> None:
        self.model = model
        self.url = checked_address(base_url) + "/chat/completions"
        self._key = ApiKey(api_key_env)
        self._max_tokens = max_tokens
        self._session = HttpSession(
            self.url, self._key, timeout=timeout, attempts=retries, passes=passes
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What decides an answer, for the fingerprint."""
        return {"model": self.model, "url": self.url, "max_tokens": self._max_tokens}

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for."""
        self._session.tell = tell

    def check_access(self) -> None:
        """Refuse what is known to need a key."""
        self._session.check_access()

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The reply to a conversation, greedily decoded; safe to call from several threads."""
        started = self.start(messages)
        try:
            return self.read(started)
        finally:
            started.cancel()

    def start(
        self, messages: Sequence[Mapping[str, Any]], extra: Mapping[str, Any] | None = None
    ) -> Future[Reply]:
        """Begin to ask."""
        return self._session.post(
            {
                "model": self.model,
                "messages": list(messages),
                "temperature": 0,
                "max_tokens": self._max_tokens,
                **(extra or {}),
            }
        )

    def read(self, started: Future[Reply]) -> str:
        """Wait for what was asked."""
        reply = started.result()
        if _filtered(reply):
            raise RefusedError(f"the server replied {_message(reply)}")
        if reply.status == 401 and not self._key:
            raise ServerAwayError(
                f"The server {self.url} requires an API key.", f"Set it in {self._key.variable}."
            )
        if 300 <= reply.status < 400:
            raise ServerAwayError(
                f"The server {self.url} redirects to another address ({reply.status}), and the "
                "key is sent to no other.",
                "Give the address itself as base_url=….",
            )
        if reply.status in {401, 403, 404, 429}:
            raise ServerAwayError(f"The server {self.url} replied {_message(reply)}.")
        if reply.status != 200:
            raise BadReplyError(f"the server replied {_message(reply)}")
        return _content(reply)


def declined(started: Future[Reply]) -> bool:
    """Whether a server would not take a request as it was put."""
    if started.exception() is not None:
        return False
    reply = started.result()
    return reply.status in {400, 422} and not _filtered(reply)


def logprob(started: Future[Reply]) -> float | None:
    """The log-probability of a reply, where the server gives it."""
    try:
        tokens = started.result().json()["choices"][0]["logprobs"]["content"]
        return float(sum(float(token["logprob"]) for token in tokens)) if tokens else None
    except (BadReplyError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _content(reply: Reply) -> str:
    try:
        choice = reply.json()["choices"][0]
        message = choice["message"]
        refusal, content = message.get("refusal"), message.get("content")
        filtered = choice.get("finish_reason") == "content_filter"
    except (BadReplyError, KeyError, IndexError, TypeError, AttributeError):
        raise BadReplyError("the server's reply is not a chat completion") from None
    if refusal:
        raise RefusedError(f"refused: {one_line(str(refusal))}")
    if filtered and not content:
        raise RefusedError("refused by a filter of the server")
    if not isinstance(content, str):
        raise BadReplyError("the server's reply has no text")
    return content


def _filtered(reply: Reply) -> bool:
    """Whether a filter declined; 403 would else mean a wrong key."""
    return reply.status in {400, 403, 422} and blocked(told(reply)) is not None


def _message(reply: Reply) -> str:
    """Status and the server's own words, shortened."""
    return f"{reply.status}: {one_line(told(reply).message)}"
