"""What a check of a judge by people's labels found, and whether it may be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.stats import holm
from t2ibench.stats.judge_errors import SHARES, ClassErrors, Rate, errors_of, group_test

FOLDER = "folder"  # the group of images that came from one folder
CHECKED = "judge_checks"  # in a result's details
NEAR = 0.05  # what a share may move by where a judge is used as it is
LEAST_YOUDEN = 0.5  # of the lower end of sensitivity + specificity - 1
LEAST_ANSWERED = 0.5  # of the images of a class
# half the interval of a corrected share, from the errors' uncertainty alone
WIDEST = 0.15
UNEQUAL = 0.1  # how far apart one share may be read in two groups
FEWEST_FOLDERS = 4  # that stand for others: below, a check is about these folders alone
FEWEST = 20  # images of a class that it answered for
_FEWEST_OF_GROUP = 10
_ALPHA = 0.05
_DIGITS = 6
_ALL = Rate(1.0, 1.0, 1.0, 0)

Verdict = Literal["use", "use corrected", "do not use"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RateFound(_Part):
    """A share of images.

    Attributes:
        value: The share; null without images.
        ci_low: Lower end of its 95 % interval, with prompts or folders as the unit.
        ci_high: Upper end.
        images: Out of how many.
    """

    value: float | None
    ci_low: float
    ci_high: float
    images: int


class ReadShare(RateFound):
    """What a share is read as.

    Attributes:
        share: The true share.
    """

    share: float

    @property
    def off(self) -> float:
        """How far it may be off."""
        return max(abs(self.ci_low - self.share), abs(self.ci_high - self.share))


class ClassFound(_Part):
    """How a judge reads one class against the others of its question.

    Attributes:
        name: The class.
        images: Images that people gave it.
        answers: How many of them the judge gave each class, and 'unknown'.
        sensitivity: Of those that it answered for, the share with this class.
        specificity: Of the images of other classes that it answered for, the share with another.
        answered: Share of the images that it answered for.
        answered_others: The same of the images of other classes.
        read: What true shares of .1, .5 and .9 would be read as.
    """

    name: str
    images: int
    answers: dict[str, int]
    sensitivity: RateFound
    specificity: RateFound
    answered: RateFound
    answered_others: RateFound
    read: tuple[ReadShare, ...]

    @property
    def errors(self) -> ClassErrors:
        """The same for the correction of shares."""
        return ClassErrors(
            *map(
                _rate,
                (
                    self.sensitivity,
                    self.specificity,
                    self.answered,
                    self.answered_others,
                ),
            )
        )


class GroupFound(_Part):
    """Images of a class that people also put into a group of another attribute.

    Attributes:
        name: The group.
        images: Images.
        answered: Of those, how many the judge gave a class.
        right: Of those, how many it gave the class.
    """

    name: str
    images: int
    answered: int
    right: int


class ByGroup(_Part):
    """How a judge reads one class in the groups of another attribute.

    Attributes:
        truth: The class.
        by: The other attribute.
        groups: Its groups.
        p: Of the test that those answered are right as often in every group.
        p_holm: The same, over all of these tests of the attribute.
        p_answered: Of the test that they are answered as often in every group.
        p_answered_holm: The same, over all of these tests.
        apart: The furthest that a share of .1, .5 or .9 is read apart in two groups because of
            wrong answers; null without two groups of ten answered images of every class.
        apart_answered: The same because of missing answers.
    """

    truth: str
    by: str
    groups: tuple[GroupFound, ...]
    p: float | None
    p_holm: float | None = None
    p_answered: float | None
    p_answered_holm: float | None = None
    apart: float | None
    apart_answered: float | None

    def clearly(self, distance: float) -> float | None:
        """How far shares are read apart, where that is clear and more than a distance."""
        found = [
            apart
            for p, apart in (
                (self.p_holm, self.apart),
                (self.p_answered_holm, self.apart_answered),
            )
            if p is not None and p < _ALPHA and apart is not None and apart > distance
        ]
        return max(found, default=None)


class AttributeCheck(_Part):
    """A judge's errors about one attribute.

    Attributes:
        attribute: What it is, such as 'gender'.
        question: What the judge was asked.
        classes: Class by class.
        no_class: Images that people gave none of the classes, such as several people.
        no_class_answered: How many of them the judge gave a class.
        by_group: In the groups of other attributes.
        verdict: Whether it may be used.
        reason: Why.
    """

    attribute: str
    question: str
    classes: tuple[ClassFound, ...]
    no_class: int
    no_class_answered: int
    by_group: tuple[ByGroup, ...]
    verdict: Verdict
    reason: str

    @property
    def images(self) -> int:
        """Images with a class of people's."""
        return sum(one.images for one in self.classes)


