"""The judges `openai:MODEL` and `litellm:MODEL`: vision models on servers."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from t2ibench.arguments import PositiveInt
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.chat_replies import ChatReply
from t2ibench.models.chat_server import (
    LIBRARIES,
    ChatArguments,
    ChatServer,
    chat_adapter,
)
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.judges.answer_classes import words_of_no_class
from t2ibench.models.judges.replies import class_of, instruction
from t2ibench.models.missing_replies import MissingReplies
from t2ibench.models.protocols import Answer, Query
from t2ibench.models.server_errors import (
    BadReplyError,
    DeclinedError,
    IncompleteReplyError,
    NoCompletionError,
    RefusedError,
    ServerAwayError,
    UnusableServerError,
)
from t2ibench.models.servers import as_they_end
from t2ibench.store.pixels import as_png

_BRACES = 16  # tokens that JSON takes around an answer
_SAME = 5  # first questions that end the work if all fail for the same reason


class OpenAiArguments(ChatArguments):
    """The options of a judge on a server that --judge-args accepts.

    `workers` is the number of concurrent requests.

    A JSON schema restricts a server to the classes (`response_format`: OpenAI, vLLM, SGLang,
    llama.cpp, …); with structured=none only the question names them.
    """

    workers: PositiveInt = 8
    structured: Literal["schema", "none"] = "schema"


class OpenAiJudge:
    """Asks a server about each image (see models.protocols.Judge).

    A schema restricts the server to the classes. A server that declines it (status 400 or 422) is
    asked without it. Once a question with some classes was answered, later errors with these
    classes are about the question itself, which is not sent again, and neither is a question that a
    filter declines. A server that ignores the schema answers in words, which are matched with the
    classes.

    Each question is a request of its own, with its image: several questions in one conversation
    would see one another's answers. The image comes first and its questions follow one another,
    which is what a server's prefix cache needs to read it once.
    """

    def __init__(self, name: str, server: ChatServer, args: OpenAiArguments) -> None:
        self.name = name
        self._server = server
        self.report_waits = server.report_waits
        self.check_access = server.check_access
        self.effective_settings = server.effective_settings
        self._workers = args.workers
        self._max_tokens = args.max_tokens
        self._structured = args.structured != "none"
        # Whether a question with these classes was answered under a schema.
        self._held: dict[tuple[str, ...], bool] = {}
        self._missing_replies = MissingReplies()
        self._unanswered: list[BadReplyError] = []  # before the first answer
        self.batch_size = 4 * args.workers
        parts = {"adapter": "openai judge 1", **self._server.settings}
        if self._structured:
            parts["structured"] = args.structured
        self.fingerprint = fingerprint(parts)

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return an answer to each query, asked in a request of its own."""
        answers = dict(pair for part in self.answer_in_parts(queries) for pair in part)
        return [answers[number] for number in range(len(queries))]

    def answer_in_parts(
        self, queries: Sequence[Query]
    ) -> Iterator[list[tuple[int, Answer]]]:
        """Yield answers, with the indexes of their queries, as soon as they are ready.

        See models.protocols.AnswersInParts.
        """
        urls = _ImageUrls()
        held: dict[int, bool] = {}
        waiting = deque(range(len(queries)))

        def begin(number: int) -> Future[ChatReply]:
            query = queries[number]
            # Another question may meanwhile have shown that the server takes no schema.
            held[number] = held.get(number, True) and self._takes_schema(query)
            return self._ask(query, urls.of(query), held[number])

        ended: ServerAwayError | None = None
        for done in as_they_end(
            waiting, begin, lambda: self._server.room(self._workers)
        ):
            part = []
            for number, reply in done:
                query = queries[number]
                # A schema under which these classes were answered before is not the cause.
                to_blame = held[number] and not self._held.get(query.classes)
                if isinstance(reply, DeclinedError) and to_blame:
                    held[number] = False
                    waiting.appendleft(number)
                    continue
                if isinstance(
                    reply, ServerAwayError
                ) and self._missing_replies.end_the_work(reply):
                    ended = ended or reply
                    continue
                if query.classes and isinstance(reply, ChatReply):
                    self._held[query.classes] = held[number]
                part.append((number, self._answer(query, reply)))
            ended = ended or self._same_for_all()
            if ended is not None:
                waiting.clear()
            if part:
                yield part
        if ended is not None:
            raise ended

    def _answer(self, query: Query, reply: ChatReply | T2IBenchError) -> Answer:
        """Return the answer in a reply, or why there is none."""
        if isinstance(reply, T2IBenchError):
            if isinstance(reply, BadReplyError) and not isinstance(reply, RefusedError):
                self._unanswered.append(reply)
            return Answer(None, reason=str(reply))
        self._missing_replies.answered()
        if query.classes:
            named = class_of(reply.text, query.classes)
            why = (
                words_of_no_class(reply.text, query.classes)
                if named == UNKNOWN
                else None
            )
            return Answer(named, reply.raw, reason=why)
        return Answer(" ".join(reply.text.split()), reply.raw)

    def _same_for_all(self) -> UnusableServerError | None:
        """Return an error if the first questions all failed for the same reason; else None."""
        first = self._unanswered[:_SAME]
        if self._missing_replies.has_answered or len(first) < _SAME:
            return None
        of_one_kind = any(
            all(isinstance(error, kind) for error in first)
            for kind in (IncompleteReplyError, NoCompletionError)
        )
        if not of_one_kind and len({str(error) for error in first}) > 1:
            return None
        return UnusableServerError(
            f"The first {_SAME} questions have no answer, all for one reason: "
            f"{str(first[-1]).rstrip('.')}."
        )

    def _takes_schema(self, query: Query) -> bool:
        """Return whether to send a JSON schema with a question, judging by earlier replies."""
        if not query.classes or not self._structured:
            return False
        return self._held.get(query.classes, any(self._held.values()) or not self._held)

    def _ask(self, query: Query, url: str, held: bool) -> Future[ChatReply]:
        content = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": instruction(query.question, query.classes)},
        ]
        extra: dict[str, Any] = {}
        if held:
            extra = {"response_format": _schema((*query.classes, UNKNOWN))}
            extra["max_tokens"] = self._max_tokens + _BRACES
        return self._server.start([{"role": "user", "content": content}], extra)


class _ImageUrls:
    """The images of queries as addresses that contain them.

    The questions about an image follow one another, so only the last image is held: those of a
    whole batch, encoded, would take more memory than the requests that are under way.
    """

    def __init__(self) -> None:
        self._sha256 = ""
        self._url = ""

    def of(self, query: Query) -> str:
        """Return the address that contains a query's image."""
        if query.sha256 != self._sha256:
            data = base64.b64encode(as_png(query.image)).decode()
            self._sha256, self._url = query.sha256, f"data:image/png;base64,{data}"
        return self._url


def _schema(options: Sequence[str]) -> dict[str, Any]:
    """Return a JSON schema that allows only these options, in OpenAI's format."""
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(options)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


ADAPTER, LITELLM = (
    chat_adapter(library, OpenAiJudge, OpenAiArguments, "--judge-args base_url=…")
    for library in LIBRARIES
)
