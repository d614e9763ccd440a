"""How far methods agree: correlations of leans, as in a multitrait-multimethod matrix.

After Campbell and Fiske (1959). An attribute is a trait, a family of tasks with what reads its
images is a method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence, JointInfluence
from t2ibench.methods.core.presentation import RowSeries
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.registry import presentation
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results, Row
from t2ibench.settings import Settings
from t2ibench.stats.method_agreement import MethodAgreement, correlate_methods
from t2ibench.stats.rounding import settled

_FEWEST = 5  # items in common, to say anything
_NAMED = 3  # items that two methods see most differently
_SAME = {"man": "male", "men": "male", "woman": "female", "women": "female"}
_NOUNS = (" person", " people", " skin", " words")
NOTHING = (
    "No attribute is seen by two methods. That takes tasks of two families, encoders or judges "
    f"with the same two poles and {_FEWEST} items in common: a second run of the same images with "
    "another --encoder or --judge, or occupations by gender both seen by an encoder and asked of a "
    "judge."
)


@dataclass(frozen=True, slots=True)
class Lean:
    """An item's lean, positive towards the first pole, with the influence of each image on it."""

    name: str
    value: float
    influence: Influence | None


@dataclass(frozen=True, slots=True)
class Measure:
    """Leans of items on one attribute, as a method measures them; positive is its first pole."""

    task: str
    method: str
    reader: str
    attribute: tuple[str, str]
    leans: Mapping[str, Lean]
    prompts: Mapping[str, str]
    settings: Settings

    @property
    def label(self) -> str:
        """Name of the measure in tables: its task, and its encoder or judge."""
        return f"{self.task}, {self.reader}"

    def find(self, name: str) -> Lean | None:
        """Return the lean of the item with this name, or this prompt, in lower case; else None."""
        return self.leans.get(name) or self.leans.get(self.prompts.get(name, ""))


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """Two measures of the same items, how far they agree, and where they differ most.

    `others` are other attributes of these items, each beside one of the two (discriminant); a pair
    that is itself discriminant has none.
    """

    first: Measure
    second: Measure
    agreement: MethodAgreement
    disagreements: tuple[tuple[Lean, Lean], ...] = ()
    others: tuple[MeasuredPair, ...] = ()

    @property
    def nearest_other(self) -> MeasuredPair | None:
        """The pair with another attribute that correlates most; None if there is none."""
        others = [
            pair for pair in self.others if math.isfinite(pair.agreement.linear.value)
        ]
        return max(
            others, key=lambda pair: abs(pair.agreement.linear.value), default=None
        )


def measures(
    results: Results, specs: Mapping[str, BaseTask], paired: Mapping[str, PairedTask]
) -> list[Measure]:
    """Return the leans of a run's items, for each task, attribute, and encoder or judge."""
    measured = []
    for name, task in results.tasks.items():
        if name not in specs:
            continue
        # What read the images, its rows and the influences on them.
        paired_task, names = (
            paired.get(name),
            [*task.settings.encoders, *task.settings.judges],
        )
        readings = [
            (
                ", ".join(dict.fromkeys(names)),
                task.by,
                paired_task.rows if paired_task else {},
            )
        ]
        if len(task.by_encoder) > 1:
            each = paired_task.readers if paired_task else {}
            readings = [
                (k, encoder_scores.by, each.get(k, {}))
                for k, encoder_scores in task.by_encoder.items()
            ]
        shown = presentation(specs[name])
        for series in (*shown.rows, *shown.leans):
            if series.axis is None or series.square:
                continue
            poles = _pole(series.axis.high), _pole(series.axis.low)
            is_sorted = poles == tuple(sorted(poles))
            sign = 1.0 if is_sorted != series.turned else -1.0
            attribute = min(poles), max(poles)
            settings = Settings.of(task.settings)
            for reader, rows, influences in readings:
                leans = _leans(series, rows, influences, sign)
                if len(leans) >= _FEWEST:
                    measured.append(
                        Measure(
                            name,
                            task.method,
                            reader,
                            attribute,
                            leans,
                            _prompts(leans),
                            settings,
                        )
                    )
    return measured


def _prompts(leans: Mapping[str, Lean]) -> dict[str, str]:
    """Return each prompt with its item's name, without prompts that several items share."""
    items: dict[str, set[str]] = {}
    for item, lean in leans.items():
        for prompt in lean.influence.strata if lean.influence else ():
            items.setdefault(prompt.casefold(), set()).add(item)
    return {prompt: min(those) for prompt, those in items.items() if len(those) == 1}


