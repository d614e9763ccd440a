"""Chances of a planned run, from the standard errors of a pilot."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.decisions.design import Design, Forecast, forecast
from t2ibench.decisions.evidence import evidence
from t2ibench.decisions.profile import Scenario
from t2ibench.decisions.quantity import ALPHA, Chances, Limits, Quantity
from t2ibench.decisions.repeat import joined
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.errors import T2IBenchError
from t2ibench.settings import Measurement
from t2ibench.tasks.loader import LoadedTask


def forecast_of_pilot(
    scenario: Scenario,
    task: LoadedTask,
    pilot: MeasuredRun,
    references: ReferenceRuns,
    measurement: Measurement,
    older: MeasuredRun | None = None,
) -> Forecast:
    """Return the chances of a scenario with more or fewer images than a pilot.

    Raises:
        T2IBenchError: the pilot does not measure it.
    """
    name = scenario.measurement.task[0]
    measured = pilot.results.tasks.get(name)
    if measured is None:
        raise T2IBenchError(
            f"--pilot {pilot.name}: {name} is not in it.",
            "Run its tasks once, or leave --pilot out.",
        )
    numbers = evidence(scenario, pilot, older, references)
    if numbers.reasons:
        reason = numbers.reasons[0]
        end = "" if reason.endswith("?") else "."
        raise T2IBenchError(
            f"--pilot {pilot.name}: {scenario.name}: {reason}{end}",
            "Leave --pilot out to plan without one.",
        )
    planned = Design.of(task, measurement)
    before = Design.of(task, measured.settings)
    times = planned.images / before.images
    enlarged = [quantity.enlarged(times) for quantity in numbers.quantities]
    limits = Limits(scenario.accept, scenario.rejected_from)
    basis = f"{times:.2g} times the images of the pilot {pilot.name}"
    return forecast(scenario, lambda truth: _chances(enlarged, limits, truth), basis)


def _chances(quantities: Sequence[Quantity], limits: Limits, truth: float) -> Chances:
    alpha = ALPHA / max(len(quantities), 1)
    return joined([quantity.chances(limits, truth, alpha) for quantity in quantities])
