"""Word embedding association test (Caliskan, Bryson & Narayanan 2017) on a text encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import association, standardised, standardised_draws
from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, Needs
from t2ibench.methods.core.headline import Control, Headline, Inference, Part, contradiction
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats import p_value, resample_weights, two_sample_bootstrap, two_sample_permutation
from t2ibench.stats.effects import delta_interval, placements
from t2ibench.stats.permutation import PermutationResult

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


def separation_control(task: WeatTask, sets: Mapping[str, WordSet], settings: Settings) -> Control:
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


def shuffled_control(
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


ALIKE = 0.9  # cosine above which two words of a set are near-duplicates
_SHOWN = 8  # missing words that a message names


@dataclass(frozen=True, slots=True)
class WordSet:
    """One of the sets X, Y, A and B.

    Attributes:
        name: What reports call it.
        stratum: Its name among influences, which no other task uses.
        words: Words that the encoder has a vector for.
        vectors: Shape (words, d), unit rows.
        missing: Words that it lacks.
        numbers: Position of each word in the task's list, shape (words,).
        clusters: Number of each word's cluster of near-duplicates, from 0, shape (words,).
    """

    name: str
    stratum: str
    words: list[str]
    vectors: Float64Array
    missing: list[str]
    numbers: IntArray
    clusters: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def lacks_too_many(self, allowed: float) -> str | None:
        """The reason why a test with this set has no score; None where it has enough words."""
        total = len(self.words) + len(self.missing)
        if self.words and len(self.missing) <= allowed * total:
            return None
        return (
            f"({self.name}) keeps {len(self.words)} of {total} "
            f"words; the vocabulary lacks {', '.join(self.missing[:_SHOWN])}"
            f"{' …' if len(self.missing) > _SHOWN else ''}. "
            "`allow_missing` in the task file sets how many may be lacking."
        )

    @property
    def n_clusters(self) -> int:
        """How many words the set has if near-duplicates count as one."""
        return int(self.clusters.max()) + 1

    def near_duplicates(self) -> list[list[str]]:
        """The clusters of two or more words."""
        groups: dict[int, list[str]] = {}
        for word, cluster in zip(self.words, self.clusters.tolist(), strict=True):
            groups.setdefault(cluster, []).append(word)
        return [group for group in groups.values() if len(group) > 1]

    def cluster_means(self, values: Float64Array) -> Float64Array:
        """The mean of each cluster's words.

        Args:
            values: One a word, shape (words,).

        Returns:
            Shape (clusters,).
        """
        return np.bincount(self.clusters, values) / np.bincount(self.clusters)

    def cluster_numbers(self) -> IntArray:
        """Position of each cluster's first word in the task's list, shape (clusters,)."""
        _, first = np.unique(self.clusters, return_index=True)
        return self.numbers[first]

    def influence(self, values: Float64Array) -> Influence:
        """The influence of the clusters on the mean over words.

        Args:
            values: One a word, shape (words,).

        Returns:
            n_c / n (mean of the cluster - mean) √(k / (k - 1)) for each of k clusters, which is
            `Influence.of_mean` where no words are alike; NaN for a single cluster.
        """
        k, sizes = self.n_clusters, np.bincount(self.clusters)
        moved = sizes / len(values) * (self.cluster_means(values) - values.mean())
        scale = np.sqrt(k / (k - 1)) if k > 1 else np.nan
        zeros = np.zeros(k, np.int64)
        return Influence((self.stratum,), zeros, self.cluster_numbers(), moved * scale)


def groups_of(task: WeatTask) -> dict[str, WordGroup]:
    """The four sets of a task."""
    return {
        "X": task.targets.X,
        "Y": task.targets.Y,
        "A": task.attributes.A,
        "B": task.attributes.B,
    }


def read_sets(task: WeatTask, evidence: Evidence, settings: Settings) -> dict[str, WordSet] | str:
    """The four sets with their vectors and clusters."""
    sets: dict[str, WordSet] = {}
    for side, group in groups_of(task).items():
        sets[side] = _word_set(task, side, group, evidence, settings)
        reason = sets[side].lacks_too_many(task.allow_missing)
        if reason:
            return f"{side} {reason}"
    centre = np.mean([words.vectors.mean(axis=0) for words in sets.values()], axis=0)
    return {
        side: replace(words, clusters=near_duplicates(words.vectors, centre))
        for side, words in sets.items()
    }


def _word_set(
    task: WeatTask, side: str, group: WordGroup, evidence: Evidence, settings: Settings
) -> WordSet:
    """One set; a word's vector is its mean over templates, of unit length."""
    words = list(settings.limited(group.words))
    stacked = [evidence.texts([fill(text, word=word) for word in words]) for text in task.templates]
    vectors: Float64Array = np.mean(np.asarray(stacked, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    known = np.atleast_1d(np.isfinite(vectors).all(axis=1))
    return WordSet(
        group.name,
        f"{task.id} {side}",
        [word for word, is_known in zip(words, known, strict=True) if is_known],
        vectors[known],
        [word for word, is_known in zip(words, known, strict=True) if not is_known],
        np.flatnonzero(known).astype(np.int64),
    )


def near_duplicates(vectors: Float64Array, centre: Float64Array) -> IntArray:
    """Clusters of words that the encoder hardly tells apart.

    Two words are alike where their cosine is above .9, both as they are and with the mean of all
    words of the test taken off: text towers give every word a common part, which alone can lift
    all cosines above .9. All words of a cluster are alike, pair by pair (complete linkage).

    Args:
        vectors: Shape (n, d), unit rows.
        centre: The mean of all words, shape (d,).

    Returns:
        Shape (n,): the number of each word's cluster, from 0, in the order of the words.

    Examples:
        The first two are alike, the third is not:

        >>> rows = np.array([[1.0, 0.0], [0.995, 0.0999], [0.0, 1.0]])
        >>> near_duplicates(rows, np.zeros(2)).tolist()
        [0, 0, 1]
    """
    n = len(vectors)
    if n == 1:
        return np.zeros(1, np.int64)
    centred = vectors - centre
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    # A word that is the mean itself has no direction of its own: only its plain cosine counts.
    cosines = np.fmin(vectors @ vectors.T, centred @ centred.T)
    distances = np.clip(1.0 - (cosines + cosines.T) / 2, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "complete")
    labels = fcluster(tree, 1.0 - ALIKE, "distance")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.ravel()]


def delta_influence(x: WordSet, y: WordSet, s_x: Float64Array, s_y: Float64Array) -> Influence:
    """The influence of words on Cliff's delta, near-duplicates counted as one word.

    Args:
        x: The words of X.
        y: The words of Y.
        s_x: Association of each cluster of X, shape (clusters of X,).
        s_y: The same for Y.

    Returns:
        That of the mean placement of X and of Y, whose variances add up.
    """
    of_x, of_y = placements(s_x, s_y)
    return Influence.combined(
        [
            (1.0, Influence.of_mean(x.stratum, x.cluster_numbers(), of_x)),
            (1.0, Influence.of_mean(y.stratum, y.cluster_numbers(), of_y)),
        ]
    )


def delta_estimate(
    test: PermutationResult, influence: Influence, alternative: str, level: float
) -> Estimate:
    """Cliff's delta with its permutation test."""
    delta = Estimate.from_permutation(test, None, alternative)
    return _with_interval(replace(delta, influence=influence), level)


def _with_interval(delta: Estimate, level: float) -> Estimate:
    influence, null = delta.influence, delta.null
    assert influence is not None and null is not None
    if delta.value is None or not np.isfinite(influence.variance):
        return replace(delta, interval=None)
    n, m = np.bincount(influence.stratum, minlength=2).tolist()
    p = p_value(null, delta.value, "two-sided", exact=delta.test == "exact")
    interval = delta_interval(
        delta.value, influence.variance, n, m, level=level, rejected=p <= 1.0 - level
    )
    return replace(delta, interval=interval)


def headline_of(delta: Estimate, level: float) -> Headline:
    """The headline from Cliff's delta."""
    assert delta.value is not None and delta.influence is not None and delta.null is not None
    low, high = delta.interval or (None, None)
    reason = None if delta.interval else "a set has a single word that differs from the others"
    tail = 100 * (1.0 - level) / 2
    fair = np.percentile(delta.null, [tail, 100 - tail])
    parts = (Part("", delta.value, delta.influence),) if delta.interval else ()
    return Headline(
        delta.value,
        "lean",
        "prompt_population",
        {"prompt_population": Inference(low, high, delta.p, reason=reason)},
        (float(fair[0]), float(fair[1])),
        parts,
        "exact" if delta.test == "exact" else "monte_carlo",
    )


def combine(task: WeatTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """The mean of every score over encoders.

    Where all encoders know the same words and find the same near-duplicates, delta is tested by
    the same partitions of words in all of them, so that their mean has an exact test too.
    """
    mean = average_results(results, settings.level)
    deltas = [result.scores.get("cliffs_delta") for result in results]
    alike = all(result.details == results[0].details for result in results)
    if len(results) == 1 or mean.headline.value is None:
        return mean
    nulls = [delta.null for delta in deltas if delta is not None and delta.null is not None]
    if not alike or len({null.shape for null in nulls}) != 1:
        # The encoders were tested by other partitions, so only Student's t is left.
        return replace(mean, headline=replace(mean.headline, test="t"))
    first, averaged = results[0].scores["cliffs_delta"], mean.scores["cliffs_delta"]
    null = np.mean(nulls, axis=0)
    assert averaged.value is not None
    p = p_value(null, averaged.value, task.alternative, exact=first.test == "exact")
    delta = _with_interval(replace(averaged, null=null, p=p, test=first.test), settings.level)
    return replace(
        mean,
        headline=headline_of(delta, settings.level),
        scores={**mean.scores, "cliffs_delta": delta},
    )


_PUBLISHED = ("mean_difference", "union_d")
Sets = Mapping[str, WordSet]


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Texts of every word in every template."""
    words = [word for group in groups_of(task).values() for word in settings.limited(group.words)]
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))


def score(task: WeatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Effect size, test and components of one WEAT (Caliskan et al. 2017).

    With s(w) = mean over A of cos(w, a) - mean over B of cos(w, b):

    S = sum over X of s(x) - sum over Y of s(y)
    d = (mean over X of s(x) - mean over Y of s(y)) / SD of s over X and Y together, ddof 1
    headline = P(s(x) > s(y)) - P(s(x) < s(y)), Cliff's delta of X and Y

    The null of all three: every split of the words of X and Y into sets of these sizes, where
    near-duplicate words stay together. The headline counts near-duplicates as one word, d and S
    count words. `association` holds s, with a worked example.

    Args:
        task: The task.
        evidence: Embeddings of the task's texts.
        settings: How it is measured.

    Returns:
        Scores 'effect_size' (d), 'differential_association' (S), 'cliffs_delta', the means
        'association_of_x' and 'association_of_y' of s and the four cell means such as
        'cosine_of_x_and_a'. By word: 'association' (s) and 'single_category_effect_size' (see
        `standardised`).

    Raises:
        MissingEvidence: a text was never embedded.
    """
    sets = read_sets(task, evidence, settings)
    if isinstance(sets, str):
        return MethodResult.undefined(sets)
    x, y = sets["X"], sets["Y"]
    of_x, of_y = _associations(sets)
    s_x, s_y = x.cluster_means(of_x), y.cluster_means(of_y)
    test = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        statistics=("cliffs_delta",),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )["cliffs_delta"]
    influence = delta_influence(x, y, s_x, s_y)
    delta = delta_estimate(test, influence, task.alternative, settings.level)
    n, m = sets["X"].n_clusters, sets["Y"].n_clusters
    least = smallest_p(n, m, task.alternative)
    what = near_duplicate_text(sets, "XY") or f"{n} and {m} target words differ from each other"
    contradicts = None
    if least > _REACHABLE or min(n, m) < _FEWEST:
        contradicts = f"{what}, too few for a test, whose p cannot be below {least:.2g}"
    found: dict[str, Control] = {
        "units": Control(f"{what}.", contradicts=contradicts),
        "separation": separation_control(task, sets, settings),
        "shuffled": shuffled_control(task, sets, settings, delta.p),
    }
    weights = {
        side: resample_weights(
            sets[side].clusters, settings.n_bootstrap, settings.rng(task.id, f"words {side}")
        )
        for side in "AB"
    }
    missing = {side: words.missing for side, words in sets.items() if words.missing}
    alike = {side: words.near_duplicates() for side, words in sets.items()}
    details: dict[str, object] = {"missing_words": missing}
    if any(alike.values()):
        details["near_duplicates"] = {side: groups for side, groups in alike.items() if groups}
    return MethodResult(
        _gated(headline_of(delta, settings.level), found["separation"]),
        {
            **_as_published(task, sets, weights, settings),
            "cliffs_delta": delta,
            **_means(sets, settings.level),
        },
        _by_word(sets, weights, settings.level),
        n_prompts=sum(len(words.words) for words in sets.values()),
        conventions={
            "effect_size": "weat (SD over X and Y together, ddof 1)",
            "differential_association": "sum over X less sum over Y",
            "unit": f"word; near-duplicates (cosine above {ALIKE}) are one unit",
            "templates": list(task.templates),
        },
        warnings=warnings_of(sets),
        details=details,
        controls=found,
        inconclusive=contradiction(found),
    )


def _gated(headline: Headline, gate: Control) -> Headline:
    """The headline; without a value where the encoder does not tell the attributes apart."""
    if gate.contradicts is None:
        return headline
    p_only = {headline.question: Inference(p=headline.p)}
    return replace(
        headline, value=None, inference=p_only, fair=None, parts=(), reason=gate.contradicts
    )


def _associations(sets: Sets) -> tuple[Float64Array, Float64Array]:
    """The association s of each word of X and of Y."""
    x, y, a, b = (sets[side].vectors for side in "XYAB")
    return association(x, a, b), association(y, a, b)


def _as_published(
    task: WeatTask, sets: Sets, weights: Mapping[str, Float64Array], settings: Settings
) -> dict[str, Estimate]:
    """The paper's effect size and test statistic, over words."""
    x, y = sets["X"], sets["Y"]
    s_x, s_y = _associations(sets)
    boot = two_sample_bootstrap(
        _association_draws(sets, "X", weights),
        _association_draws(sets, "Y", weights),
        x.clusters,
        y.clusters,
        statistics=_PUBLISHED,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        np.concatenate([x.clusters, x.n_clusters + y.clusters]),
        statistics=_PUBLISHED,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    difference, d = (
        replace(
            Estimate.from_permutation(tests[name], boot[name], task.alternative), as_published=True
        )
        for name in _PUBLISHED
    )
    # The paper's difference of sums, of sets of one size, from the difference of means.
    factor, total = (len(s_x) + len(s_y)) / 2, difference.value
    if total is not None:
        total = float(s_x.sum() - s_y.sum()) if len(s_x) == len(s_y) else total * factor
    sums = replace(
        difference,
        value=total,
        boot=None if difference.boot is None else difference.boot * factor,
        null=None if difference.null is None else difference.null * factor,
    )
    return {"effect_size": d, "differential_association": sums}


def _association_draws(sets: Sets, side: str, weights: Mapping[str, Float64Array]) -> Float64Array:
    """Associations of a target set's words under resampling of the attribute words."""
    to_a, to_b = (sets[name].vectors @ sets[side].vectors.T for name in "AB")
    draws: Float64Array = weights["A"] @ to_a - weights["B"] @ to_b
    return draws


def _described(value: float, influence: Influence, level: float) -> Estimate:
    """A mean with its interval over words like these; it is no test of anything."""
    found = Estimate.from_influence(value, influence, level)
    return replace(found, p=None, test=None, influence=None)


def _means(sets: Sets, level: float) -> dict[str, Estimate]:
    """Mean associations of the target sets, and the mean cosine of each pair of sets."""
    scores = {}
    for target in "XY":
        cells = {side: sets[target].vectors @ sets[side].vectors.T for side in "AB"}
        difference = cells["A"].mean(axis=1) - cells["B"].mean(axis=1)
        of_attributes = [
            (sign, sets[side].influence(cells[side].mean(axis=0)))
            for side, sign in (("A", 1.0), ("B", -1.0))
        ]
        of_words = sets[target].influence(difference)
        scores[f"association_of_{target.lower()}"] = _described(
            float(difference.mean()), Influence.combined([(1.0, of_words), *of_attributes]), level
        )
    for target in "XY":
        for side in "AB":
            cosines = sets[target].vectors @ sets[side].vectors.T
            both = [
                (1.0, sets[target].influence(cosines.mean(axis=1))),
                (1.0, sets[side].influence(cosines.mean(axis=0))),
            ]
            scores[f"cosine_of_{target.lower()}_and_{side.lower()}"] = _described(
                float(cosines.mean()), Influence.combined(both), level
            )
    return scores


def _by_word(sets: Sets, weights: Mapping[str, Float64Array], level: float) -> list[Item]:
    """Each word's association and its own effect size (SC-WEAT)."""
    rows = []
    for side in "XY":
        to_a, to_b = (sets[side].vectors @ sets[name].vectors.T for name in "AB")
        asc = to_a.mean(axis=1) - to_b.mean(axis=1)
        effect = standardised(to_a, to_b)
        effect_draws = standardised_draws(to_a, to_b, weights["A"], weights["B"])
        for index, word in enumerate(sets[side].words):
            attributes = [
                (1.0, sets["A"].influence(to_a[index])),
                (-1.0, sets["B"].influence(to_b[index])),
            ]
            scores = {
                "association": _described(float(asc[index]), Influence.combined(attributes), level),
                "single_category_effect_size": Estimate(
                    float(effect[index]), effect_draws[:, index], as_published=True
                ),
            }
            rows.append(Item(word, scores, group=sets[side].name))
    return rows
