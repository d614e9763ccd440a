"""Comparing the scores that a submission claims with those that its evidence gives."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.methods.core.influence import Influence
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results, TaskResult

_SHOWN = 5
# Processors round sums differently, and a draw on the border then counts on the other side.
_RELATIVE, _ABSOLUTE = 1e-3, 2e-4


def differences(results: Results, recomputed: Mapping[str, TaskResult]) -> list[str]:
    """Scores of a submission that do not follow from its evidence.

    Args:
        results: What the submission claims.
        recomputed: Task id to its result, computed again.

    Returns:
        A line for each of the first differences, and one that counts the others.
    """
    lines = []
    for name, task in results.tasks.items():
        claimed, computed = task.model_dump(mode="json"), recomputed[name].model_dump(mode="json")
        lines += [f"{name}: {line}" for line in _mismatches(claimed, computed, "")]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def influence_differences(
    claimed: Mapping[str, PairedTask], computed: Mapping[str, PairedTask]
) -> Iterator[str]:
    """Influences of a submission that do not follow from its evidence.

    Args:
        claimed: Task id to what the submission holds.
        computed: Task id to the influences on its headline, computed again.

    Yields:
        A line for each task that differs.
    """
    for name in sorted(claimed.keys() | computed.keys()):
        packed, recomputed = claimed.get(name), computed.get(name)
        if packed is None or recomputed is None or not _same_task(packed, recomputed):
            yield f"{name}: its influences do not follow from the evidence"


def sample_differences(
    name: str, claimed: Sequence[Mapping[str, Any]], computed: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Sample rows of a submission that do not follow from its evidence.

    Args:
        name: The file, for the message.
        claimed: Its rows.
        computed: The rows, computed again.

    Yields:
        A line for the first difference.
    """
    if len(claimed) != len(computed):
        yield f"{name} has {len(claimed)} rows, the evidence gives {len(computed)}"
        return
    for number, (left, right) in enumerate(zip(claimed, computed, strict=True), start=1):
        for line in _mismatches(dict(left), dict(right), ""):
            yield f"{name}:{number}: {line}"
            return


def _same_task(one: PairedTask, other: PairedTask) -> bool:
    if (one.scale, one.question) != (other.scale, other.question) or one.rows or one.agreement:
        return False
    return len(one.headline) == len(other.headline) and all(
        left.name == right.name
        and math.isclose(left.value, right.value, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
        and _same_influence(left.influence, right.influence)
        for left, right in zip(one.headline, other.headline, strict=True)
    )


def _same_influence(one: Influence, other: Influence) -> bool:
    """Whether two influences are of the same units and, rounding aside, equal."""
    left, right = (Influence.combined([(1.0, part)]) for part in (one, other))
    if len(left.value) != len(right.value):
        return False
    spread = math.sqrt(right.variance) if math.isfinite(right.variance) else 0.0
    return bool(
        _names(left) == _names(right)
        and np.array_equal(left.unit, right.unit)
        and np.allclose(
            left.value, right.value, rtol=_RELATIVE, atol=_RELATIVE * spread, equal_nan=True
        )
    )


def _names(influence: Influence) -> list[str]:
    """The stratum of each unit."""
    return [influence.strata[number] for number in influence.stratum]


def _mismatches(claimed: Any, computed: Any, where: str) -> Iterator[str]:
    if where == "prompt_agreement" and not claimed:
        return  # packed before it was measured
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for key in dict.fromkeys([*claimed, *computed]):
            yield from _mismatches(
                claimed.get(key), computed.get(key), f"{where}.{key}" if where else key
            )
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        for index, (left, right) in enumerate(zip(claimed, computed, strict=True)):
            yield from _mismatches(left, right, f"{where}[{index}]")
    elif claimed is None and where.endswith(".direction"):
        return  # packed before results had a sentence
    elif not _same(claimed, computed, where):
        yield f"{where} says {_short(claimed)}, the evidence gives {_short(computed)}"


def _same(claimed: Any, computed: Any, where: str) -> bool:
    if isinstance(claimed, int) and isinstance(computed, int):
        # Counts are exact; ranks, in the details, may change by one.
        return abs(claimed - computed) <= (1 if where.startswith("details.ranking") else 0)
    if isinstance(claimed, float | int) and isinstance(computed, float | int):
        return math.isclose(claimed, computed, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return bool(claimed == computed)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
