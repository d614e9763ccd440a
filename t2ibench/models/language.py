"""Protocols of language models that propose biases or rewrite prompts.

`t2ibench.models.protocols` has these names too. It imports no model library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

Message = Mapping[str, str]  # role and content
Per = Literal["prompt", "image"]


@runtime_checkable
class Proposer(Protocol):
    """A language model that proposes biases: it continues a conversation.

    Attributes:
        name: As the user wrote it.
        fingerprint: SHA-256 hex over everything that decides a reply.
    """

    name: str
    fingerprint: str

    def reply(self, messages: Sequence[Message]) -> str:
        """Return the language model's reply to a conversation.

        Args:
            messages: Role and content of every message so far.

        Returns:
            The next reply.

        Raises:
            T2IBenchError: the model gives no reply.
        """


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """A prompt to rewrite, before a generator gets it.

    Attributes:
        prompt: The prompt of a task.
        index: Which image of the prompt it is rewritten for, from 0; None where all images of a
            prompt share one rewriting.
        seed: A seed for rewriters that sample, which depends on prompt and index only.
    """

    prompt: str
    index: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rewriting of a prompt, or why there is none.

    Attributes:
        status: 'ok'; 'refused' (the rewriter declined the prompt); 'failed' (an error).
        text: The rewritten prompt, for status 'ok'.
        reason: Why there is no rewritten prompt; given whenever the status is not 'ok'.
    """

    status: Literal["ok", "refused", "failed"]
    text: str | None = None
    reason: str | None = None


@runtime_checkable
class Rewriter(Protocol):
    """Rewrites prompts before the generator gets them.

    Attributes:
        name: Its name for people, which becomes a part of the run's name.
        fingerprint: SHA-256 hex over everything that decides a rewriting: the model and its
            revision, the instruction, the temperature.
        settings: The same as JSON values, for the record of a run.
        per: 'prompt' where all images of a prompt share a rewriting, 'image' where each has its
            own.
    """

    name: str
    fingerprint: str
    settings: Mapping[str, Any]
    per: Per

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """Return the rewriting of each prompt, or why there is none.

        A rewriting depends on its own request only, never on the others. A request that fails
        alone comes back as 'refused' or 'failed' with a reason; an exception means that the
        rewriter cannot go on.

        Args:
            requests: What to rewrite.

        Returns:
            One rewriting for each request, in their order.
        """


@runtime_checkable
class RewritesInParts(Protocol):
    """A rewriter that returns each rewriting as soon as it is ready (optional).

    For rewritings that cost time or money: each is stored when it is ready, and never requested
    again, whatever happens to the others.
    """

    def rewrite_in_parts(
        self, requests: Sequence[RewriteRequest]
    ) -> Iterator[list[tuple[int, Rewriting]]]:
        """Yield rewritings, each with its request's index, as soon as they are ready.

        Args:
            requests: What to rewrite.

        Yields:
            Rewritings, each with the number of its request: every request once, in any order.
        """


@runtime_checkable
class ChecksPrompts(Protocol):
    """A rewriter that knows before a run which prompts it can rewrite (optional)."""

    def check(self, requests: Sequence[RewriteRequest]) -> None:
        """Raise an error, before anything is generated, if a prompt of a run cannot be rewritten.

        Args:
            requests: All prompts that the run will rewrite.

        Raises:
            T2IBenchError: some of them cannot be rewritten.
        """
