"""The rewriters `hf:ID_OR_DIR`, `openai:MODEL` and `litellm:MODEL`: chat models, here or served."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from t2ibench.arguments import PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_model import ChatModel
from t2ibench.models.chat_replies import ChatReply
from t2ibench.models.chat_server import (
    LIBRARIES,
    ChatArguments,
    ChatServer,
    chat_adapter,
)
from t2ibench.models.downloads import model_downloads
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import RewriteRequest, Rewriting
from t2ibench.models.missing_replies import MissingReplies
from t2ibench.models.rewriters.instruction import InstructionArguments, read_reply
from t2ibench.models.server_errors import (
    IncompleteReplyError,
    RefusedError,
    ServerAwayError,
)
from t2ibench.models.servers import as_they_end


class _ChatRewriter:
    """Base class of rewriters that use a chat model (see models.language.Rewriter)."""

    def __init__(
        self,
        name: str,
        args: InstructionArguments,
        adapter: str,
        settings: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.per = args.per
        self.settings: Mapping[str, Any] = {**settings, **args.settings()}
        self.fingerprint = fingerprint(adapter=adapter, per=self.per, **self.settings)
        self._args = args

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """Return the rewriting of each prompt, asked for in a conversation of its own."""
        rewritings = dict(
            pair for part in self.rewrite_in_parts(requests) for pair in part
        )
        return [rewritings[number] for number in range(len(requests))]

    def rewrite_in_parts(
        self, requests: Sequence[RewriteRequest]
    ) -> Iterator[list[tuple[int, Rewriting]]]:
        """Yield rewritings, with their requests' indexes, as soon as they are ready.

        See models.language.RewritesInParts.
        """
        raise NotImplementedError


class ModelRewriter(_ChatRewriter):
    """A rewriter that runs a chat model with transformers; loaded when it first rewrites."""

    def __init__(self, request: Request[InstructionArguments]) -> None:
        self._model = ChatModel(request, request.args.max_tokens)
        settings = {"weights": self._model.identity(), "dtype": self._model.dtype}
        super().__init__(request.spec, request.args, "hf rewriter 1", settings)

    def rewrite_in_parts(
        self, requests: Sequence[RewriteRequest]
    ) -> Iterator[list[tuple[int, Rewriting]]]:
        """Yield rewritings, with their requests' indexes, one after the other.

        See models.language.RewritesInParts.
        """
        self._model.load()
        for number, request in enumerate(requests):
            yield [(number, self._rewritten(request))]

    def _rewritten(self, request: RewriteRequest) -> Rewriting:
        args = self._args
        try:
            reply = self._model.reply(
                args.messages(request), args.used_temperature, request.seed
            )
        except IncompleteReplyError as error:
            return Rewriting("failed", reason=error.message)
        except T2IBenchError:
            raise
        except (
            Exception
        ) as error:  # an error with one prompt must not affect the others
            return Rewriting(
                "failed", reason=f"{type(error).__name__}: {first_line(error)}"[:500]
            )
        return read_reply(reply, request.prompt)

    def release(self) -> None:
        """Free the memory of the chat model (see models.protocols.Releasable)."""
        self._model.release()


class OpenAiRewriterArguments(InstructionArguments, ChatArguments):
    """The options of a rewriter on a server that --rewriter-args accepts."""

    workers: PositiveInt = 8


class ServerRewriter(_ChatRewriter):
    """A rewriter that asks a chat model on a server."""

    def __init__(
        self, name: str, server: ChatServer, args: OpenAiRewriterArguments
    ) -> None:
        super().__init__(name, args, "openai rewriter 1", server.settings)
        self._server = server
        self.report_waits = server.report_waits
        self.effective_settings = server.effective_settings
        self._workers = args.workers
        self._missing_replies = MissingReplies()

    def rewrite_in_parts(
        self, requests: Sequence[RewriteRequest]
    ) -> Iterator[list[tuple[int, Rewriting]]]:
        """Yield rewritings, with their requests' indexes, as soon as they are ready.

        See models.language.RewritesInParts.
        """
        waiting = deque(range(len(requests)))
        away: ServerAwayError | None = None
        status: Literal["refused", "failed"]

        def begin(number: int) -> Future[ChatReply]:
            return self._ask(requests[number])

        for done in as_they_end(
            waiting, begin, lambda: self._server.room(self._workers)
        ):
            part = []
            for number, reply in done:
                if isinstance(
                    reply, ServerAwayError
                ) and self._missing_replies.end_the_work(reply):
                    away = reply
                    waiting.clear()
                elif isinstance(reply, T2IBenchError):
                    status = "refused" if isinstance(reply, RefusedError) else "failed"
                    part.append((number, Rewriting(status, reason=str(reply))))
                else:
                    self._missing_replies.answered()
                    part.append(
                        (number, read_reply(reply.text, requests[number].prompt))
                    )
            if part:
                yield part
        if away is not None:
            raise away

    def _ask(self, request: RewriteRequest) -> Future[ChatReply]:
        temperature = self._args.used_temperature
        sampling = (
            {"temperature": temperature, "seed": request.seed} if temperature else {}
        )
        asked_for = () if self._args.temperature is None else ("temperature",)
        return self._server.start(self._args.messages(request), sampling, asked_for)


HF = Adapter(
    create=ModelRewriter,
    form="hf:ID_OR_DIR",
    description="a chat model of transformers; --rewriter-args template=@FILE, per=image",
    downloads=lambda request: model_downloads(request.source),
    Args=InstructionArguments,
)
OPENAI, LITELLM = (
    chat_adapter(
        library,
        ServerRewriter,
        OpenAiRewriterArguments,
        "--rewriter-args base_url=…,template=@FILE",
    )
    for library in LIBRARIES
)
