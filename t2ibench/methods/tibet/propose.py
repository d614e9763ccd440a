"""Axes and counterfactuals proposed for a prompt (Chinchure et al. 2024, appendix 9.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.proposal import Conversation, Message, Proposal, Proposed
from t2ibench.methods.core.replies import UnreadableError
from t2ibench.methods.tibet.replies import read_axes

TURNS = (
    "For the image generation prompt, {prompt}, what are some of the axes where the prompt may "
    "lead to biases in the image?",
    "Generate many counterfactuals for each axis. Create counterfactuals for all diverse "
    "alternatives for an axis. Each counterfactual should look exactly like the original prompt, "
    "with only one concept changed at a time.",
    "Convert these to a json dictionary where the axes are the keys and the counterfactuals are "
    "list for each key. Only return json.",
)
AGAIN = "That could not be read ({why}). Only return json: axes as keys, lists as values."
_LONGER = 5  # words by which a counterfactual may not differ from its prompt


class ProposeArgs(Arguments):
    """Settings of a proposal.

    Attributes:
        tries: How often to ask for one reply.
    """

    tries: PositiveInt = 3


class TibetProposal:
    """See `t2ibench.methods.core.proposal.Proposal`."""

    subjects: Literal["prompts"] = "prompts"
    citation = "Chinchure et al. (2024), TIBET, ECCV 2024."
    Args = ProposeArgs

    def propose(
        self,
        subjects: Sequence[str],
        conversation: Conversation,
        args: ProposeArgs,
        advance: Callable[[int], None],
        /,
    ) -> Proposed:
        """Ask about every prompt."""
        rows: list[dict[str, Any]] = []
        problems: list[str] = []
        failed = 0
        for prompt in subjects:
            try:
                axes = ask_axes(prompt, conversation, args.tries)
                row, left_out = prompt_row(prompt, axes)
                rows.append(row)
                problems += [f"'{prompt}': {why}" for why in left_out]
            except UnreadableError as error:
                failed += 1
                problems.append(f"'{prompt}' is excluded: {error}")
            advance(1)
        nothing = T2IBenchError("No prompt got readable axes.", "The replies are kept; see them.")
        return Proposed(
            body={"prompts": rows},
            problems=tuple(problems),
            failed=failed,
            error=None if rows else nothing,
        )


def ask_axes(prompt: str, conversation: Conversation, tries: int) -> dict[str, list[str]]:
    """Axis to counterfactuals, in the paper's three turns."""
    messages: list[Message] = []
    for turn in TURNS[:-1]:
        messages.append({"role": "user", "content": turn.replace("{prompt}", prompt)})
        messages.append({"role": "assistant", "content": conversation.reply(messages)})
    messages.append({"role": "user", "content": TURNS[-1]})
    return conversation.read(messages, read_axes, tries, AGAIN)


def prompt_row(prompt: str, axes: Mapping[str, Sequence[str]]) -> tuple[dict[str, Any], list[str]]:
    """A prompt as a task file has it, and what was dropped.

    Examples:
        >>> row, _ = prompt_row("a chef", {"gender": ["a male chef", "a female chef"]})
        >>> [cf["name"] for cf in row["axes"][0]["counterfactuals"]]
        ['male', 'female']
    """
    left_out: list[str] = []
    kept: list[dict[str, Any]] = []
    for axis, proposed in axes.items():
        counterfactuals, why = _counterfactuals(prompt, proposed)
        left_out += [f"{axis}: {line}" for line in why]
        if len(counterfactuals) < 2:
            left_out.append(f"{axis}: fewer than two counterfactuals")
            continue
        rows = [{"name": name, "prompt": text} for name, text in counterfactuals.items()]
        kept.append({"name": axis, "counterfactuals": rows})
    if not kept:
        raise UnreadableError("; ".join(left_out) or "no axis has two counterfactuals")
    return {"prompt": prompt, "axes": kept}, left_out


def _counterfactuals(prompt: str, proposed: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Name to prompt of the counterfactuals that can be used; and why others cannot."""
    kept: dict[str, str] = {}
    left_out: list[str] = []
    for changed in proposed:
        if changed.strip(" .").lower() == prompt.strip(" .").lower():
            continue
        if abs(len(changed.split()) - len(prompt.split())) >= _LONGER:
            left_out.append(f"'{changed}' differs by {_LONGER} or more words")
        elif changed not in kept.values():
            kept[_unused(_name(prompt, changed), kept)] = changed
    return kept, left_out


def _name(prompt: str, changed: str) -> str:
    """What was changed, as the words that the prompt does not have."""
    old = set(re.findall(r"[\w'-]+", prompt.lower()))
    new = [word for word in re.findall(r"[\w'-]+", changed.lower()) if word not in old]
    return " ".join(word for word in new if word not in {"a", "an", "the"}) or changed


def _unused(name: str, taken: Mapping[str, str]) -> str:
    """The name, with a number where it is taken."""
    number, unused = 2, name
    while unused in taken:
        unused, number = f"{name} {number}", number + 1
    return unused


PROPOSAL: Proposal[ProposeArgs] = TibetProposal()
