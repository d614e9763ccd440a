"""What a method gives `t2ibench propose`: how a language model proposes its tasks."""

from __future__ import annotations

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
        """The next reply."""
        ...

    def read(
        self, messages: Sequence[Message], read: Callable[[str], _T], tries: int, again: str, /
    ) -> _T:
        """The next reply, read; asked again if it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a language model proposed.

    Attributes:
        body: The method's part of a task file, without its head.
        notes: Notes for the task file.
        problems: What could not be read or was excluded, one line each.
        dropped: Why proposals were dropped, and how many.
        failed: Subjects that are missing from the task because of an unreadable reply.
        error: Why no task can be made; None if there is one.
    """

    body: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0
    error: T2IBenchError | None = None


class Proposal(Protocol[ArgsT]):
    """The part of a method that proposes tasks. A method names it in `Method.proposes`.

    Attributes:
        subjects: What the model is asked about, one by one.
        citation: The publication it comes from.
        Args: Its own settings; each is a flag of `t2ibench propose`, or part of --method-args.
    """

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
        """Ask about every subject."""
        ...
