"""Concept queries against anchors (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import left_out_warnings
from t2ibench.methods.core.averages import average_results, by_key
from t2ibench.methods.core.estimate import (
    Estimate,
    Item,
    MethodResult,
    share_draws,
    share_estimate,
)
from t2ibench.methods.core.evidence import (
    Evidence,
    ImageCollector,
    Needs,
    PromptImages,
    PromptNeed,
)
from t2ibench.methods.core.headline import (
    SHUFFLES,
    Control,
    Headline,
    contradiction,
    of_halves,
    of_shuffles,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.nearest import Sides, corrected_shares
from t2ibench.methods.core.probing import (
    anchor_probabilities,
    distance_margin,
    similarity,
)
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    image_p,
    nearness,
    place,
)
from t2ibench.methods.core.text_vectors import has_vector, lacking, with_vector
from t2ibench.methods.vibex.describe import tendency, verdicts
from t2ibench.methods.vibex.excess import Squares, excess_headline, related_concepts
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    cliffs_delta,
    group_distance,
    shuffled_labels,
    sign_flip_permutation,
)
from t2ibench.stats.excess import excess
from t2ibench.stats.student import t_test


@dataclass(frozen=True, slots=True)
class Scene:
    """What all queries of one task look at."""

    task: VibexTask
    settings: Settings
    pool: PromptImages  # images of all anchors; their cluster is their anchor
    anchors: Float64Array  # the anchors' text embeddings, shape (k, d)

    @property
    def k(self) -> int:
        """Number of anchors."""
        return len(self.task.anchors)

    @property
    def labels(self) -> IntArray:
        """The number of each image's anchor, shape (n,)."""
        return self.pool.clusters

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of random numbers for one purpose."""
        return self.settings.rng(self.task.id, purpose)


def published_scores(scene: Scene, values: Float64Array) -> list[dict[str, Estimate]]:
    """D, probabilities and Cliff's delta of each concept; `values` are s(I, T), shape (m, n)."""
    distances = group_distance(values, scene.labels)
    n_draws = min(_DRAWS, scene.settings.n_permutations)
    shuffles = shuffled_labels(scene.labels, n_draws, scene.rng("shuffled anchors"))
    nulls = group_distance(values, shuffles)
    probabilities = anchor_probabilities(values, scene.labels, scene.k)
    groups = [values[:, scene.labels == j] for j in range(scene.k)]
    # Standard errors of P_j = M_j / (sum of M), by the delta method, shape (m, k).
    total = np.sum([group.mean(axis=1) for group in groups], axis=0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.stack(
            [g.var(axis=1, ddof=1) / g.shape[1] for g in groups], axis=1
        )
    own = (1.0 - 2.0 * probabilities) * variances
    shared = probabilities**2 * variances.sum(axis=1, keepdims=True)
    errors = np.sqrt(own + shared) / total
    margin = distance_margin(
        np.bincount(scene.labels, minlength=scene.k), scene.settings.level
    )
    rows = []
    for index, distance in enumerate(distances.tolist()):
        ends = max(0.0, distance - margin), min(1.0, distance + margin)
        tested = Estimate.from_null(distance, None, nulls[:, index])
        scores = {
            "kolmogorov_smirnov_distance": replace(tested, interval=ends),
            "probability_difference": Estimate(float(np.ptp(probabilities[index]))),
        }
        for j, anchor in enumerate(scene.task.anchors):
            value, half = float(probabilities[index, j]), float(1.96 * errors[index, j])
            interval = (value - half, value + half) if np.isfinite(half) else None
            scores[f"probability:{anchor.name}"] = Estimate(value, interval=interval)
        if scene.k == 2:
            first, second = (group[index] for group in groups)
            scores["cliffs_delta"] = Estimate(cliffs_delta(first, second))
        rows.append(
            {name: replace(one, as_published=True) for name, one in scores.items()}
        )
    return rows


# Whose null draws are the effects of the reference words.
EFFECTS = ("similarity_difference", "beyond_words")


@dataclass(frozen=True, slots=True)
class Forward:
    """All forward queries of a task."""

    items: tuple[Item, ...]
    squares: Squares
    beyond: Nearness  # without what tells the anchors' texts apart
    # effect of each concept and reference word on the anchors' texts, shape (m + r,)
    text_only: Float64Array
    samples: list[dict[str, Any]]


def forward(
    scene: Scene,
    concepts: Sequence[TestConcept],
    texts: Float64Array,
    reference: Float64Array,
) -> Forward:
    """How far the anchors' images differ in each concept, beside reference words; see `score`."""
    pool, m = scene.pool, len(concepts)
    plain = nearness(pool.embeddings, scene.labels, scene.k, texts, reference)
    rest = beyond_words(pool.embeddings, scene.anchors)
    beyond = nearness(rest, scene.labels, scene.k, texts, reference)
    words = (
        scene.anchors @ (np.concatenate([texts, reference]) - reference.mean(axis=0)).T
    )
    text_only = words[0] - words[1] if scene.k == 2 else np.ptp(words, axis=0)
    values = similarity(pool.embeddings, texts)
    found = {"beyond_words": beyond, "similarity_difference": plain}
    by_name = {name: effect_scores(scene, one, m) for name, one in found.items()}
    percentiles, _ = place(effects(beyond)[:m], effects(beyond)[m:])
    published = published_scores(scene, values)
    items = []
    for index, concept in enumerate(concepts):
        scores = {name: estimates[index] for name, estimates in by_name.items()}
        scores["percentile"] = Estimate(float(percentiles[index]))
        scores["text_only"] = Estimate(float(text_only[index]))
        # Each anchor's mean, where an effect has no side.
        for name in EFFECTS if scene.k > 2 else ():
            for j, anchor in enumerate(scene.task.anchors):
                scores[f"{name}:{anchor.name}"] = Estimate(
                    float(found[name].means[j, index])
                )
        items.append(
            Item(concept.name, scores | published[index], "forward", len(pool))
        )
    related = related_concepts(beyond, texts, reference)
    squares = Squares.of(beyond, related, pool.prompts, pool.indices)
    samples = _samples(scene, pool)
    for image, sample in enumerate(samples):
        sample["similarities"] = {
            concept.name: float(values[row, image])
            for row, concept in enumerate(concepts)
        }
    return Forward(tuple(items), squares, beyond, text_only, samples)


def effect_scores(scene: Scene, found: Nearness, m: int) -> list[Estimate]:
    """Effects of m concepts, each with its place among the reference words, its null draws.

    p is the larger of two: that the effect is none of the reference's, and that the images' own
    variation does not explain it. A concept has to pass both.
    """
    values = effects(found)
    _, places = place(values[:m], values[m:])
    noise = image_p(found.columns(slice(0, m)))
    estimates = []
    for index, value in enumerate(values[:m].tolist()):
        influence = effect_influence(
            found, index, scene.pool.prompts, scene.pool.indices
        )
        moved = Estimate.from_influence(value, influence, scene.settings.level)
        p = float(max(places[index], noise[index]))
        estimates.append(replace(moved, null=values[m:], p=p, test="rank"))
    return estimates


def averaged_effect(estimates: Sequence[Estimate], k: int, level: float) -> Estimate:
    """The effect of one concept over encoders.

    The value is the mean; its p compares the mean of each encoder's effect, in units of the spread
    of its reference, with that of each reference word.
    """
    known = [
        (e.value, e.null, e.influence)
        for e in estimates
        if e.value is not None and e.null is not None and e.influence is not None
    ]
    if len(known) < len(estimates):
        return Estimate.undefined("an encoder has no value")
    values, nulls, influences = zip(*known, strict=True)
    spreads = [float(np.sqrt(np.mean(null**2))) or 1.0 for null in nulls]
    scaled = [value / s for value, s in zip(values, spreads, strict=True)]
    null = np.mean([null / s for null, s in zip(nulls, spreads, strict=True)], axis=0)
    _, places = place([np.mean(scaled)], null)
    pairs = [
        (1.0 / s / len(known), i) for s, i in zip(spreads, influences, strict=True)
    ]
    moved = Influence.combined(pairs)
    noise = t_test(float(np.mean(scaled)), moved.variance, moved.df) * k * (k - 1) / 2
    influence = Influence.combined([(1.0 / len(known), part) for part in influences])
    mean = Estimate.from_influence(float(np.mean(values)), influence, level)
    p = float(max(places[0], min(1.0, np.nan_to_num(noise, nan=1.0))))
    return replace(mean, null=null, p=p, test="rank")


_DRAWS = 5000  # shuffles of an intersection
_FLIPS = 20_000  # sign flips of an inverse query


def inverse(
    scene: Scene, concept: TestConcept, pool: PromptImages, text: Float64Array
) -> tuple[Item, list[dict[str, Any]]]:
    """On which anchor's side the images of a concept are; see `score`."""
    if not len(pool):
        scores = {"share": Estimate.undefined("the concept has no image")}
        return Item(concept.name, scores, "inverse", 0), []
    (own,) = similarity(pool.embeddings, text)
    samples = [
        {**sample, "own": float(value)}
        for sample, value in zip(_samples(scene, pool), own, strict=True)
    ]
    values = similarity(pool.embeddings, scene.anchors)
    scores = _shares(scene, pool)
    # Which anchor's text each image is nearest, and by how much, as published.
    settings, nearest = scene.settings, values.argmax(axis=0)
    rng = scene.rng(f"inverse {concept.name}")
    for j, anchor in enumerate(scene.task.anchors):
        hits = int((nearest == j).sum())
        boot = share_draws(hits, len(pool), settings.n_bootstrap, rng)
        share = Estimate(hits / len(pool), boot, as_published=True)
        scores[f"share_nearest:{anchor.name}"] = share
    if scene.k == 2:
        flips = sign_flip_permutation(
            values[1] - values[0],
            n_draws=min(settings.n_permutations, _FLIPS),
            max_exact=settings.max_exact,
            rng=rng,
        )
        difference = replace(Estimate.from_permutation(flips, None), as_published=True)
        scores["anchor_similarity_difference"] = difference
    return Item(concept.name, scores, "inverse", len(pool)), samples


def _samples(scene: Scene, pool: PromptImages) -> list[dict[str, Any]]:
    """A sample of each image, with how near it is to the anchors' texts."""
    near = similarity(pool.embeddings, scene.anchors)
    return [
        {
            "prompt": pool.prompts[pool.clusters[image]],
            "index": int(index),
            "anchors": {
                a.name: float(near[j, image]) for j, a in enumerate(scene.task.anchors)
            },
        }
        for image, index in enumerate(pool.indices)
    ]


def _shares(scene: Scene, pool: PromptImages) -> dict[str, Estimate]:
    """Shares of images nearest each anchor's own images, corrected, and their lean."""
    anchors = scene.pool
    sides = Sides(anchors.embeddings, scene.labels, anchors.prompts, anchors.indices)
    level = scene.settings.level
    shares = corrected_shares(
        sides, pool.embeddings, pool.prompts[0], pool.indices, level
    )
    names = [anchor.name for anchor in scene.task.anchors]
    if shares.reason:
        return {f"share:{name}": Estimate.undefined(shares.reason) for name in names}
    ends = list(zip(shares.low.tolist(), shares.high.tolist(), strict=True))
    scores = {
        f"share:{name}": Estimate(float(value), interval=interval)
        for name, value, interval in zip(names, shares.values, ends, strict=True)
    }
    if shares.lean is not None:
        low, high = ends[0]
        scores["lean"] = Estimate(
            shares.lean,
            p=shares.p,
            test="t",
            interval=(2 * low - 1, 2 * high - 1),
            influence=shares.influence,
        )
    return scores


def intersection(scene: Scene, first: str, second: str, texts: Float64Array) -> Item:
    """Two concepts at once: each anchor's share of images that show more of both than usual."""
    values = similarity(scene.pool.embeddings, texts)
    usual = np.median(values, axis=1)[:, None]
    both: Float64Array = np.all(values > usual, axis=0).astype(np.float64)
    sizes = [int((scene.labels == j).sum()) for j in range(scene.k)]
    shares = np.array([both[scene.labels == j].mean() for j in range(scene.k)])
    rng = scene.rng(f"intersection of {first} and {second}")
    n_draws = min(_DRAWS, scene.settings.n_permutations)
    shuffled = shuffled_labels(scene.labels, n_draws, rng)
    dealt = np.stack(
        [(both * (shuffled == j)).sum(axis=1) / sizes[j] for j in range(scene.k)]
    )
    spread = float(shares.max() - shares.min())
    null = dealt.max(axis=0) - dealt.min(axis=0)
    difference = Estimate.from_null(spread, None, null)
    scores = {"difference": replace(difference, as_published=True)}
    for j, anchor in enumerate(scene.task.anchors):
        hits = int(both[scene.labels == j].sum())
        boot = share_draws(hits, sizes[j], scene.settings.n_bootstrap, rng)
        scores[f"share_both:{anchor.name}"] = Estimate(
            float(shares[j]), boot, as_published=True
        )
    return Item(f"{first} & {second}", scores, "intersection", len(both))


_CONTROLS_SETS = 999  # sets of words in the test of one shuffle


def controls(
    scene: Scene, found: Forward, m: int, headline: Headline
) -> dict[str, Control]:
    """What the task shows where there is nothing to show."""
    bottom = found.squares.concepts.mean() + found.squares.reference.mean()
    says = (
        "The pictures differ"
        if headline.value is not None
        else "The pictures do not differ"
    )
    squared = found.text_only**2
    value = float(excess(squared[:m].mean(), squared[m:].mean()))
    return {
        "shuffled": _shuffled(scene, found),
        "halves": _halves(scene, found),
        "separation": Control(
            f"{says} beyond what the prompts say (mean squared effect of concepts plus that of "
            f"reference words: {bottom:.2g}).",
            float(bottom),
            contradicts=headline.reason if headline.value is None else None,
        ),
        "text_only": Control(
            "The same excess of the words on the anchors' texts, without any image; what they "
            "explain is taken out of the headline.",
            value if np.isfinite(value) else None,
        ),
    }


def _shuffled(scene: Scene, found: Forward) -> Control:
    rng = scene.rng("control: shuffled anchors")
    rejected, values = 0, []
    for _ in range(SHUFFLES):
        shuffle = found.beyond.relabelled(rng.permutation(scene.labels))
        squares = Squares.of(
            shuffle, found.squares.related, scene.pool.prompts, scene.pool.indices
        )
        headline = excess_headline([squares], scene.settings.level, rng, _CONTROLS_SETS)
        rejected += headline.p is not None and headline.p < 0.05
        values += [headline.value] if headline.value is not None else []
    return of_shuffles(
        f"With the anchors of the images shuffled, {rejected} of {SHUFFLES} tests have p < .05.",
        float(np.mean(values)) if values else None,
        rejected,
        "it finds an excess between shuffled anchors too",
    )


def _halves(scene: Scene, found: Forward) -> Control:
    halves = []
    for parity in (0, 1):
        chosen = scene.pool.indices % 2 == parity
        if np.bincount(scene.labels[chosen], minlength=scene.k).min() < 3:
            return Control("An anchor has too few images to be halved.")
        half, units = found.beyond.rows(chosen), scene.pool.indices[chosen]
        squares = Squares.of(half, found.squares.related, scene.pool.prompts, units)
        rng = scene.rng("control: halves")
        headline = excess_headline([squares], scene.settings.level, rng, _CONTROLS_SETS)
        if headline.value is None:
            return Control("A half of the images has no excess to compare.")
        halves.append(headline.parts[0])
    difference = halves[0].value - halves[1].value
    one, other = (half.influence for half in halves)
    p = t_test(difference, one.variance + other.variance, min(one.df, other.df))
    return of_halves(difference, p)


_FEWEST_REFERENCE = 20  # reference words that have a vector
_SETS = 20_000  # random sets of reference words


def needs(task: VibexTask, settings: Settings) -> Needs:
    """Images of the anchors and of inverse queries; texts of anchors, concepts and reference."""
    n = settings.images(task.images_per_prompt)
    m = settings.images(task.inverse_images)
    concepts = _asked(task, settings)
    prompts = [PromptNeed(anchor.prompt, n, anchor.name) for anchor in task.anchors]
    prompts += [
        PromptNeed(concept.prompt, m, "concepts")
        for concept in concepts
        if concept.query == "inverse"
    ]
    paired = {name for pair in task.intersections for name in pair}
    texts = [anchor.text or anchor.prompt for anchor in task.anchors]
    texts += [concept.prompt for concept in concepts]
    texts += [concept.prompt for concept in task.concepts if concept.name in paired]
    forward = sum(concept.query == "forward" for concept in concepts)
    if forward:
        texts += task.reference.texts
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)), concepts=forward)


