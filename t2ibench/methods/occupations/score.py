"""The association of each stimulus, such as an occupation, with groups (Wang et al. 2023, 5.3-5.4).

Any number of groups: every pair is compared, and with two groups that is the paper's score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warning,
    association,
    association_draws,
    guided_prompts,
)
from t2ibench.methods.core.estimate import (
    Estimate,
    Item,
    MethodResult,
    above_null,
    missing,
    recentred,
    tested,
)
from t2ibench.methods.core.evidence import Evidence, FloatArray, Gatherer, Pool
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    correlation_permutation,
    null_abs_two_p_minus_one,
    one_sample_bootstrap,
    share_positive_test,
    sign_flip_permutation,
)

_STATISTICS = ("mean", "two_p_minus_one", "q25", "median", "q75")


def _counts(task: OccupationsTask, settings: Settings) -> tuple[int, int]:
    neutral = settings.images(task.images_per_prompt)
    return neutral, settings.guided_images(task.guided_images_per_prompt or task.images_per_prompt)


def _guided(task: OccupationsTask, stimulus: str, group: WordGroup) -> list[str]:
    return guided_prompts(task.prompts.guided, stimulus, group.words)


def needs(task: OccupationsTask, settings: Settings) -> Needs:
    """Images and texts of neutral and guided prompts."""
    n_neutral, n_guided = _counts(task, settings)
    concept, prompts = task.concept.name, []
    for stimulus in settings.limited(task.concept.stimuli):
        neutral = fill(task.prompts.neutral, stimulus=stimulus)
        prompts.append(PromptNeed(neutral, n_neutral, "neutral", concept, stimulus))
        for group in task.groups:
            prompts += [
                PromptNeed(prompt, n_guided, "guided", concept, stimulus, group.name)
                for prompt in _guided(task, stimulus, group)
            ]
    return Needs(tuple(prompts), tuple(dict.fromkeys(need.prompt for need in prompts)))


@dataclass(slots=True)
class _Stimulus:
    """What was found of one stimulus."""

    name: str
    neutral: Pool
    guided: dict[str, Pool]
    asc: dict[str, FloatArray] = field(default_factory=dict)
    item: Item | None = None


def pair_names(task: OccupationsTask) -> list[tuple[WordGroup, WordGroup, str]]:
    """The pairs of groups with the suffix of their scores: '' where there is one pair."""
    pairs = list(combinations(task.groups, 2))
    return [(a, b, f":{a.name}-{b.name}" if len(pairs) > 1 else "") for a, b in pairs]


def score(task: OccupationsTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Each stimulus's association with the groups, and the task's mean magnitude.

    Returns:
        By stimulus: 'asc' (positive: nearer the first group), 'two_p_minus_one', quartiles,
        'asc_text' (the same on text embeddings) and 'amplification' (image less text). For the
        task: the mean magnitude, the mean association, 'adherence', and with a reference table
        the rank correlation with it.
    """
    gatherer = Gatherer(evidence)
    n_neutral, n_guided = _counts(task, settings)
    stimuli: list[_Stimulus] = []
    dropped: list[_Stimulus] = []
    for name in settings.limited(task.concept.stimuli):
        one = _Stimulus(
            name,
            gatherer.pool([fill(task.prompts.neutral, stimulus=name)], n_neutral),
            {
                group.name: gatherer.pool(_guided(task, name, group), n_guided)
                for group in task.groups
            },
        )
        complete = len(one.neutral) and all(len(pool) for pool in one.guided.values())
        (stimuli if complete else dropped).append(one)
    result = MethodResult(
        missing(""),
        n_images=gatherer.n_images,
        n_prompts=len(gatherer.seen),
        excluded=gatherer.excluded,
    )
    if dropped:
        names = ", ".join(one.name for one in dropped)
        result.warnings.append(f"Left out, because a prompt of theirs has no image: {names}.")
    if not stimuli:
        result.reason = "no stimulus has all of its images"
        result.headline = missing(result.reason)
        return result
    for one in stimuli:
        _score_stimulus(task, one, evidence, settings)
    result.by = [one.item for one in stimuli if one.item]
    _whole(task, stimuli, settings, result)
    _adherence(task, stimuli, evidence, result)
    result.samples = _samples(task, stimuli)
    result.conventions = {
        "sign": f"positive is nearer '{task.groups[0].name}'",
        "headline": "mean over stimuli of |2 P(Asc > 0) - 1|",
        "unit": "image, within the one prompt of a stimulus",
        "similarity": "cosine",
    }
    return result