class JudgeCheck(_Part):
    """A check of a judge; what `t2ibench check judge --output` writes.

    Attributes:
        judge: Its name.
        fingerprint: Its fingerprint.
        images: Images that it was shown.
        source: Names of the folders or of the file with the labels.
        attributes: Attribute by attribute.
    """

    judge: str
    fingerprint: str
    images: int
    source: tuple[str, ...]
    attributes: tuple[AttributeCheck, ...]

    def about(self, attribute: str, classes: Sequence[str]) -> AttributeCheck | None:
        """What it says of an attribute with these very classes."""
        wanted = {name.casefold() for name in classes}
        return next(
            (
                one
                for one in self.attributes
                if one.attribute.casefold() == attribute.casefold()
                and {found.name.casefold() for found in one.classes} == wanted
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """What people and a judge said of one image.

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
    """A judge's errors about one attribute, to six digits, and the verdict.

    Images of one prompt are alike; from four folders on, images of one folder are, and intervals
    are about one more folder, because errors may differ between models.
    """
    # Its draws depend on the order of images, so that has to depend on them alone.
    rows = sorted(
        answers,
        key=lambda one: (one.prompt, one.truth, one.answer, *one.groups.items()),
    )
    number = {name: code for code, name in enumerate(classes)}
    known = [one for one in rows if one.truth in number]
    none = [one for one in rows if one.truth not in number]
    several = len({one.groups.get(FOLDER) for one in known}) >= FEWEST_FOLDERS
    of = (
        [replace(one, prompt=one.groups.get(FOLDER, "")) for one in known]
        if several
        else known
    )
    coded = _coded(of, number)
    found = []
    for code, name in enumerate(classes):
        errors = errors_of(*coded[:2], code, coded[2], of_another=several)
        of_class = [one.answer for one in known if one.truth == name]
        found.append(
            ClassFound(
                name=name,
                images=len(of_class),
                answers={one: of_class.count(one) for one in (*classes, UNKNOWN)},
                sensitivity=_found(errors.sensitivity),
                specificity=_found(errors.specificity),
                answered=_found(errors.answered),
                answered_others=_found(errors.answered_others),
                read=tuple(
                    ReadShare(share=share, **_found(errors.read(share)).model_dump())
                    for share in SHARES
                ),
            )
        )
    by_group = tuple(_by_group(known, number))
    verdict, reason = decide(found, by_group)
    return AttributeCheck(
        attribute=attribute,
        question=question,
        classes=tuple(found),
        no_class=len(none),
        no_class_answered=sum(one.answer in number for one in none),
        by_group=by_group,
        verdict=verdict,
        reason=reason,
    )


def decide(
    classes: Sequence[ClassFound], by_group: Sequence[ByGroup]
) -> tuple[Verdict, str]:
    """Whether a judge may be used, and why; the rule is written out in docs/judges.md."""
    few = [one for one in classes if one.sensitivity.images < FEWEST]
    if few:
        least = min(few, key=lambda one: one.sensitivity.images)
        n = least.sensitivity.images
        return "do not use", (
            f"it answered for {n} of {least.images} images shown as '{least.name}'; at least "
            f"{FEWEST} are needed to know its errors"
        )
    seldom = min(classes, key=lambda one: one.answered.value or 0.0)
    if (seldom.answered.value or 0.0) < LEAST_ANSWERED:
        return "do not use", (
            f"it answers for {seldom.answered.value:.0%} of the images shown as '{seldom.name}'"
        )
    worst = min(classes, key=lambda one: one.errors.youden.low)
    youden = worst.errors.youden
    if youden.low < LEAST_YOUDEN:
        return "do not use", (
            f"sensitivity + specificity - 1 of '{worst.name}' is {youden.value:.2f} and may be "
            f"{youden.low:.2f}; {LEAST_YOUDEN} are needed"
        )
    unequal = max(by_group, key=lambda one: one.clearly(NEAR) or 0.0, default=None)
    apart = unequal.clearly(NEAR) if unequal else None
    if unequal and apart and apart > UNEQUAL:
        return "do not use", (
            f"its errors about '{unequal.truth}' differ by {unequal.by}: one share is read up to "
            f"{apart:.2f} apart, and a correction for all would be wrong for each"
        )
    half = max(_half(one) for one in classes)
    if half > WIDEST:
        return "do not use", f"a corrected share would be known to ± {half:.2f} at best"
    shares = [(read, one) for one in classes for read in one.read]
    moved, one = max(shares, key=lambda pair: pair[0].off)
    if unequal and apart:
        return "use corrected", (
            f"its errors about '{unequal.truth}' differ by {unequal.by}: one share is read up to "
            f"{apart:.2f} apart"
        )
    perhaps = max(by_group, key=lambda one: one.apart or 0.0, default=None)
    unsure = perhaps is not None and (perhaps.apart or 0.0) > UNEQUAL
    if moved.off <= NEAR and not unsure:
        return "use", f"no share moves by more than {moved.off:.3f}"
    reason = (
        f"a share of {moved.share:g} of '{one.name}' is read as {moved.value:.2f} "
        f"[{moved.ci_low:.2f}, {moved.ci_high:.2f}]"
    )
    if perhaps is not None and unsure:
        reason += (
            f"; errors about '{perhaps.truth}' may differ by {perhaps.by} (shares "
            f"{perhaps.apart:.2f} apart, not clear): label more images"
        )
    return "use corrected", reason


def _half(one: ClassFound) -> float:
    """Half the widest interval of a corrected share."""
    errors = one.errors
    reads = [errors.read(share).value for share in SHARES]
    corrected = [errors.corrected(read, read, read) for read in reads]
    return max((found.high - found.low) / 2 for found in corrected)


_Coded = tuple[list[int], list[int], list[int]]


def _coded(rows: Sequence[LabelledAnswer], number: Mapping[str, int]) -> _Coded:
    """People's and the judge's classes and the prompts, as numbers."""
    return (
        [number[one.truth] for one in rows],
        [number.get(one.answer, -1) for one in rows],
        _prompts(rows),
    )


def _prompts(rows: Sequence[LabelledAnswer]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(one.prompt, len(numbers)) for one in rows]


def _by_group(
    rows: Sequence[LabelledAnswer], number: Mapping[str, int]
) -> Iterator[ByGroup]:
    found = []
    others = sorted({name for one in rows for name in one.groups})
    for by in others:
        of = [one for one in rows if one.groups.get(by)]
        for truth in number:
            shown = [one for one in of if one.truth == truth]
            names = sorted({one.groups[by] for one in shown})
            if len(names) > 1:
                found.append(
                    _in_groups(shown, by, truth, names, _apart(of, by, number, truth))
                )
    tests = [p for one in found for p in (one.p, one.p_answered)]
    adjusted = iter(holm(tests))
    for one in found:
        yield one.model_copy(
            update={"p_holm": _p(next(adjusted)), "p_answered_holm": _p(next(adjusted))}
        )


def _in_groups(
    rows: Sequence[LabelledAnswer],
    by: str,
    truth: str,
    names: Sequence[str],
    apart: tuple[float | None, float | None],
) -> ByGroup:
    number = {name: code for code, name in enumerate(names)}
    answered = [one for one in rows if one.answer != UNKNOWN]

    def test(outcome: list[bool], among: Sequence[LabelledAnswer]) -> float | None:
        groups = [number[one.groups[by]] for one in among]
        p = group_test(outcome, groups, _prompts(among), np.random.default_rng(0))
        return _p(p if np.isfinite(p) else None)

    return ByGroup(
        truth=truth,
        by=by,
        groups=tuple(
            GroupFound(
                name=name,
                images=sum(one.groups[by] == name for one in rows),
                answered=sum(one.groups[by] == name for one in answered),
                right=sum(
                    one.groups[by] == name and one.answer == truth for one in answered
                ),
            )
            for name in names
        ),
        p=test([one.answer == truth for one in answered], answered),
        p_answered=test([one.answer != UNKNOWN for one in rows], rows),
        apart=apart[0],
        apart_answered=apart[1],
    )


def _apart(
    rows: Sequence[LabelledAnswer], by: str, number: Mapping[str, int], truth: str
) -> tuple[float | None, float | None]:
    """How far shares are read apart by wrong and by missing answers."""
    wrong, missing = [], []
    for name in sorted({one.groups[by] for one in rows}):
        coded = _coded([one for one in rows if one.groups[by] == name], number)
        errors = errors_of(*coded[:2], number[truth], coded[2])
        if (
            min(errors.sensitivity.images, errors.specificity.images)
            >= _FEWEST_OF_GROUP
        ):
            always = replace(errors, answered=_ALL, answered_others=_ALL)
            never = replace(errors, sensitivity=_ALL, specificity=_ALL)
            wrong.append([always.read(share).value for share in SHARES])
            missing.append([never.read(share).value for share in SHARES])
    if len(wrong) < 2:
        return None, None
    one, other = (
        float(np.ptp(np.array(reads), axis=0).max()) for reads in (wrong, missing)
    )
    return round(one, _DIGITS), round(other, _DIGITS)


def _p(p: float | None) -> float | None:
    return None if p is None else round(p, _DIGITS)


def _found(rate: Rate) -> RateFound:
    if not np.isfinite(rate.value):
        return RateFound(value=None, ci_low=0, ci_high=1, images=rate.images)
    value, low, high = (
        round(one, _DIGITS) for one in (rate.value, rate.low, rate.high)
    )
    return RateFound(value=value, ci_low=low, ci_high=high, images=rate.images)


def _rate(found: RateFound) -> Rate:
    value = float("nan") if found.value is None else found.value
    return Rate(value, found.ci_low, found.ci_high, found.images)
