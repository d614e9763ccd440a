"""The judge `openai:MODEL`: a vision model on any OpenAI-compatible server."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from t2ibench.arguments import PositiveInt
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_server import ChatServer, ServerArguments, ServerAwayError
from t2ibench.models.fingerprint import fingerprint
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

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """One request a question.

        Args:
            queries: The questions.

        Returns:
            One answer a question, in their order.

        Raises:
            T2IBenchError: the server cannot be asked at all, and nothing was answered.
        """
        images = {query.sha256: query.image for query in queries}
        encoded = {key: _data_url(image) for key, image in images.items()}
        with ThreadPoolExecutor(self._workers) as pool:
            replies = list(
                pool.map(lambda query: self._answer_query(query, encoded[query.sha256]), queries)
            )
        away = [reply for reply in replies if isinstance(reply, ServerAwayError)]
        if away and len(away) == len(replies):
            raise away[0]
        return [
            Answer(None, reason=str(reply)) if isinstance(reply, ServerAwayError) else reply
            for reply in replies
        ]

    def _answer_query(self, query: Query, url: str) -> Answer | ServerAwayError:
        content = [
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "text", "text": instruction(query.question, query.classes)},
        ]
        try:
            reply = self._server.chat([{"role": "user", "content": content}])
        except ServerAwayError as error:
            return error  # one away is an answer less; all away is the end
        except T2IBenchError as error:
            return Answer(None, reason=str(error))
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