def _pole(name: str) -> str:
    for noun in _NOUNS:
        name = name.removesuffix(noun)
    return _SAME.get(name, name)


def _leans(
    series: RowSeries,
    rows: Sequence[Row],
    influences: Mapping[tuple[str, str], Part],
    sign: float,
) -> dict[str, Lean]:
    leans: dict[str, Lean] = {}
    for row in rows:
        score = row.scores.get(series.score)
        wanted = series.groups is None or row.group in series.groups
        if not wanted or score is None or score.value is None:
            continue
        name = row.name.removesuffix(f" | {row.group}").removesuffix(f" ({row.group})")
        part, influence = influences.get((row.name, series.score)), None
        if part is not None and np.isclose(part.value, score.value, rtol=0, atol=1e-6):
            influence = part.influence.scaled(sign)
        if influence is not None and not math.isfinite(influence.variance):
            influence = None  # one image shows no noise
        leans.setdefault(name.casefold(), Lean(name, sign * score.value, influence))
    return leans


def agreements(measured: Sequence[Measure]) -> list[MeasuredPair]:
    """Return every pair of methods that measure the same attribute, with how far they agree.

    Beside each are pairs in which one of the methods measures another attribute (discriminant).

    Two tasks of one family that one encoder reads are one method, and no pair.
    """
    measured = list(
        {
            (measure.task, measure.reader, measure.attribute): measure
            for measure in measured
        }.values()
    )
    pairs = []
    for first, second in combinations(measured, 2):
        methods = (first.method, first.reader), (second.method, second.reader)
        if first.attribute != second.attribute or methods[0] == methods[1]:
            continue
        shared = _shared(first, second)
        pair = _pair(first, second, shared)
        if pair is None:
            continue
        others = (
            _pair(measure, other, _shared(measure, other))
            for measure in (first, second)
            for other in measured
            if other.attribute != measure.attribute
        )
        beside = tuple(other for other in others if other is not None)
        pairs.append(replace(pair, disagreements=_disagreements(shared), others=beside))
    return pairs


def _shared(first: Measure, second: Measure) -> list[tuple[Lean, Lean]]:
    pairs = [
        (first.find(name), second.find(name))
        for name in {**first.leans, **second.leans}
    ]
    by_name = {
        (lean.name.casefold(), other.name.casefold()): (lean, other)
        for lean, other in pairs
        if lean is not None and other is not None
    }
    return [by_name[names] for names in sorted(by_name)]


def _pair(
    first: Measure, second: Measure, shared: Sequence[tuple[Lean, Lean]]
) -> MeasuredPair | None:
    if len(shared) < _FEWEST:
        return None
    values = np.array([[lean.value, other.value] for lean, other in shared])
    rng = first.settings.rng(first.label, f"agreement with {second.label}")
    level = first.settings.level
    noise = _noise(shared)
    return MeasuredPair(
        first,
        second,
        correlate_methods(values[:, 0], values[:, 1], noise, level=level, rng=rng),
    )


def _noise(shared: Sequence[tuple[Lean, Lean]]) -> Float64Array | None:
    """Return the covariances of both measures' errors, (items, 2, 2); None if one is unknown."""
    influences = [lean.influence for both in shared for lean in both]
    finite = [influence for influence in influences if influence is not None]
    if len(finite) < len(influences):
        return None
    joint = JointInfluence(finite)
    rows = joint.rows[:, np.flatnonzero(joint.observed)]
    first, second = rows[0::2], rows[1::2]
    covariances = [
        np.asarray(influence.multiply(other).sum(axis=1)).ravel()
        for influence in (first, second)
        for other in (first, second)
    ]
    return np.stack(covariances, axis=1).reshape(-1, 2, 2)


def _disagreements(
    shared: Sequence[tuple[Lean, Lean]],
) -> tuple[tuple[Lean, Lean], ...]:
    values = np.array([[lean.value, other.value] for lean, other in shared])
    spread = values.std(axis=0, ddof=1)
    if not spread.all():
        return ()
    standard = (values - values.mean(axis=0)) / spread
    order = np.argsort(settled(-np.abs(standard[:, 0] - standard[:, 1])), kind="stable")
    return tuple(shared[k] for k in order[:_NAMED])
