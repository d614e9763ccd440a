"""The presentation of a WEAT's result on pages."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Axis, Presentation, short_name
from t2ibench.methods.weat.schema import WeatTask


def present(task: WeatTask) -> Presentation:
    """Return the presentation of a task's result on pages: its name, poles and formula."""
    first = task.attributes.A.name
    second = task.attributes.B.name
    return Presentation(
        name=short_name(task.title, r"WEAT \d+"),
        axis=Axis(
            low=f"{task.targets.Y.name} near {first}",
            high=f"{task.targets.X.name} near {first}",
        ),
        formula=(
            "Cliff's delta = P(s(x) > s(y)) − P(s(x) < s(y)), with s(w) the mean cosine of a word "
            f"with {first} less that with {second}"
        ),
        source="Caliskan, Bryson and Narayanan (2017)",
    )
