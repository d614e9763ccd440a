"""Several tests of one thing, each with its name, corrected together for their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from t2ibench.stats import holm

NameT = TypeVar("NameT", bound=str)


@dataclass(frozen=True, slots=True)
class NamedTest(Generic[NameT]):
    """A test that is clear or is not, with its p-values.

    Attributes:
        name: What is tested.
        p: Its p-value; None where it was not tested.
        p_holm: The same after Holm's correction over the tests that it was made with.
        clear: Whether that is below 1 − level.
    """

    name: NameT
    p: float | None
    p_holm: float | None = None
    clear: bool = False


def corrected_tests(
    p_values: Mapping[NameT, float | None], level: float
) -> tuple[NamedTest[NameT], ...]:
    """Return tests with p-values after Holm's correction over them, keyed by name as given."""
    corrected = holm(list(p_values.values()))
    return tuple(
        NamedTest(name, p, p_holm, p_holm is not None and p_holm < 1 - level)
        for (name, p), p_holm in zip(p_values.items(), corrected, strict=True)
    )