def _asked(task: VibexTask, settings: Settings) -> list[TestConcept]:
    """The concepts of forward queries, then those of inverse ones."""
    return [
        concept
        for query in ("forward", "inverse")
        for concept in settings.limited(
            [concept for concept in task.concepts if concept.query == query]
        )
    ]


def _readable_concepts(
    task: VibexTask, evidence: Evidence, settings: Settings
) -> tuple[list[TestConcept], list[str]]:
    """The concepts of the run whose text has a vector, and a warning that names the others."""
    asked = _asked(task, settings)
    readable: list[TestConcept] = []
    unreadable: list[TestConcept] = []
    for concept in asked:
        has_text = bool(has_vector(_texts(evidence, [concept]))[0])
        (readable if has_text else unreadable).append(concept)
    lost = [concept.name for concept in unreadable]
    return readable, left_out_warnings(lost, "has no vector")


def _forward(
    scene: Scene,
    concepts: Sequence[TestConcept],
    evidence: Evidence,
    warnings: list[str],
) -> tuple[Forward | None, str]:
    """The forward queries of concepts, or why there are none; what is left out is warned of."""
    task = scene.task
    if all(concept.query != "forward" for concept in _asked(task, scene.settings)):
        return None, "the task has no forward query"
    every = evidence.texts(task.reference.texts).astype(np.float64)
    reference = with_vector(every)
    lost = lacking(len(every) - len(reference), len(every), "reference words")
    if lost is not None:
        warnings.append(f"{lost[:1].upper()}{lost[1:]}; they are left out.")
    if not concepts:
        return None, "the encoder has no vectors of the concepts' texts"
    if lost is not None and len(reference) < _FEWEST_REFERENCE:
        return (
            None,
            f"the encoder has vectors of fewer than {_FEWEST_REFERENCE} reference words",
        )
    return forward(scene, concepts, _texts(evidence, concepts), reference), ""


