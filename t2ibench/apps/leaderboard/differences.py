"""Comparing the numbers that a submission claims with those that its evidence gives."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.results.schema import Results, TaskResult

_SHOWN = 5
# Ten times and more of what was seen between processors and versions of numpy and scipy, and one
# Monte Carlo draw that falls on the other side (leaderboard/README.md).
_RELATIVE, _ABSOLUTE, _OF_P = 1e-6, 1e-7, 2e-4
_P_VALUES = frozenset({"p", "p_holm", "p_bh"})
# What is compared of a task. The board shows every other part as the evidence gives it here:
# sentences, what is named among ties, and details, are nobody's claim.
_COMPARED = (
    "headline", "scores", "by", "by_encoder", "controls", "inconclusive", "excluded", "n_images",
    "n_prompts", "prompt_agreement", "treatment",
)  # fmt: skip
_SENTENCES = frozenset({"direction", "reason", "says"})


def differences(results: Results, recomputed: Mapping[str, TaskResult]) -> list[str]:
    """Numbers of a submission that do not follow from its evidence."""
    lines = []
    for name, task in results.tasks.items():
        claimed, computed = task.model_dump(mode="json"), recomputed[name].model_dump(mode="json")
        for part in _COMPARED:
            lines += [f"{name}: {one}" for one in _mismatches(claimed[part], computed[part], part)]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def _mismatches(claimed: Any, computed: Any, where: str) -> Iterator[str]:
    key = where.rpartition(".")[2]
    if key in _SENTENCES:
        return
    if key in {"contradicts", "inconclusive"}:
        # Which control contradicts is a sentence; that one does is a state.
        claimed, computed = bool(claimed), bool(computed)
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for inner in dict.fromkeys([*claimed, *computed]):
            yield from _mismatches(claimed.get(inner), computed.get(inner), f"{where}.{inner}")
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        for index, (left, right) in enumerate(zip(claimed, computed, strict=True)):
            yield from _mismatches(left, right, f"{where}[{index}]")
    elif not _same(claimed, computed, key):
        yield f"{where} says {_short(claimed)}, the evidence gives {_short(computed)}"


def _same(claimed: Any, computed: Any, key: str) -> bool:
    if isinstance(claimed, float) or isinstance(computed, float):
        if not isinstance(claimed, float | int) or not isinstance(computed, float | int):
            return False
        absolute = _OF_P if key in _P_VALUES else _ABSOLUTE
        return math.isclose(claimed, computed, rel_tol=_RELATIVE, abs_tol=absolute)
    return bool(claimed == computed)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
