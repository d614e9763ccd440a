"""Designs: how many images and prompts a run needs to reach a goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.inference import Question
from t2ibench.power.forecasters import least
from t2ibench.power.pilots import Pilot

# Fewest images of a prompt, because a single image has no variance.
_FEWEST = 2
# Range in which the smallest detectable effect is searched; no headline is larger.
_SMALLEST = 0.01
_LARGEST = 4.0
# The power for which reports name the smallest detectable effect.
_REPORTED_POWER = 0.8


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of a run: an effect to detect, and the width of its interval.

    Attributes:
        effect: A headline to detect, on the scale that tables show.
        width: The width that the interval must not exceed; None for any.
        power: The probability with which a run has to call the effect clear.
    """

    effect: float
    width: float | None = None
    power: float = 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """A design (how many images and prompts), with its expected interval and power.

    Attributes:
        what: The goal that it reaches, in words.
        images: Images of the prompts that have the most.
        prompts: Number of prompts, or of concepts.
        half: Expected half width of the interval, where the headline is the goal's effect.
        clear: Probability that the run calls the goal's effect clear.
        power: Probability of p < 1 - level for it, before any correction.
        total: Total number of images.
    """

    what: str
    images: int
    prompts: int
    half: float
    clear: float
    power: float
    total: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The designs that reach a goal, beside that of the pilot.

    Attributes:
        rows: The pilot's own design, then one for each part of the goal.
        unit: What a design can have more of besides images: 'prompts', or 'concepts', which need
            no images.
        lines: Messages about goals that more images alone, or no design, can reach.
    """

    rows: tuple[Row, ...]
    unit: str
    lines: tuple[str, ...]


def plan(pilot: Pilot, question: Question, goal: Goal) -> Plan:
    """Return the smallest designs that reach a goal, if possible with more images alone."""
    forecaster = pilot.forecaster(question)
    size = pilot.size
    rule = pilot.rule
    unit = "concepts" if size.concepts else "prompts"

    def row(what: str, images: int, prompts: int) -> Row:
        times_images = images / size.images
        times_units = prompts / size.units
        times_prompts = 1 if size.concepts else prompts / size.prompts
        width = forecaster.width(goal.effect, times_images, times_units)
        return Row(
            what=what,
            images=images,
            prompts=prompts,
            half=width / 2,
            clear=rule.probability(forecaster, goal.effect, times_images, times_units),
            power=forecaster.power(goal.effect, times_images, times_units),
            total=int(np.ceil(size.total * (times_images * times_prompts))),
        )

    # Whether these multiples of the pilot's images and of its prompts reach a part of the goal.
    wanted: dict[str, Callable[[float, float], bool]] = {
        f"clear in {goal.power:g} of runs at {goal.effect:g}": (
            lambda images, prompts: (
                rule.probability(forecaster, goal.effect, images, prompts) >= goal.power
            )
        ),
    }
    if goal.width is not None:
        width = goal.width
        wanted[f"interval narrower than {width:g}"] = lambda images, prompts: (
            forecaster.width(goal.effect, images, prompts) <= width
        )
    rows = [row("as it is", size.images, size.units)]
    lines = []

    def least_times(
        reached: Callable[[float, float], bool], images: bool
    ) -> float | None:
        return least(lambda more: reached(more, 1.0) if images else reached(1.0, more))

    for what, reached in wanted.items():
        if (more := least_times(reached, images=True)) is not None:
            images = max(_FEWEST, int(np.ceil(more * size.images)))
            rows.append(row(what, images, size.units))
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
    """The smallest effect that a run of the pilot's size can detect.

    Attributes:
        effect: The smallest headline whose p is below 1 - level in 80 % of runs, before any
            correction; None if there is none.
        half: Half width of its interval.
        images: Images of a prompt with which the interval is half as wide; None if no number of
            images alone achieves that.
    """

    effect: float | None
    half: float
    images: int | None


def reach(pilot: Pilot, value: float) -> Reach:
    """Return the smallest effect that a run of the pilot's size can detect.

    The interval's width is that of a headline shown as `value`.
    """
    forecaster = pilot.forecaster(pilot.question)
    width = forecaster.width(value, 1.0, 1.0)
    effect = least(
        lambda effect: forecaster.power(effect, 1.0, 1.0) >= _REPORTED_POWER,
        most=_LARGEST,
        fewest=_SMALLEST,
    )
    times = least(lambda times: forecaster.width(value, times, 1.0) <= width / 2)
    images = (
        None if times is None else max(_FEWEST, int(np.ceil(times * pilot.size.images)))
    )
    return Reach(effect, width / 2, images)
