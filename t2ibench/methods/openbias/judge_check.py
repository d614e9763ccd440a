"""Shares corrected by the errors that a check by people found on other images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.judge_check import CHECKED, AttributeCheck
from t2ibench.methods.openbias.answers import Checked
from t2ibench.methods.openbias.schema import Bias

_SEVERAL = "a check corrects shares of two classes; label images of the run itself"


def check_of(evidence: Evidence, bias: Bias) -> AttributeCheck | None:
    """What a check of the judge says of a bias: of its attribute, with its very classes."""
    check = evidence.judge_check() if isinstance(evidence, Checked) else None
    return None if check is None else check.about(bias.name, bias.classes)


def corrected_items(items: Sequence[Item], check: AttributeCheck) -> list[Item]:
    """Rows with the share of each class as people would have answered (Rogan and Gladen 1978).

    Their intervals have the uncertainty of the errors and of the share. Only where the verdict of
    the check is to correct.
    """
    if check.verdict != "use corrected":
        return list(items)
    return [replace(item, scores={**item.scores, **_corrected(item, check)}) for item in items]


def _corrected(item: Item, check: AttributeCheck) -> dict[str, Estimate]:
    errors = {one.name: one.errors for one in check.classes}
    found = {}
    for name, share in item.scores.items():
        score, _, group = name.partition(":")
        if score != "share" or share.value is None or share.interval is None:
            continue
        if len(errors) > 2:
            found[f"share_corrected:{group}"] = Estimate.undefined(_SEVERAL)
            continue
        true = errors[group.casefold()].corrected(share.value, *share.interval)
        found[f"share_corrected:{group}"] = Estimate(true.value, interval=(true.low, true.high))
    return found


def check_details(checks: Sequence[tuple[Bias, AttributeCheck]]) -> dict[str, Any]:
    """What a result keeps of the checks, for those who read it."""
    if not checks:
        return {}
    rows = [
        {
            "bias": bias.full_name, "verdict": check.verdict, "reason": check.reason,
            "images": check.images,
        }
        for bias, check in checks
    ]  # fmt: skip
    return {CHECKED: rows}
