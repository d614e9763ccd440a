"""A client for any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError


class ServerArguments(Arguments):
    """Arguments of a model on a server.

    Attributes:
        base_url: Such as http://127.0.0.1:8000/v1.
        api_key_env: Name of the environment variable that holds the key. The key itself is never
            an argument: arguments are stored with the run.
        timeout: Seconds to wait for one answer.
        retries: Attempts at one request.
        max_tokens: Longest answer.
    """

    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = "OPENAI_API_KEY"
    timeout: PositiveInt = 120
    retries: PositiveInt = 5
    max_tokens: PositiveInt = 64


class ChatServer:
    """Asks a model on a server, again where the server is busy or away for a moment.

    One connection pool for all threads. A busy server's Retry-After is respected up to 30 s.

    Args:
        model: The model's name on the server.
        base_url: See `ServerArguments`, as for the others.
        api_key_env: Name of the variable that holds the key.
        timeout: Seconds to wait for one answer.
        retries: Attempts at one request.
        max_tokens: Longest answer.

    Raises:
        T2IBenchError: the address is not an http(s) address.
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
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise T2IBenchError(
                f"base_url={base_url}: expected an address such as http://127.0.0.1:8000/v1."
            )
        self.model = model
        self.url = base_url.rstrip("/") + "/chat/completions"
        self._key_name = api_key_env
        self._timeout = timeout
        self._retries = retries
        self._max_tokens = max_tokens
        from t2ibench.models.retries import retrying_session

        self._session = retrying_session(retries, timeout)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides an answer, for the fingerprint."""
        return {"model": self.model, "url": self.url, "max_tokens": self._max_tokens}

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The reply to a conversation, greedily decoded; safe to call from several threads.

        Args:
            messages: Role and content of every message so far.

        Returns:
            The reply.

        Raises:
            ServerAwayError: the server cannot be reached, or grants no access.
            T2IBenchError: it declines, or does not speak the protocol.
        """
        import requests

        from t2ibench.models.retries import BUSY, why_unreachable

        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": self._max_tokens,
        }
        try:
            reply = self._session.post(
                self.url,
                json=body,
                auth=self._authorize,
                timeout=self._timeout,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise self._unavailable(why_unreachable(error, self._timeout)) from None
        if reply.status_code in BUSY:
            raise self._unavailable(f"replied with status {reply.status_code}")
        return self._text(reply)

    def _authorize(self, request: Any) -> Any:
        key = os.environ.get(self._key_name)
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        return request

    def _unavailable(self, why: str) -> ServerAwayError:
        return ServerAwayError(
            f"The server {self.url} {why}; tried up to {self._retries} times.",
            "Is it running, and is base_url=… (--judge-args, --proposer-args) its address?",
        )

    def _text(self, reply: Any) -> str:
        if reply.status_code == 401 and not os.environ.get(self._key_name):
            raise ServerAwayError(
                f"The server {self.url} requires an API key.", f"Set it in {self._key_name}."
            )
        if reply.status_code in {401, 403, 404}:
            raise ServerAwayError(f"The server {self.url} replied {_message(reply)}.")
        if reply.status_code != 200:
            raise T2IBenchError(f"the server replied {_message(reply)}")
        try:
            message = reply.json()["choices"][0]["message"]
            refusal, content = message.get("refusal"), message.get("content")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise T2IBenchError("the server's reply is not a chat completion") from None
        if refusal:
            raise T2IBenchError(f"refused: {str(refusal)[:200]}")
        if not isinstance(content, str):
            raise T2IBenchError("the server's reply has no text")
        return content


class ServerAwayError(T2IBenchError):
    """The server cannot be asked at all: not running, no access, no such model."""


def _message(reply: Any) -> str:
    """Status and the server's own words, shortened."""
    try:
        detail = reply.json()["error"]
        detail = detail.get("message", detail) if isinstance(detail, dict) else detail
    except (ValueError, KeyError, TypeError):
        detail = reply.text
    return f"{reply.status_code}: {' '.join(str(detail).split())[:200]}"
