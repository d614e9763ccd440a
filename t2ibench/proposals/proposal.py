"""Functions that propose tasks with a language model, for commands and runs alike."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.proposal import Proposal, Proposed, UnreadableError
from t2ibench.methods.registry import METHODS
from t2ibench.models.language import Message, Proposer
from t2ibench.models.protocols import ReportsSettings
from t2ibench.models.server_errors import BadReplyError
from t2ibench.proposals.captions import LONGEST, usable
from t2ibench.registry import load_target
from t2ibench.store.jsonl import append_rows, read_rows

_T = TypeVar("_T")
_TITLED = 4  # attributes that a title names


def proposal_of(name: str) -> Proposal[Any]:
    """Return the object with which a method proposes tasks.

    Raises:
        T2IBenchError: the method is unknown, or proposes none.
    """
    targets = _targets()
    if name in targets:
        proposal: Proposal[Any] = load_target(targets[name])
        return proposal
    hint = f"These can be proposed: {', '.join(targets)}."
    if name in METHODS:
        raise T2IBenchError(
            f"No language model proposes tasks of the method '{name}'.", hint
        )
    raise T2IBenchError(
        f"Unknown method '{shown(name)}'.{did_you_mean(name, targets)}", hint
    )


def method_for(subjects: str) -> str:
    """Return the name of the method that proposes tasks from 'captions' or 'prompts'."""
    return next(
        name
        for name, target in _targets().items()
        if load_target(target).subjects == subjects
    )


def _targets() -> dict[str, str]:
    """Return the import target of each method's proposal, keyed by the method's name."""
    targets: dict[str, str] = {}
    for key in METHODS:
        # A broken plug-in must not stop the other methods.
        with contextlib.suppress(T2IBenchError):
            target = METHODS.get(key).proposes
            if target:
                targets[key] = target
    return targets


class Recorder:
    """A proposer whose replies are recorded in a file, so that none is asked for twice.

    Without a file, replies are only remembered; that is for proposers whose replies cost nothing.
    """

    def __init__(self, proposer: Proposer, path: Path | None = None) -> None:
        self.proposer = proposer
        self._path = path
        self._replies: dict[str, str] = {}
        self.asked = 0
        if path is not None and path.is_file():
            for row in read_rows(path):
                if row.get("proposer") == proposer.fingerprint and "messages" in row:
                    self._replies[_key(row["messages"])] = str(row["reply"])

    def reply(self, messages: Sequence[Message]) -> str:
        """Return the next reply of a conversation, from the record or newly asked for."""
        key = _key(messages)
        if key not in self._replies:
            try:
                reply = self.proposer.reply(messages)
            except BadReplyError as error:
                raise UnreadableError(str(error)) from None
            row: dict[str, Any] = {
                "proposer": self.proposer.fingerprint,
                "messages": [dict(message) for message in messages],
                "reply": reply,
            }
            if isinstance(self.proposer, ReportsSettings):
                row["effective_settings"] = dict(self.proposer.effective_settings())
            if self._path is not None:
                append_rows(self._path, [row])
            self._replies[key] = reply
            self.asked += 1
        return self._replies[key]

    def read(
        self,
        messages: Sequence[Message],
        read: Callable[[str], _T],
        tries: int,
        retry: str,
    ) -> _T:
        """Ask for the next reply and return what `read` makes of it; retry if it cannot.

        Args:
            messages: The conversation so far.
            read: Parses a reply, and raises UnreadableError.
            tries: How often to ask.
            retry: The message that asks again, in which the error replaces {why}.
        """
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
                    {"role": "user", "content": retry.replace("{why}", str(error))},
                ]
        raise T2IBenchError("tries must be 1 or more")


def _key(messages: Sequence[Message]) -> str:
    """Return the key under which the reply to a conversation is recorded."""
    return json.dumps(
        [[message["role"], message["content"]] for message in messages],
        ensure_ascii=False,
    )


def propose(
    proposal: Proposal[Any],
    subjects: Sequence[str],
    proposer: Proposer,
    settings: Arguments,
    *,
    replies: Path | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Proposed, int]:
    """Propose a task for captions or prompts; return it, and how many replies were asked for."""
    asked = usable(subjects) if proposal.subjects == "captions" else list(subjects)
    recorder = Recorder(proposer, replies)
    proposed = proposal.propose(asked, recorder, settings, advance)
    if len(asked) < len(subjects):
        reason = f"captions of more than {LONGEST} characters, or with invisible ones"
        dropped = {**proposed.dropped, reason: len(subjects) - len(asked)}
        proposed = replace(proposed, dropped=dropped)
    return proposed, recorder.asked


def title_of(body: Mapping[str, Any], subjects: str) -> str:
    """Return a task's title, which names what is measured and not who proposed it.

    Args:
        body: The proposed part of the task: its biases, or prompts with their axes.
        subjects: What is asked about, with its number, such as '5 prompts'.

    Examples:
        >>> title_of({"biases": [{"name": "gender"}, {"name": "skin-tone"}]}, "5 prompts")
        '5 prompts: gender, skin tone'
        >>> title_of({"biases": [{"name": "gender"}]}, "1 prompts")
        '1 prompt: gender'
    """
    axes = [axis for prompt in body.get("prompts", ()) for axis in prompt["axes"]]
    asked = [*body.get("biases", ()), *axes]
    words = [str(bias["name"]).replace("-", " ") for bias in asked]
    names = list(dict.fromkeys(words))
    shown_names = ", ".join(names[:_TITLED])
    more = f" and {len(names) - _TITLED} more" if len(names) > _TITLED else ""
    counted = subjects.removesuffix("s") if subjects.startswith("1 ") else subjects
    return f"{counted}: {shown_names}{more}" if names else counted
