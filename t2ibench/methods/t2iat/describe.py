"""The result of a T2IAT in a sentence, and its presentation on pages."""

from __future__ import annotations

from t2ibench.methods.core.describe import (
    GROUP,
    as_shown,
    nothing_shown,
    people,
    sentence,
    shown_as,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.presentation import (
    LEAN,
    Axis,
    Distribution,
    ImageSeries,
    Presentation,
    RowSeries,
    short_name,
)
from t2ibench.methods.t2iat.schema import T2iatTask


def describe(task: T2iatTask, result: MethodResult) -> str:
    """Return the result as a plain sentence on which concept leans to which attribute."""
    of_x = people(task.concepts.X.name, GROUP)
    of_y = people(task.concepts.Y.name, GROUP)
    like_a = shown_as(task.attributes.A.name)
    like_b = shown_as(task.attributes.B.name)
    claim = f"images of {of_x} or images of {of_y} look more like {like_a}"
    x_is_near_a = (result.headline.value or 0.0) > 0
    near_x = like_a if x_is_near_a else like_b
    near_y = like_b if x_is_near_a else like_a
    direction = (
        f"images of {of_x} look more like {near_x}, images of {of_y} more like {near_y}"
    )
    return nothing_shown(result, claim) or sentence(direction)


def present(task: T2iatTask) -> Presentation:
    """Return the presentation of a task's result on pages: its poles, rows and figures."""
    x = task.concepts.X.name
    y = task.concepts.Y.name
    a = task.attributes.A.name
    b = task.attributes.B.name
    axis = Axis(b, a)
    distribution = Distribution(
        "The images of both concepts",
        "lean",
        "concept",
        axis,
        "One dot is one image; the large dot is the mean of its concept, with its "
        "interval; the band is the middle half of its images.",
        "Wang et al. (2023), figure 3",
        means={x: "lean_of_x", y: "lean_of_y"},
    )
    formula = (
        f"{LEAN} without an attribute, with {a} and with {b}, along the direction of all other "
        f"stimuli; headline = (mean lean of {x} − mean lean of {y}) / 2"
    )
    return Presentation(
        name=short_name(task.title, "T2IAT"),
        axis=Axis(as_shown(y, a), as_shown(x, a)),
        rows=(RowSeries("lean", "stimulus", axis, flipped=frozenset({y})),),
        images=ImageSeries("lean", axis, "stimulus"),
        formula=formula,
        source="After Wang et al. (2023), equations 1 to 4",
        figures=(distribution,),
    )
