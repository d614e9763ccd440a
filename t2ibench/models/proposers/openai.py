"""The proposers `openai:MODEL` and `litellm:MODEL`: chat models on servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.arguments import PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_server import ChatArguments, ChatServer, Library
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message


class OpenAiProposerArguments(ChatArguments):
    """What --proposer-args are taken; proposals are longer than a judge's answers."""

    max_tokens: PositiveInt = 1024


class ServerProposer:
    """A model on a server (see models.language.Proposer).

    Args:
        name: As the user wrote it.
        model: The model's name on the server.
        args: Address of the server and limits.
        library: Which library asks.

    Raises:
        T2IBenchError: the address is not an http(s) address.
    """

    def __init__(
        self, name: str, model: str, args: OpenAiProposerArguments, library: Library = "openai"
    ) -> None:
        self.name = name
        self._server = ChatServer(model, **args.model_dump(), library=library)
        self.fingerprint = fingerprint({"adapter": "openai proposer 1", **self._server.settings})

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for (see models.protocols.ReportsWaits)."""
        self._server.report_waits(tell)

    def reply(self, messages: Sequence[Message]) -> str:
        """Asks the server."""
        return self._server.chat(messages)


def _adapter(library: Library, description: str) -> Adapter[ServerProposer]:
    def create(request: Request[OpenAiProposerArguments]) -> ServerProposer:
        return ServerProposer(request.spec, request.source, request.args, library)

    return Adapter(
        create=create,
        form=f"{library}:MODEL",
        description=description,
        Args=OpenAiProposerArguments,
    )


ADAPTER = _adapter("openai", "any OpenAI-compatible server; --proposer-args base_url=…")
LITELLM = _adapter("litellm", "whatever LiteLLM reaches; pip install t2ibench[litellm]")
