"""What a WEAT is held against: too few words, attributes that are not told apart, other splits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from t2ibench.methods.core.controls import Control
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.words import ALIKE, WordSet
from t2ibench.settings import Settings
from t2ibench.stats import p_value, two_sample_permutation

_REACHABLE = 0.01  # a test that cannot get below this decides nothing
_FEWEST = 3  # words a side that differ from each other
_ALPHA = 0.05
_SHUFFLES = 1999


def smallest_p(n: int, m: int, alternative: str) -> float:
    """The smallest p-value that a permutation test of two sets of words can reach.

    Examples:
        >>> round(smallest_p(2, 2, "two-sided"), 3), smallest_p(8, 8, "two-sided") < 0.001
        (0.333, True)
    """
    sides = 2 if alternative == "two-sided" else 1
    return sides / math.comb(n + m, n)


def near_duplicate_text(sets: Mapping[str, WordSet], sides: str) -> str | None:
    """How many words count, where some are near-duplicates."""
    chosen = [sets[side] for side in sides]
    words, clusters = sum(len(s.words) for s in chosen), sum(s.n_clusters for s in chosen)
    if words == clusters:
        return None
    kind = "target" if sides == "XY" else "attribute"
    each = "; ".join(f"{s.name}: {len(s.words)} are {s.n_clusters}" for s in chosen)
    plural = "cluster" if clusters == 1 else "clusters"
    return f"{words} {kind} words are {clusters} {plural} of near-duplicates ({each})"


def warnings_of(sets: Mapping[str, WordSet]) -> list[str]:
    """A warning where the words that are tested are fewer than they look."""
    text = near_duplicate_text(sets, "XY")
    if text is None:
        return []
    return [
        f"The encoder gives words of a set nearly the same vector (cosine above {ALIKE}): {text}. "
        "Test and interval count clusters, not words; d is over words, as published."
    ]


def units(task: WeatTask, sets: Mapping[str, WordSet]) -> Control:
    """Whether there are enough different words for a test.

    Args:
        task: The task.
        sets: The sets by side.

    Returns:
        A control that contradicts where p cannot reach .01, or a side has fewer than three words
        that differ.
    """
    n, m = sets["X"].n_clusters, sets["Y"].n_clusters
    least = smallest_p(n, m, task.alternative)
    what = near_duplicate_text(sets, "XY") or f"{n} and {m} target words differ from each other"
    contradicts = None
    if least > _REACHABLE or min(n, m) < _FEWEST:
        contradicts = f"{what}, too few for a test, whose p cannot be below {least:.2g}"
    return Control(f"{what}.", contradicts=contradicts)


def separation(task: WeatTask, sets: Mapping[str, WordSet], settings: Settings) -> Control:
    """Whether the encoder tells the attribute words A and B apart at all.

    The squared distance of their means, against that of shuffled labels.

    Args:
        task: The task.
        sets: The sets by side.
        settings: How it is measured.

    Returns:
        A control whose value is the mean cosine within the sets less that between them. It
        contradicts where p is .05 or more.
    """
    a, b = sets["A"], sets["B"]
    rows = np.concatenate([a.vectors, b.vectors])
    n, m = len(a.vectors), len(b.vectors)
    gram = rows @ rows.T
    within = [part[~np.eye(len(part), dtype=bool)] for part in (gram[:n, :n], gram[n:, n:])]
    known = [float(part.mean()) for part in within if len(part)]
    value = float(np.mean(known) - gram[:n, n:].mean()) if known else float("nan")
    if 1 / math.comb(n + m, n) * (2 if n == m else 1) >= _ALPHA:
        return Control(f"{n} and {m} attribute words are too few to shuffle.", value)
    rng = settings.rng(task.id, "separation")
    observed = np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])
    shuffled = rng.permuted(np.tile(observed, (_SHUFFLES, 1)), axis=1)
    distances = ((shuffled @ gram) * shuffled).sum(axis=1)
    p = p_value(distances, float(observed @ gram @ observed), "greater", exact=False)
    says = (
        f"Cosines within {a.name} and {b.name} are {value:+.3f} above those between them "
        f"(p = {p:.2g} among shuffled labels)."
    )
    failed = f"the encoder does not tell {a.name} from {b.name} (p = {p:.2g})"
    return Control(says, value, p=p, contradicts=failed if p >= _ALPHA else None)


def shuffled(
    task: WeatTask, sets: Mapping[str, WordSet], settings: Settings, p_of_test: float | None
) -> Control:
    """Whether other splits of the attribute words show as large a difference of X and Y.

    The test permutes target words. Two sets of words that differ in anything differ along most
    directions, so a difference along A less B says something about A and B only if it is larger
    than along the other splits of their words.

    Args:
        task: The task.
        sets: The sets by side.
        settings: How it is measured.
        p_of_test: The p-value of the test.

    Returns:
        A control with the p-value of S among splits of A and B, whose near-duplicates stay
        together. It contradicts a test that rejects where that p-value is .05 or more.
    """
    a, b = sets["A"], sets["B"]
    n, m = a.n_clusters, b.n_clusters
    if smallest_p(n, m, "two-sided") >= _ALPHA:
        what = near_duplicate_text(sets, "AB") or f"there are {n} and {m} attribute words"
        return Control(f"Attribute words were not shuffled: {what}.")
    direction = sets["X"].vectors.mean(axis=0) - sets["Y"].vectors.mean(axis=0)
    p = two_sample_permutation(
        np.concatenate([a.vectors, b.vectors]) @ direction,
        np.arange(len(a.words) + len(b.words)) < len(a.words),
        np.concatenate([a.clusters, n + b.clusters]),
        alternative="two-sided",
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "shuffled attributes"),
    )["mean_difference"].p
    says = (
        f"With the words of {a.name} and {b.name} shuffled, the difference is as large in "
        f"{p:.2g} of the splits."
    )
    rejects = p_of_test is not None and p_of_test < _ALPHA
    contradicts = None
    if rejects and not p < _ALPHA:
        contradicts = (
            f"a random split of the attribute words shows as large a difference in {p:.2g} of all "
            f"cases, so it is not about {a.name} rather than {b.name}"
        )
    return Control(says, p=p if np.isfinite(p) else None, contradicts=contradicts)
