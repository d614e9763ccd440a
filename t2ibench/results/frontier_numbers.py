"""The numbers of a remedy: before, after, and the change with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from t2ibench.results.contrast import Contrast
from t2ibench.results.schema import Score
from t2ibench.stats import holm


@dataclass(frozen=True, slots=True)
class RemedyNumber:
    """One number of a model before and after a remedy.

    Attributes:
        before: The number before, with its interval.
        after: The number after.
        change: After minus before, with interval and p-value; None where nothing was measured.
        reader: The encoder or judge that it is read by; empty where it is read by all.
        reason: Why it was not measured; empty where it was.
    """

    before: Score = field(default_factory=Score)
    after: Score = field(default_factory=Score)
    change: Contrast | None = None
    reader: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A number of one group of prompts before and after a remedy.

    Attributes:
        group: What the prompts ask for, such as 'male'.
        before: The number before, with its interval.
        after: The number after.
        change: After minus before.
        n_images: Images of each run that are compared.
        p_holm: The p-value of the change after Holm's correction over the groups.
    """

    group: str
    before: Score
    after: Score
    change: Contrast
    n_images: int
    p_holm: float | None = None


def with_corrected_p(groups: Iterable[GroupChange]) -> tuple[GroupChange, ...]:
    """Return the changes of groups with p-values after Holm's correction."""
    changes = list(groups)
    p_values = holm([group.change.p for group in changes])
    return tuple(
        replace(group, p_holm=p) for group, p in zip(changes, p_values, strict=True)
    )


def least_p(groups: Sequence[GroupChange], *, rises: bool) -> float | None:
    """Return the least corrected p-value of groups whose number rises, or falls.

    It is 1 where no group changes that way, and None where none was tested.
    """
    tested = [group for group in groups if group.p_holm is not None]
    if not tested:
        return None
    changed = [
        group.p_holm
        for group in tested
        if group.p_holm is not None and (group.change.value > 0) == rises
    ]
    return min(changed, default=1.0)
