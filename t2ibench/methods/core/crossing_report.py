"""What the details of a result say of a crossing of attributes: its tests, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

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
