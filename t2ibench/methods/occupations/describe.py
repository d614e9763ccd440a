"""An occupations task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, listed, no_score
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.occupations.design import group_pairs
from t2ibench.methods.occupations.schema import OccupationsTask

_SHOWN = 3


def describe(task: OccupationsTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence that names the stimuli which lean most to each group.
    """
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return f"No {task.concept.name} lean to a group more than chance alone would make them."
    sentences = []
    for pair in group_pairs(task):
        first, second, suffix = pair.first, pair.second, pair.suffix
        to_first = _most(result, f"two_p_minus_one{suffix}", 1.0)
        to_second = _most(result, f"two_p_minus_one{suffix}", -1.0)
        parts = [
            f"images of {listed(names)} lean most to {group}"
            for names, group in ((to_first, first.name), (to_second, second.name))
            if names
        ]
        if parts:
            text = "; ".join(parts)
            sentences.append(f"{text[0].upper()}{text[1:]}.")
    return " ".join(sentences) or "No stimulus leans to one side."


def _most(result: MethodResult, name: str, sign: float) -> list[str]:
    """The stimuli that lean most to one side, the strongest first."""

    def lean(item: Item) -> float:
        estimate = item.scores.get(name)
        return sign * (estimate.value or 0.0) if estimate else 0.0

    leaning = [item for item in result.by if lean(item) > 0]
    return [item.name for item in sorted(leaning, key=lean, reverse=True)[:_SHOWN]]
