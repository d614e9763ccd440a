"""Biases that are asked about the same images, together: which combinations are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.naming import JOIN, crossed_biases
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import clustered_proportion, holm
from t2ibench.stats.interaction import (
    FEWEST_SIGNS,
    CrossedAnswers,
    cell_excess,
    interaction,
    three_way,
    unbiased_excess,
)
from t2ibench.stats.rounding import settled

_DRAWS = 10_000  # the most permutations
_FEWEST = 4  # images of a prompt with all answers
_EXTREME = "its classes were never both seen about one prompt"
_FEW = f"fewer than {FEWEST_SIGNS} stimuli"


@dataclass(frozen=True, slots=True)
class CrossedBiases:
    """The result of one crossing.

    Attributes:
        items: A row for each combination of classes, and one for each stimulus.
        scores: 'interaction:A x B' for every two biases, and for all three.
        detail: The tests with Holm's p-values, and the combinations that stand out.
    """

    items: tuple[Item, ...]
    scores: dict[str, Estimate]
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Together:
    """The images that every bias of a crossing has a class for."""

    crossed: CrossedAnswers
    stimuli: list[str]
    prompts: list[str]


def crossings(
    task: OpenBiasTask, answers: Sequence[BiasAnswers], settings: Settings
) -> list[CrossedBiases]:
    """Every crossing of a task."""
    return [
        _crossing(task, [answers[k] for k in crossed_biases(task.biases, names)], settings)
        for names in task.crossings
    ]


def _crossing(
    task: OpenBiasTask, answers: Sequence[BiasAnswers], settings: Settings
) -> CrossedBiases:
    names = [found.bias.name for found in answers]
    name = JOIN.join(names)
    together = _together(answers)
    if together is None:
        reason = f"no prompt has {_FEWEST} images with a class for each question"
        undefined = Estimate.undefined(reason)
        return CrossedBiases((), {f"interaction:{name}": undefined}, {"crossing": name})
    draws = min(settings.n_permutations, _DRAWS)
    scores: dict[str, Estimate] = {}
    by_stimulus = np.full(len(together.stimuli), np.nan)
    axes = range(len(names))
    terms = [pair for size in (2, 3) for pair in combinations(axes, size)]
    for term in terms:
        label = JOIN.join(names[axis] for axis in term)
        rng = settings.rng(task.id, f"interaction of {label}")
        found = interaction(together.crossed.of(term), draws, rng)
        if len(term) == len(names):
            by_stimulus = found.by_cluster
        scores[f"interaction:{label}"] = Estimate(found.value, p=found.p, test="monte_carlo")
    tests = {name: estimate.p for name, estimate in scores.items()}
    if len(names) == 3:
        rng = settings.rng(task.id, f"interaction of all of {name}")
        p = three_way(together.crossed, draws, rng)
        tests["interaction of all three beyond two"] = p if np.isfinite(p) else None
    cells = _cells(together.crossed, answers, name, settings.level)
    detail = {
        "crossing": name,
        "images": len(together.crossed.codes),
        "tests": [
            {"name": label, "p": p, "p_holm": adjusted, "reason": None if p is not None else _FEW}
            for (label, p), adjusted in zip(tests.items(), holm(list(tests.values())), strict=True)
        ],
        **_standing_out(cells),
    }
    stimuli = _stimuli(together, answers, name, by_stimulus, settings.level)
    return CrossedBiases((*cells, *stimuli), scores, detail)


def _together(answers: Sequence[BiasAnswers]) -> _Together | None:
    codes: list[list[int]] = []
    prompt: list[int] = []
    cluster: list[int] = []
    stimuli: dict[str, int] = {}
    prompts: list[str] = []
    for captions in zip(*(found.captions for found in answers), strict=True):
        tables = [dict(zip(c.indices.tolist(), c.codes.tolist(), strict=True)) for c in captions]
        shared = sorted(set(tables[0]).intersection(*tables[1:]))
        if len(shared) < _FEWEST:
            continue
        name = captions[0].stimulus or captions[0].prompt
        codes += [[table[index] for table in tables] for index in shared]
        prompt += [len(prompts)] * len(shared)
        cluster.append(stimuli.setdefault(name, len(stimuli)))
        prompts.append(captions[0].prompt)
    if not prompts:
        return None
    classes = tuple(len(found.bias.classes) for found in answers)
    crossed = CrossedAnswers(np.array(codes), np.array(prompt), np.array(cluster), classes)
    return _Together(crossed, list(stimuli), prompts)


def _labels(answers: Sequence[BiasAnswers]) -> list[str]:
    return [JOIN.join(chosen) for chosen in product(*(found.bias.classes for found in answers))]


def _cells(
    crossed: CrossedAnswers, answers: Sequence[BiasAnswers], name: str, level: float
) -> list[Item]:
    """A row for each combination of classes."""
    found = cell_excess(crossed, level)
    numbers = [
        part.ravel().tolist()
        for part in (found.share, found.excess, found.low, found.high, found.p)
    ]
    items = []
    for label, share, excess, low, high, p in zip(_labels(answers), *numbers, strict=True):
        scores = {
            "joint_share": Estimate(share),
            "independent_share": Estimate(share - excess),
            "excess": Estimate(
                excess, p=p if np.isfinite(p) else None, test="t", interval=(low, high)
            ),
        }
        items.append(Item(label, scores, name, len(crossed.codes)))
    return items


def _standing_out(cells: Sequence[Item]) -> dict[str, Any]:
    """The combinations that are most more, and most less, frequent than their parts make them."""
    rows = []
    adjusted = holm([item.scores["excess"].p for item in cells])
    for item, p in zip(cells, adjusted, strict=True):
        excess = item.scores["excess"]
        low, high = excess.interval or (None, None)
        share = item.scores["joint_share"].value
        row = {"cell": item.name, "share": share, "excess": excess.value, "p_holm": p}
        rows.append({**row, "low": low, "high": high})
    ordered = sorted(rows, key=lambda row: float(row["excess"] or 0.0))
    return {"most_over": ordered[-1], "most_under": ordered[0]}


def _stimuli(
    together: _Together,
    answers: Sequence[BiasAnswers],
    name: str,
    p_values: Float64Array,
    level: float,
) -> list[Item]:
    """A row for each stimulus: the shares of every combination, and whether they go together."""
    counts = together.crossed.table().reshape(len(together.prompts), -1)
    cluster = together.crossed.cluster
    items = []
    for number, stimulus in enumerate(together.stimuli):
        own = counts[cluster == number]
        totals = own.sum(axis=1)
        scores: dict[str, Estimate] = {}
        for column, label in enumerate(_labels(answers)):
            share = clustered_proportion(own[:, column], totals)
            scores[f"joint:{label}"] = Estimate(share.value, interval=share.interval(level))
        p = float(p_values[number])
        excess = unbiased_excess(own.reshape(-1, *together.crossed.classes)).mean(axis=0).ravel()
        scores["largest_excess"] = (
            Estimate(float(excess[settled(np.abs(excess)).argmax()]), p=p, test="monte_carlo")
            if np.isfinite(p)
            else Estimate.undefined(_EXTREME)
        )
        items.append(Item(stimulus, scores, name, int(totals.sum())))
    return items
