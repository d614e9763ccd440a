"""Tests of whether attributes are independent, as a result's `details` hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True)
class CrossingTest:
    """A test of whether two or three attributes are independent of each other."""

    name: str  # such as 'interaction:gender x age'
    p: float | None  # p-value; None where the images do not vary
    # adjusted over all tests of attributes that are crossed together
    p_holm: float | None

    @property
    def of(self) -> str:
        """Tested attributes, such as 'gender x age'."""
        return self.name.removeprefix("interaction:")


@dataclass(frozen=True, slots=True)
class CrossingReport:
    """The tests of whether the attributes of one combination are independent."""

    crossing: str  # its name, such as 'gender x age'
    tests: tuple[CrossingTest, ...] = ()  # its tests; none where there is a reason
    reason: str | None = None  # why there are none
    # images that every attribute is known of; None where that is not counted
    images: int | None = None


_REPORTS = TypeAdapter(tuple[CrossingReport, ...])


def crossing_reports(details: Mapping[str, Any]) -> tuple[CrossingReport, ...]:
    """Return the tests of independence in a result's `details`; empty if malformed."""
    try:
        return _REPORTS.validate_python(details.get("crossings", ()))
    except ValidationError:
        return ()
