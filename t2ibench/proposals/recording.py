"""Conversations with a proposer, kept as they happen, so that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.proposal import UnreadableError
from t2ibench.models.proposers import Message, Proposer, conversation_key
from t2ibench.models.server_errors import BadReplyError
from t2ibench.store.jsonl import append_rows, read_rows

_T = TypeVar("_T")


class Recorder:
    """A proposer whose replies are appended to a file, and taken from there the next time.

    The file is what the proposer `replay:FILE` reads.

    Args:
        proposer: Who is asked.
        path: The file of replies; None for a proposer that costs nothing to ask again.
    """

    def __init__(self, proposer: Proposer, path: Path | None = None) -> None:
        self.proposer = proposer
        self._path = path
        self._replies: dict[str, str] = {}
        self.asked = 0
        if path is not None and path.is_file():
            for row in read_rows(path):
                if row.get("proposer") == proposer.fingerprint and "messages" in row:
                    self._replies[conversation_key(row["messages"])] = str(row["reply"])

    def reply(self, messages: Sequence[Message]) -> str:
        """The next reply of a conversation; asked only if it was not recorded."""
        key = conversation_key(messages)
        if key not in self._replies:
            try:
                reply = self.proposer.reply(messages)
            except BadReplyError as error:
                raise UnreadableError(str(error)) from None
            row = {
                "proposer": self.proposer.fingerprint,
                "messages": [dict(message) for message in messages],
                "reply": reply,
            }
            if self._path is not None:
                append_rows(self._path, [row])
            self._replies[key] = reply
            self.asked += 1
        return self._replies[key]

    def read(
        self, messages: Sequence[Message], read: Callable[[str], _T], tries: int, again: str
    ) -> _T:
        """The next reply, read; asked again if it cannot be read."""
        conversation = list(messages)
        for attempt in range(tries):
            reply = self.reply(conversation)
            try:
                return read(reply)
            except UnreadableError as error:
                if attempt + 1 == tries:
                    raise
                conversation += [
                    {"role": "assistant", "content": reply},
                    {"role": "user", "content": again.replace("{why}", str(error))},
                ]
        raise T2IBenchError("tries must be 1 or more")
