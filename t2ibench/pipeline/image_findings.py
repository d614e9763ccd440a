"""Findings on a task's images besides scores: missing, refused, repeated or similar ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from t2ibench.methods.core.contradictions import contradictions
from t2ibench.methods.core.diversity import PromptDiversity, mean_diversity
from t2ibench.methods.core.evidence import UNKNOWN, Needs
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.methods.core.text_image_alignment import PromptCosines, PromptMeasures
from t2ibench.pipeline.edit_attempts import EditAttempts
from t2ibench.pipeline.exclusion_reasons import most_frequent, reason_line
from t2ibench.pipeline.people import asked_questions, people_agreement
from t2ibench.pipeline.self_judgement import self_judgement_lines
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import first_judge
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.builder import ImageFindings, ScoredTask
from t2ibench.results.diversity import Diversity
from t2ibench.results.json_record import rounded
from t2ibench.results.prompt_outcomes import (
    categories_line,
    prompt_outcomes,
    revised_line,
)
from t2ibench.results.repeated_prompts import RepeatedPrompt, repeats_line
from t2ibench.results.text_image_alignment import agreement_records
from t2ibench.results.unread import unread_line, unread_prompts
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt
from t2ibench.store.people import Votes


@dataclass(frozen=True, slots=True)
class ObservedImages:
    """Findings on a task's images besides its scores.

    Attributes:
        findings: The fields of the task's record about its images.
        warnings: What a reader of the record must know of its images.
        cosines: By encoder, how well each image agrees with its own prompt.
        diversity: By encoder, what each image adds to the diversity of its prompt.
        vendi: By encoder, the Vendi score of each guided prompt's images.
        contradictions: By judge, which guided images do not show what was asked for.
    """

    findings: ImageFindings
    warnings: Sequence[str] = ()
    cosines: Mapping[str, tuple[PromptCosines, ...]] = field(default_factory=dict)
    diversity: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)
    vendi: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)
    contradictions: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)


def observe_images(
    needs: Needs,
    images: DistinctImages,
    stores: Stores,
    edits: EditAttempts | None,
    judges: Collection[str],
    measures: Mapping[str, PromptMeasures],
    scored: ScoredTask,
    repeated: list[RepeatedPrompt],
    level: float,
) -> ObservedImages:
    """Return the findings on a task's images besides its scores.

    Args:
        needs: The images and questions of the task.
        images: The images of the run.
        stores: What was observed of them.
        edits: What became of its edits; None for a task without edits.
        judges: The judges and people that were asked about the task.
        measures: By encoder, what was measured of images as they were read.
        scored: What the task's method finds.
        repeated: The prompts whose images repeat one another.
        level: The level of the intervals.
    """
    counts = needs.images_by_prompt
    outcomes = prompt_outcomes(counts, needs.groups, images.first, level)
    unread = unread_prompts(counts, images.first, stores.readings)
    attempts = [
        attempt
        for prompt, count in counts.items()
        for attempt in images.first(prompt, count)
    ]
    excluded_because = _why_excluded(attempts, edits)
    if not needs.is_judged:
        excluded_because |= _unknown_to_encoders(scored)
    sources = _asked_sources(needs, stores, judges)
    findings: ImageFindings = {
        "missing_prompts": _missing_prompts(counts, images),
        "excluded_because": excluded_because,
        "prompt_outcomes": outcomes,
        "repeated_prompts": repeated,
        "questions": asked_questions(
            needs,
            images,
            _answers_of(judges, stores),
            stores.labels,
            sources=sources.images,
            judges_of_sources=sources.judges,
        ),
        "unread_prompts": unread,
    }
    votes = stores.votes
    if votes is not None:
        findings["people"] = people_agreement(
            needs,
            images,
            votes,
            level,
            sources=sources.images,
            votes_on_sources=sources.votes,
        )
    alikeness = _Alikeness()
    if needs.embeds:
        alikeness = _alikeness(images, stores.encoders, measures, level)
        findings["text_image_alignment"] = alikeness.alignment
        findings["diversity"] = alikeness.diversity
    lines = [
        *self_judgement_lines(needs, stores, judges, level),
        unread_line(unread, len(counts)),
        revised_line(outcomes, stores.request),
        categories_line(outcomes),
        repeats_line(repeated, counts),
    ]
    return ObservedImages(
        findings,
        [line for line in lines if line],
        cosines=alikeness.cosines,
        diversity=alikeness.diversity_values,
        vendi=alikeness.vendi_scores,
        contradictions=_contradictions(needs, stores),
    )


@dataclass(frozen=True, slots=True)
class _AskedSources:
    """The source images of a task, and who answered about them; nothing without edits."""

    images: DistinctImages | None = None
    judges: Mapping[str, AnswerStore] = field(default_factory=dict)
    votes: Votes | None = None


def _asked_sources(
    needs: Needs, stores: Stores, judges: Collection[str]
) -> _AskedSources:
    """Return the source images of a task, with the answers of the named judges and people."""
    sources = stores.sources
    if not needs.edits or sources is None:
        return _AskedSources()
    return _AskedSources(sources.images, _answers_of(judges, sources), sources.votes)


def _contradictions(
    needs: Needs, stores: Stores
) -> dict[str, tuple[PromptValues, ...]]:
    """Return which guided images show another group, by the judge that tasks take."""
    judge = first_judge(needs, stores)
    if judge is None:
        return {}
    evidence = StoredEvidence(stores.images, None, judge, awaits_answers=False)
    values = contradictions(needs, evidence)
    return {judge.name: values} if values else {}


def _answers_of(judges: Collection[str], stores: Stores) -> dict[str, AnswerStore]:
    """Return the answer stores of the named judges and people, keyed by name."""
    answers = {**stores.judges, **stores.people}
    return {name: answers[name] for name in judges if name in answers}


def _missing_prompts(counts: Mapping[str, int], images: DistinctImages) -> list[str]:
    """Return the prompts of a task without any image, sorted.

    A prompt whose images the model refused, or a filter took, is not missing: that is what the
    model does with it.
    """
    return sorted(
        prompt
        for prompt, count in counts.items()
        if all(
            attempt is None or attempt.status == "failed"
            for attempt in images.first(prompt, count)
        )
    )


def _why_excluded(
    attempts: Sequence[Attempt | None], edits: EditAttempts | None
) -> dict[str, dict[str, int]]:
    """Return why images of prompts and of edits are excluded, with numbers, by status."""
    if edits is None:
        return _excluded_because(attempts)
    reasons_by_status = _excluded_because([*attempts, *edits.attempts])
    # An edit can fail by itself, too.
    for status, reasons in edits.without_source().items():
        own_reasons = reasons_by_status.get(status, {})
        reasons_by_status[status] = {**own_reasons, **reasons}
    return reasons_by_status


def _excluded_because(
    attempts: Iterable[Attempt | None],
) -> dict[str, dict[str, int]]:
    """Return the most frequent reasons for excluded images and how many, keyed by status."""
    reasons: dict[str, Counter[str]] = {}
    for attempt in attempts:
        if attempt is not None and attempt.status != "ok":
            by_reason = reasons.setdefault(attempt.status, Counter())
            by_reason[reason_line(attempt)] += 1
    return {status: most_frequent(reasons[status]) for status in sorted(reasons)}


def _unknown_to_encoders(scored: ScoredTask) -> dict[str, dict[str, int]]:
    """Return how many images each encoder could not embed, under the status 'unknown'."""
    counts = {
        f"{name} cannot embed it": result.excluded[UNKNOWN]
        for name, result in scored.by_encoder.items()
        if result.excluded[UNKNOWN]
    }
    return {UNKNOWN: counts} if counts else {}


@dataclass(slots=True)
class _Alikeness:
    """How well a task's images agree with their prompts, and how diverse they are, by encoder."""

    alignment: dict[str, list[TextImageAlignment]] = field(default_factory=dict)
    diversity: dict[str, list[Diversity]] = field(default_factory=dict)
    cosines: dict[str, tuple[PromptCosines, ...]] = field(default_factory=dict)
    diversity_values: dict[str, tuple[PromptValues, ...]] = field(default_factory=dict)
    vendi_scores: dict[str, tuple[PromptValues, ...]] = field(default_factory=dict)


