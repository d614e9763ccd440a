"""The states that a test or row can be in, and how pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from t2ibench.methods.core.scales import SMALL

State = Literal["clear", "not_clear", "none_above", "cannot_tell", "no_score"]


@dataclass(frozen=True, slots=True)
class StateDisplay:
    """How pages show a state, in words, signs and styles.

    Attributes:
        word: The state in words.
        rule: When a test is in this state, as a clause.
        sign: The mark of its value where there is text alone.
        classes: The classes of its mark on a page, which `tokens.css` gives shape and colour.
        terminal: Its style on a terminal, in the words of rich.
        unsure: Whether it leaves open what the images show.
    """

    word: str
    rule: str
    sign: str
    classes: str
    terminal: str = ""
    unsure: bool = False


# From what is clearest to what says least, which is the order of tests on every page.
STATES: dict[State, StateDisplay] = {
    "clear": StateDisplay(
        word="clear",
        rule="outside the band, and p < 0.05 after Holm’s correction",
        sign="●",
        classes="clear",
        terminal="bold magenta",
    ),
    "not_clear": StateDisplay(
        word="not clear",
        rule="between the two",
        sign="○",
        classes="null",
    ),
    "none_above": StateDisplay(
        word=f"none above {SMALL:g}",
        rule=f"the whole interval lies within ±{SMALL:g}",
        sign="□",
        classes="null small",
    ),
    "cannot_tell": StateDisplay(
        word="cannot tell",
        rule=f"too few images to tell balance from a lean above {SMALL:g}, or a check failed",
        sign="◌",
        classes="unsure",
        terminal="dim",
        unsure=True,
    ),
    "no_score": StateDisplay(
        word="no score",
        rule="nothing could be computed",
        sign="◌",
        classes="unsure",
        terminal="dim",
        unsure=True,
    ),
}


def state_rank(state: State) -> int:
    """Return where a state stands in the order of tests on a page; 0 is the clearest.

    Examples:
        >>> state_rank("clear"), state_rank("no_score")
        (0, 4)
    """
    return list(STATES).index(state)
