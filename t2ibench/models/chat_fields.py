"""Choose the fields of a chat request that its server accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from t2ibench.models.declined_fields import declined_field, is_out_of_bounds
from t2ibench.models.server_errors import (
    Reply,
    ServerMessage,
    UnusableServerError,
    one_line,
)
from t2ibench.models.server_states import filter_took

_LIMIT = "max_tokens"
_NEWER_LIMIT = "max_completion_tokens"  # what OpenAI's reasoning models call it
_ROOM = 8  # factor by which the limit rises after a reply was cut off
_LEAST_ROOM = 2048  # tokens: reasoning before a short answer may take as many
_UNKNOWN = re.compile(
    r"(un(recogni[sz]ed|known|supported|expected)|not (support|permit|allow|accept)\w*|extra)\b"
    r"|not (supported|permitted|allowed|accepted)|does ?n.t support",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"(at least|minimum|greater than or equal to|>=)\D{0,20}(?P<least>\d+)",
    re.IGNORECASE,
)
# The caller that sends this field handles servers that do not accept it.
_OF_THE_CALLER = "response_format"


class ChatFields:
    """The fields of a chat request, besides model and messages, that a server accepts.

    A field that the server declines is left out or renamed from then on. One that the user asked
    for is an error instead. `room` is the higher token limit that a reply needed after it had been
    cut off; None until then.
    """

    def __init__(self, where: str, model: str, flag: str) -> None:
        self.tell: Callable[[str], None] = lambda _: None
        self._where = where
        self._model = model
        self._flag = flag
        self._left_out: set[str] = set()
        self._limit_name = _LIMIT
        self._sent: dict[str, Any] = {}
        self.room: int | None = None

    def of(self, fields: Mapping[str, Any], room: int | None = None) -> dict[str, Any]:
        """Return the fields as this server accepts them: no rejected ones, the token limit renamed.

        `room` is a higher token limit, for a reply that was cut off.
        """
        taken: dict[str, Any] = {}
        for name, value in fields.items():
            if name == _LIMIT:
                taken[self._limit_name] = max(value, room or 0, self.room or 0)
            else:
                taken[name] = value
        return {
            name: value for name, value in taken.items() if name not in self._left_out
        }

    def wider(self, fields: Mapping[str, Any]) -> int:
        """Return the higher token limit with which to repeat a request whose reply was cut off."""
        return max(_ROOM * int(fields[_LIMIT]), _LEAST_ROOM)

    def note(self, sent: Mapping[str, Any]) -> None:
        """Record the fields `sent` with a request that was answered."""
        for name, value in sent.items():
            if name == _OF_THE_CALLER and isinstance(value, Mapping):
                self._sent[name] = value.get("type")
            elif name == "seed":
                self._sent[name] = "one a request"
            elif name == self._limit_name:
                self._sent[name] = max(value, self._sent.get(name, 0))
            else:
                self._sent[name] = value

    def effective(self) -> dict[str, Any]:
        """Return the fields that answered requests had, by name; empty before the first answer."""
        if not self._sent:
            return {}
        left_out = sorted(self._left_out - {_OF_THE_CALLER})
        return {**self._sent, "left_out": left_out} if left_out else dict(self._sent)

    def adapt(
        self,
        reply: Reply,
        sent: Mapping[str, Any],
        texts: Iterable[str],
        asked_for: Collection[str] = (),
    ) -> bool:
        """Remove or rename a field that a server's reply rejects; return whether anything changed.

        `texts` are those of the request, and `asked_for` the fields that the user gave.
        """
        message = reply.message()
        if reply.status not in {400, 422} or filter_took(message.codes):
            return False
        bare = message.without([self._model, *texts])
        field = declined_field(bare, sent.keys()) or _listed_field(bare.text, sent)
        if field is None and _names_limit(bare.text) and self._limit_name in sent:
            field = self._limit_name
        if field is None or field == _OF_THE_CALLER:
            return False
        if field == self._limit_name:
            return self._rename_limit() if not is_out_of_bounds(bare) else False
        if field in self._left_out:
            return False
        words = one_line(message.text)
        if field in asked_for:
            raise UnusableServerError(
                f"The server {self._where} does not take {field}={sent[field]!r}: {words}.",
                f"Leave {field}=… out of {self._flag}, or give a value that it takes.",
            )
        self._left_out.add(field)
        self.tell(
            f"The server {self._where} does not take {field}={sent[field]!r} ({words}): it is left "
            f"out from now on.{' Answers may differ from call to call.' * (field != _LIMIT)}"
        )
        return True

    def _rename_limit(self) -> bool:
        """Rename the token limit, or leave it out if the new name was rejected too; return True."""
        if self._limit_name == _LIMIT:
            self._limit_name = _NEWER_LIMIT
            return True
        self._left_out.add(_NEWER_LIMIT)
        self.tell(
            f"The server {self._where} accepts no token limit: it is left out from now on."
        )
        return True


def _listed_field(text: str, sent: Mapping[str, Any]) -> str | None:
    """Return the first of the `sent` fields that an error lists as unknown; None if none is."""
    if not _UNKNOWN.search(text):
        return None
    names = set(re.findall(r"\w+", text))
    return next(
        (name for name in sent if name in names and name != _OF_THE_CALLER), None
    )


def _names_limit(text: str) -> bool:
    """Return whether an error says to use the token limit's new name instead of the old one."""
    return _LIMIT in text and _NEWER_LIMIT in text and "instead" in text


def limit_advice(
    message: ServerMessage, sent: Mapping[str, Any], flag: str
) -> str | None:
    """Return advice on another token limit if a server rejects its value; None otherwise."""
    names = [name for name in (_LIMIT, _NEWER_LIMIT) if name in sent]
    named = any(name in message.text or name in message.fields for name in names)
    if not named or not is_out_of_bounds(message):
        return None
    least = _LEAST.search(message.text)
    if least is None:
        return f"Set another limit with {flag} {_LIMIT}=…."
    return f"Set {flag} {_LIMIT}={least['least']}, or more."
