"""How many images would decide: the multiple with which a run would no longer be undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass

from t2ibench.decisions.quantity import ALPHA, Chances, Limits, Quantity
from t2ibench.power.forecasters import least

# Of runs that are decided with as many images, were the model what was measured.
POWER = 0.8
_MOST = 1000.0
# Multiples that nobody generates.
_OUT_OF_REACH = 20.0


@dataclass(frozen=True, slots=True)
class ImagesNeeded:
    """How many images would decide about a quantity that is undecided.

    Attributes:
        times: Multiple of the present images; None where no number of them would.
        images: Images a prompt; None where it is not known how many there are.
        says: The same in a sentence.
    """

    times: float | None
    images: int | None
    says: str


# Of edits: intervals of few source images are widened, which no multiple of images shows.
SOURCE_IMAGES_NEEDED = ImagesNeeded(
    times=None,
    images=None,
    says=(
        "how many source images would decide is not forecast for edits; more of them narrow the "
        "interval, more edits of the same ones hardly do (--images-per-prompt)"
    ),
)


def images_needed(
    quantity: Quantity, limits: Limits, images: int | None
) -> ImagesNeeded:
    """Return the least multiple of its images that decides about a quantity in .8 of runs.

    Args:
        quantity: What is undecided.
        limits: Its limits.
        images: Images of a prompt now; None if unknown.
    """

    def decided(times: float) -> bool:
        chances: Chances = quantity.enlarged(times).chances(
            limits, quantity.value, ALPHA
        )
        return max(chances.passes, chances.fails) >= POWER

    size = abs(quantity.value)
    between = limits.accept <= size <= limits.reject
    times = None if between else least(decided, most=_MOST, fewest=1.0)
    if times is None:
        where = f"the estimate of {quantity.name}, {quantity.value:.2f}, is"
        limit = f"{limits.accept:g}"
        if between and limits.reject > limits.accept:
            why = f"{where} between the limits {limit} and {limits.reject:g}: undecided is right"
        else:
            why = f"{where} too near to the limit {limit} for any number of images"
        return ImagesNeeded(None, None, why)
    if images is None:
        return ImagesNeeded(times, None, f"{times:.1f} times the images would decide")
    count = math.ceil(images * times - 1e-9)
    says = (
        f"{count} images a prompt ({times:.1f} times these) would decide about {quantity.name} in "
        "8 of 10 runs, if the model is as measured"
    )
    if times > _OUT_OF_REACH:
        says += "; rather fix a wider limit next time, or one for all rows together"
    return ImagesNeeded(times, count, says)
