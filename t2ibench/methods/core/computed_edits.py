"""Edits that the benchmark makes itself, and that change nothing that anybody would see.

A task can have every source image saved again by them, as negative controls: what moves by them
moves by nothing that a model did. They are stored, embedded and judged like a model's edits.
"""

from __future__ import annotations

from typing import Literal

ComputedEdit = Literal["saved again", "resized"]

# The quality of the JPEG as which a source image is saved again. A stored image is known by its
# instruction, so another quality would be another edit.
JPEG_QUALITY = 75
# The instruction under which each is stored; no model gets it.
INSTRUCTIONS: dict[ComputedEdit, str] = {
    "saved again": f"(saved again as JPEG of quality {JPEG_QUALITY}, by the benchmark)",
    "resized": "(made smaller by a quarter and larger again, by the benchmark)",
}
_BY_INSTRUCTION = {text: name for name, text in INSTRUCTIONS.items()}


def computed_edit(instruction: str) -> ComputedEdit | None:
    """Return which edit the benchmark makes itself for an instruction; None for a model's.

    Examples:
        >>> computed_edit("(saved again as JPEG of quality 75, by the benchmark)")
        'saved again'
        >>> computed_edit("Make it rain.")
    """
    return _BY_INSTRUCTION.get(instruction)
