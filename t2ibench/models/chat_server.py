"""Chat models on servers, through the openai client or LiteLLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from t2ibench.arguments import PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.server_errors import (
    BadReplyError,
    DeclinedError,
    RefusedError,
    Reply,
    one_line,
)
from t2ibench.models.servers import LitellmServer, OpenAiServer, ServerArguments, submit

Library = Literal["openai", "litellm"]
LIBRARIES: tuple[Library, ...] = ("openai", "litellm")
T = TypeVar("T")


class ChatArguments(ServerArguments):
    """Arguments of a language model on a server; `max_tokens` is the longest answer."""

    max_tokens: PositiveInt = 64


class ChatServer:
    """Asks a model on a server, again where the server is busy or away for a moment.

    A server that limits the rate of requests is waited for as long as it asks, up to five minutes.
    `settings` are what decides an answer, for the fingerprint.
    """

    def __init__(self, model: str, args: ChatArguments, library: Library = "openai") -> None:
        self._server = (
            OpenAiServer("/chat/completions", args)
            if library == "openai"
            else LitellmServer(model, args)
        )
        url, limit = self._server.address, args.max_tokens
        self.settings: dict[str, Any] = {"model": model, "url": url, "max_tokens": limit}
        if library != "openai":
            self.settings["library"] = library

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for."""
        self._server.tell = tell

    def check_access(self) -> None:
        """Refuse what is known to need a key."""
        if isinstance(self._server, OpenAiServer):
            self._server.check_access()

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The reply to a conversation, greedily decoded; safe to call from several threads."""
        started = self.start(messages)
        try:
            return started.result()
        finally:
            started.cancel()

    def start(
        self, messages: Sequence[Mapping[str, Any]], extra: Mapping[str, Any] | None = None
    ) -> Future[str]:
        """Begin to ask, with further fields; brings a reply, or one of `server_errors`."""
        fields = {"temperature": 0, "max_tokens": self.settings["max_tokens"], **(extra or {})}
        return submit(self._chat(list(messages), fields))

    async def _chat(self, messages: list[Any], fields: Mapping[str, Any]) -> str:
        reply = await self._server.ask(lambda: self._complete(messages, fields))
        if reply.status == 200:
            return _read(reply)
        said = f"the server replied {reply.words()}"
        if reply.status in {400, 403, 422} and reply.message().blocked is not None:
            raise RefusedError(said)  # 403 would else mean a wrong key
        if reply.status in {400, 422}:
            raise DeclinedError(said)
        reply.check_access(self._server.where)
        raise BadReplyError(said)

    async def _complete(self, messages: list[Any], fields: Mapping[str, Any]) -> Reply:
        server = self._server
        if isinstance(server, OpenAiServer):
            raw = await server.client.chat.completions.with_raw_response.create(
                model=self.settings["model"], messages=messages, extra_body=fields
            )
            response = raw.http_response
            return Reply(response.status_code, response.content, server.key)
        found = await server.library.acompletion(
            messages=messages, drop_params=True, **server.given(), **fields
        )
        return Reply(200, found.model_dump_json().encode(), server.key)


def _read(reply: Reply) -> str:
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


def chat_adapter(
    library: Library,
    make: Callable[[str, ChatServer, Any], T],
    Args: type[ChatArguments],
    takes: str,
) -> Adapter[T]:
    """The adapter `openai:MODEL` or `litellm:MODEL` of a judge, a rewriter or a proposer.

    `takes` is what a user has to give, such as '--judge-args base_url=…'.
    """

    def create(request: Request[ChatArguments]) -> T:
        return make(request.spec, ChatServer(request.source, request.args, library), request.args)

    return Adapter(
        create=create,
        form=f"{library}:MODEL",
        description=f"any OpenAI-compatible server; {takes}"
        if library == "openai"
        else "whatever LiteLLM reaches; pip install t2ibench[litellm]",
        Args=Args,
        check=create,
    )
