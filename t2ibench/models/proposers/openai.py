"""The proposers `openai:MODEL` and `litellm:MODEL`: chat models on servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.arguments import PositiveInt
from t2ibench.models.chat_server import LIBRARIES, ChatArguments, ChatServer, chat_adapter
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message


class OpenAiProposerArguments(ChatArguments):
    """What --proposer-args are taken; proposals are longer than a judge's answers."""

    max_tokens: PositiveInt = 1024


class ServerProposer:
    """A model on a server (see models.language.Proposer).

    Args:
        name: As the user wrote it.
        server: The model on its server.
        args: Limits.
    """

    def __init__(self, name: str, server: ChatServer, args: OpenAiProposerArguments) -> None:
        self.name = name
        self._server = server
        self.fingerprint = fingerprint({"adapter": "openai proposer 1", **self._server.settings})

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Say when the server is waited for (see models.protocols.ReportsWaits)."""
        self._server.report_waits(tell)

    def reply(self, messages: Sequence[Message]) -> str:
        """Asks the server."""
        return self._server.chat(messages)


ADAPTER, LITELLM = (
    chat_adapter(library, ServerProposer, OpenAiProposerArguments, "--proposer-args base_url=…")
    for library in LIBRARIES
)