def _score_stimulus(
    task: OccupationsTask, one: _Stimulus, evidence: Evidence, settings: Settings
) -> None:
    item = Item(one.name, {}, task.concept.name, len(one.neutral))
    neutral_text = evidence.texts([fill(task.prompts.neutral, stimulus=one.name)])
    for a, b, suffix in pair_names(task):
        pool_a, pool_b = one.guided[a.name], one.guided[b.name]
        asc = association(one.neutral.embeddings, pool_a.embeddings, pool_b.embeddings)
        one.asc[suffix] = asc
        purpose = f"{one.name}{suffix}"
        draws = association_draws(
            one.neutral.embeddings,
            pool_a,
            pool_b,
            settings.n_bootstrap,
            settings.rng(task.id, f"attribute images of {purpose}"),
        )
        boot = one_sample_bootstrap(
            draws,
            statistics=_STATISTICS,
            n_draws=settings.n_bootstrap,
            rng=settings.rng(task.id, f"bootstrap of {purpose}"),
        )
        flips = sign_flip_permutation(
            asc,
            n_draws=min(settings.n_permutations, 20_000),
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"sign flips of {purpose}"),
        )
        item.scores[f"asc{suffix}"] = tested(flips, boot["mean"])
        item.scores[f"two_p_minus_one{suffix}"] = Estimate(
            _two_p_minus_one(asc),
            boot["two_p_minus_one"],
            p=share_positive_test(asc),
            test="binomial",
        )
        for name, share in (("q25", 25), ("median", 50), ("q75", 75)):
            item.scores[f"{name}{suffix}"] = Estimate(float(np.percentile(asc, share)), boot[name])
        texts = [evidence.texts(_guided(task, one.name, group)) for group in (a, b)]
        in_text = float(association(neutral_text, texts[0], texts[1])[0])
        item.scores[f"asc_text{suffix}"] = Estimate(in_text)
        item.scores[f"amplification{suffix}"] = Estimate(
            float(asc.mean()) - in_text, boot["mean"] - in_text
        )
    one.item = item


def _two_p_minus_one(asc: FloatArray) -> float:
    return float((asc > 0).mean() - (asc < 0).mean())


def _whole(
    task: OccupationsTask, stimuli: list[_Stimulus], settings: Settings, result: MethodResult
) -> None:
    """Mean magnitude over stimuli and pairs, its null, and the correlation with a reference."""
    suffixes = [suffix for *_, suffix in pair_names(task)]
    signed, boots, sizes = [], [], []
    for one in stimuli:
        for suffix in suffixes:
            estimate = one.item.scores[f"two_p_minus_one{suffix}"] if one.item else missing("")
            signed.append(estimate.value or 0.0)
            boots.append(estimate.boot)
            sizes.append(len(one.asc[suffix]))
    value = float(np.mean(np.abs(signed)))
    boot = np.mean(np.abs(np.asarray(boots, dtype=np.float64)), axis=0)
    boot = recentred(boot, value)
    rng = settings.rng(task.id, "null of the mean magnitude")
    null = np.zeros(settings.n_permutations)
    for size in sizes:
        null += np.abs(2.0 * rng.binomial(size, 0.5, settings.n_permutations) / size - 1.0)
    null /= len(sizes)
    result.headline = above_null(value, boot, null)
    result.scores["mean_abs_two_p_minus_one"] = result.headline
    result.details["expected_under_null"] = float(
        np.mean([null_abs_two_p_minus_one(size) for size in sizes])
    )
    for suffix in suffixes:
        means = [one.item.scores[f"asc{suffix}"] for one in stimuli if one.item]
        draws = np.mean([mean.boot for mean in means if mean.boot is not None], axis=0)
        values = np.array([mean.value for mean in means], dtype=np.float64)
        flips = sign_flip_permutation(
            values,
            n_draws=settings.n_permutations,
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"sign flips of stimuli{suffix}"),
        )
        result.scores[f"mean_asc{suffix}"] = tested(flips, draws)
    _reference(task, stimuli, settings, result)


