"""Word embedding association test (Caliskan, Bryson & Narayanan 2017) on a text encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import (
    association,
    standardised,
    standardised_draws,
)
from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs
from t2ibench.methods.core.headline import (
    Control,
    Headline,
    Inference,
    Part,
    contradiction,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    p_value,
    resample_weights,
    two_sample_bootstrap,
    two_sample_permutation,
)
from t2ibench.stats.moments import placements
from t2ibench.stats.relatedness import (
    Relatedness,
    effective_number,
    noise_correlation,
    related_dominance,
    relatedness_across,
)
from t2ibench.stats.rounding import settled

_REACHABLE = 0.01  # a test that cannot get below this decides nothing
# independent words a side: below, it decides nothing, or few are said
_FEWEST, _FEW = 2.0, 3.0
_ALPHA = 0.05
_SHUFFLES = 1999
_DRAWS = 10_000
_BESIDE = 1e-3  # where an end lies that must not contain 0


def units_control(
    task: WeatTask, x: WordSet, y: WordSet, null: Float64Array
) -> Control:
    """How many independent words the sets have, and whether they are enough.

    Its value is the smaller effective number of words. It contradicts where that is below 2, or
    where sets that lie wholly apart would have a p-value above .01.
    """
    fewest = float(settled(min(x.effective, y.effective)))
    told = (
        f"{len(x.words)} words of {x.name} tell as much as {x.effective:.1f} independent ones, "
        f"{len(y.words)} of {y.name} as much as {y.effective:.1f}"
    )
    sign = -1.0 if task.alternative == "less" else 1.0
    least = p_value(null, sign, task.alternative, exact=True)
    contradicts = None
    if least > _REACHABLE or fewest < _FEWEST:
        contradicts = f"{told}: too few for a test, whose p cannot be below {least:.2g}"
    return Control(f"{told}.", fewest, contradicts=contradicts)


def separation_control(
    task: WeatTask, sets: Mapping[str, WordSet], settings: Settings
) -> Control:
    """Whether the encoder tells the attribute words A and B apart at all (p below .05).

    The squared distance of their means, against that of shuffled labels. The value is the mean
    cosine within the sets less that between them.
    """
    a, b = sets["A"], sets["B"]
    rows = np.concatenate([a.vectors, b.vectors])
    n, m = len(a.vectors), len(b.vectors)
    gram = rows @ rows.T
    within = [
        part[~np.eye(len(part), dtype=bool)] for part in (gram[:n, :n], gram[n:, n:])
    ]
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


def shuffled_control(
    task: WeatTask,
    sets: Mapping[str, WordSet],
    settings: Settings,
    p_of_test: float | None,
) -> Control:
    """Whether other splits of the attribute words show as large a difference of X and Y.

    The test permutes target words. Two sets of words that differ in anything differ along most
    directions, so a difference along A less B says something about A and B only if it is larger
    than along the other splits of their words.

    It contradicts a test that rejects where the p-value of S among splits of A and B is .05 or
    more.
    """
    a, b = sets["A"], sets["B"]
    n, m = len(a.words), len(b.words)
    if 2 / math.comb(n + m, n) >= _ALPHA:
        return Control(f"{n} and {m} attribute words are too few to shuffle.")
    direction = sets["X"].vectors.mean(axis=0) - sets["Y"].vectors.mean(axis=0)
    p = two_sample_permutation(
        np.concatenate([a.vectors, b.vectors]) @ direction,
        np.arange(n + m) < n,
        alternative="two-sided",
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "shuffled attributes"),
    )["mean_difference"].p
    says = (
        f"With the words of {a.name} and {b.name} shuffled, the difference is as large in "
        f"{p:.2g} of the splits."
    )
    contradicts = None
    if p_of_test is not None and p_of_test < _ALPHA and not p < _ALPHA:
        contradicts = (
            f"a random split of the attribute words shows as large a difference in {p:.2g} of all "
            f"cases, so it is not about {a.name} rather than {b.name}"
        )
    return Control(says, p=p if np.isfinite(p) else None, contradicts=contradicts)


_SHOWN = 8  # missing words that a message names


@dataclass(frozen=True, slots=True)
class WordSet:
    """One of the sets X, Y, A and B."""

    name: str  # what reports call it
    stratum: str  # its name among influences, which no other task uses
    words: list[str]  # words that the encoder has a vector for
    vectors: Float64Array  # shape (words, d), unit rows
    missing: list[str]  # words that it lacks
    numbers: IntArray  # position of each word in the task's list, shape (words,)
    # how the association correlates between words about its mean, shape (words, words); of target
    # words only
    noise: Float64Array | None = None

    @property
    def effective(self) -> float:
        """As many independent words would tell as much."""
        return (
            float(len(self.words))
            if self.noise is None
            else effective_number(self.noise)
        )


def groups_of(task: WeatTask) -> dict[str, WordGroup]:
    """The four sets of a task."""
    return {**dict(task.targets), **dict(task.attributes)}


def read_sets(
    task: WeatTask, evidence: Evidence, settings: Settings
) -> dict[str, WordSet] | str:
    """The four sets with their vectors, and how the associations of target words correlate."""
    sets: dict[str, WordSet] = {}
    for side, group in groups_of(task).items():
        words = settings.limited(group.words)
        vectors = _vectors(task, words, evidence)
        known = np.atleast_1d(np.isfinite(vectors).all(axis=1))
        numbers = np.flatnonzero(known).astype(np.int64)
        kept = [words[number] for number in numbers.tolist()]
        missing = [
            word for word, is_known in zip(words, known, strict=True) if not is_known
        ]
        if not kept or len(missing) > task.allow_missing * len(words):
            return (
                f"{side} ({group.name}) keeps {len(kept)} of {len(words)} words; the vocabulary "
                f"lacks {', '.join(missing[:_SHOWN])}{' …' if len(missing) > _SHOWN else ''}. "
                "`allow_missing` in the task file sets how many may be lacking."
            )
        stratum = f"{task.id} {side}"
        sets[side] = WordSet(
            group.name, stratum, kept, vectors[known], missing, numbers
        )
    direction = sets["A"].vectors.mean(axis=0) - sets["B"].vectors.mean(axis=0)
    curve = None
    if task.reference:
        reference = _vectors(task, task.reference, evidence)
        reference = reference[np.isfinite(reference).all(axis=1)]
        curve = Relatedness.learnt(reference, reference @ direction)
    for side in "XY":
        rows = sets[side].vectors
        related = (
            relatedness_across(rows, direction) if curve is None else curve.of(rows)
        )
        sets[side] = replace(sets[side], noise=noise_correlation(related))
    return sets


def _vectors(task: WeatTask, words: Sequence[str], evidence: Evidence) -> Float64Array:
    """A word's vector is its mean over templates, of unit length, shape (words, d)."""
    stacked = [
        evidence.texts([fill(text, word=word) for word in words])
        for text in task.templates
    ]
    mean = np.mean(np.asarray(stacked, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows: Float64Array = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return rows


def delta_of(
    task: WeatTask, sets: Mapping[str, WordSet], settings: Settings
) -> Estimate:
    """Cliff's delta with its test and interval under the words' own correlation."""
    x, y = sets["X"], sets["Y"]
    assert x.noise is not None and y.noise is not None
    s_x, s_y = (settled(values) for values in _associations(sets))
    found = related_dominance(
        s_x,
        s_y,
        x.noise,
        y.noise,
        alternative=task.alternative,
        level=settings.level,
        n_draws=min(_DRAWS, settings.n_permutations),
        rng=settings.rng(task.id, "related words"),
    )
    n, m = len(s_x), len(s_y)
    # Related words vary more than the placements of independent ones do.
    factor = float(np.sqrt(found.null.var() * 3 * n * m / (n + m + 1)))
    influences = [
        (factor, Influence.of_mean(words.stratum, words.numbers, placed))
        for words, placed in zip((x, y), placements(s_x, s_y), strict=True)
    ]
    return Estimate(
        found.value,
        null=found.null,
        p=found.p,
        test="monte_carlo",
        alternative=task.alternative,
        interval=found.interval,
        influence=Influence.combined(influences),
    )


def headline_of(delta: Estimate, level: float) -> Headline:
    """The headline from Cliff's delta."""
    assert (
        delta.value is not None
        and delta.influence is not None
        and delta.null is not None
    )
    assert delta.interval is not None
    tail = 100 * (1.0 - level) / 2
    fair = np.percentile(delta.null, [tail, 100 - tail])
    return Headline(
        delta.value,
        "lean",
        "prompt_population",
        {"prompt_population": Inference(*delta.interval, delta.p)},
        (float(fair[0]), float(fair[1])),
        (Part("", delta.value, delta.influence),),
        "monte_carlo",
    )


def combine(
    task: WeatTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The mean of every score over encoders, whose errors are taken to agree.

    The draws of all encoders are sorted before they are averaged, and the ends of their intervals
    are averaged: what holds where encoders err together, which is cautious where they do not.
    """
    mean = average_results(results, settings.level)
    deltas = [result.scores.get("cliffs_delta") for result in results]
    known = [delta for delta in deltas if delta is not None and delta.null is not None]
    if len(results) == 1 or mean.headline.value is None or len(known) < len(results):
        return mean
    null = np.mean([np.sort(np.asarray(delta.null)) for delta in known], axis=0)
    averaged = mean.scores["cliffs_delta"]
    assert averaged.value is not None
    low, high = np.mean(
        [delta.interval for delta in known if delta.interval], axis=0
    ).tolist()
    p = p_value(null, averaged.value, task.alternative, exact=False)
    # Test and interval agree about 0.
    if p_value(null, averaged.value, "two-sided", exact=False) > 1.0 - settings.level:
        low, high = min(low, 0.0), max(high, 0.0)
    elif averaged.value > 0:
        low = max(low, _BESIDE)
    else:
        high = min(high, -_BESIDE)
    delta = replace(averaged, null=null, p=p, test="monte_carlo", interval=(low, high))
    return replace(
        mean,
        headline=headline_of(delta, settings.level),
        scores={**mean.scores, "cliffs_delta": delta},
    )


_PUBLISHED = ("mean_difference", "union_d")
Sets = Mapping[str, WordSet]


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Texts of every word, and of every reference word, in every template."""
    words = [
        word
        for group in groups_of(task).values()
        for word in settings.limited(group.words)
    ]
    words += task.reference
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Effect size, test and components of one WEAT (Caliskan et al. 2017).

    With s(w) = mean over A of cos(w, a) - mean over B of cos(w, b):

    S = sum over X of s(x) - sum over Y of s(y)
    d = (mean over X of s(x) - mean over Y of s(y)) / SD of s over X and Y together, ddof 1
    headline = P(s(x) > s(y)) - P(s(x) < s(y)), Cliff's delta of X and Y

    The null of d and S is the paper's: every split of the words of X and Y into sets of these
    sizes. That of the headline knows that related words have like associations: how alike, as a
    function of their cosine, is learnt from the reference words for this direction
    (`stats.relatedness`). `association` holds s, with a worked example.

    Args:
        task: The task.
        evidence: Embeddings of the task's texts.
        settings: How it is measured.

    Returns:
        By word: 'association' (s) and 'single_category_effect_size' (see `standardised`).
    """
    sets = read_sets(task, evidence, settings)
    if isinstance(sets, str):
        return MethodResult.undefined(sets)
    x, y = sets["X"], sets["Y"]
    delta = delta_of(task, sets, settings)
    assert delta.null is not None
    found: dict[str, Control] = {
        "units": units_control(task, x, y, delta.null),
        "separation": separation_control(task, sets, settings),
        "shuffled": shuffled_control(task, sets, settings, delta.p),
    }
    weights = {
        side: resample_weights(
            np.arange(len(sets[side].words)),
            settings.n_bootstrap,
            settings.rng(task.id, f"words {side}"),
        )
        for side in "AB"
    }
    missing = {side: words.missing for side, words in sets.items() if words.missing}
    warnings = [
        f"Few independent words: the {len(words.words)} of {words.name} tell as much as "
        f"{words.effective:.1f}."
        for words in (x, y)
        if settled(words.effective) < _FEW
    ]
    headline, gate = headline_of(delta, settings.level), found["separation"].contradicts
    if gate is not None:  # the encoder does not tell the attributes apart
        p_only = {headline.question: Inference(p=headline.p)}
        headline = replace(
            headline, value=None, inference=p_only, fair=None, parts=(), reason=gate
        )
    return MethodResult(
        headline,
        {
            **_as_published(task, sets, weights, settings),
            "cliffs_delta": delta,
            **_means(sets),
        },
        _by_word(sets, weights),
        n_prompts=sum(len(words.words) for words in sets.values()),
        warnings=warnings,
        details={"missing_words": missing},
        controls=found,
        inconclusive=contradiction(found),
    )


def _associations(sets: Sets) -> tuple[Float64Array, Float64Array]:
    """The association s of each word of X and of Y."""
    x, y, a, b = (sets[side].vectors for side in "XYAB")
    return association(x, a, b), association(y, a, b)


def _as_published(
    task: WeatTask, sets: Sets, weights: Mapping[str, Float64Array], settings: Settings
) -> dict[str, Estimate]:
    """The paper's effect size and test statistic, over words."""
    s_x, s_y = _associations(sets)
    draws = [
        weights["A"] @ (sets["A"].vectors @ sets[side].vectors.T)
        - weights["B"] @ (sets["B"].vectors @ sets[side].vectors.T)
        for side in "XY"
    ]
    boot = two_sample_bootstrap(
        *draws,
        statistics=_PUBLISHED,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        statistics=_PUBLISHED,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    difference, d = (
        Estimate.from_permutation(tests[name], boot[name], task.alternative)
        for name in _PUBLISHED
    )
    # The paper's difference of sums, of sets of one size, from the difference of means.
    factor, total = (len(s_x) + len(s_y)) / 2, difference.value
    if total is not None:
        total = float(s_x.sum() - s_y.sum()) if len(s_x) == len(s_y) else total * factor
    scaled, null = (
        one if one is None else one * factor
        for one in (difference.boot, difference.null)
    )
    sums = replace(difference, value=total, boot=scaled, null=null)
    found = {"effect_size": d, "differential_association": sums}
    return {name: replace(one, as_published=True) for name, one in found.items()}


def _means(sets: Sets) -> dict[str, Estimate]:
    """Mean associations of the target sets."""
    sides = zip("xy", _associations(sets), strict=True)
    return {
        f"association_of_{of}": Estimate(float(values.mean())) for of, values in sides
    }


def _by_word(sets: Sets, weights: Mapping[str, Float64Array]) -> list[Item]:
    """Each word's association and its own effect size (SC-WEAT)."""
    rows = []
    for side in "XY":
        to_a, to_b = (sets[side].vectors @ sets[name].vectors.T for name in "AB")
        asc = to_a.mean(axis=1) - to_b.mean(axis=1)
        effect = standardised(to_a, to_b)
        effect_draws = standardised_draws(to_a, to_b, weights["A"], weights["B"])
        for index, word in enumerate(sets[side].words):
            scores = {
                "association": Estimate(float(asc[index])),
                "single_category_effect_size": Estimate(
                    float(effect[index]), effect_draws[:, index], as_published=True
                ),
            }
            rows.append(Item(word, scores, group=sets[side].name))
    return rows
