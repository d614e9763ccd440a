"""Proposals of a method's tasks by a language model, and how its replies are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError

Subjects = Literal["captions", "prompts"]
Message = Mapping[str, str]  # role and content
ArgsT = TypeVar("ArgsT", bound=Arguments)
_T = TypeVar("_T")


class Conversation(Protocol):
    """A language model that continues a conversation."""

    def reply(self, messages: Sequence[Message], /) -> str:
        """Return the language model's next reply."""
        ...

    def read(
        self,
        messages: Sequence[Message],
        read: Callable[[str], _T],
        tries: int,
        retry: str,
        /,
    ) -> _T:
        """Return what `read` makes of the next reply; ask again for one that it cannot read."""
        ...


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of a language model for a task, with counts of excluded and failed ones."""

    body: Mapping[str, Any]  # the method's part of a task file, without its head
    notes: tuple[str, ...] = ()  # notes for the task file
    # what could not be read or was excluded, one line each
    problems: tuple[str, ...] = ()
    # why proposals were dropped, and how many
    dropped: Mapping[str, int] = field(default_factory=dict)
    # subjects that are missing from the task because of an unreadable reply
    failed: int = 0
    error: T2IBenchError | None = None  # why no task can be made; None if there is one


class Proposal(Protocol[ArgsT]):
    """The part of a method that proposes tasks, named in `Method.proposes`."""

    @property
    def subjects(self) -> Subjects: ...  # noqa: D102
    @property
    def citation(self) -> str: ...  # noqa: D102
    @property
    def Args(self) -> type[ArgsT]: ...  # noqa: D102

    def propose(
        self,
        subjects: Sequence[str],
        conversation: Conversation,
        args: ArgsT,
        advance: Callable[[int], None],
        /,
    ) -> Proposed:
        """Ask a language model about every subject, and return what it proposes."""
        ...


_WORD = re.compile(r"[a-z0-9]+(?:[-'/][a-z0-9]+)*")
# Nothing that a terminal obeys, no halves of surrogate pairs, no overriding of a text's direction.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST = 30_000  # what takes long to repair is not what was asked for
_SMART = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "−": "-", "\u00a0": " "}
)


class UnreadableError(ValueError):
    """The error for a reply without what was asked for; its message gives the reason."""


def read_json(reply: str) -> Any:
    """Return the JSON value in a reply, even in fences or prose or with small mistakes.

    Examples:
        >>> read_json("Sure! {'gender': ['male', 'female',]} Anything else?")
        {'gender': ['male', 'female']}
    """
    import json_repair

    if len(reply) > _LONGEST:
        raise UnreadableError(f"the reply is longer than {_LONGEST:,} characters")
    text = reply.translate(_SMART)
    fenced = re.search(r"```(?:json|JSON)?\s*(.*?)(?:```|\Z)", text, re.DOTALL)
    if fenced and re.search(r"[{\[]", fenced.group(1)):
        text = fenced.group(1)
    start = re.search(r"[{\[]", text)
    if not start:
        raise UnreadableError("the reply has no JSON in it")
    try:
        value = _harmless(json_repair.loads(text[start.start() :]))
    except (ValueError, RecursionError):
        raise UnreadableError("the reply's JSON is nested too deeply") from None
    if not isinstance(value, dict | list) or not value:
        raise UnreadableError("the reply's JSON is empty")
    return value


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return _HARMFUL.sub(" ", value)
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    if isinstance(value, dict):
        return {_harmless(key): _harmless(item) for key, item in value.items()}
    return value


def plain_key(name: str) -> str:
    """Return a key as lower-case words with spaces, however a language model wrote it."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(_WORD.findall(spaced.lower().replace("_", " ")))
