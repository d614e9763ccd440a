"""How a WEAT is shown."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Axis, Presentation, short_name
from t2ibench.methods.weat.schema import WeatTask


def present(task: WeatTask) -> Presentation:
    """How the result of a task is shown."""
    x, y = task.targets.X.name, task.targets.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    return Presentation(
        name=short_name(task.title, r"WEAT \d+"),
        axis=Axis(f"{y} · {a}", f"{x} · {a}"),
        formula=(
            "Cliff's delta = P(s(x) > s(y)) − P(s(x) < s(y)), with s(w) the mean cosine of a word "
            f"with {a} less that with {b}"
        ),
        source="Caliskan, Bryson and Narayanan (2017)",
    )
