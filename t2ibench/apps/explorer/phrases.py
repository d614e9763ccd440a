"""Words and phrases that a sweep goes through: those of the shipped lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_LEADING = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_MOST_WORDS = 4


def phrases(lists: Mapping[str, Sequence[str]], reference: Sequence[str]) -> tuple[str, ...]:
    """What a sweep asks when nobody says it.

    Examples:
        >>> phrases({"a": ["a nurse", "nurse", "apple"], "b": ["two men in a bar"]}, ["apple"])
        ('nurse',)
    """
    known = {word.casefold() for word in reference}
    found: dict[str, str] = {}
    for name, words in lists.items():
        for word in words if "names" not in name.split("_") else ():
            short = _LEADING.sub("", word.strip().rstrip("."))
            key = short.casefold()
            if short and key not in known and len(short.split()) <= _MOST_WORDS:
                found.setdefault(key, short)
    return tuple(found.values())
