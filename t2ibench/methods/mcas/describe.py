"""An MCAS task in a sentence, and how pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.methods.core.describe import (
    clear_rows,
    few,
    nothing_shown,
    sentence,
    shown_as,
)
from t2ibench.methods.core.estimate import Item, MethodResult
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


def describe(task: McasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    a, b = task.attributes.A.name, task.attributes.B.name
    nouns = short_name(task.title, "MCAS")
    claim = f"{nouns} stereotyped as {a} look more like {shown_as(a)} than others do"
    rows = "; ".join(_sides(result.by, a, b, nouns))
    missing = nothing_shown(result, claim)
    if missing and (result.inconclusive or not rows):
        return missing
    if missing:
        return sentence(
            f"{rows}; over all {len(result.by)} {nouns} the lean is not clear"
        )
    near, far = (a, b) if (result.headline.value or 0.0) > 0 else (b, a)
    whole = f"{nouns} stereotyped as {a} look more like {shown_as(near)}, those as {b} more like "
    return sentence(
        rows or f"{whole}{shown_as(far)}; none of {len(result.by)} is clear by itself"
    )


def _sides(items: Sequence[Item], a: str, b: str, nouns: str) -> Iterator[str]:
    """How many targets of each stereotype look clearly like which group, and which ones."""
    clear, of = clear_rows(items, "lean"), f" {nouns}"
    for stereotype, poles in ((a, (a, b)), (b, (b, a)), (None, (a, b))):
        total = len([item for item in items if item.group == stereotype])
        which = f"stereotyped as {stereotype}" if stereotype else "without a stereotype"
        for pole in poles:
            sign = 1 if pole == a else -1
            names = [
                item.name
                for item in clear
                if item.group == stereotype
                and sign * (item.scores["lean"].value or 0.0) > 0
            ]
            if names:
                verb = "looks" if len(names) == 1 else "look"
                like = f"{verb} clearly like {shown_as(pole)} ({few(names)})"
                yield f"{len(names)} of {total}{of} {which} {like}"
                of = ""


def present(task: McasTask) -> Presentation:
    """How the result of a task is shown."""
    a, b = task.attributes.A.name, task.attributes.B.name
    axis = Axis(b, a)
    return Presentation(
        name=short_name(task.title, "MCAS"),
        axis=Axis("against stereotype", "along stereotype"),
        rows=(RowSeries("lean", "target", axis, flipped=frozenset({b})),),
        images=ImageSeries("association", axis, "target", "association"),
        formula=(
            f"lean of a target = (2 x·d − middle) / U, with x the mean of its images, d the mean "
            f"of {a} less {b} images, U the squared distance of the two; headline = half the "
            f"difference of the mean leans of targets stereotyped as {a} and as {b}"
        ),
        source="After Mandal, Leavy and Little (2023, 2024)",
        figures=(
            Scatter(
                "What the images add to the words",
                Quantity("δ, as published", "diffusion_bias", high=0.05),
                Quantity("α, as published", "bias_amplification"),
                "One point is a target.",
                "Mandal et al. (2024), figures 2 to 4",
            ),
        ),
    )
