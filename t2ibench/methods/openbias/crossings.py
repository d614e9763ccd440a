"""Combinations of two biases' classes, such as old and male, beyond chance.

The biases are asked about the same images; 'old' and 'male' may go together more often
than the shares of each would make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from t2ibench.arrays import IntArray
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.schema import JOIN, OpenBiasTask, crossed_biases
from t2ibench.settings import Settings
from t2ibench.stats import holm
from t2ibench.stats.interaction import (
    FEWEST_IMAGES,
    CrossedAnswers,
    cell_excess,
    interaction,
)

# The most permutations of an interaction.
_DRAWS = 10_000


@dataclass(slots=True)
class Crossings:
    """Scores, rows and details for all pairs of biases that a task combines.

    Attributes:
        scores: 'interaction:A x B' of every pair of biases.
        items: A row for each combination of their classes.
        details: Each pair with its number of images and its tests, for `details`.
    """

    scores: dict[str, Estimate] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)


def crossings_of(
    task: OpenBiasTask, answers: Sequence[BiasAnswers], settings: Settings
) -> Crossings:
    """Return how far the classes of every two combined biases depend on each other."""
    crossings = Crossings()
    for names in task.crossings:
        biases = [answers[number] for number in crossed_biases(task.biases, names)]
        codes_by_prompt = _codes_by_prompt(biases)
        if codes_by_prompt:
            _add_crossing(crossings, task.id, biases, codes_by_prompt, settings)
        else:
            _add_empty(crossings, biases)
    return crossings


def _pair_name(pair: Sequence[BiasAnswers]) -> str:
    return JOIN.join(answers.bias.name for answers in pair)


def _codes_by_prompt(biases: Sequence[BiasAnswers]) -> list[IntArray]:
    """Return, for each prompt, the classes of images that have one for every bias.

    Returns:
        For each prompt with enough such images an array of shape (images, biases).
    """
    codes_by_prompt = []
    for captions in zip(*(answers.captions for answers in biases), strict=True):
        tables = []
        for caption in captions:
            codes = zip(caption.indices.tolist(), caption.codes.tolist(), strict=True)
            tables.append(dict(codes))
        shared = sorted(set(tables[0]).intersection(*tables[1:]))
        if len(shared) >= FEWEST_IMAGES:
            rows = [[table[index] for table in tables] for index in shared]
            codes_by_prompt.append(np.array(rows))
    return codes_by_prompt


def _add_empty(crossings: Crossings, biases: Sequence[BiasAnswers]) -> None:
    """Add undefined scores for pairs of biases that have too few images in common."""
    reason = f"no prompt has {FEWEST_IMAGES} images with a class for each question"
    for pair in combinations(biases, 2):
        name = _pair_name(pair)
        score = join_score_name("interaction", name)
        crossings.scores[score] = Estimate.undefined(reason)
        crossings.details.append({"crossing": name})


def _add_crossing(
    crossings: Crossings,
    task_id: str,
    biases: Sequence[BiasAnswers],
    codes_by_prompt: Sequence[IntArray],
    settings: Settings,
) -> None:
    """Add the scores, rows and tests of all pairs of the given biases to `crossings`.

    Holm's correction is over these pairs.
    """
    codes = np.concatenate(codes_by_prompt)
    sizes = [len(rows) for rows in codes_by_prompt]
    prompts = np.repeat(np.arange(len(codes_by_prompt)), sizes)
    n_draws = min(settings.n_permutations, _DRAWS)
    estimates: dict[str, Estimate] = {}
    for columns in combinations(range(len(biases)), 2):
        pair = [biases[column] for column in columns]
        name = _pair_name(pair)
        classes = [answers.bias.classes for answers in pair]
        crossed = CrossedAnswers(
            codes[:, columns], prompts, (len(classes[0]), len(classes[1]))
        )
        rng = settings.rng(task_id, f"interaction of {name}")
        test = interaction(crossed, n_draws, rng)
        estimates[name] = Estimate(test.value, p=test.p, test="monte_carlo")
        labels = [JOIN.join(cell) for cell in product(*classes)]
        crossings.items += _cell_rows(crossed, labels, name, settings.level)
    adjusted = holm([estimate.p for estimate in estimates.values()])
    for (name, estimate), p_holm in zip(estimates.items(), adjusted, strict=True):
        score = join_score_name("interaction", name)
        crossings.scores[score] = estimate
        tests = [{"name": score, "p": estimate.p, "p_holm": p_holm}]
        crossings.details.append(
            {"crossing": name, "images": len(codes), "tests": tests}
        )


def _cell_rows(
    crossed: CrossedAnswers, labels: Sequence[str], name: str, level: float
) -> list[Item]:
    """Return a row for each combination of classes: its share, and how far that exceeds chance.

    Args:
        crossed: The classes of each image.
        labels: Names of the combinations, with the second bias's classes changing first.
        name: Name of the pair of biases, the group of the rows.
        level: Confidence level, in (0, 1).
    """
    cells = cell_excess(crossed, level)
    items = []
    for number, label in enumerate(labels):
        share = float(cells.share.flat[number])
        excess = float(cells.excess.flat[number])
        scores = {
            "joint_share": Estimate(share),
            "independent_share": Estimate(share - excess),
            "excess": Estimate(
                excess,
                p=float(cells.p.flat[number]),
                test="t",
                interval=(
                    float(cells.low.flat[number]),
                    float(cells.high.flat[number]),
                ),
            ),
        }
        items.append(Item(label, scores, name, len(crossed.codes)))
    return items
