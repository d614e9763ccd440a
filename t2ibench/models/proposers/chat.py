"""The proposers `hf:ID_OR_DIR`, `openai:MODEL` and `litellm:MODEL`: chat models, here or served."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_model import ChatModel
from t2ibench.models.chat_server import LIBRARIES, ChatArguments, ChatServer, chat_adapter
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message


class HfArguments(Arguments):
    """What --proposer-args are taken; `max_tokens` is the length of the longest reply."""

    max_tokens: PositiveInt = 1024


class ModelProposer:
    """A chat model of transformers, greedily (see models.language.Proposer).

    Args:
        request: What is asked for (see models.chat_model.ChatModel).

    Raises:
        T2IBenchError: it cannot be loaded, or has no chat template.
    """

    def __init__(self, request: Request[HfArguments]) -> None:
        self.name = request.spec
        self._model = ChatModel(request, request.args.max_tokens)
        self._model.load()
        self.fingerprint = fingerprint(
            adapter="hf proposer 1",
            weights=self._model.identity(),
            dtype=f"torch.{self._model.dtype}",
            max_tokens=request.args.max_tokens,
        )

    def reply(self, messages: Sequence[Message]) -> str:
        """Generates a reply."""
        return self._model.reply(messages)


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


HF = Adapter(
    create=ModelProposer,
    form="hf:ID_OR_DIR",
    description="a chat model of transformers",
    Args=HfArguments,
)
OPENAI, LITELLM = (
    chat_adapter(library, ServerProposer, OpenAiProposerArguments, "--proposer-args base_url=…")
    for library in LIBRARIES
)
