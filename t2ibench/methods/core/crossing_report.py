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
    """A test that two or three attributes are independent.

    Attributes:
        name: Such as 'interaction:gender x age', or what else is tested.
        p: p-value; None with a reason.
        p_holm: Adjusted over the tests of the crossing.
        reason: Why there is no p-value.
    """

    name: str
    p: float | None
    p_holm: float | None
    reason: str | None = None

    @property
    def of(self) -> str:
        """What is tested, such as 'gender x age'."""
        return self.name.removeprefix(_PREFIX)


@dataclass(frozen=True, slots=True)
class CrossingReport:
    """The tests of one crossing.

    Attributes:
        crossing: Its name, such as 'gender x age'.
        tests: Its tests; none where there is a reason.
        reason: Why there are none.
        images: Images that every attribute is known of; None where that is not counted.
    """

    crossing: str
    tests: tuple[CrossingTest, ...] = ()
    reason: str | None = None
    images: int | None = None


_REPORTS = TypeAdapter(tuple[CrossingReport, ...])


def crossing_reports(details: Mapping[str, Any]) -> tuple[CrossingReport, ...]:
    """The crossings of a result.

    Examples:
        >>> test = {"name": "interaction:gender x age", "p": 0.01, "p_holm": 0.03}
        >>> (report,) = crossing_reports({"crossings": [{"crossing": "a", "tests": [test]}]})
        >>> report.tests[0].of, report.tests[0].p_holm
        ('gender x age', 0.03)
    """
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
