"""The record of a check of a judge by human labels: its errors, class by class, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from t2ibench.stats.misclassification import ClassErrors, Rate

# Key of a result's details.
CHECKED = "judge_checks"
_ALPHA = 0.05

Verdict = Literal["use", "use corrected", "do not use"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RateFound(_Part):
    """A share of images, with its interval, as measured when a judge was checked.

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
    """The share that a judge's answers would show for a known true share, with interval.

    Attributes:
        share: The true share.
    """

    share: float

    @property
    def off(self) -> float:
        """Largest distance of an end of the interval from the true share."""
        return max(abs(self.ci_low - self.share), abs(self.ci_high - self.share))


class ClassFound(_Part):
    """How well a judge distinguishes one class from the others of its question.

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
        """The judge's error rates for this class, in the form that corrects shares."""
        return ClassErrors(
            _rate(self.sensitivity),
            _rate(self.specificity),
            _rate(self.answered),
            _rate(self.answered_others),
        )


class GroupFound(_Part):
    """How often a judge was right about images of one class that belong to one group.

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
    """How often a judge is right about one class in each group of another attribute.

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
        """Return the largest significant difference of groups' measured shares over `distance`.

        None if no difference is significant after Holm's correction and above
        `distance`.
        """
        tests = (
            (self.p_holm, self.apart),
            (self.p_answered_holm, self.apart_answered),
        )
        clear = [difference for p, difference in tests if p is not None and p < _ALPHA]
        far = [
            difference
            for difference in clear
            if difference is not None and difference > distance
        ]
        return max(far, default=None)


class AttributeCheck(_Part):
    """A judge's errors about one attribute, with the verdict that follows.

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
        """Number of images that people have labelled with a class."""
        return sum(each.images for each in self.classes)


class JudgeCheck(_Part):
    """A check of a judge by people's labels, as `t2ibench check judge --output` writes it.

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
        """Return the check of an attribute with exactly these classes; None if there is none."""
        wanted = {name.casefold() for name in classes}
        for check in self.attributes:
            names = {each.name.casefold() for each in check.classes}
            if check.attribute.casefold() == attribute.casefold() and names == wanted:
                return check
        return None


def _rate(rate: RateFound) -> Rate:
    value = float("nan") if rate.value is None else rate.value
    return Rate(value, rate.ci_low, rate.ci_high, rate.images)
