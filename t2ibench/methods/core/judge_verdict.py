"""The verdict on whether a judge may be used: the rules of docs/judges.md, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from t2ibench.decimals import readable
from t2ibench.methods.core.judge_check import ByGroup, ClassFound, ReadShare, Verdict
from t2ibench.stats.misclassification import SHARES

# What a share may move by where a judge is used as it is.
NEAR = 0.05
# What the lower end of sensitivity + specificity - 1 may be.
LEAST_YOUDEN = 0.5
# Share of the images of a class that the judge answers for.
LEAST_ANSWERED = 0.5
# Half the interval of a corrected share, from the errors' uncertainty alone.
WIDEST = 0.15
# How far apart one share may be read in two groups.
UNEQUAL = 0.1
# Images of a class that the judge answered for.
FEWEST = 20


@dataclass(frozen=True, slots=True)
class Errors:
    """A judge's errors about one attribute: for each class, and in groups of other attributes."""

    classes: Sequence[ClassFound]
    by_group: Sequence[ByGroup]

    @property
    def most_unequal(self) -> ByGroup | None:
        """Record of the class whose errors differ most between groups; None if none clearly do."""
        clear = [each for each in self.by_group if each.clearly(NEAR) is not None]
        return max(clear, key=lambda each: each.clearly(NEAR) or 0.0, default=None)

    @property
    def perhaps_unequal(self) -> ByGroup | None:
        """Record of the class whose errors differ most between groups, clear or not.

        None if groups' measured shares differ by no more than .10.
        """
        most = max(self.by_group, key=lambda each: each.apart or 0.0, default=None)
        if most is None or not (most.apart or 0.0) > UNEQUAL:
            return None
        return most

    @property
    def most_moved(self) -> tuple[ClassFound, ReadShare]:
        """Class, and true share of it, for which a judge's answers may be most wrong."""
        shares = [(each, read) for each in self.classes for read in each.read]
        return max(shares, key=lambda pair: pair[1].off)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict on a judge, and the reason."""

    verdict: Verdict
    reason: str


# A rule decides, or leaves it to the next.
Rule = Callable[[Errors], Decision | None]


def decide(classes: Sequence[ClassFound], by_group: Sequence[ByGroup]) -> Decision:
    """Return the verdict on a judge and its reason, from the first rule that applies."""
    errors = Errors(classes, by_group)
    for rule in RULES:
        decision = rule(errors)
        if decision is not None:
            return decision
    return _everything_else(errors)


def _rule_1_too_few_answers(errors: Errors) -> Decision | None:
    """Reject a judge that answers for fewer than 20 images, or fewer than half, of a class."""
    fewest = min(errors.classes, key=lambda each: each.sensitivity.images)
    n_images = fewest.sensitivity.images
    if n_images < FEWEST:
        reason = (
            f"it answered for {n_images} of {fewest.images} images shown as '{fewest.name}'; at "
            f"least {FEWEST} are needed to know its errors"
        )
        return Decision("do not use", reason)
    seldom = min(errors.classes, key=lambda each: each.answered.value or 0.0)
    if (seldom.answered.value or 0.0) >= LEAST_ANSWERED:
        return None
    reason = f"it answers for {seldom.answered.value:.0%} of the images shown as '{seldom.name}'"
    return Decision("do not use", reason)


def _rule_2_no_better_than_chance(errors: Errors) -> Decision | None:
    """Reject a judge whose Youden's J (sensitivity + specificity - 1) may be below .5."""
    worst = min(errors.classes, key=lambda each: each.errors.youden.low)
    youden = worst.errors.youden
    if youden.low >= LEAST_YOUDEN:
        return None
    reason = (
        f"sensitivity + specificity - 1 of '{worst.name}' is {readable(youden.value, 2)} and may "
        f"be {readable(youden.low, 2)}; {LEAST_YOUDEN} are needed"
    )
    return Decision("do not use", reason)


def _rule_3_very_unequal_groups(errors: Errors) -> Decision | None:
    """Reject a judge whose errors clearly make groups' measured shares differ by over .10."""
    unequal = errors.most_unequal
    if unequal is None or (unequal.clearly(NEAR) or 0.0) <= UNEQUAL:
        return None
    reason = f"{_difference_in_words(unequal)}, and a correction for all would be wrong for each"
    return Decision("do not use", reason)


def _rule_4_too_uncertain(errors: Errors) -> Decision | None:
    """Reject a judge whose errors leave a corrected share uncertain by over ± .15."""
    half = max(_half_width(each) for each in errors.classes)
    if half <= WIDEST:
        return None
    return Decision(
        "do not use", f"a corrected share would be known to ± {half:.2f} at best"
    )


def _rule_5_unequal_groups(errors: Errors) -> Decision | None:
    """Demand correction if errors clearly make groups' measured shares differ by over .05."""
    unequal = errors.most_unequal
    if unequal is None:
        return None
    return Decision("use corrected", _difference_in_words(unequal))


def _rule_6_nothing_moves(errors: Errors) -> Decision | None:
    """Accept a judge whose errors change no share by over .05, nor groups' by over .10."""
    _, moved = errors.most_moved
    if moved.off > NEAR or errors.perhaps_unequal is not None:
        return None
    return Decision("use", f"no share moves by more than {moved.off:.3f}")


def _everything_else(errors: Errors) -> Decision:
    """Return the verdict on every other judge, rule 7: use its shares corrected."""
    of_class, moved = errors.most_moved
    reason = (
        f"a share of {moved.share:g} of '{of_class.name}' is read as {moved.value:.2f} "
        f"[{moved.ci_low:.2f}, {moved.ci_high:.2f}]"
    )
    perhaps = errors.perhaps_unequal
    if perhaps is not None:
        reason += (
            f"; errors about '{perhaps.truth}' may differ by {perhaps.by} (shares "
            f"{perhaps.apart:.2f} apart, not clear): label more images"
        )
    return Decision("use corrected", reason)


RULES: tuple[Rule, ...] = (
    _rule_1_too_few_answers,
    _rule_2_no_better_than_chance,
    _rule_3_very_unequal_groups,
    _rule_4_too_uncertain,
    _rule_5_unequal_groups,
    _rule_6_nothing_moves,
)


def _difference_in_words(unequal: ByGroup) -> str:
    return (
        f"its errors about '{unequal.truth}' differ by {unequal.by}: one share is read up to "
        f"{unequal.clearly(NEAR):.2f} apart"
    )


def _half_width(of_class: ClassFound) -> float:
    """Return half the width of the widest interval of a class's corrected share."""
    errors = of_class.errors
    reads = [errors.read(share).value for share in SHARES]
    corrected = [errors.corrected(read, read, read) for read in reads]
    return max((share.high - share.low) / 2 for share in corrected)
