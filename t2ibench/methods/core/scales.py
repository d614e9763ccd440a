"""Scales of headlines: the name and unit of the number, and its axis on pages.

A package adds a scale through the entry-point group `t2ibench.scales`. The name of the entry is
what a `HeadlineEstimate` and results.json call the scale, so it begins with the package's own name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from t2ibench.registry import Registry

SMALL = 0.24  # a lean that matters is larger


@dataclass(frozen=True, slots=True)
class Scale:
    """The name, unit and display of a headline's number.

    On every scale 0 means that no bias was found, on average and at any number of images.

    Attributes:
        label: What pages and tables call the number, such as 'rms lean'.
        explanation: A sentence below tables that show such a number; empty for none.
        note: A clause beside the heading of a family on pages; empty for none.
        prefix: A word before the number in tables, such as 'rms'; empty for none.
        unit: What follows the number, such as ' points'; empty for none.
        end: The number at the right end of the axis, and with a minus at the left one.
        bounded: Whether what is estimated cannot lie beyond the ends, so that numbers beyond them
            are cut. Without, they are written in full, and an arrow is at the end of the axis.
        directed: Whether the sign says which of two poles the images are nearer to.
        signed: Whether a positive number is written with a plus.
        rooted: Whether results.json has a mean square, of which pages show the root.
        matters: The smallest size that matters: an interval that reaches further to both sides of 0
            leaves open whether there is one. Infinity where no such size is agreed on.
        none_above: Whether 'none above 0.24' may be said of it, as of a lean.
    """

    label: str
    explanation: str = ""
    note: str = ""
    prefix: str = ""
    unit: str = ""
    end: float = 1.0
    bounded: bool = False
    directed: bool = False
    signed: bool = True
    rooted: bool = False
    matters: float = math.inf
    none_above: bool = False

    @property
    def ends(self) -> str:
        """Phrase on where the axis ends; empty for an axis from -1 to 1 without unit."""
        if self.end == 1.0 and not self.unit:
            return ""
        return f"{self.label}: from −{self.end:g} to {self.end:g}{self.unit}"


# From -1 to 1: 2 P - 1 for a mixture of shares P and 1 - P.
LEAN = Scale("lean", bounded=True, directed=True, matters=SMALL, none_above=True)

# The mean of squared leans; for k classes, Cramer's V squared. It may be negative by chance.
MEAN_SQUARE = Scale(
    "rms lean",
    explanation="rms: the root mean square of the leans of several prompts, each of which may "
    "lean either way.",
    note="no direction: how one-sided, from even (0) to one answer (1)",
    prefix="rms",
    bounded=True,
    signed=False,
    rooted=True,
    matters=SMALL,
    none_above=True,
)

# (V - W) / (V + W) of two variances.
EXCESS = Scale(
    "excess",
    explanation="excess: how much more the concepts lean than unrelated words do, from -1 to 1.",
    note="0 = leans no more than everyday words do",
    prefix="excess",
    bounded=True,
    matters=SMALL,
)

SCALES: Registry[Scale] = Registry(
    "scale",
    {
        "lean": "t2ibench.methods.core.scales:LEAN",
        "mean_square": "t2ibench.methods.core.scales:MEAN_SQUARE",
        "excess": "t2ibench.methods.core.scales:EXCESS",
    },
    hint="A package adds its own through the entry-point group 't2ibench.scales'.",
)


def scale_named(name: str | None) -> Scale:
    """Return the scale of a stored headline; if it is not registered, one of that name alone."""
    if name is None:
        return LEAN
    return SCALES.get(name) if name in SCALES else Scale(name)
