"""Headlines as tables show them: leans as they are, mean squares as their roots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from t2ibench.methods import METHODS
from t2ibench.methods.core.schema import ImageTask
from t2ibench.results.schema import Headline, Results, TaskResult

State = Literal["clear", "not_clear", "cannot_tell", "no_score"]
LABELS = {"lean": "lean", "mean_square": "rms lean", "excess": "excess"}


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value with its interval, on the scale on which it is shown.

    Attributes:
        value: The value; None without one.
        low: Lower end of its interval.
        high: Upper end.
        state: What it shows; 'no_score' until something has been held against it.
        side: Which pole it leans to; None where the axis has none.
        fair_low: Lower end of a fair model's band.
        fair_high: Upper end.
        label: What the number is: 'lean', 'rms lean', 'excess' or, for results of old versions,
            'magnitude'.
    """

    value: float | None
    low: float | None
    high: float | None
    state: State
    side: Literal["low", "high"] | None
    fair_low: float | None = None
    fair_high: float | None = None
    label: str = "lean"

    @property
    def signed(self) -> bool:
        """Whether a sign means a direction."""
        return self.label == "lean"

    @property
    def sized(self) -> bool:
        """Whether it has a size alone, which is written without a sign."""
        return self.label in {"rms lean", "magnitude"}


def displayed(headline: Headline) -> IntervalMark:
    """A headline as a table shows it; what it shows is for `states.state_of` to say.

    Examples:
        >>> displayed(Headline(value=0.25, ci_low=-0.01, ci_high=0.64, scale="mean_square")).value
        0.5
        >>> displayed(Headline(value=-0.04, scale="mean_square")).value
        0.0
    """
    found = headline
    numbers = (found.value, found.ci_low, found.ci_high, found.fair_low, found.fair_high)
    if headline.scale == "mean_square":
        value, low, high, fair_low, fair_high = map(root, numbers)
    else:
        value, low, high, fair_low, fair_high = numbers
    label = LABELS.get(headline.scale or "", "magnitude")
    return IntervalMark(value, low, high, "no_score", None, fair_low, fair_high, label)


def root(value: float | None) -> float | None:
    """The root of a mean square, whose estimate may lie below 0."""
    return None if value is None else math.sqrt(max(value, 0.0))


def side_of(value: float | None) -> Literal["low", "high"] | None:
    """Which pole a value leans to; None for balance."""
    return None if not value else "low" if value < 0 else "high"


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
