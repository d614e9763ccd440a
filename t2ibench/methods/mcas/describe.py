"""An MCAS task in a sentence, and how pages show it."""

from __future__ import annotations

from t2ibench.methods.core.describe import (
    leaning,
    no_score,
    sentence,
    shown_as,
    undecided,
    unproven,
)
from t2ibench.methods.core.estimate import MethodResult
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
    a, b = shown_as(task.attributes.A.name), shown_as(task.attributes.B.name)
    nouns = short_name(task.title, "MCAS")
    claim = f"{nouns} stereotyped as {task.attributes.A.name} look more like {a} than others do"
    rows = leaning(result.by, "lean", b, a, nouns) or f"none of {len(result.by)} {nouns} is clear"
    how = "follow" if (result.headline.value or 0.0) > 0 else "run against"
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or f"{sentence(rows)} Together they {how} the stereotype."
    )


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
