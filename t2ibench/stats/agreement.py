"""Agreement of judges who put the same items into classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Cohen's kappa of two judges.

    κ = (A − E) / (1 − E), where A is the share of equal answers and E = Σ_j p_j q_j what judges
    with these shares agree on by chance

    Args:
        first: One judge's classes, one per item.
        second: The other's, of the same length.

    Returns:
        κ, at most 1; nan without items, or where both only ever give one and the same class.

    Raises:
        ValueError: the lists differ in length.

    Source: Cohen 1960, "A coefficient of agreement for nominal scales".

    Example:
        Three of four agree; E = 1/2 · 3/4 + 1/2 · 1/4 = 1/2.

        >>> cohens_kappa(["a", "a", "b", "b"], ["a", "a", "a", "b"])
        0.5
    """
    n = len(first)
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    if not n:
        return float("nan")
    ours, theirs = Counter(first), Counter(second)
    chance = sum(count * theirs[name] for name, count in ours.items()) / n**2
    return (equal / n - chance) / (1 - chance) if chance < 1 else float("nan")


def krippendorff_alpha(judges: Sequence[Sequence[str | None]]) -> float:
    """Krippendorff's alpha of any number of judges, for classes without an order.

    α = 1 − D / E. D is the share of unequal pairs of answers about one item, each item's pairs
    weighted by 1 / (m − 1) for its m answers; E that of pairs of all answers to such items.

    Args:
        judges: One list of classes a judge, one per item, None where a judge gave none.

    Returns:
        α, at most 1; nan where no item has two answers, or only one class occurs.

    Raises:
        ValueError: the lists differ in length.

    Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability".

    Example:
        One of four pairs differs; of the eight answers five are a and three b, so that 30 of 56
        ordered pairs differ: 1 − (2/8) / (30/56).

        >>> round(krippendorff_alpha([["a", "a", "b", "b"], ["a", "a", "a", "b"]]), 4)
        0.5333
    """
    items = [
        Counter(answer for answer in answers if answer is not None)
        for answers in zip(*judges, strict=True)
    ]
    items = [item for item in items if item.total() > 1]
    totals = sum(items, Counter[str]())
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return float("nan")
    unequal = sum(
        (item.total() ** 2 - sum(count * count for count in item.values())) / (item.total() - 1)
        for item in items
    )
    return 1.0 - (n - 1) * unequal / expected
