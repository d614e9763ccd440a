"""The proposer `replay:FILE`: replies that were recorded before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.language import Message
from t2ibench.models.locations import is_file
from t2ibench.store.jsonl import read_rows_strictly


def conversation_key(messages: Sequence[Message]) -> str:
    """The key that a recorded reply is found by."""
    return json.dumps([[m["role"], m["content"]] for m in messages], ensure_ascii=False)


class ReplayProposer:
    """Replies that were recorded, in the form that `t2ibench propose` writes."""

    def __init__(self, path: Path) -> None:
        if not is_file(path):
            raise T2IBenchError(f"No such file: '{shown(path)}'.", "Check the path after replay:")
        self.name = f"replay:{path.name}"
        self._path = path
        self.fingerprint = fingerprint({"adapter": "replay 1", "file": file_hash(path)})
        self._replies: dict[str, str] = {}
        for line, row in read_rows_strictly(path, '{"messages": […], "reply": "…"}'):
            try:
                key, reply = conversation_key(row["messages"]), row["reply"]
            except (KeyError, TypeError):
                raise T2IBenchError(
                    f"{path}:{line}: expected an object with 'messages' and 'reply'."
                ) from None
            self._replies[key] = str(reply)

    def reply(self, messages: Sequence[Message]) -> str:
        """The recorded reply to just this conversation."""
        reply = self._replies.get(conversation_key(messages))
        if reply is None:
            raise T2IBenchError("no recorded reply to this conversation")
        return reply


ADAPTER = Adapter(
    create=lambda request: ReplayProposer(Path(request.source).expanduser()),
    form="replay:FILE",
    description="replies recorded before; nothing is asked",
)
