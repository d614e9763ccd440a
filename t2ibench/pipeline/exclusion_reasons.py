"""Reasons for excluded images, as short lines for results.json."""

from __future__ import annotations

from collections import Counter

from t2ibench.store.images import Attempt

_REASONS = 3  # of each status that results.json keeps
_LONGEST_REASON = 200  # characters


def reason_line(attempt: Attempt) -> str:
    """Return the reason for an excluded image as one short line; it may be a server's text."""
    line = " ".join((attempt.reason or "unknown").split())
    if len(line) <= _LONGEST_REASON:
        return line
    return f"{line[: _LONGEST_REASON - 1]}…"


def most_frequent(reasons: Counter[str]) -> dict[str, int]:
    """Return the most frequent reasons with their numbers of images, the most frequent first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:_REASONS])
