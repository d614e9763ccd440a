"""What the details of a result say of a crossing of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.estimate import Item
from t2ibench.stats import holm

_PREFIX = "interaction:"


@dataclass(frozen=True, slots=True)
class CrossingTest:
    """A test that two or three attributes are independent."""

    name: str  # such as 'interaction:gender x age', or what else is tested
    p: float | None  # p-value; None with a reason
    p_holm: float | None  # adjusted over the tests of the crossing
    reason: str | None = None  # why there is no p-value

    @property
    def of(self) -> str:
        """What is tested, such as 'gender x age'."""
        return self.name.removeprefix(_PREFIX)


@dataclass(frozen=True, slots=True)
class CrossingReport:
    """The tests of one crossing."""

    crossing: str  # its name, such as 'gender x age'
    tests: tuple[CrossingTest, ...] = ()  # its tests; none where there is a reason
    reason: str | None = None  # why there are none
    # images that every attribute is known of; None where that is not counted
    images: int | None = None


_REPORTS = TypeAdapter(tuple[CrossingReport, ...])


def crossing_reports(details: Mapping[str, Any]) -> tuple[CrossingReport, ...]:
    """The crossings of a result."""
    try:
        return _REPORTS.validate_python(details.get("crossings", ()))
    except ValidationError:
        return ()


def standing_out(cells: Sequence[Item]) -> dict[str, Any]:
    """The combinations that are most more, and most less, frequent than their parts make them."""
    rows = []
    adjusted = holm([item.scores["excess"].p for item in cells])
    for item, p in zip(cells, adjusted, strict=True):
        excess = item.scores["excess"]
        low, high = excess.interval or (None, None)
        share = item.scores["joint_share"].value
        row = {"cell": item.name, "share": share, "excess": excess.value, "p_holm": p}
        rows.append({**row, "low": low, "high": high})
    ordered = sorted(rows, key=lambda row: float(row["excess"] or 0.0))
    return {"most_over": ordered[-1], "most_under": ordered[0]}
