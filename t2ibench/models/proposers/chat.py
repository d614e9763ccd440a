"""The proposers `hf:ID_OR_DIR`, `openai:MODEL` and `litellm:MODEL`: local or served chat models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.chat_model import ChatModel
from t2ibench.models.chat_server import (
    LIBRARIES,
    ChatArguments,
    ChatServer,
    chat_adapter,
)
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Message


class HfArguments(Arguments):
    """Arguments of the proposer `hf`.

    Attributes:
        max_tokens: The length of the longest reply.
    """

    max_tokens: PositiveInt = 1024


class OpenAiProposerArguments(ChatArguments):
    """Arguments of the proposers `openai` and `litellm`; their replies may be long."""

    max_tokens: PositiveInt = 1024


def _reports_no_waits(tell: Callable[[str], None]) -> None:
    """Ignore the function that would report waits, because a local model never waits."""


class ChatProposer:
    """A proposer that decodes a chat model greedily (see models.language.Proposer)."""

    def __init__(
        self,
        name: str,
        reply: Callable[[Sequence[Message]], str],
        parts: Mapping[str, Any],
        report_waits: Callable[[Callable[[str], None]], None] = _reports_no_waits,
        effective_settings: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.name = name
        self.reply = reply
        self.report_waits = report_waits
        self.effective_settings = effective_settings
        self.fingerprint = fingerprint(parts)


def _of_transformers(request: Request[HfArguments]) -> ChatProposer:
    """Create a proposer that runs a chat model on this machine."""
    max_tokens = request.args.max_tokens
    model = ChatModel(request, max_tokens)
    model.load()
    parts = {
        "adapter": "hf proposer 1",
        "weights": model.identity(),
        "max_tokens": max_tokens,
        "dtype": f"torch.{model.dtype}",
    }
    return ChatProposer(request.spec, model.reply, parts)


def _of_server(
    name: str, server: ChatServer, _: OpenAiProposerArguments
) -> ChatProposer:
    parts = {"adapter": "openai proposer 1", **server.settings}
    return ChatProposer(
        name, server.chat, parts, server.report_waits, server.effective_settings
    )


HF = Adapter(
    create=_of_transformers,
    form="hf:ID_OR_DIR",
    description="a chat model of transformers",
    Args=HfArguments,
)
OPENAI, LITELLM = (
    chat_adapter(
        library, _of_server, OpenAiProposerArguments, "--proposer-args base_url=…"
    )
    for library in LIBRARIES
)
