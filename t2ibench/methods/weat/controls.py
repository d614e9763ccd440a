"""Controls of a WEAT: independent words, separation, and shuffled attribute words."""

from __future__ import annotations

import math

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.decimals import readable
from t2ibench.methods.core.describe import sentence
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Control
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.word_sets import WordSet, WordSets
from t2ibench.settings import Settings
from t2ibench.stats import p_value, two_sample_permutation
from t2ibench.stats.rounding import settled

# A test whose p-value cannot be below this is inconclusive.
_REACHABLE = 0.01
# Independent words of a set: with fewer, a test is inconclusive; with fewer, there is a warning.
_FEWEST = 2.0
_FEW = 3.0
_ALPHA = 0.05
_SHUFFLES = 1999


def controls_of(
    task: WeatTask, sets: WordSets, delta: Estimate, settings: Settings
) -> dict[str, Control]:
    """Return the controls of a task, keyed by name.

    They are independent words, separation and shuffled attribute words.
    """
    assert delta.null is not None
    return {
        "units": _independent_words(task, sets["X"], sets["Y"], delta.null),
        "separation": _separation(task, sets["A"], sets["B"], settings),
        "shuffled": _shuffled(task, sets, settings, delta.p),
    }


def few_words_warnings(sets: WordSets) -> list[str]:
    """Return a warning for each target set that is worth fewer than three independent words."""
    return [
        f"The {len(words.words)} words of {words.name} are nearly alike to the encoder: they are "
        f"worth {words.effective:.1f} unrelated words."
        for words in (sets["X"], sets["Y"])
        if settled(words.effective) < _FEW
    ]


def _independent_words(
    task: WeatTask, first: WordSet, second: WordSet, null: Float64Array
) -> Control:
    """Return the control of whether the target sets are worth enough independent words.

    Its value is the smaller effective number of words. It contradicts where that is below 2, or
    where sets that lie wholly apart would have a p-value above .01.
    """
    fewest = float(settled(min(first.effective, second.effective)))
    summary = (
        f"to the encoder, the {len(first.words)} words of {first.name} are worth "
        f"{first.effective:.1f} unrelated words, the {len(second.words)} of {second.name} "
        f"{second.effective:.1f}"
    )
    extreme = -1.0 if task.alternative == "less" else 1.0
    least_p = p_value(null, extreme, task.alternative, exact=True)
    contradicts = None
    if least_p > _REACHABLE or fewest < _FEWEST:
        contradicts = (
            f"{summary}: too few for a test, whose p cannot be below {least_p:.2g}"
        )
    return Control(sentence(summary), fewest, contradicts=contradicts)


def _separation(
    task: WeatTask, first: WordSet, second: WordSet, settings: Settings
) -> Control:
    """Return the control of whether the encoder distinguishes the attribute words A and B.

    The squared distance of their means, against that of shuffled labels. The value is the mean
    cosine within the sets less that between them.
    """
    n_first = len(first.vectors)
    n_second = len(second.vectors)
    vectors = np.concatenate([first.vectors, second.vectors])
    cosines = vectors @ vectors.T
    value = _closeness(cosines, n_first)
    n_splits = math.comb(n_first + n_second, n_first)
    # Of sets of one size, two splits are the same but for the names of the sets.
    least_p = 1 / n_splits * (2 if n_first == n_second else 1)
    if least_p >= _ALPHA:
        return Control(
            f"{n_first} and {n_second} attribute words are too few to shuffle.", value
        )
    rng = settings.rng(task.id, "separation")
    observed = np.concatenate(
        [np.full(n_first, 1 / n_first), np.full(n_second, -1 / n_second)]
    )
    shuffled = rng.permuted(np.tile(observed, (_SHUFFLES, 1)), axis=1)
    null = ((shuffled @ cosines) * shuffled).sum(axis=1)
    distance = float(observed @ cosines @ observed)
    p = p_value(null, distance, "greater", exact=False)
    contradicts = None
    if p >= _ALPHA:
        contradicts = (
            f"the encoder does not tell {first.name} from {second.name} (p = {p:.2g})"
        )
    above = readable(value, 3, sign=True)
    says = (
        f"Cosines within {first.name} and {second.name} are {above} above those between them "
        f"(p = {p:.2g} among shuffled labels)."
    )
    return Control(says, value, p=p, contradicts=contradicts)


def _closeness(cosines: Float64Array, n_first: int) -> float:
    """Return the mean cosine within two sets less that between them; nan if no set has two words.

    Args:
        cosines: Of all words, those of the first set first.
        n_first: Words of the first set.
    """
    within = []
    for block in (cosines[:n_first, :n_first], cosines[n_first:, n_first:]):
        pairs = block[~np.eye(len(block), dtype=bool)]
        if len(pairs):
            within.append(float(pairs.mean()))
    if not within:
        return float("nan")
    return float(np.mean(within) - cosines[:n_first, n_first:].mean())


def _shuffled(
    task: WeatTask, sets: WordSets, settings: Settings, p_of_test: float | None
) -> Control:
    """Return the control of whether targets differ as much along other splits of A and B.

    The test permutes target words. Two sets of words that differ in anything differ along most
    directions, so a difference along A less B says something about A and B only if it is larger
    than along the other splits of their words.

    It contradicts a test that rejects where the p-value of S among splits of A and B is .05 or
    more.
    """
    first = sets["A"]
    second = sets["B"]
    n_first = len(first.words)
    n_second = len(second.words)
    if 2 / math.comb(n_first + n_second, n_first) >= _ALPHA:
        return Control(
            f"{n_first} and {n_second} attribute words are too few to shuffle."
        )
    difference = sets["X"].vectors.mean(axis=0) - sets["Y"].vectors.mean(axis=0)
    tests = two_sample_permutation(
        np.concatenate([first.vectors, second.vectors]) @ difference,
        np.arange(n_first + n_second) < n_first,
        alternative="two-sided",
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "shuffled attributes"),
    )
    p = tests["mean_difference"].p
    says = (
        f"With the words of {first.name} and {second.name} shuffled, the difference is as large in "
        f"{p:.2g} of the splits."
    )
    contradicts = None
    if p_of_test is not None and p_of_test < _ALPHA and not p < _ALPHA:
        contradicts = (
            f"a random split of the attribute words shows as large a difference in {p:.2g} of all "
            f"cases, so it is not about {first.name} rather than {second.name}"
        )
    return Control(says, p=p if np.isfinite(p) else None, contradicts=contradicts)
