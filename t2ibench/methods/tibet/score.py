"""Scores of a TIBET task: how much a prompt's images are like each counterfactual's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from t2ibench.methods.core.answer_counts import KEY
from t2ibench.methods.core.concepts import synonyms
from t2ibench.methods.core.describe import percent
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import HeadlineEstimate, contradiction
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.controls import controls_of
from t2ibench.methods.tibet.gather import gather
from t2ibench.methods.tibet.headline import headline_of_axes
from t2ibench.methods.tibet.image_sets import PromptSets
from t2ibench.methods.tibet.obedience import obedience_table
from t2ibench.methods.tibet.published import MAD, mean_deviation
from t2ibench.methods.tibet.rows import AxisRow, counted_answers, row_of, warnings_of
from t2ibench.methods.tibet.schema import TibetPrompt, TibetTask
from t2ibench.methods.tibet.squared_lean import mean_squared_lean_of_axes
from t2ibench.methods.tibet.top_concepts import top_concepts
from t2ibench.settings import Settings

_NO_AXIS = (
    "no prompt has two answered images of itself and of each of two counterfactuals"
)


def score(task: TibetTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of a TIBET task: the counterfactuals' shares in each prompt's images.

    With phi the concepts, 0 or 1, that the answers about an image name, and pi the shares of the
    counterfactuals' mean phi that come nearest to the prompt's (`mixture`), K along an axis:

        squared_lean = (|pi - 1/K|² - its sampling variance) / (1 - 1/K)

    is 0 on average where the images are an even mixture, at any number of images, and 1 where they
    are those of one counterfactual. The headline is its mean over prompts and axes, without those
    whose counterfactuals' answers cannot be distinguished.

    Args:
        task: The task.
        evidence: One judge's answers, and an encoder's embeddings where it saw the images.
        settings: How to measure.

    Returns:
        A row for each prompt and axis with the paper's scores beside ours; in `details` the
        concepts and the intersections.
    """
    merging = synonyms()
    targets = [
        (target, gather(task, target, evidence, settings, merging))
        for target in settings.limited(task.prompts)
    ]
    rows = [
        row_of(task, target, axis, sets, settings)
        for target, sets in targets
        for axis in target.axes
    ]
    axes = [row.shares for row in rows if isinstance(row.shares, AxisShares)]
    decided = [axis for axis in axes if axis.reason is None]
    obeyed = [answers for row in rows for answers in row.obeyed]
    headline = _headline(rows, decided, settings)
    shuffles = settings.rng(task.id, "shuffled")
    controls = controls_of(axes, obeyed, shuffles, settings.level)
    inconclusive = contradiction(controls) or _open_question(
        decided, headline, settings
    )
    deviation = mean_deviation([row.item.scores[MAD] for row in rows], _NO_AXIS)
    details = _details(targets, rows, decided)
    images = _distinct_images([sets for _, sets in targets])
    reason = None if axes else _reason_of(rows)
    return MethodResult(
        headline=headline,
        scores={MAD: deviation},
        by=[row.item for row in rows],
        n_images=images.count,
        n_prompts=images.prompts,
        excluded=images.excluded,
        conventions={"synonyms": merging.name, "min_frequency": task.min_frequency},
        warnings=warnings_of(rows),
        details=details,
        samples=images.samples,
        reason=reason,
        controls=controls,
        inconclusive=inconclusive,
    )


def _headline(
    rows: Sequence[AxisRow], decided: Sequence[AxisShares], settings: Settings
) -> HeadlineEstimate:
    """Return the headline over the rows that decide something; undefined if none does."""
    if decided:
        return headline_of_axes(decided, settings.level)
    return HeadlineEstimate.undefined(_reason_of(rows), "mean_square")


def _reason_of(rows: Sequence[AxisRow]) -> str:
    """Return the first reason why no row decides anything; axes that prompts name come last."""
    reasons = [row.reason for row in rows if row.reason and not row.axis.named]
    if reasons:
        return reasons[0]
    reasons_of_named = [row.reason for row in rows if row.reason]
    return reasons_of_named[0] if reasons_of_named else _NO_AXIS


def _open_question(
    decided: Sequence[AxisShares], headline: HeadlineEstimate, settings: Settings
) -> str | None:
    """Return why possible mixtures leave the headline undecided; None if they do not."""
    alpha = 1 - settings.level
    if not any(axis.alternatives for axis in decided) or headline.p is None:
        return None
    shown = mean_squared_lean_of_axes(decided, settings.level)
    if not shown.p < alpha <= headline.p:
        return None
    share = _unanswered_share(decided)
    if not share:
        return (
            "answers about some images of counterfactuals name another one; it leans only if those "
            "images do not show their own"
        )
    return (
        f"{percent(share)} of the prompts' images have no answer; it leans only if they are like "
        "the rest"
    )


def _unanswered_share(decided: Sequence[AxisShares]) -> float:
    """Return the share of the prompts' images that have no answer."""
    n_unanswered = sum(axis.unanswered for axis in decided)
    n_answered = sum(len(axis.sets[0].units) for axis in decided)
    return n_unanswered / max(n_unanswered + n_answered, 1)


def _details(
    targets: Sequence[tuple[TibetPrompt, PromptSets]],
    rows: Sequence[AxisRow],
    decided: Sequence[AxisShares],
) -> dict[str, Any]:
    """Return a result's `details`: frequent concepts, obedience and the judge's answers."""
    concepts = [asdict(top_concepts(target, sets)) for target, sets in targets]
    details: dict[str, Any] = {"prompts": concepts}
    unanswered = _unanswered_share(decided)
    if unanswered:
        details["unanswered"] = {"share": unanswered}
    obedience = obedience_table([answers for row in rows for answers in row.obeyed])
    if obedience:
        details["obedience"] = obedience
    details[KEY] = [asdict(attribute) for attribute in counted_answers(rows)]
    return details


@dataclass(frozen=True, slots=True)
class _DistinctImages:
    """The counts and samples of the images of all distinct prompts.

    Attributes:
        count: Number of answered images.
        prompts: Number of prompts.
        excluded: Number of images excluded, by reason.
        samples: The answers about each image.
    """

    count: int
    prompts: int
    excluded: Counter[str]
    samples: list[dict[str, Any]]


def _distinct_images(targets: Sequence[PromptSets]) -> _DistinctImages:
    """Return the counts and samples of all images, each prompt's images counted once."""
    prompts: set[str] = set()
    count = 0
    excluded: Counter[str] = Counter()
    samples: list[dict[str, Any]] = []
    for sets in targets:
        for prompt, image_set in sets.sets.items():
            if prompt not in prompts:
                prompts.add(prompt)
                count += len(image_set)
                excluded += image_set.excluded
                samples += image_set.samples(sets.questions)
    return _DistinctImages(count, len(prompts), excluded, samples)
