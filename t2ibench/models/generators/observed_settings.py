"""Effective settings that are observed image by image, and so differ from process to process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What a server says that images really got, by setting: each value that occurred.
BECAME = "became"
# What source images were sent as, by fact: each value that occurred, up to a number of them.
SENT = "sources_sent"
_MOST_VALUES = 20
# Whether a sampler that adds noise gives the same image for the same prompt and seed.
EQUAL_SEEDS = "equal_seeds"
SAME_IMAGE = "the same image"
ANOTHER_IMAGE = "another image"


def with_earlier(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return effective settings of now, with what earlier or other processes observed.

    However many processes generated a run's images, and in whatever order, the result is the same.

    Examples:
        >>> first = {"seed": "none", "became": {"size": ["512x512"]}}
        >>> second = {"seed": "none", "became": {"size": ["256x256"], "quality": ["low"]}}
        >>> with_earlier(first, second)["became"]
        {'quality': ['low'], 'size': ['256x256', '512x512']}
    """
    merged = dict(now)
    for name in (BECAME, SENT):
        values = _united(earlier.get(name, {}), now.get(name, {}))
        if values:
            merged[name] = values if name == BECAME else first_values(values)
    recorded = earlier.get(EQUAL_SEEDS)
    if recorded is not None and ANOTHER_IMAGE not in str(now.get(EQUAL_SEEDS, "")):
        merged[EQUAL_SEEDS] = recorded
    return merged


def note(values: dict[str, list[Any]], observed: Mapping[str, Any]) -> None:
    """Add what was observed now to the values of each name, without repeats."""
    for name, value in observed.items():
        noted = values.setdefault(name, [])
        if value not in noted:
            noted.append(value)


def first_values(values: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the first values of each name in their order, of which there may be thousands."""
    return {name: sorted(each)[:_MOST_VALUES] for name, each in values.items()}


def _united(
    first: Mapping[str, list[str]], second: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Return the values of each setting in either of two observations, all sorted."""
    names = sorted(first.keys() | second.keys())
    return {
        name: sorted({*first.get(name, ()), *second.get(name, ())}) for name in names
    }
