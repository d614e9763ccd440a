"""Claims about two runs: first whether they differ at all, then in which tests and rows.

A claim of a single test counts only where the runs differ at all. So two equal models get any
claim, of whichever test or row, in at most as many cases as the overall test errs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from t2ibench.results.score_difference import Difference, Verdict
from t2ibench.stats import holm


@dataclass(frozen=True, slots=True)
class OverallDifference:
    """The result of a single test of whether two runs differ in any of their headlines.

    Attributes:
        p: p-value that every test is alike in both runs.
        n_tests: Number of tests.
        n_differ: In how many of them the runs differ, after Holm's correction.
        differ: Whether p is below 1 - level.
    """

    p: float
    n_tests: int
    n_differ: int
    differ: bool


def overall_difference(differences: Sequence[Difference]) -> OverallDifference | None:
    """Return a single test of whether two runs differ at all; None if no headline is tested.

    The least p-value of all tests after Holm's correction, which holds whatever images the tests
    share. It needs no lean: a test that failed a check of its own counts, and so do counts of
    answers that give none.

    Args:
        differences: Those of `compare`; rows do not count.
    """
    tested = [
        difference
        for difference in differences
        if not difference.row and difference.p_differ is not None
    ]
    if not tested:
        return None
    alpha = 1 - tested[0].level
    p_values = [p for p in holm([test.p_differ for test in tested]) if p is not None]
    least = min(p_values)
    return OverallDifference(
        p=least,
        n_tests=len(tested),
        n_differ=sum(p < alpha for p in p_values),
        differ=least < alpha,
    )


def with_claims(differences: Sequence[Difference]) -> list[Difference]:
    """Return differences with corrected p-values, and the verdicts that follow from them.

    Holm's correction is over all headlines, and over the rows of each score of a task. No
    corrected p-value is below that of the overall test.
    """
    overall = overall_difference(differences)
    least = 0.0 if overall is None else overall.p
    corrected = list(differences)
    for indices in _families(differences):
        members = [differences[index] for index in indices]
        p_values = _corrected(members, lambda member: member.p, least)
        p_differ = _corrected(members, lambda member: member.p_differ, least)
        for position, index in enumerate(indices):
            corrected[index] = _claimed(
                replace(
                    members[position],
                    p_holm=p_values[position],
                    p_differ_holm=p_differ[position],
                )
            )
    return corrected


def _families(differences: Sequence[Difference]) -> list[list[int]]:
    """Return the indices of differences, in the families over which p-values are corrected."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, difference in enumerate(differences):
        family = (difference.task, difference.name) if difference.row else ("", "")
        families.setdefault(family, []).append(index)
    return list(families.values())


def _corrected(
    members: Sequence[Difference],
    p_of: Callable[[Difference], float | None],
    least: float,
) -> list[float | None]:
    """Return p-values after Holm's correction, with `least` in place of any below it."""
    p_values = holm([p_of(member) for member in members])
    return [None if p is None else max(p, least) for p in p_values]


def _claimed(difference: Difference) -> Difference:
    """Return a difference with its verdict, and with a note if neither run leans less."""
    if difference.verdict is None:
        return difference
    verdict = _verdict(difference)
    notes = difference.notes
    if verdict not in {"first", "second"}:
        alpha = 1 - difference.level
        if difference.p is not None and difference.p < alpha:
            notes = (*notes, f"p = {difference.p:.2g} before correction")
        elif difference.detectable is not None:
            notes = (*notes, _note_on_size(difference.detectable, difference))
    return replace(difference, verdict=verdict, notes=notes)


def _verdict(difference: Difference) -> Verdict:
    alpha = 1 - difference.level
    change = difference.change
    if difference.p_holm is not None and difference.p_holm < alpha and change:
        return "first" if _is_above(change.low, change.high) else "second"
    differs = difference.p_differ_holm
    return "opposite" if differs is not None and differs < alpha else "tie"


def _is_above(low: float | None, high: float | None) -> bool:
    """Return whether all of an interval lies above 0."""
    return low is not None and low > 0 and high is not None


def _note_on_size(detectable: float, difference: Difference) -> str:
    """Return a note on how large a difference would have to be to be detected."""
    largest = 1.0 if difference.is_square else 2.0
    if detectable > largest:
        return "with so many images, no difference is told in 8 of 10 cases"
    return (
        f"with so many images, a difference below {detectable:.2f} is told in fewer than 8 of 10 "
        "cases before correction"
    )
