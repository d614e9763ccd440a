"""A judge's errors about one attribute, from human labels of the same images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.judge_check import (
    AttributeCheck,
    ByGroup,
    ClassFound,
    GroupFound,
    RateFound,
    ReadShare,
)
from t2ibench.methods.core.judge_verdict import decide
from t2ibench.stats import holm
from t2ibench.stats.misclassification import (
    SHARES,
    ClassErrors,
    Rate,
    errors_of,
    group_test,
)

# The group of images that came from one folder.
FOLDER = "folder"
# Folders that stand for others: below, a check is about these folders alone.
FEWEST_FOLDERS = 4
_FEWEST_OF_GROUP = 10
_DIGITS = 6
_ALL = Rate(1.0, 1.0, 1.0, 0)


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """The human label and the judge's answer for one image.

    Attributes:
        truth: People's class, or 'unknown' where they gave none.
        answer: The judge's, or 'unknown'.
        prompt: What the image was generated for; images of one prompt are alike.
        groups: Other attributes to people's class.
    """

    truth: str
    answer: str
    prompt: str
    groups: Mapping[str, str]


def check_attribute(
    attribute: str,
    question: str,
    classes: Sequence[str],
    answers: Sequence[LabelledAnswer],
) -> AttributeCheck:
    """Return a judge's errors about one attribute, rounded to six digits, and the verdict.

    Images of one prompt are alike; from four folders on, images of one folder are, and intervals
    are about one more folder, because errors may differ between models.
    """
    # Its draws depend on the order of images, so that has to depend on them alone.
    rows = sorted(answers, key=_order)
    number = {name: code for code, name in enumerate(classes)}
    labelled = [row for row in rows if row.truth in number]
    no_class = [row for row in rows if row.truth not in number]
    folders = {row.groups.get(FOLDER) for row in labelled}
    several = len(folders) >= FEWEST_FOLDERS
    units = labelled
    if several:
        units = [replace(row, prompt=row.groups.get(FOLDER, "")) for row in labelled]
    by_class = []
    for name in classes:
        errors = _errors(units, number, name, of_another=several)
        of_class = [row.answer for row in labelled if row.truth == name]
        counts = {answer: of_class.count(answer) for answer in (*classes, UNKNOWN)}
        by_class.append(_class_record(name, len(of_class), counts, errors))
    by_group = _by_group(labelled, number)
    decision = decide(by_class, by_group)
    return AttributeCheck(
        attribute=attribute,
        question=question,
        classes=tuple(by_class),
        no_class=len(no_class),
        no_class_answered=sum(row.answer in number for row in no_class),
        by_group=tuple(by_group),
        verdict=decision.verdict,
        reason=decision.reason,
    )


def _order(row: LabelledAnswer) -> tuple[object, ...]:
    return (row.prompt, row.truth, row.answer, *row.groups.items())


def _errors(
    rows: Sequence[LabelledAnswer],
    number: Mapping[str, int],
    name: str,
    *,
    of_another: bool = False,
) -> ClassErrors:
    """Return a judge's error rates for one class, with each prompt's images as a cluster."""
    truths = [number[row.truth] for row in rows]
    answers = [number.get(row.answer, -1) for row in rows]
    return errors_of(
        truths, answers, number[name], _prompts(rows), of_another=of_another
    )


def _class_record(
    name: str, images: int, answers: dict[str, int], errors: ClassErrors
) -> ClassFound:
    read = [
        ReadShare(share=share, **_rounded_rate(errors.read(share)).model_dump())
        for share in SHARES
    ]
    return ClassFound(
        name=name,
        images=images,
        answers=answers,
        sensitivity=_rounded_rate(errors.sensitivity),
        specificity=_rounded_rate(errors.specificity),
        answered=_rounded_rate(errors.answered),
        answered_others=_rounded_rate(errors.answered_others),
        read=tuple(read),
    )


def _prompts(rows: Sequence[LabelledAnswer]) -> list[int]:
    """Return each labelled image's prompt as a number, in order of first appearance."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(row.prompt, len(numbers)) for row in rows]


