"""What a task goes without: prompts that have no image, and images that are no evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from t2ibench.models.rewritten_generator import NOT_REWRITTEN
from t2ibench.pipeline.stored_evidence import Images

_REASONS = 3  # of each status are kept in results.json


def lost(counts: Mapping[str, int], images: Images) -> tuple[list[str], dict[str, dict[str, int]]]:
    """The prompts of a task without any image, and why images of it were excluded, by status.

    A prompt whose images the model refused, or a filter took, is not missing: that is what the
    model does with it.
    """
    missing: list[str] = []
    reasons: dict[str, Counter[str]] = {}
    for prompt, count in counts.items():
        attempts = [images.get(prompt, index) for index in range(count)]
        if all(attempt is None or attempt.status == "failed" for attempt in attempts):
            missing.append(prompt)
        for attempt in attempts:
            if attempt is not None and attempt.status != "ok":
                of = reasons.setdefault(attempt.status, Counter())
                of[shortened(attempt.reason or "unknown")] += 1
    because = {
        status: dict(sorted(of.items(), key=lambda item: (-item[1], item[0]))[:_REASONS])
        for status, of in sorted(reasons.items())
    }
    return sorted(missing), because


def all_failed(attempts: Counter[str], lost: Counter[tuple[str, str]]) -> int:
    """How many images failed, where none of those that were tried did anything else."""
    unasked = sum(
        count
        for (status, reason), count in lost.items()
        if status == "failed" and reason.startswith(NOT_REWRITTEN)
    )
    failed = attempts["failed"] - unasked
    return failed if failed == attempts.total() - unasked else 0


def shortened(reason: str) -> str:
    """A reason as one line; it may come from a server."""
    line = " ".join(reason.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
