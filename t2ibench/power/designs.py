"""Designs of other sizes: what they would show, what they cost, what images alone cannot reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.headline import Question
from t2ibench.power.forecasters import least
from t2ibench.power.pilots import Pilot

_FEWEST = 2  # images of a prompt; a single one has no variance
_SMALLEST = 0.01  # an effect that nobody asks for
_LARGEST = 4.0  # an effect beyond any headline
_SEEN = 0.8  # probability of seeing the effect that a report names


@dataclass(frozen=True, slots=True)
class Goal:
    """What a run has to be large enough for: an effect, seen with this power, and a width."""

    effect: float  # a headline, on the scale that tables show
    width: float | None = None
    power: float = 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """One design."""

    what: str
    images: int  # of the prompts that have most
    prompts: int  # or concepts
    half: float  # expected half width of the interval at the effect
    power: float
    total: int  # images in all


@dataclass(frozen=True, slots=True)
class Plan:
    """Designs, the present one first, and what images alone cannot reach."""

    rows: tuple[Row, ...]
    unit: str  # what more can be had of: 'prompts', or 'concepts', which need no images
    lines: tuple[str, ...]


def plan(pilot: Pilot, question: Question, goal: Goal) -> Plan:
    """Designs that reach a goal."""
    known, size = pilot.forecaster(question), pilot.size
    unit = "concepts" if size.concepts else "prompts"

    def row(what: str, images: int, prompts: int) -> Row:
        forecast = goal.effect, images / size.images, prompts / size.units
        more = 1 if size.concepts else prompts / size.prompts
        total = int(np.ceil(size.total * (images / size.images * more)))
        return Row(
            what,
            images,
            prompts,
            known.width(*forecast) / 2,
            known.power(*forecast),
            total,
        )

    # Of multiples of the pilot's images and prompts, whether they are enough.
    wanted: dict[str, Callable[[float, float], bool]] = {
        f"power of {goal.power:g} at {goal.effect:g}": (
            lambda images, prompts: (
                known.power(goal.effect, images, prompts) >= goal.power
            )
        ),
    }
    if goal.width is not None:
        width = goal.width
        wanted[f"interval narrower than {width:g}"] = lambda images, prompts: (
            known.width(goal.effect, images, prompts) <= width
        )
    rows, lines = [row("as it is", size.images, size.units)], []

    def least_times(
        reached: Callable[[float, float], bool], images: bool
    ) -> float | None:
        return least(lambda more: reached(more, 1.0) if images else reached(1.0, more))

    for what, reached in wanted.items():
        if (more := least_times(reached, images=True)) is not None:
            rows.append(
                row(what, max(_FEWEST, int(np.ceil(more * size.images))), size.units)
            )
        elif (more := least_times(reached, images=False)) is not None:
            lines.append(
                f"Images alone do not reach this: {what}. It takes more {unit}."
            )
            rows.append(row(what, size.images, int(np.ceil(more * size.units))))
        else:
            lines.append(
                f"No design of up to 1000 times the {unit} reaches this: {what}."
            )
    return Plan(tuple(rows), unit, tuple(lines))


@dataclass(frozen=True, slots=True)
class Reach:
    """What a run of this size can see."""

    effect: float | None  # the smallest headline that it sees; None where it sees none
    half: float
    # of a prompt that halve the interval; None where images alone cannot
    images: int | None


def reach(pilot: Pilot, value: float) -> Reach:
    """What a run whose headline is shown as `value` can see at its size, about its own question."""
    known = pilot.forecaster(pilot.question)
    width = known.width(value, 1.0, 1.0)
    effect = least(
        lambda effect: known.power(effect, 1.0, 1.0) >= _SEEN, _LARGEST, _SMALLEST
    )
    times = least(lambda times: known.width(value, times, 1.0) <= width / 2)
    images = (
        None if times is None else max(_FEWEST, int(np.ceil(times * pilot.size.images)))
    )
    return Reach(effect, width / 2, images)
