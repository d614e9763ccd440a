"""A TIBET result in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.answer_counts import shown_of
from t2ibench.methods.core.describe import nothing_shown, shown_sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.tibet.schema import TibetTask

_CLAIM = "images look like one counterfactual when none is asked for"
# Axes that a description names.
_MOST_AXES = 3


def describe(task: TibetTask, result: MethodResult) -> str:
    """Return the result as a plain sentence with its direction."""
    missing = nothing_shown(result, _CLAIM)
    if missing:
        return missing
    sentences = _clear_axes(result)
    if not sentences:
        return (
            f"Together the images favour one {_axis_name(result)} when none is asked for; "
            "no prompt is clear by itself."
        )
    n_more = len(sentences) - _MOST_AXES
    sentences = sentences[:_MOST_AXES]
    if n_more == 1:
        sentences.append("Another axis is clear")
    elif n_more > 1:
        sentences.append(f"{n_more} more axes are clear")
    return ". ".join(sentences) + "."


def _clear_axes(result: MethodResult) -> list[str]:
    """A sentence, without its full stop, for each axis along which a prompt is clear by itself."""
    return [
        f"When no {shown.counted.attribute} is asked for, {shown_sentence(shown.rows)}"
        for shown in shown_of(result)
        if any(row.clear for row in shown.rows)
    ]


def _axis_name(result: MethodResult) -> str:
    """The name of the result's only axis, or 'counterfactual' where there are several."""
    axes = {item.group for item in result.by}
    return str(axes.pop()) if len(axes) == 1 else "counterfactual"