def _by_group(
    rows: Sequence[LabelledAnswer], number: Mapping[str, int]
) -> list[ByGroup]:
    """Return a judge's errors in the groups of every other attribute, Holm-corrected."""
    records = []
    for by in sorted({name for row in rows for name in row.groups}):
        grouped = [row for row in rows if row.groups.get(by)]
        for truth in number:
            of_class = [row for row in grouped if row.truth == truth]
            names = sorted({row.groups[by] for row in of_class})
            if len(names) > 1:
                wrong, missing = _differences_between_groups(grouped, by, number, truth)
                record = _in_groups(of_class, by, truth, names)
                update = {"apart": wrong, "apart_answered": missing}
                records.append(record.model_copy(update=update))
    tests = [p for record in records for p in (record.p, record.p_answered)]
    adjusted = [_rounded_p(p) for p in holm(tests)]
    return [
        record.model_copy(
            update={
                "p_holm": adjusted[2 * position],
                "p_answered_holm": adjusted[2 * position + 1],
            }
        )
        for position, record in enumerate(records)
    ]


def _in_groups(
    rows: Sequence[LabelledAnswer], by: str, truth: str, names: Sequence[str]
) -> ByGroup:
    """Return how often a judge is right in each group, with p-values that groups are equal."""
    answered = [row for row in rows if row.answer != UNKNOWN]
    groups = []
    for name in names:
        of_group = [row for row in answered if row.groups[by] == name]
        groups.append(
            GroupFound(
                name=name,
                images=sum(row.groups[by] == name for row in rows),
                answered=len(of_group),
                right=sum(row.answer == truth for row in of_group),
            )
        )
    are_right = [row.answer == truth for row in answered]
    are_answered = [row.answer != UNKNOWN for row in rows]
    return ByGroup(
        truth=truth,
        by=by,
        groups=tuple(groups),
        p=_test(are_right, answered, by, names),
        p_answered=_test(are_answered, rows, by, names),
        apart=None,
        apart_answered=None,
    )


def _test(
    outcomes: list[bool],
    rows: Sequence[LabelledAnswer],
    by: str,
    names: Sequence[str],
) -> float | None:
    """Return the p-value of the test that an outcome is equally frequent in every group."""
    number = {name: code for code, name in enumerate(names)}
    groups = [number[row.groups[by]] for row in rows]
    p = group_test(outcomes, groups, _prompts(rows), np.random.default_rng(0))
    return _rounded_p(p if np.isfinite(p) else None)


def _differences_between_groups(
    rows: Sequence[LabelledAnswer], by: str, number: Mapping[str, int], truth: str
) -> tuple[float | None, float | None]:
    """Return how far groups' measured shares differ due to wrong, and to missing, answers.

    Each is the largest difference for one true share; None without two groups of enough
    images.
    """
    wrong = []
    missing = []
    for name in sorted({row.groups[by] for row in rows}):
        of_group = [row for row in rows if row.groups[by] == name]
        errors = _errors(of_group, number, truth)
        n_images = min(errors.sensitivity.images, errors.specificity.images)
        if n_images < _FEWEST_OF_GROUP:
            continue
        all_answered = replace(errors, answered=_ALL, answered_others=_ALL)
        all_right = replace(errors, sensitivity=_ALL, specificity=_ALL)
        wrong.append([all_answered.read(share).value for share in SHARES])
        missing.append([all_right.read(share).value for share in SHARES])
    if len(wrong) < 2:
        return None, None
    return _range(wrong), _range(missing)


def _range(reads: list[list[float]]) -> float:
    """Return the largest difference between groups in the measured value of one true share."""
    return round(float(np.ptp(np.array(reads), axis=0).max()), _DIGITS)


def _rounded_p(p: float | None) -> float | None:
    return None if p is None else round(p, _DIGITS)


def _rounded_rate(rate: Rate) -> RateFound:
    if not np.isfinite(rate.value):
        return RateFound(value=None, ci_low=0, ci_high=1, images=rate.images)
    return RateFound(
        value=round(rate.value, _DIGITS),
        ci_low=round(rate.low, _DIGITS),
        ci_high=round(rate.high, _DIGITS),
        images=rate.images,
    )
