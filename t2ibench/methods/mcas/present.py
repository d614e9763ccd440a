"""How an MCAS task is shown."""

from __future__ import annotations

from t2ibench.methods.core.presentation import (
    Axis,
    ImageSeries,
    Presentation,
    Quantity,
    RowSeries,
    Scatter,
    short_name,
)
from t2ibench.methods.mcas.schema import McasTask


def present(task: McasTask) -> Presentation:
    """How the result of a task is shown."""
    a, b = task.attributes.A.name, task.attributes.B.name
    axis = Axis(b, a)
    return Presentation(
        name=short_name(task.title, "MCAS"),
        axis=Axis("against stereotype", "along stereotype"),
        rows=(RowSeries("lean", "target", axis, flipped=frozenset({b})),),
        images=ImageSeries("asc", axis, "target", "association"),
        formula=(
            f"lean of a target = (2 x·d − middle) / U, with x the mean of its images, d the mean "
            f"of {a} less {b} images, U the squared distance of the two; headline = half the "
            f"difference of the mean leans of targets stereotyped as {a} and as {b}"
        ),
        source="After Mandal, Leavy and Little (2023, 2024)",
        figures=(
            Scatter(
                "What the images add to the words",
                Quantity("δ, as published", "delta", high=0.05),
                Quantity("α, as published", "alpha"),
                "One point is a target.",
                "Mandal et al. (2024), figures 2 to 4",
            ),
        ),
    )
