"""A proposer: the same reply to every conversation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from t2ibench.plugins import Adapter, Arguments, Message, Request

REPLY = json.dumps(
    [
        {
            "name": "time of day",
            "classes": ["day", "night"],
            "question": "What time of day is it?",
        }
    ]
)


class FixedProposer:
    """Has the members of `t2ibench.plugins.Proposer`."""

    def __init__(self, reply: str) -> None:
        self.name = "fixed"
        self.fingerprint = hashlib.sha256(f"fixed 1\0{reply}".encode()).hexdigest()
        self._reply = reply

    def reply(self, messages: Sequence[Message]) -> str:
        """The next reply of a conversation; raise `T2IBenchError` where there is none."""
        return self._reply


class FixedArguments(Arguments):
    """What --proposer-args takes."""

    reply: str = REPLY


def create(request: Request[FixedArguments]) -> FixedProposer:
    """Load weights here, on `request.device`."""
    return FixedProposer(request.args.reply)


ADAPTER = Adapter(
    create=create,
    form="fixed",
    description="the same reply every time",
    Args=FixedArguments,
)