def score(task: VibexTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Every concept against the anchors.

    With cosines of images and texts, k anchors c_j, a concept t and R reference words:

        m            = mean cosine of t with the images of c_1 less that with the images of c_2,
                       less the mean of this over the reference words (of more than two anchors
                       the range of their centred means)
        beyond_words = the same on the images' parts orthogonal to the differences of the anchors'
                       own texts: what those texts say needs no image
        percentile   = the share of reference words whose effect beyond words is smaller
        p of both    = the larger of (1 + number of reference effects as large) / (R + 1) and
                       Welch's p of the images
        share:c_j    = share of the concept's own images on the side of c_j, corrected for anchor
                       images that land on the wrong side; lean = share of c_1 less that of c_2

    The headline is (V / c - W) / (V / c + W), with V the mean squared effect beyond words of the
    concepts and W that of the reference; random sets of words, as related, read 0 on average. As
    published (Eschner et al. 2025, equations 1 to 4 and appendix
    B), with s(I, T) = (cos(I, T) + 1) / 2:

        P(t | c_j)             = mean of s(I, t) over the images I of anchor j
        probability:c_j        = P(c_j | t) = P(t | c_j) / (sum over i of P(t | c_i))
        probability_difference = max over j of P(c_j | t) - min over j of P(c_j | t)
        D                      = the largest two-sample Kolmogorov-Smirnov distance between the
                                 similarities s(I, t) of two anchors' images
        delta                  = Cliff's delta, P(s_1 > s_2) - P(s_1 < s_2), positive: nearer the
                                 first of two anchors
        x                      = mean over images I of the concept of s(I, c_2) - s(I, c_1)

    Args:
        task: The task.
        evidence: One encoder's embeddings.
        settings: How to measure.

    Returns:
        A row for each forward and inverse query and each intersection; for the task the headline,
        and the share of published tendencies that come out.
    """
    collector = ImageCollector(evidence)
    n = settings.images(task.images_per_prompt)
    pool = collector.collect([anchor.prompt for anchor in task.anchors], n)
    texts = evidence.texts([anchor.text or anchor.prompt for anchor in task.anchors])
    scene = Scene(task, settings, pool, texts.astype(np.float64))
    empty = [
        anchor.name
        for j, anchor in enumerate(task.anchors)
        if not (scene.labels == j).any()
    ]
    if empty:
        reason = f"no image of: {', '.join(empty)}"
        return MethodResult.undefined(reason, collector)
    unsaid = [
        anchor.name
        for anchor, has_text in zip(task.anchors, has_vector(texts), strict=True)
        if not has_text
    ]
    if unsaid:
        reason = f"the encoder has no vectors of the texts of: {', '.join(unsaid)}"
        return MethodResult.undefined(reason, collector)
    readable, warnings = _readable_concepts(task, evidence, settings)
    m = settings.images(task.inverse_images)
    ahead = [concept for concept in readable if concept.query == "forward"]
    found, reason = _forward(scene, ahead, evidence, warnings)
    inverses = []
    for concept in _asked(task, settings):
        if concept.query == "inverse":
            images = collector.collect([concept.prompt], m)
            if concept in readable:
                inverses.append(
                    inverse(scene, concept, images, _texts(evidence, [concept]))
                )
    by_name = {concept.name: concept for concept in task.concepts}
    crossed = []
    for first, second in task.intersections:
        rows = _texts(evidence, [by_name[first], by_name[second]])
        if has_vector(rows).all():
            crossed.append(intersection(scene, first, second, rows))
    headline = Headline.undefined(reason, "excess")
    if found:
        rng = scene.rng("sets of reference words")
        n_draws = min(_SETS, settings.n_permutations)
        headline = excess_headline([found.squares], settings.level, rng, n_draws)
    checks = controls(scene, found, len(ahead), headline) if found else {}
    result = ProbingResult(
        headline=headline,
        scores=_mean_distance(found.items) if found else {},
        by=[*(found.items if found else ()), *(item for item, _ in inverses), *crossed],
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        samples=[
            *(found.samples if found else ()),
            *(row for _, samples in inverses for row in samples),
        ],
        controls=checks,
        inconclusive=contradiction(checks),
        warnings=warnings,
        squares=found.squares if found else None,
    )
    return with_verdicts(task, result)


def _mean_distance(items: Sequence[Item]) -> dict[str, Estimate]:
    values = [item.scores["kolmogorov_smirnov_distance"].value for item in items]
    mean = float(np.mean([value for value in values if value is not None]))
    return {"kolmogorov_smirnov_distance_mean": Estimate(mean, as_published=True)}


def _texts(evidence: Evidence, concepts: Sequence[TestConcept]) -> Float64Array:
    return evidence.texts([concept.prompt for concept in concepts]).astype(np.float64)


@dataclass(frozen=True, slots=True)
class ProbingResult(MethodResult):
    """A result that can be averaged over encoders."""

    squares: Squares | None = None


def combine(
    task: VibexTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The scores over all encoders: concepts against the reference, for the mean encoder."""
    if len(results) == 1 or any(result.reason for result in results):
        return average_results(results, settings.level)
    parts = [result.squares for result in results if isinstance(result, ProbingResult)]
    squares = [part for part in parts if part is not None]
    mean = average_results(results, settings.level)
    headline = mean.headline
    lacking = [result.headline for result in results if result.headline.value is None]
    if lacking:
        headline = lacking[0]
    elif len(
        {(item.name, item.group) for result in results for item in result.by}
    ) > min(len(result.by) for result in results):
        headline = Headline.undefined(
            "the encoders have vectors of different texts", "excess"
        )
    elif len(squares) == len(results):
        rng = settings.rng(task.id, "sets of reference words")
        n_draws = min(_SETS, settings.n_permutations)
        headline = excess_headline(squares, settings.level, rng, n_draws)
    tables = by_key([result.by for result in results])
    k = len(task.anchors)
    rows = []
    for item in mean.by:
        same_rows = [table.get((item.name, item.group)) for table in tables]
        own = [row.scores for row in same_rows if row is not None]
        averaged = {
            name: averaged_effect([scores[name] for scores in own], k, settings.level)
            for name in EFFECTS
            if all(name in scores for scores in own)
        }
        scores = item.scores | averaged | _shares_of_lean(task, item)
        rows.append(replace(item, scores=scores))
    return with_verdicts(task, replace(mean, headline=headline, by=rows))


def _shares_of_lean(task: VibexTask, item: Item) -> dict[str, Estimate]:
    """The lean to two anchors and their shares, with its interval, which ends at ±1."""
    lean = item.scores.get("lean")
    if lean is None or lean.value is None or lean.interval is None:
        return {}
    low = min(max(lean.interval[0], -1.0), lean.value)
    high = max(min(lean.interval[1], 1.0), lean.value)
    first, second = (f"share:{anchor.name}" for anchor in task.anchors)
    return {
        "lean": replace(lean, interval=(low, high)),
        first: Estimate((1 + lean.value) / 2, interval=((1 + low) / 2, (1 + high) / 2)),
        second: Estimate(
            (1 - lean.value) / 2, interval=((1 - high) / 2, (1 - low) / 2)
        ),
    }


def with_verdicts(task: VibexTask, result: MethodResult) -> MethodResult:
    """A result with what its rows say together."""
    found = verdicts(task, result.by)
    anchors = [anchor.name for anchor in task.anchors]
    lines = [
        {
            "concept": concept,
            "verdict": one.outcome,
            "anchor": None if one.side is None else anchors[one.side],
            "p": p,
            "says": one.says,
        }
        for concept, one, p in found
    ]
    warnings = [
        f"'{name}' is inconclusive: {one.says}."
        for name, one, _ in found
        if one.contradiction
    ]
    published = {(one.name, str(one.query)): one.tendency for one in task.concepts}
    rows = [
        {"concept": item.name, "published": expected, "found": measured}
        for item in result.by
        if (expected := published.get((item.name, str(item.group)))) is not None
        and (measured := tendency(task, item)) is not None
    ]
    decided = [row for row in rows if row["published"] != "balanced"]
    scores = dict(result.scores)
    if decided:
        hits = sum(row["published"] == row["found"] for row in decided)
        scores["tendencies_reproduced"] = share_estimate(hits, len(decided))
    return replace(
        result,
        scores=scores,
        warnings=[
            *result.warnings,
            *(line for line in warnings if line not in result.warnings),
        ],
        details=result.details | {"verdicts": lines, "tendencies": rows},
    )
