"""The judges `openai:MODEL` and `litellm:MODEL`: vision models on servers."""

from __future__ import annotations

import base64
import io
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from t2ibench.arguments import PositiveInt
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.chat_server import (
    LIBRARIES,
    ChatArguments,
    ChatReply,
    ChatServer,
    chat_adapter,
)
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.judges.replies import class_of, instruction
from t2ibench.models.protocols import Answer, Query
from t2ibench.models.server_errors import DeclinedError, ServerAwayError
from t2ibench.models.servers import as_they_end


class OpenAiArguments(ChatArguments):
    """What --judge-args are taken.

    Attributes:
        workers: How many requests go out at a time.
        structured: How a server is held to the classes: 'schema' sends a JSON schema
            (`response_format`: OpenAI, vLLM, SGLang, llama.cpp, …), 'choice' vLLM's own field,
            'none' leaves it to the question.
    """

    workers: PositiveInt = 8
    structured: Literal["schema", "choice", "none"] = "schema"


class OpenAiJudge:
    """Asks a server about each image (see models.protocols.Judge).

    The server is held to the classes, and asked for the log-probability of its answer. One that
    declines this (status 400 or 422) is asked with less, down to the bare question. What the first
    answer in some classes came with is remembered: from then on, what is declined in these classes
    is the question itself, and it is not sent again. Nor is one that a filter declines. A server
    that ignores the classes answers in words, which are read as ever.

    Each question is a request of its own, with its image: several questions in one conversation
    would see one another's answers. The image comes first and its questions follow one another,
    which is what a server's prefix cache needs to read it once.

    Args:
        name: As the user wrote it.
        server: The model on its server.
        args: Limits, and how it is asked.
    """

    def __init__(self, name: str, server: ChatServer, args: OpenAiArguments) -> None:
        self.name = name
        self._server = server
        self._workers = args.workers
        self._max_tokens = args.max_tokens
        self._forms = _FORMS[args.structured]
        self._accepted: dict[tuple[str, ...], int] = {}  # the form that classes were answered in
        self.batch_size = 4 * args.workers
        parts = {"adapter": "openai judge 1", **self._server.settings}
        if args.structured != "none":
            parts["structured"] = args.structured
        self.fingerprint = fingerprint(parts)

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for (see models.protocols.ReportsWaits)."""
        self._server.report_waits(tell)

    def check_access(self) -> None:
        """Refuse what is known to need a key (see models.protocols.ChecksAccess)."""
        self._server.check_access()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """One request a question."""
        found = dict(pair for part in self.answer_in_parts(queries) for pair in part)
        return [found[number] for number in range(len(queries))]

    def answer_in_parts(self, queries: Sequence[Query]) -> Iterator[list[tuple[int, Answer]]]:
        """The same, each answer as soon as it is there (see models.protocols.AnswersInParts)."""
        encoded: dict[str, str] = {}
        forms: dict[int, int] = {}
        waiting = deque(range(len(queries)))

        def begin(number: int) -> Future[ChatReply]:
            query = queries[number]
            # Where another question has found out meanwhile, this one need not.
            forms[number] = max(forms.get(number, 0), self._first(query))
            if query.sha256 not in encoded:
                buffer = io.BytesIO()
                query.image.save(buffer, format="PNG")
                data = base64.b64encode(buffer.getvalue()).decode()
                encoded[query.sha256] = f"data:image/png;base64,{data}"
            return self._ask(query, encoded[query.sha256], forms[number])

        away: list[tuple[int, ServerAwayError]] = []
        for done in as_they_end(waiting, begin, lambda: self._workers):
            part = []
            for number, found in done:
                query, form = queries[number], forms[number]
                if isinstance(found, ServerAwayError):
                    away.append((number, found))
                elif isinstance(found, DeclinedError) and self._takes_less(query, form):
                    forms[number] += 1
                    waiting.appendleft(number)
                elif isinstance(found, T2IBenchError):
                    part.append((number, Answer(None, reason=str(found))))
                else:
                    part.append((number, self._answer(query, found, form)))
            if part:
                yield part
        if away and len(away) == len(queries):
            raise away[0][1]
        if away:  # one away is an answer less; all away is the end
            yield [(number, Answer(None, reason=str(error))) for number, error in away]

    def _first(self, query: Query) -> int:
        """The form to begin with: the one these classes, or any others, were answered in."""
        if not query.classes:
            return len(self._forms) - 1
        return self._accepted.get(query.classes, min(self._accepted.values(), default=0))

    def _takes_less(self, query: Query, form: int) -> bool:
        """Whether the form may be why a question is declined, and there is a plainer one."""
        plainest = len(self._forms) - 1
        return form < self._accepted.get(query.classes, plainest)

    def _ask(self, query: Query, url: str, form: int) -> Future[ChatReply]:
        content = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": instruction(query.question, query.classes)},
        ]
        extra: dict[str, Any] = {}
        for member in self._forms[form]:
            extra |= member((*query.classes, UNKNOWN), self._max_tokens)
        return self._server.start([{"role": "user", "content": content}], extra)

    def _answer(self, query: Query, reply: ChatReply, form: int) -> Answer:
        text, raw = reply.text, reply.text
        if not query.classes:
            return Answer(" ".join(text.split()), raw)
        self._accepted[query.classes] = form
        if reply.logprob is not None:
            raw = json.dumps(
                {"reply": text, "logprob": round(reply.logprob, 4)}, ensure_ascii=False
            )
        return Answer(class_of(text, query.classes), raw)


def _schema(options: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """One of the options, as OpenAI's structured outputs have it."""
    answer = {"type": "string", "enum": list(options)}
    schema = {
        "type": "object",
        "properties": {"answer": answer},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        },
        "max_tokens": max_tokens + _BRACES,
    }


def _choice(options: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """The same as vLLM has it: from 0.12 on, and before. Each ignores the other's field."""
    return {"structured_outputs": {"choice": list(options)}, "guided_choice": list(options)}


def _logprobs(options: Sequence[str], max_tokens: int) -> dict[str, Any]:
    return {"logprobs": True}


_Member = Callable[[Sequence[str], int], dict[str, Any]]
_BRACES = 16  # tokens that JSON takes around an answer
# What a request carries beside the question: the most first, the bare question last.
_FORMS: dict[str, tuple[tuple[_Member, ...], ...]] = {
    "schema": ((_schema, _logprobs), (_schema,), ()),
    "choice": ((_choice, _logprobs), (_choice,), ()),
    "none": ((),),
}


ADAPTER, LITELLM = (
    chat_adapter(library, OpenAiJudge, OpenAiArguments, "--judge-args base_url=…")
    for library in LIBRARIES
)
