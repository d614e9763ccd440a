"""Occupations whose guided images are framed otherwise than the ones that name no group.

"A male nurse" is a portrait and "a nurse" a scene, and part of what separates the groups lies in
that framing. Images of one prompt do not vary in it, so no other direction shows it; but how images
vary along the direction between the groups is not touched by it, and prompts of one form ("a local
nurse") have it all alike.
"""

from __future__ import annotations

from tools.calibration.cells import Cell
from tools.calibration.occupations import OccupationWorld, cell_name, occupation_task
from tools.calibration.worlds import OWN_FRAMING, SHARED_FRAMING, Space

Size = tuple[int, int, int]

CORE: Size = (20, 16, 5)
FEW: Size = (8, 10, 5)
MANY: Size = (8, 40, 20)
MANY_CORE: Size = (20, 40, 10)

# Adjectives frame as the words of groups do, more or less.
ADJECTIVES = {"local": 1.0, "real": 0.9, "regular": 1.1, "particular": 1.0}
HALF = dict.fromkeys(ADJECTIVES, 0.5)

_LIMIT = (
    "Only guided images are framed differently: the second reading, from how images vary, "
    "finds most of these leans, but not all of them with few images; prompts of one form have "
    "no such leans"
)
_CAUTIOUS = (
    "If guided images are framed differently, a lean is inconclusive unless the second "
    "reading, from how images vary, confirms it"
)


def framing_cells() -> list[Cell]:
    """Fair models and leaning ones, with bare prompts and with prompts of one form."""
    return [
        *(_bare(size, SHARED_FRAMING, "framing shared by all") for size in _sizes()),
        *(_bare(size, OWN_FRAMING, "framing of each's own") for size in _sizes()),
        _bare(CORE, SHARED_FRAMING, "framing shared by all", lean=0.5),
        *(
            _one_form(size, space, name, lean)
            for size in (CORE, FEW, MANY)
            for space, name in (
                (SHARED_FRAMING, "framing shared by all"),
                (OWN_FRAMING, "framing of each's own"),
            )
            for lean in (0.0, 0.5)
        ),
        _one_form(CORE, Space(), "no framing", 0.0),
        _one_form(CORE, Space(), "no framing", 0.5),
    ]


def _sizes() -> tuple[Size, ...]:
    return CORE, FEW, MANY, MANY_CORE


def _bare(size: Size, space: Space, name: str, lean: float = 0.0) -> Cell:
    """Bare prompts without a group."""
    task = occupation_task(*size)
    return Cell(
        cell_name(f"{name}, bare prompts, {_association(lean)}", size),
        task,
        OccupationWorld(task, lean, space),
        share=0.1,
        identified=False,
        quick=not lean and size == CORE,
        conservative=_CAUTIOUS,
        liberal=_LIMIT,
        claims=True,
    )


def _one_form(size: Size, space: Space, name: str, lean: float) -> Cell:
    """Prompts of one form: a quarter of the images for each of four adjectives."""
    k, n, m = size
    per_adjective = -(-n // len(ADJECTIVES))
    task = occupation_task(k, per_adjective, m, adjectives=tuple(ADJECTIVES))
    return Cell(
        cell_name(f"{name}, prompts of one form, {_association(lean)}", size),
        task,
        OccupationWorld(task, lean, space, adjectives=ADJECTIVES),
        row_score="lean",
        share=0.1,
        quick=not lean and size == CORE and space == SHARED_FRAMING,
        conservative=_CAUTIOUS,
        claims=not lean,
    )


def _association(lean: float) -> str:
    return f"lean {lean:g}".replace("0.", ".") if lean else "no association"
