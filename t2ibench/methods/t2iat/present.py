"""How a T2IAT is shown."""

from __future__ import annotations

from t2ibench.methods.core.presentation import (
    Axis,
    Distribution,
    ImageSeries,
    Presentation,
    RowSeries,
    short_name,
)
from t2ibench.methods.t2iat.schema import T2iatTask


def present(task: T2iatTask) -> Presentation:
    """How the result of a task is shown."""
    x, y = task.concepts.X.name, task.concepts.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    axis = Axis(b, a)
    return Presentation(
        name=short_name(task.title, "T2IAT"),
        axis=Axis(f"{y} · {a}", f"{x} · {a}"),
        rows=(RowSeries("lean", "stimulus", axis, flipped=frozenset({y})),),
        images=ImageSeries("lean", axis, "stimulus"),
        formula=(
            "lean = (2 y − a − b) / (a − b), with y, a and b the means of a stimulus's images "
            f"without an attribute, with {a} and with {b}, along the direction of all other "
            f"stimuli; headline = (mean lean of {x} − mean lean of {y}) / 2"
        ),
        source="After Wang et al. (2023), equations 1 to 4",
        figures=(
            Distribution(
                "The images of both concepts",
                "lean",
                "concept",
                axis,
                "One dot is one image; the large dot is the mean of its concept.",
                "Wang et al. (2023), figure 3",
            ),
        ),
    )
