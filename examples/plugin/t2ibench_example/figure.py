"""A figure of its own: every image of a prompt as a box, bright or dark.

`ToneStrips` are its settings, which the method gives; `drawing.py` draws it. The entry point joins
them: its name is the full name of the class, so two packages never have the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from t2ibench.plugins import Axis, Presentation

if TYPE_CHECKING:
    from t2ibench_example.method import ToneTask


@dataclass(frozen=True, slots=True)
class ToneStrips:
    """Has the members of `t2ibench.plugins.Figure`, and whatever else its drawing needs.

    Attributes:
        title: The heading of the figure.
        caption: How to read it.
        prompts: The prompts, one strip each.
        source: The publication that it follows; empty for none.
    """

    title: str
    caption: str
    prompts: tuple[str, ...]
    source: str = ""


def present(task: ToneTask) -> Presentation:
    """How pages show a result: its short name, the poles of its axis, and the figure."""
    strips = ToneStrips(
        title="Bright and dark images",
        caption="A box for each image that was answered about: open if bright, filled if dark.",
        prompts=(task.first, task.second),
    )
    return Presentation(
        task.title,
        axis=Axis(f"darker: {task.first}", f"brighter: {task.first}"),
        figures=(strips,),
    )
