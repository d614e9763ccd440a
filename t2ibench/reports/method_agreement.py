"""How far methods agree about the same items, as a table and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from t2ibench.reports.cells import level_name, signed
from t2ibench.reports.writers import Table
from t2ibench.results.method_agreement import MeasuredPair
from t2ibench.results.states import STATES
from t2ibench.stats.method_agreement import Correlation

NOTE = (
    "One attribute of the same items, seen by two methods. Rank and linear correlations are of the "
    "leans as measured: where both methods read the same images, they share the chance of which "
    "images were drawn. Without noise is the linear correlation of the leans with that chance and "
    "each method's own noise removed, at most 1. Reliability is the share of the differences "
    "between items that is not noise."
)
_UNSURE = STATES["cannot_tell"].word.capitalize()
_FULL = 0.995  # from which on it is shown as 1.00


def correlation(estimate: Correlation) -> str:
    """Return a correlation with its interval as text for a table.

    Without noise it may be estimated beyond 1, where no correlation is; it is shown within its
    interval.
    """
    if not math.isfinite(estimate.value):
        return "–"
    interval = (
        f" [{signed(estimate.low, 2)}, {signed(estimate.high, 2)}]"
        if math.isfinite(estimate.low)
        else ""
    )
    value = estimate.value
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        value = min(max(value, estimate.low), estimate.high)
    return f"{signed(value, 2)}{interval}"


def attribute(pair: MeasuredPair) -> str:
    """Return the two poles of the attribute that both methods measure, the positive one first."""
    return " / ".join(pair.first.attribute)


def in_words(pair: MeasuredPair) -> str:
    """Return one or two sentences on whether the two methods agree."""
    true = pair.agreement.true
    if pair.agreement.reason is not None:
        sentence = f"{_UNSURE}: {pair.agreement.reason}."
    elif true.high < 0:
        sentence = "They see opposite leans."
    elif true.low <= 0:
        sentence = f"{_UNSURE} whether they agree: the interval holds 0."
    elif true.high < _FULL:
        sentence = f"They agree, but not fully: at most {true.high:.2f}."
    else:
        sentence = "They agree; no difference beyond noise is shown."
    other = pair.nearest_other
    if (
        other is not None
        and abs(other.agreement.linear.value) >= pair.agreement.linear.value
    ):
        poles = " / ".join(other.second.attribute)
        sentence += f" Another attribute ({poles}) correlates as much."
    return sentence


def disagreements_text(pair: MeasuredPair) -> str:
    """Return as text the items on which two methods differ most, with each method's lean."""
    return ", ".join(
        f"{lean.name} ({signed(lean.value, 2)} and {signed(other.value, 2)})"
        for lean, other in pair.disagreements
    )


def attribute_of(other: MeasuredPair) -> str:
    """Return as text another attribute of the items, with the two methods that are compared."""
    return f"{' / '.join(other.second.attribute)} ({other.second.label}) beside {other.first.label}"


def reliability(pair: MeasuredPair) -> str:
    """Return the reliability of both methods as text; a dash if it is unknown."""
    return (
        " and ".join(signed(value, 2) for value in pair.agreement.reliability or ())
        or "–"
    )


def agreement_table(pairs: Sequence[MeasuredPair]) -> Table:
    """Return a table of the agreement between methods that measure the same attribute.

    Its records also contain pairs that measure different attributes.
    """
    rows = []
    for pair in pairs:
        agreement = pair.agreement
        other = pair.nearest_other
        most = "–"
        if other is not None:
            most = f"{correlation(other.agreement.linear)} {attribute_of(other)}"
        rows.append(
            [
                attribute(pair),
                pair.first.label,
                pair.second.label,
                str(agreement.n),
                correlation(agreement.rank),
                correlation(agreement.linear),
                correlation(agreement.true),
                reliability(pair),
                most,
                disagreements_text(pair),
                in_words(pair),
            ]
        )
    level = level_name(pair.first.settings.level for pair in pairs)
    heads = [
        "Attribute (+ / −)",
        "One method",
        "Other method",
        "Items",
        f"Rank, {level}",
        f"Linear, {level}",
        f"Without noise, {level}",
        "Reliability",
        "Most of another attribute",
        "Seen most differently",
        "In words",
    ]
    records = [
        _record(listed_pair, kind)
        for pair in pairs
        for kind, some in (("convergent", [pair]), ("discriminant", pair.others))
        for listed_pair in some
    ]
    return Table(heads, rows, [NOTE], records)


def _record(pair: MeasuredPair, kind: str) -> Mapping[str, object]:
    agreement = pair.agreement
    first = pair.first
    second = pair.second
    first_reliability, second_reliability = agreement.reliability or (None, None)
    return {
        "kind": kind,
        "task": first.task,
        "reader": first.reader,
        "attribute": attribute(pair),
        "other_task": second.task,
        "other_reader": second.reader,
        "other_attribute": " / ".join(second.attribute),
        "items": agreement.n,
        **_ends("rank", agreement.rank),
        **_ends("linear", agreement.linear),
        **_ends("without_noise", agreement.true),
        "reliability": first_reliability,
        "other_reliability": second_reliability,
        "reason": agreement.reason,
    }


def _ends(name: str, estimate: Correlation) -> dict[str, float | None]:
    numbers = {
        name: estimate.value,
        f"{name}_low": estimate.low,
        f"{name}_high": estimate.high,
    }
    return {
        key: value if math.isfinite(value) else None for key, value in numbers.items()
    }
