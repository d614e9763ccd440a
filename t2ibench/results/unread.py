"""Prompts whose ends a model's text encoders did not read, as records and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from t2ibench.results.json_record import Record
from t2ibench.store.images import Attempt

_NAMED = 3  # prompts in a sentence
_WIDTH = 160  # characters of what was not read that a sentence shows


class PromptReading(Record):
    """How much of a prompt one text encoder (tower) of a model read.

    Attributes:
        tower: Its name, such as 'CLIP' or 'T5'.
        tokens: Tokens of the text that it was given.
        limit: How many of them it reads at most; null for any number.
        unread: The end of the prompt that it did not read; empty where it read all.
    """

    tower: str
    tokens: int
    limit: int | None = None
    unread: str = ""


class UnreadPrompt(Record):
    """A prompt whose end at least one text encoder (tower) of the model did not read.

    Attributes:
        prompt: The prompt of the task.
        rewritten: The text that the model got instead of it; null where it got the prompt.
        towers: What each tower read of that text.
    """

    prompt: str
    rewritten: str | None = None
    towers: list[PromptReading] = Field(default_factory=list)

    @property
    def unread(self) -> str:
        """The end of the prompt that no text encoder read; "" if one of them read all."""
        return min((tower.unread for tower in self.towers), key=len, default="")

    @property
    def cut(self) -> str:
        """The longest end of the prompt that at least one text encoder did not read."""
        return max((tower.unread for tower in self.towers), key=len, default="")


def unread_prompts(
    counts: Mapping[str, int],
    first: Callable[[str, int], Sequence[Attempt | None]],
    readings: Mapping[str, Sequence[PromptReading]],
) -> list[UnreadPrompt]:
    """Return the prompts of a task whose ends at least one text encoder did not read.

    Args:
        counts: Prompt to number of images.
        first: Gives the first n images of a prompt.
        readings: What was read of the texts that the model got, where some of it was not.

    Returns:
        One for each prompt and each text that was made of it, in the order of the prompts.
    """
    unread: list[UnreadPrompt] = []
    for prompt, count in counts.items() if readings else ():
        attempts = [
            attempt
            for attempt in first(prompt, count)
            if attempt is not None and attempt.status == "ok"
        ]
        for text in dict.fromkeys(
            attempt.revised_prompt or attempt.prompt for attempt in attempts
        ):
            if text in readings:
                rewritten = None if text == prompt else text
                towers = list(readings[text])
                unread.append(
                    UnreadPrompt(prompt=prompt, rewritten=rewritten, towers=towers)
                )
    return unread


def unread_line(unread: Sequence[UnreadPrompt], n_prompts: int | None) -> str | None:
    """Return a note on prompts with unread ends; None if every prompt was read to its end.

    Args:
        unread: These prompts.
        n_prompts: Number of all prompts; None where it does not matter.

    Returns:
        A sentence with the words that were not read; None where all was read.
    """
    of = "" if n_prompts is None else f"of {n_prompts} "
    by_no_tower = [entry for entry in unread if entry.unread]
    by_some = [entry for entry in unread if not entry.unread]
    parts = []
    if by_no_tower:
        count = len({entry.prompt for entry in by_no_tower})
        parts.append(
            f"the end of {count} {of}prompts was not read ({towers_line(by_no_tower)}): "
            f"{_examples([entry.unread for entry in by_no_tower])}"
        )
    if by_some:
        count = len({entry.prompt for entry in by_some})
        parts.append(
            f"not every text encoder read the end of {count} {of}prompts "
            f"({towers_line(by_some)}): {_examples([entry.cut for entry in by_some])}"
        )
    return "; ".join(parts) or None


def towers_line(unread: Sequence[UnreadPrompt]) -> str:
    """Return how far each text encoder read, as in 'CLIP read the first 77 tokens, T5 all'."""
    readings: dict[str, PromptReading] = {}
    for entry in unread:
        for tower in entry.towers:
            if tower.unread or tower.tower not in readings:
                readings[tower.tower] = tower
    cut = {name: tower for name, tower in readings.items() if tower.unread}
    parts = []
    for name, tower in cut.items():
        part = "a part" if tower.limit is None else f"the first {tower.limit} tokens"
        parts.append(f"{name} read {part}")
    return ", ".join([*parts, *(f"{name} all" for name in readings if name not in cut)])


def _examples(ends: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(ends))
    shown = [
        f"'…{end if len(end) <= _WIDTH else end[:_WIDTH] + '…'}'"
        for end in distinct[:_NAMED]
    ]
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(shown) + more
