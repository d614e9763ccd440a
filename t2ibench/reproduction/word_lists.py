"""Lists of words as a paper prints them, beside those of the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from t2ibench.reproduction.paper import Material
from t2ibench.reproduction.tables import Line

_NAMED = 6  # words that a note names at most


def word_lines(material: Material, ours: Mapping[str, Sequence[str]]) -> list[Line]:
    """Printed lists of words, and how ours differ."""
    lines = []
    for name in material.exhibit.published[material.exhibit.models[0]]:
        known = material.published(name, "words")
        mine = ours.get(name)
        if mine is None:
            lines.append(Line(name, "words", None, known, note="not measured"))
            continue
        lines.append(Line(name, "words", difference(str(known[0]).split(", "), mine), known))
    return lines


def difference(printed: Sequence[str], ours: Sequence[str]) -> str:
    """What two lists of words do not share; case and order do not matter.

    Examples:
        >>> difference(["rose", "Tulip"], ["tulip", "rose"])
        'as printed'
        >>> difference(["rose", "tulip"], ["tulip", "iris"])
        'without rose; with iris'
    """
    left = [word for word in printed if word.casefold() not in {one.casefold() for one in ours}]
    new = [word for word in ours if word.casefold() not in {one.casefold() for one in printed}]
    parts = [
        f"{kind} {_listed(words)}" for kind, words in (("without", left), ("with", new)) if words
    ]
    return "; ".join(parts) or "as printed"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
