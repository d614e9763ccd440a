"""Differences of two runs as records for programs, all with the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from t2ibench.methods.core.score_names import join_score_name
from t2ibench.results.comparison_claims import OverallDifference
from t2ibench.results.display import displayed
from t2ibench.results.prompt_changes import AttributeChange, PromptChange
from t2ibench.results.schema import Headline, Score
from t2ibench.results.score_difference import Difference, verdict_text
from t2ibench.results.text_image_alignment import AgreementChange

# Numbers are those of the table, which shows a mean square as its root.
_SCALES = {"mean_square": "root_mean_square"}
_LEANS_LESS = {"first": "old", "second": "new"}


@dataclass(frozen=True, slots=True)
class ComparisonRecord:
    """One difference between two runs as a record; None stands for what is unknown.

    Attributes:
        task: The task; None for all prompts of both runs.
        row: The row, empty for the headline.
        score: The name of the score.
        scale: The scale of the numbers.
        old: The first run's value; its interval follows.
        new: The second run's.
        change: How much more the second run leans.
        p: The p-value of the change, uncorrected.
        p_holm: The same after Holm's correction.
        p_items: The p-value that every item of a mean square leans alike.
        p_items_holm: The same after Holm's correction.
        p_differ: The p-value that both runs are alike: of a lean that its difference is 0, of a
            mean square `p_items`; of all tests together where the score is 'all tests'.
        p_differ_holm: The same after Holm's correction.
        detectable: The least difference that is found in 8 of 10 cases.
        paired: Whether images were compared pair by pair.
        comparable: Whether both runs measured the same in the same way.
        verdict: Which run leans less, in words.
        leans_less: The same for programs: 'old', 'new', 'opposite' or 'tie'.
        notes: What to know about it.
    """

    task: str | None
    row: str
    score: str
    scale: str | None = None
    old: float | None = None
    old_low: float | None = None
    old_high: float | None = None
    new: float | None = None
    new_low: float | None = None
    new_high: float | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_items: float | None = None
    p_items_holm: float | None = None
    p_differ: float | None = None
    p_differ_holm: float | None = None
    detectable: float | None = None
    paired: bool | None = None
    comparable: bool | None = None
    verdict: str | None = None
    leans_less: str | None = None
    notes: str = ""


def difference_record(difference: Difference) -> Mapping[str, Any]:
    """Return the record of a difference between two headlines, or between two rows."""
    old, old_low, old_high = shown_ends(difference.first)
    new, new_low, new_high = shown_ends(difference.second)
    change = difference.change
    scale = getattr(difference.first, "scale", None)
    verdict = difference.verdict
    record = ComparisonRecord(
        task=difference.task,
        row=difference.row,
        score=difference.name,
        scale=_SCALES.get(str(scale), scale),
        old=old,
        old_low=old_low,
        old_high=old_high,
        new=new,
        new_low=new_low,
        new_high=new_high,
        change=change.value if change else None,
        change_low=change.low if change else None,
        change_high=change.high if change else None,
        p=difference.p,
        p_holm=difference.p_holm,
        p_items=difference.p_items,
        p_items_holm=difference.p_items_holm,
        p_differ=difference.p_differ,
        p_differ_holm=difference.p_differ_holm,
        detectable=difference.detectable,
        paired=difference.paired,
        comparable=difference.comparable,
        verdict=verdict_text(difference, "old", "new"),
        leans_less=_LEANS_LESS.get(verdict, verdict) if verdict else None,
        notes="; ".join(difference.notes),
    )
    return asdict(record)


def overall_record(overall: OverallDifference) -> Mapping[str, Any]:
    """Return the record of the single test whether two runs differ in any headline."""
    record = ComparisonRecord(
        task=None,
        row="",
        score="all tests",
        p_differ_holm=overall.p,
        comparable=True,
        verdict="the runs differ" if overall.differ else "no difference beyond chance",
        notes=f"{overall.n_differ} of {overall.n_tests} tests differ",
    )
    return asdict(record)


def prompt_record(
    attribute: AttributeChange, prompt: PromptChange
) -> Mapping[str, Any]:
    """Return the record of how the answers about one prompt differ between two runs."""
    old, new = prompt.shares
    record = ComparisonRecord(
        task=attribute.task,
        row=f"{attribute.attribute}: {prompt.first.counted.name}",
        score=join_score_name("share", prompt.group),
        old=old,
        new=new,
        change=prompt.change.value,
        change_low=prompt.change.low,
        change_high=prompt.change.high,
        p_holm=prompt.p_holm,
        paired=False,
        comparable=True,
        notes=prompt.words,
    )
    return asdict(record)


def agreement_record(agreement: AgreementChange) -> Mapping[str, Any]:
    """Return the record of how two runs differ in the agreement of images with prompts."""
    change = agreement.turned
    encoder = agreement.encoder
    group = agreement.group
    record = ComparisonRecord(
        task=agreement.task,
        row=f"{encoder}: {group}" if group else encoder,
        score="text_image_alignment",
        change=change.value,
        change_low=change.low,
        change_high=change.high,
        p=agreement.p,
        p_holm=agreement.p_holm,
        paired=True,
        comparable=True,
        notes=f"{agreement.n_prompts} prompts, {agreement.n_images} images of each",
    )
    return asdict(record)


def shown_ends(score: Score) -> tuple[float | None, float | None, float | None]:
    """Return a score and both ends of its interval, on the scale that tables show."""
    if not isinstance(score, Headline):
        return score.value, score.ci_low, score.ci_high
    mark = displayed(score)
    return mark.value, mark.low, mark.high
