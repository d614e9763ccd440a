"""Runs of characters in a text that may be bytes in hexadecimal digits or Base64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

# Marks that are common between pairs of hexadecimal digits, and before one.
_MARKS = r"[\s:,.-]{0,2}"
_PREFIXES = (r"\x", "0x")
# What Base64 is written with, in either alphabet and on several lines.
_LETTER = r"[A-Za-z0-9+/_=\r\n-]"
# The same as a URL or a text within a text writes it.
_ESCAPED = re.compile(r"%(?:2[bBfF]|3[dD])|\\[rn]")
# Fewer pairs, or letters, are not looked at.
_FEWEST_PAIRS, _FEWEST_LETTERS = 6, 8


def encoded_runs(text: str, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield where the runs begin and end that are long enough, in order; two may overlap.

    Args:
        text: The text.
        shortest: How many characters a run must be able to encode.
    """
    pairs, letters = _expressions(shortest)
    # Of the same length, so that places stay what they are.
    plain = _ESCAPED.sub(lambda escaped: "=" * len(escaped.group()), text)
    runs = [match.span() for match in letters.finditer(plain)]
    for match in pairs.finditer(text):
        start, end = match.span()
        has_prefix = text[max(0, start - 2) : start] in _PREFIXES
        runs.append((start - 2 if has_prefix else start, end))
    yield from sorted(runs)


@lru_cache(maxsize=64)
def _expressions(shortest: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches hexadecimal digits and Base64 of at least so many characters.

    Both begin with a set of characters, for which Python searches at once.
    """
    n_pairs = max(_FEWEST_PAIRS, shortest)
    pair = "[0-9a-fA-F][0-9a-fA-F]"
    more = rf"(?:{_MARKS}(?:0x|\\x)?{pair}){{{n_pairs - 1},}}"
    # Three bytes are four letters; those at both ends may belong to what is around a secret.
    n_letters = max(_FEWEST_LETTERS, shortest * 4 // 3 - 2)
    return (
        re.compile(f"{pair}{more}{_MARKS}"),
        re.compile(f"{_LETTER}{{{n_letters},}}"),
    )
