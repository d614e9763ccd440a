"""The proposer `openai:MODEL`: a chat model on any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.arguments import PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_server import ChatServer, ServerArguments
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message


class OpenAiProposerArguments(ServerArguments):
    """What --proposer-args are taken; proposals are longer than a judge's answers."""

    max_tokens: PositiveInt = 1024


class ServerProposer:
    """A model on a server (see models.language.Proposer).

    Args:
        name: As the user wrote it.
        model: The model's name on the server.
        args: Address of the server and limits.

    Raises:
        T2IBenchError: the address is not an http(s) address.
    """

    def __init__(self, name: str, model: str, args: OpenAiProposerArguments) -> None:
        self.name = name
        self._server = ChatServer(model, **args.model_dump())
        self.fingerprint = fingerprint({"adapter": "openai proposer 1", **self._server.settings})

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for (see models.protocols.ReportsWaits)."""
        self._server.report_waits(tell)

    def reply(self, messages: Sequence[Message]) -> str:
        """Asks the server."""
        return self._server.chat(messages)


def _create(request: Request[OpenAiProposerArguments]) -> ServerProposer:
    return ServerProposer(request.spec, request.source, request.args)


ADAPTER = Adapter(
    create=_create,
    form="openai:MODEL",
    description="any OpenAI-compatible server; --proposer-args base_url=…",
    Args=OpenAiProposerArguments,
)
