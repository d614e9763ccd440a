"""Ask chat models on servers, through the openai client or LiteLLM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from t2ibench.arguments import PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_fields import ChatFields, limit_advice
from t2ibench.models.chat_replies import ChatReply, read_completion
from t2ibench.models.litellm_server import LitellmServer
from t2ibench.models.server_errors import (
    ANSWERED,
    BadReplyError,
    DeclinedError,
    IncompleteReplyError,
    NoCompletionError,
    RefusedError,
    Reply,
    UnusableServerError,
)
from t2ibench.models.server_states import takes_no_images
from t2ibench.models.servers import OpenAiServer, ServerArguments, submit

Library = Literal["openai", "litellm"]
LIBRARIES: tuple[Library, ...] = ("openai", "litellm")
T = TypeVar("T")
_LONGEST_TEXT = 4000  # characters of a text that is looked for in an error


class ChatArguments(ServerArguments):
    """Arguments of a language model on a server; `max_tokens` is the longest answer.

    The longest thoughts take some hundred kilobytes; a reply takes a hundred times its size while
    it is searched for the key.
    """

    largest_reply: ClassVar[int] = 2_000_000

    max_tokens: PositiveInt = 64


class ChatServer:
    """Queries a model on a server, and retries if the server is busy or briefly unavailable.

    A server that limits the rate of requests is waited for as long as it asks, up to five minutes.
    A request whose reply was cut off is sent once more, with more tokens. `settings` are what
    decides an answer, for the fingerprint; messages name `flag` as the place of the arguments.
    """

    def __init__(
        self,
        model: str,
        args: ChatArguments,
        library: Library = "openai",
        flag: str = "--judge-args",
    ) -> None:
        self._server = (
            OpenAiServer("/chat/completions", args)
            if library == "openai"
            else LitellmServer(model, args)
        )
        url, limit = self._server.address, args.max_tokens
        self.settings: dict[str, Any] = {
            "model": model,
            "url": url,
            "max_tokens": limit,
        }
        if library != "openai":
            self.settings["library"] = library
        self.where = self._server.where
        self.flag = flag
        self._fields = ChatFields(self.where, model, flag)
        self._answered = False

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Set the function that is called with messages about waits and rejected fields."""
        self._fields.tell = self._server.tell = tell

    def check_access(self) -> None:
        """Raise an error if an API key is required and missing."""
        if isinstance(self._server, OpenAiServer):
            self._server.check_access()

    def effective_settings(self) -> dict[str, Any]:
        """Return the fields of answered requests (see models.protocols.ReportsSettings)."""
        return self._fields.effective()

    def room(self, workers: int) -> int:
        """Return how many requests may run at once: one until the first is answered.

        So what the server does not take costs one request that fails, not one for each worker.
        """
        return workers if self._answered else 1

    def chat(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the model's reply to a conversation, asked for at temperature 0.

        Several threads may call it.
        """
        started = self.start(messages)
        try:
            return started.result().text
        finally:
            started.cancel()

    def start(
        self,
        messages: Sequence[Mapping[str, Any]],
        extra: Mapping[str, Any] | None = None,
        asked_for: Collection[str] = (),
    ) -> Future[ChatReply]:
        """Send a conversation; return a future that gives the reply or raises why there is none.

        `extra` are further fields of the request.

        `asked_for` are the fields that the user gave: they are never left out.
        """
        fields = {
            "temperature": 0,
            "max_tokens": self.settings["max_tokens"],
            **(extra or {}),
        }
        return submit(self._chat(_Question(list(messages), fields, asked_for)))

    async def _chat(self, question: _Question) -> ChatReply:
        try:
            answer = await self._read(question)
        except IncompleteReplyError as error:
            answer = await self._retry_with_more_tokens(question, error)
        except RefusedError:
            self._answered = True
            raise
        self._answered = True
        return answer

    async def _retry_with_more_tokens(
        self, question: _Question, error: IncompleteReplyError
    ) -> ChatReply:
        """Repeat a request that was cut off, with a larger token limit, and return its reply."""
        limit = max(int(question.fields["max_tokens"]), self._fields.room or 0)
        room = self._fields.wider(question.fields)
        tried = f"max_tokens={limit}"
        if room > limit:
            tried += f" and again at {room}"
            try:
                answer = await self._read(question, room)
            except (IncompleteReplyError, DeclinedError) as second_error:
                if isinstance(second_error, IncompleteReplyError):
                    error = second_error
            else:
                self._fields.room = room
                return answer
        raise IncompleteReplyError(
            f"{error.message} ({tried}); allow more with {self.flag} max_tokens=…"
        )

    async def _read(self, question: _Question, room: int | None = None) -> ChatReply:
        """Return the reply to a request with the settings that the server accepts."""
        while True:
            sent = self._fields.of(question.fields, room)
            reply = await self._server.ask(
                lambda: self._complete(question.messages, sent)  # noqa: B023
            )
            if reply.status in ANSWERED:
                self._fields.note(sent)
                try:
                    return read_completion(reply)
                except NoCompletionError as error:
                    hint = self._where_completions_are(reply)
                    raise NoCompletionError(f"{error.message}.", hint) from None
            # Another request may have changed the accepted fields in the meantime.
            changed = sent != self._fields.of(question.fields, room)
            if changed or self._fields.adapt(
                reply, sent, question.texts(), question.asked_for
            ):
                continue
            raise self._declined(reply, question, sent)

    def _declined(
        self, reply: Reply, question: _Question, sent: Mapping[str, Any]
    ) -> BadReplyError | UnusableServerError:
        """Return the error for a rejected request; raise it if no request can succeed."""
        words = f"the server replied {reply.words()}"
        names = [self.settings["model"], *self._server.names(), *question.texts()]
        message = reply.message().without(names, sent)
        if message.blocked is not None:
            return RefusedError(words)
        has_state = reply.status in {401, 402, 403, 407, 429}
        if question.has_image and takes_no_images(message.text) and not has_state:
            return UnusableServerError(
                f"The model {self.settings['model']} of the server {self.where} does not look at "
                f"images ({reply.words()}).",
                "Name a model that does after the colon.",
            )
        if (reply.message().no_model or "model" in message.fields) and not has_state:
            return UnusableServerError(
                f"The server {self.where} has no such address or model ({reply.words()}).",
                "Check base_url=… and the name after the colon.",
            )
        reply.check_access(self.where, names)
        if reply.status not in {400, 422}:
            return BadReplyError(words)
        advice = limit_advice(reply.message(), sent, self.flag)
        return DeclinedError(f"{words.rstrip('.')}." if advice else words, advice)

    def _where_completions_are(self, reply: Reply) -> str | None:
        """Return advice on the address if a reply is no chat completion; None for LiteLLM."""
        if not isinstance(self._server, OpenAiServer):
            return None
        if b'"candidates"' in reply.body:
            return (
                f"This is a reply of Google's own API: give {self.flag} "
                "base_url=https://generativelanguage.googleapis.com/v1beta/openai, or the "
                "address of another server that speaks OpenAI's."
            )
        return f"Check base_url=… in {self.flag}; it usually ends with /v1."

    async def _complete(self, messages: list[Any], fields: Mapping[str, Any]) -> Reply:
        server = self._server
        if isinstance(server, OpenAiServer):
            raw = await server.client.chat.completions.with_raw_response.create(
                model=self.settings["model"], messages=messages, extra_body=fields
            )
            response = raw.http_response
            return Reply(response.status_code, response.content, server.key)
        # With drop_params LiteLLM would drop fields silently, which then count as sent.
        completion = await server.library.acompletion(
            messages=messages, drop_params=False, **server.given(), **fields
        )
        return Reply(200, completion.model_dump_json().encode(), server.key)


@dataclass(frozen=True, slots=True)
class _Question:
    """A conversation to send to a chat model, with the fields of its request."""

    messages: list[Any]
    fields: Mapping[str, Any]
    asked_for: Collection[str] = ()

    def texts(self) -> list[str]:
        """Return the conversation's texts, which a server may repeat in an error."""
        texts: list[str] = []
        for message in self.messages:
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"text": content}]
            texts += [
                part["text"] for part in parts if isinstance(part.get("text"), str)
            ]
        return [text for text in texts if len(text) <= _LONGEST_TEXT]

    @property
    def has_image(self) -> bool:
        """Whether the request contains an image."""
        contents = [message.get("content") for message in self.messages]
        return any(isinstance(content, list) for content in contents)


def chat_adapter(
    library: Library,
    make: Callable[[str, ChatServer, Any], T],
    Args: type[ChatArguments],
    takes: str,
) -> Adapter[T]:
    """Return the adapter `openai:MODEL` or `litellm:MODEL` of a judge, rewriter or proposer.

    `takes` is what a user has to give, such as '--judge-args base_url=…'.
    """

    def create(request: Request[ChatArguments]) -> T:
        server = ChatServer(
            request.source, request.args, library, takes.partition(" ")[0]
        )
        return make(request.spec, server, request.args)

    return Adapter(
        create=create,
        form=f"{library}:MODEL",
        description=f"any OpenAI-compatible server; {takes}"
        if library == "openai"
        else "whatever LiteLLM reaches; pip install t2ibench[litellm]",
        Args=Args,
        check=create,
    )
