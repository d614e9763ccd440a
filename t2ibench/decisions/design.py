"""Chances of a run that was not made yet: to pass a fair model, to fail one beyond the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import chndtr

from t2ibench.decisions.counted import Counted
from t2ibench.decisions.leaning import Leaning
from t2ibench.decisions.profile import Scenario, ShareReference
from t2ibench.decisions.quantity import ALPHA, Chances, Limits
from t2ibench.decisions.repeat import joined
from t2ibench.methods import needs
from t2ibench.power.pilots import Size
from t2ibench.settings import Measurement, Settings
from t2ibench.stats.bisection import largest_holding
from t2ibench.stats.squares import f_square
from t2ibench.tasks.loader import LoadedTask

# How far beyond its limit a model is whose failure is forecast.
BEYOND = 2.0
_FARTHEST = 0.95
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Design:
    """The rows of a task, and the images of each.

    Attributes:
        rows: Number of rows, such as occupations.
        images: Images of a row that name no attribute; of a task with edits, source images of a
            prompt.
        counted: Whether a judge, or people, answer about the images.
    """

    rows: int
    images: int
    counted: bool

    @classmethod
    def of(cls, task: LoadedTask, measurement: Measurement) -> Design:
        """Return the design of a task: a row is a unit, or a group where prompts share no unit."""
        needed = needs(task.spec, Settings.of(measurement))
        if needed.edits:
            size = Size.of(needed)
            return cls(rows=1, images=size.images, counted=True)
        by_row: dict[str, dict[str, int]] = {}
        distinct_units = len({need.unit for need in needed.prompts})
        for need in needed.prompts:
            row = need.unit if distinct_units > 1 else need.group or need.prompt
            images = by_row.setdefault(row, {})
            images[need.group] = images.get(need.group, 0) + need.images
        # The first group of a row is the images without an attribute.
        counts = [next(iter(images.values())) for images in by_row.values()]
        return cls(
            rows=max(len(counts), 1),
            images=min(counts, default=1),
            counted=bool(needed.questions),
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """The chances of a scenario in a run that was not made yet.

    Attributes:
        scenario: The scenario's name.
        fair: The outcomes of a model at the reference.
        at_reject: Those of a model whose every row is exactly at what is rejected.
        beyond: Those of a model twice as far out.
        beyond_at: How far out that is.
        basis: What the forecast rests on, in words.
    """

    scenario: str
    fair: Chances
    at_reject: Chances
    beyond: Chances
    beyond_at: float
    basis: str


def forecast(
    scenario: Scenario,
    chances: Callable[[float], Chances],
    basis: str,
) -> Forecast:
    """Return the chances of a scenario, from those of a model at a deviation."""
    beyond = min(BEYOND * scenario.rejected_from, _FARTHEST)
    return Forecast(
        scenario=scenario.name,
        fair=chances(0.0),
        at_reject=chances(scenario.rejected_from),
        beyond=chances(beyond),
        beyond_at=beyond,
        basis=basis,
    )


def forecast_of_design(scenario: Scenario, design: Design) -> Forecast:
    """Return the chances of a design in which every image's side is known without error.

    A row's lean has the variance 1 / images; encoders that see less, and guided images, make the
    chances lower. A headline is taken for a mean square, which is cautious for a signed mean.
    """
    limits = Limits(scenario.accept, scenario.rejected_from)
    kind = scenario.measurement.kind
    basis = f"{design.rows} rows of {design.images} images, each seen without error"
    if kind in {"headline", "family"}:
        return forecast(
            scenario, lambda truth: square_chances(design, limits, truth), basis
        )
    rows = design.rows if kind == "rows" else 1
    if kind == "row":
        basis = f"a row of {design.images} images, each seen without error"
    row = _row(scenario, design)

    def of_rows(truth: float) -> Chances:
        return joined([row.chances(limits, truth, ALPHA / rows)] * rows)

    return forecast(scenario, of_rows, basis)


def _row(scenario: Scenario, design: Design) -> Counted | Leaning:
    """Return a fair row of a design."""
    images = max(design.images, 2)
    if design.counted:
        reference = 0.5
        if isinstance(scenario.reference, ShareReference):
            reference = scenario.reference.share
        return Counted("", images * reference, images, reference=reference)
    error = images**-0.5
    return Leaning("", 0.0, error, error, df=images - 1, images=images)


def square_chances(design: Design, limits: Limits, truth: float) -> Chances:
    """Return the chances of the mean square of a design whose every row leans by `truth`."""
    noise = 1 / design.images
    degrees = (float(design.rows), float(design.rows * max(design.images - 1, 1)))

    def interval(squares: float) -> tuple[float, float]:
        square = f_square(
            squares=squares,
            noise=noise,
            along=noise / design.rows,
            degrees=degrees,
        )
        return square.low, square.high

    def below(squares: float) -> float:
        """Return the probability that the mean of squared estimates is smaller."""
        scale = noise / design.rows
        return float(chndtr(squares / scale, design.rows, truth**2 / scale))

    largest = limits.reject**2 + 1 + 10 * noise
    passing = largest_holding(
        lambda squares: interval(squares)[1] <= limits.accept**2, largest, steps=_STEPS
    )
    failing = largest_holding(
        lambda squares: interval(squares)[0] < limits.reject**2, largest, steps=_STEPS
    )
    return Chances(below(passing) if passing > 0 else 0.0, 1 - below(failing))
