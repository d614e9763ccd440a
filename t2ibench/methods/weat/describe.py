"""A WEAT in a sentence, and how pages show it."""

from __future__ import annotations

from t2ibench.methods.core.describe import nothing_shown, sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.presentation import Axis, Presentation, short_name
from t2ibench.methods.weat.schema import WeatTask


def describe(task: WeatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    x, y = task.targets.X.name, task.targets.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name

    def stronger(near: str, far: str) -> str:
        return f"{_words(near)} are nearer to {a}, {_words(far)} to {b}"

    claims = {
        "two-sided": f"{_words(x)} or {_words(y)} are nearer to {a}",
        "greater": stronger(x, y),
        "less": stronger(y, x),
    }
    near, far = (x, y) if (result.headline.value or 0.0) > 0 else (y, x)
    return nothing_shown(result, claims[task.alternative]) or sentence(
        stronger(near, far)
    )


def _words(name: str) -> str:
    return name if name.endswith("names") else f"words for {name}"


def present(task: WeatTask) -> Presentation:
    """How the result of a task is shown."""
    x, y = task.targets.X.name, task.targets.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    return Presentation(
        name=short_name(task.title, r"WEAT \d+"),
        axis=Axis(f"{y} near {a}", f"{x} near {a}"),
        formula=(
            "Cliff's delta = P(s(x) > s(y)) − P(s(x) < s(y)), with s(w) the mean cosine of a word "
            f"with {a} less that with {b}"
        ),
        source="Caliskan, Bryson and Narayanan (2017)",
    )
