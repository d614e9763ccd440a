"""Headlines as tables show them: leans as they are, mean squares as their roots."""

from __future__ import annotations

import math
from dataclasses import dataclass

from t2ibench.methods import METHODS
from t2ibench.methods.core.schema import ImageTask
from t2ibench.results.schema import Headline, Results, TaskResult

LABELS = {"lean": "lean", "mean_square": "rms lean", "excess": "excess"}


@dataclass(frozen=True, slots=True)
class Displayed:
    """A headline on the scale on which it is shown.

    Attributes:
        label: What the number is: 'lean', 'rms lean', 'excess' or, for results of old versions,
            'magnitude'.
        value: The number.
        low: Lower end of its interval.
        high: Upper end.
        fair_low: Lower end of a fair model's band.
        fair_high: Upper end.
        signed: Whether a sign means a direction.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    fair_low: float | None
    fair_high: float | None
    signed: bool


def displayed(headline: Headline) -> Displayed:
    """A headline as a table shows it.

    Examples:
        >>> displayed(Headline(value=0.25, ci_low=-0.01, ci_high=0.64, scale="mean_square")).value
        0.5
        >>> displayed(Headline(value=-0.04, scale="mean_square")).value
        0.0
    """
    root = headline.scale == "mean_square"
    value, low, high, fair_low, fair_high = (
        math.sqrt(max(number, 0.0)) if root and number is not None else number
        for number in (
            headline.value,
            headline.ci_low,
            headline.ci_high,
            headline.fair_low,
            headline.fair_high,
        )
    )
    label = LABELS.get(headline.scale or "", "magnitude")
    signed = headline.scale == "lean"
    return Displayed(label, value, low, high, fair_low, fair_high, signed)


def text_only(task: TaskResult) -> bool:
    """Whether a result describes an encoder's texts alone: no generator has a part in it."""
    if task.n_images or any(task.excluded.values()):
        return False
    return bool(task.n_prompts) or not issubclass(METHODS.get(task.method).Task, ImageTask)


def in_two(results: Results) -> tuple[Results, Results]:
    """The results of the generator, and those of the text encoder alone, for two tables."""
    of_texts = {name: task for name, task in results.tasks.items() if text_only(task)}
    of_images = {name: task for name, task in results.tasks.items() if name not in of_texts}
    return (
        results.model_copy(update={"tasks": of_images}),
        results.model_copy(update={"tasks": of_texts}),
    )