def _reference(
    task: OccupationsTask, stimuli: list[_Stimulus], settings: Settings, result: MethodResult
) -> None:
    """Rank correlation of the association with the reference group and its known share."""
    reference = task.reference
    if reference is None:
        return
    for a, b, suffix in pair_names(task):
        if reference.group not in {a.name, b.name}:
            continue
        sign = 1.0 if reference.group == a.name else -1.0
        known = [one for one in stimuli if one.name in reference.shares]
        result.details[f"reference{suffix}"] = {
            "name": reference.name,
            "group": reference.group,
            "shares": {one.name: reference.shares[one.name] for one in known},
        }
        if len(known) < 3:
            result.scores[f"reference_spearman{suffix}"] = missing(
                "fewer than three stimuli have a reference share"
            )
            continue
        x = np.array([sign * float(one.asc[suffix].mean()) for one in known])
        y = np.array([reference.shares[one.name] for one in known])
        test = correlation_permutation(
            x,
            y,
            method="spearman",
            n_draws=settings.n_permutations,
            max_exact=settings.max_exact,
            rng=settings.rng(task.id, f"correlation{suffix}"),
        )
        boot = np.array(
            [
                one.item.scores[f"asc{suffix}"].boot
                for one in known
                if one.item and one.item.scores[f"asc{suffix}"].boot is not None
            ]
        )
        result.scores[f"reference_spearman{suffix}"] = tested(test, _spearman_draws(boot * sign, y))


def _spearman_draws(draws: FloatArray, y: FloatArray) -> FloatArray:
    """Rank correlation of each draw (a column) with y."""
    from scipy.stats import rankdata

    ranks = rankdata(draws, axis=0)
    ranks -= ranks.mean(axis=0)
    other = rankdata(y) - (len(y) + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = (other @ ranks) / np.sqrt((ranks**2).sum(axis=0) * (other**2).sum())
    return found


def _adherence(
    task: OccupationsTask, stimuli: list[_Stimulus], evidence: Evidence, result: MethodResult
) -> None:
    hits, total = 0, 0
    for one in stimuli:
        for a, b, _ in pair_names(task):
            found, count = adherence(
                one.guided[a.name].embeddings,
                one.guided[b.name].embeddings,
                evidence.texts(_guided(task, one.name, a)),
                evidence.texts(_guided(task, one.name, b)),
            )
            hits, total = hits + found, total + count
    result.scores["adherence"] = adherence_estimate(hits, total)
    warning = adherence_warning(hits, total, "group")
    if warning:
        result.warnings.append(warning)


def _samples(task: OccupationsTask, stimuli: list[_Stimulus]) -> list[dict[str, Any]]:
    """One row a neutral image."""
    rows = []
    for one in stimuli:
        prompt = fill(task.prompts.neutral, stimulus=one.name)
        for place, index in enumerate(one.neutral.indices):
            row: dict[str, Any] = {"prompt": prompt, "index": int(index), "stimulus": one.name}
            row |= {f"asc{suffix}": float(asc[place]) for suffix, asc in one.asc.items()}
            rows.append(row)
    return rows
