"""Conversion of merged biases to the entries of a task file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from t2ibench.methods.openbias.merging import MergedBias


def bias_rows(
    biases: Sequence[MergedBias],
    per_bias: int,
    *,
    each_question: bool = True,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return merged biases as entries of a task file, with their most frequent classes first.

    Args:
        biases: The biases.
        per_bias: The most captions of a bias.
        each_question: Whether captions keep the question that was proposed for them.
        seed: Decides which captions are chosen.
    """
    rows = []
    for bias in biases:
        captions = chosen_captions(bias.asked, per_bias, seed)
        classes = sorted(bias.classes.items(), key=lambda item: (-item[1], item[0]))
        row: dict[str, Any] = {
            "name": bias.name,
            "about": bias.about,
            "classes": [name for name, _ in classes],
            "question": bias.question,
            "captions": captions,
        }
        questions = {caption: bias.asked[caption] for caption in captions}
        different = {
            caption: question
            for caption, question in questions.items()
            if question != bias.question
        }
        if each_question and different:
            row["questions"] = different
        rows.append(row)
    return rows


def chosen_captions(captions: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """Return at most `count` captions, chosen alike on every machine and in any order."""
    salt = f"{seed}\0" if seed else ""
    ranked = sorted(
        captions,
        key=lambda caption: hashlib.sha256((salt + caption).encode()).hexdigest(),
    )
    return sorted(ranked[:count])
