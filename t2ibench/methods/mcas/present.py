"""The presentation of an MCAS task's result on pages."""

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
    """Return the presentation of a task's result on pages: its poles, rows and figures."""
    name_a = task.attributes.A.name
    name_b = task.attributes.B.name
    axis = Axis(name_b, name_a)
    rows = RowSeries("lean", "target", axis, flipped=frozenset({name_b}))
    formula = (
        f"lean of a target = (2 x·d − middle) / U, with x the mean of its images, d the mean "
        f"of {name_a} less {name_b} images, U the squared distance of the two; headline = half the "
        f"difference of the mean leans of targets stereotyped as {name_a} and as {name_b}"
    )
    figure = Scatter(
        "What the images add to the words",
        Quantity(
            "association of images minus that of words (δ)",
            "diffusion_bias",
            high=0.05,
        ),
        Quantity("images with words, over words alone (α)", "bias_amplification"),
        "One point is a target.",
        "Mandal et al. (2024), figures 2 to 4",
    )
    return Presentation(
        name=short_name(task.title, "MCAS"),
        axis=Axis("against stereotype", "along stereotype"),
        rows=(rows,),
        images=ImageSeries("association", axis, "target", "association"),
        formula=formula,
        source="After Mandal, Leavy and Little (2023, 2024)",
        figures=(figure,),
    )