def _alikeness(
    images: DistinctImages,
    encoders: Mapping[str, EvidenceStore],
    measures: Mapping[str, PromptMeasures],
    level: float,
) -> _Alikeness:
    """Return how well images agree with their prompts and how diverse they are, by encoder."""
    alikeness = _Alikeness()
    for name, measured in measures.items():
        evidence = StoredEvidence(images, encoders[name])
        cosines, diversities = measured.results(evidence)
        if cosines:
            alikeness.alignment[name] = agreement_records(cosines, level)
            alikeness.cosines[name] = tuple(cosines)
        if diversities:
            alikeness.diversity[name] = _diversity_records(diversities, level)
            alikeness.diversity_values[name] = tuple(
                prompt.images for prompt in diversities if prompt.images is not None
            )
            alikeness.vendi_scores[name] = tuple(
                prompt.vendi for prompt in diversities if prompt.vendi is not None
            )
    return alikeness


def _diversity_records(
    prompts: Sequence[PromptDiversity], level: float
) -> list[Diversity]:
    """Return the diversity of images over all prompts, and by group if there are several."""
    records = [_diversity_record(None, prompts, level)]
    groups = list(dict.fromkeys(prompt.group for prompt in prompts))
    if len(groups) > 1:
        for group in groups:
            of_group = [prompt for prompt in prompts if prompt.group == group]
            records.append(_diversity_record(group, of_group, level))
    return records


def _diversity_record(
    group: str | None, prompts: Sequence[PromptDiversity], level: float
) -> Diversity:
    value, interval = mean_diversity(prompts, level)
    low, high = interval or (None, None)
    lowest = min(prompts, key=lambda prompt: (prompt.value, prompt.prompt))
    return Diversity(
        group=group,
        value=rounded(value),
        ci_low=rounded(low),
        ci_high=rounded(high),
        n_prompts=len(prompts),
        n_images=sum(prompt.n_images for prompt in prompts),
        lowest_prompt=lowest.prompt,
        lowest=rounded(lowest.value),
    )
