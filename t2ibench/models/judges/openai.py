"""The judge `openai:MODEL`: a vision model on any OpenAI-compatible server."""

from __future__ import annotations

import base64
import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING

from t2ibench.arguments import PositiveInt
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_server import ChatServer, ServerArguments, ServerAwayError
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.http import Reply
from t2ibench.models.judges.replies import class_of, instruction
from t2ibench.models.protocols import Answer, Query

if TYPE_CHECKING:
    from PIL.Image import Image


class OpenAiArguments(ServerArguments):
    """What --judge-args are taken; `workers` is how many requests go out at a time."""

    workers: PositiveInt = 8


class OpenAiJudge:
    """Asks a server about each image (see models.protocols.Judge).

    Args:
        name: As the user wrote it.
        model: The model's name on the server.
        args: Address of the server, limits, and how many requests go out at a time.
    """

    def __init__(self, name: str, model: str, args: OpenAiArguments) -> None:
        self.name = name
        self._server = ChatServer(model, **args.model_dump(exclude={"workers"}))
        self._workers = args.workers
        self.batch_size = 4 * args.workers
        self.fingerprint = fingerprint({"adapter": "openai judge 1", **self._server.settings})

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for (see models.protocols.ReportsWaits)."""
        self._server.report_waits(tell)

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """One request a question.

        Args:
            queries: The questions.

        Returns:
            One answer a question, in their order.

        Raises:
            T2IBenchError: the server cannot be asked at all, and nothing was answered.
        """
        found = dict(pair for part in self.answer_in_parts(queries) for pair in part)
        return [found[number] for number in range(len(queries))]

    def answer_in_parts(self, queries: Sequence[Query]) -> Iterator[list[tuple[int, Answer]]]:
        """The same, each answer as soon as it is there (see models.protocols.AnswersInParts).

        Args:
            queries: The questions.

        Yields:
            Answers with the number of their question.

        Raises:
            T2IBenchError: the server cannot be asked at all, and nothing was answered.
        """
        encoded: dict[str, str] = {}
        waiting = deque(enumerate(queries))
        running: dict[Future[Reply], int] = {}
        away: list[tuple[int, ServerAwayError]] = []
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    number, query = waiting.popleft()
                    if query.sha256 not in encoded:
                        encoded[query.sha256] = _data_url(query.image)
                    running[self._ask(query, encoded[query.sha256])] = number
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                part = []
                for future in done:
                    number = running.pop(future)
                    found = self._answer(queries[number], future)
                    if isinstance(found, Answer):
                        part.append((number, found))
                    else:
                        away.append((number, found))
                if part:
                    yield part
        finally:
            for future in running:
                future.cancel()
        if away and len(away) == len(queries):
            raise away[0][1]
        if away:  # one away is an answer less; all away is the end
            yield [(number, Answer(None, reason=str(error))) for number, error in away]

    def _ask(self, query: Query, url: str) -> Future[Reply]:
        content = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": instruction(query.question, query.classes)},
        ]
        return self._server.start([{"role": "user", "content": content}])

    def _answer(self, query: Query, asked: Future[Reply]) -> Answer | ServerAwayError:
        try:
            reply = self._server.read(asked)
        except ServerAwayError as error:
            return error
        except T2IBenchError as error:
            return Answer(None, reason=str(error))
        except Exception as error:  # whatever a reply does, it costs its own answer only
            return Answer(None, reason=f"{type(error).__name__}: {first_line(error)}")
        answer = class_of(reply, query.classes) if query.classes else " ".join(reply.split())
        return Answer(answer, reply)


def _data_url(image: Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _create(request: Request[OpenAiArguments]) -> OpenAiJudge:
    return OpenAiJudge(request.spec, request.source, request.args)


ADAPTER = Adapter(
    create=_create,
    form="openai:MODEL",
    description="any OpenAI-compatible server; --judge-args base_url=…",
    Args=OpenAiArguments,
    check=_create,
)
