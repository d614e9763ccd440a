"""Whether embeddings that were made again move a test to one side, as a forger's do.

Rounding has no side. A forger who stays within the tolerance of each embedding still has to tilt
all of them along the axis of a test to move it. So every test is scored again with each embedding
that was made here in place of the one that was sent, which gives that embedding's effect on each
score. The effects of rounding go to either side, whatever directions it takes in the space of the
embeddings; those of a tilt go to one. Two comparisons tell them apart: Student's t gives the sum of
the effects an interval, and the sum is beyond what the same effects give with random signs, which
holds for effects of any symmetric distribution. Too few effects are no finding by the second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import stdtrit

from t2ibench.apps.leaderboard.regenerate import (
    Claims,
    RegeneratedImage,
    Verdict,
    prompt_groups,
)
from t2ibench.apps.leaderboard.tolerance import is_as_stored
from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.decimals import decimal
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import score_task
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import evidence_of
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, Kind, text_key
from t2ibench.tasks.loader import LoadedTask

# A score that moves by less is no finding. It is three times what bfloat16 in place of float32
# moves a headline by (docs/reproducibility.md).
SMALLEST_SHIFT = 0.005
# A headline that moves by as much has to be noticed; where it cannot be excluded, a note says so.
NOTICED_SHIFT = 0.02
# The chance with which any score of an honest submission is said to be tilted, at most.
FALSE_ALARMS = 0.01
# Draws of random signs, and how many are held in memory at a time.
_FLIPS = 100_000
_FLIPS_AT_A_TIME = 10_000
# No score that is looked at depends on them.
_DRAWS = {"n_permutations": 1000, "n_bootstrap": 1000}


@dataclass(slots=True)
class RemadeRows:
    """Embeddings that were made again, by encoder, kind and key."""

    by_encoder: dict[str, dict[Kind, dict[str, Float32Array]]] = field(
        default_factory=dict
    )

    def add(self, encoder: str, kind: Kind, key: str, row: Float32Array) -> None:
        """Add the embedding of one image or text."""
        kinds = self.by_encoder.setdefault(encoder, {"images": {}, "texts": {}})
        kinds[kind][key] = row


class ReplacedEmbeddings(EvidenceStore):
    """An encoder's stored embeddings, with others in place of some of them.

    Args:
        store: The stored embeddings.
        kind: Whether images or texts are replaced.
        replacements: The embeddings to give instead, by key.
    """

    def __init__(
        self,
        store: EvidenceStore,
        kind: Kind,
        replacements: Mapping[str, Float64Array],
    ) -> None:
        self.__dict__.update(store.__dict__)
        self._kind = kind
        self._replacements = replacements

    def rows(self, kind: Kind, keys: Sequence[str]) -> Float64Array:
        """Return embeddings given by their hashes, shape (n, d), with the others in place."""
        rows = super().rows(kind, keys)
        if kind == self._kind:
            for place, key in enumerate(keys):
                if key in self._replacements:
                    rows[place] = self._replacements[key]
        return rows

    def get(self, kind: Kind, key: str) -> Float32Array:
        """Return the embedding of one image or text, or the other one in its place."""
        if kind == self._kind and key in self._replacements:
            return self._replacements[key].astype(np.float32)
        return super().get(kind, key)


@dataclass(frozen=True, slots=True)
class Deviations:
    """The drawn embeddings of a group that came out otherwise than they were sent.

    Attributes:
        kind: Whether they are of images or texts.
        rows: What was made here, by encoder and key.
        drawn: How many images or texts of the group were drawn, with those that came out the same.
        total: How many of them the group has.
    """

    kind: Kind
    rows: Mapping[str, Mapping[str, Float64Array]]
    drawn: int
    total: int

    def by_key(self) -> Iterator[Mapping[str, Mapping[str, Float64Array]]]:
        """Yield what was made here of one image or text after the other, by encoder and key."""
        for key in sorted({key for rows in self.rows.values() for key in rows}):
            yield {
                name: {key: rows[key]}
                for name, rows in self.rows.items()
                if key in rows
            }


@dataclass(frozen=True, slots=True)
class Shift:
    """How a score moves with what was made here, over all of its embeddings.

    Attributes:
        name: The score.
        size: By how much, extrapolated from what was drawn.
        least: By how much at the end of its interval that is nearer to 0.
        most: By how much, without its sign, at the end that is farther from 0.
    """

    name: str
    size: float
    least: float
    most: float

    @property
    def tilted(self) -> bool:
        """Whether chance does not explain that it moves."""
        return abs(self.least) > SMALLEST_SHIFT

    @property
    def undecided(self) -> bool:
        """Whether it is a headline that may move by what has to be noticed."""
        of_headline = self.name.startswith("its headline")
        return of_headline and not self.tilted and self.most > NOTICED_SHIFT


def check_shifts(
    claims: Claims,
    drawn: Sequence[RegeneratedImage],
    remade: RemadeRows,
    verdict: Verdict,
) -> None:
    """Note on `verdict` each test that the embeddings made here move to one side."""
    images = DistinctImages(claims.images)
    stores = replace(claims.stores, controls={}, images=images)
    settings = claims.plan.settings.model_copy(update=_DRAWS)
    plan = replace(claims.plan, settings=settings)
    by_task = {
        task.id: [
            *_text_deviations(plan, task, stores, remade),
            *_image_deviations(claims, plan, task, drawn, remade),
        ]
        for task in plan.tasks
    }
    tests = sum(1 for deviations in by_task.values() if deviations)
    tilted = []
    undecided = []
    for task in plan.tasks:
        if not by_task[task.id]:
            continue
        shifts = list(shifts_of(plan, task, stores, by_task[task.id], tests=tests))
        if any(shift.undecided for shift in shifts):
            undecided.append(task.id)
        for shift in shifts:
            if shift.tilted:
                tilted.append(_line(task, shift))
    verdict.differ(tilted, "tests")
    if undecided:
        verdict.notes.append(
            f"too few images were drawn to tell whether the embeddings move {len(undecided)} of "
            f"{len(plan.tasks)} tests to one side by {NOTICED_SHIFT:g}, such as {undecided[0]}; a "
            "larger --draw tells"
        )


def _line(task: LoadedTask, shift: Shift) -> str:
    """Return the problem that a score was tilted."""
    size = decimal(shift.size, 3, sign=True)
    least = decimal(shift.least, 3, sign=True)
    return (
        f"{task.id}: the embeddings made here move {shift.name} by {size} over all of its "
        f"evidence, and by {least} at the least that chance leaves: rounding goes to no side, so "
        "those that were sent are tilted"
    )


def shifts_of(
    plan: Plan,
    task: LoadedTask,
    stores: Stores,
    deviations: Sequence[Deviations],
    *,
    tests: int = 1,
) -> Iterator[Shift]:
    """Yield by how much deviations move each score of a test, with its interval.

    The chance that any is tilted is about `FALSE_ALARMS` over all tests, where no side is more
    likely.

    Args:
        plan: The plan of the submission.
        task: The test.
        stores: The evidence that was sent.
        deviations: What came out otherwise, in groups.
        tests: How many tests of the submission are looked at.

    Yields:
        The shift of each score over all embeddings.
    """
    sent = _scores(plan, task, stores)
    if not sent:
        return
    effects = [_effects(plan, task, stores, group, sent) for group in deviations]
    totals = [group.total for group in deviations]
    chance = FALSE_ALARMS / tests
    for name, score in sent.items():
        of_score = [of_group[name] for of_group in effects]
        yield shift_of(name, score, of_score, totals, chance=chance, scores=len(sent))


def shift_of(
    name: str,
    score: Score,
    effects: Sequence[Float64Array],
    totals: Sequence[int],
    *,
    chance: float,
    scores: int = 1,
) -> Shift:
    """Return by how much a score moves over all embeddings, from the effects of those drawn.

    Args:
        name: The score's name.
        score: The score as it was sent.
        effects: The effect of each drawn embedding, one array for each group.
        totals: How many embeddings each group has.
        chance: With which any of the scores may be tilted where no side is more likely.
        scores: How many scores of the test are looked at. They share the signs of the effects, so
            only the interval is widened by their number.
    """
    whole = _total(effects, totals)
    margin = whole.margin(chance / scores)
    nearest = math.copysign(max(abs(whole.total) - margin, 0.0), whole.total)
    if nearest and _share_of_flips(effects, totals) > chance:
        nearest = 0.0
    ends = (whole.total - margin, whole.total + margin) if whole.variance else (0, 0)
    start = score.shown(0.0)
    return Shift(
        name=name,
        size=score.shown(whole.total) - start,
        least=score.shown(nearest) - start,
        most=max(abs(score.shown(end) - start) for end in ends),
    )


@dataclass(frozen=True, slots=True)
class _Total:
    """A sum of effects over all embeddings, estimated from those that were drawn.

    Attributes:
        total: The sum.
        variance: Of its estimate.
        freedom: The degrees of freedom of the variance.
    """

    total: float
    variance: float
    freedom: float

    def margin(self, chance: float) -> float:
        """Return half the width of an interval that fails with a chance; inf without a spread."""
        if not self.variance:
            return math.inf
        quantile = float(stdtrit(self.freedom, 1 - chance / 2))
        return quantile * math.sqrt(self.variance)


def _total(effects: Sequence[Float64Array], totals: Sequence[int]) -> _Total:
    """Return what groups of effects add up to over all embeddings of their groups.

    Variances are those within the groups, so that one whose effects differ from another's does not
    look like noise; their degrees of freedom are Welch and Satterthwaite's. A group of a single
    embedding has no spread, so the square of its effect stands for it.
    """
    total = 0.0
    variance = 0.0
    in_freedom = 0.0
    for values, count in zip(effects, totals, strict=True):
        several = len(values) > 1
        of_mean = values.var(ddof=1) / len(values) if several else values[0] ** 2
        of_group = count**2 * float(of_mean)
        total += count * float(values.mean())
        variance += of_group
        in_freedom += of_group**2 / max(len(values) - 1, 1)
    freedom = variance**2 / in_freedom if in_freedom else 1.0
    return _Total(total, variance, freedom)


def _share_of_flips(effects: Sequence[Float64Array], totals: Sequence[int]) -> float:
    """Return how often the effects have a sum at least as large where their signs are random.

    It is the p-value of a test that holds for any effects of which neither side is more likely.
    """
    weighted = np.concatenate(
        [
            values * (count / len(values))
            for values, count in zip(effects, totals, strict=True)
        ]
    )
    # A sum that equals the one that came out counts, whatever its last digits are.
    smallest = abs(float(weighted.sum())) * (1 - 1e-9)
    rng = np.random.default_rng(0)
    as_large = 0
    for _ in range(_FLIPS // _FLIPS_AT_A_TIME):
        signs = 2.0 * rng.integers(2, size=(_FLIPS_AT_A_TIME, len(weighted))) - 1.0
        as_large += int((np.abs(signs @ weighted) >= smallest).sum())
    return (as_large + 1) / (_FLIPS + 1)


def _effects(
    plan: Plan,
    task: LoadedTask,
    stores: Stores,
    group: Deviations,
    sent: Mapping[str, Score],
) -> dict[str, Float64Array]:
    """Return by how much each drawn embedding of a group moves each score, 0 for the same ones."""
    effects = {name: np.zeros(group.drawn) for name in sent}
    for place, rows in enumerate(group.by_key()):
        encoders = {
            name: ReplacedEmbeddings(store, group.kind, rows.get(name, {}))
            for name, store in stores.encoders.items()
        }
        moved = _scores(plan, task, replace(stores, encoders=encoders))
        for name, score in sent.items():
            effects[name][place] = moved.get(name, score).value - score.value
    return effects


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a test.

    Attributes:
        value: The score; it moves in proportion to small deviations, as a root near 0 does not.
        squared: Whether pages show its root.
    """

    value: float
    squared: bool = False

    def shown(self, shift: float) -> float:
        """Return the moved score as pages show it: a mean square as its root, or 0 if negative."""
        value = self.value + shift
        return math.sqrt(max(value, 0.0)) if self.squared else value


def _scores(plan: Plan, task: LoadedTask, stores: Stores) -> dict[str, Score]:
    """Return a test's headline over all encoders and by each, and its other scores, by name."""
    needs = plan.needs[task.id]
    evidence = evidence_of(plan, task, stores)
    judged = needs.is_judged
    if not evidence.by_reader:
        return {}
    scored = score_task(task, evidence.by_reader, plan.settings, judges=judged)
    headlines = {"its headline": scored.combined.headline}
    for name, result in scored.by_encoder.items():
        headlines[f"its headline by {name}"] = result.headline
    scores: dict[str, Score] = {}
    for name, headline in headlines.items():
        if headline.value is not None:
            squared = headline.scale == "mean_square"
            scores[name] = Score(headline.value, squared)
    for name, estimate in scored.combined.scores.items():
        if estimate.value is not None:
            scores[f"its score {name}"] = Score(estimate.value)
    return scores


def _text_deviations(
    plan: Plan, task: LoadedTask, stores: Stores, remade: RemadeRows
) -> list[Deviations]:
    """Return what came out otherwise of a test's texts, all of which are made again."""
    keys = {text_key(text) for text in plan.needs[task.id].texts}
    rows = {
        name: _deviating(stores.encoders[name], "texts", kinds["texts"], keys)
        for name, kinds in remade.by_encoder.items()
        if name in stores.encoders
    }
    if not any(rows.values()):
        return []
    return [Deviations("texts", rows, drawn=len(keys), total=len(keys))]


def _image_deviations(
    claims: Claims,
    plan: Plan,
    task: LoadedTask,
    drawn: Sequence[RegeneratedImage],
    remade: RemadeRows,
) -> Iterator[Deviations]:
    """Yield what came out otherwise of a test's drawn images, by their groups of prompts."""
    attempts = [
        attempt for attempt in claims.images.all_attempts() if attempt.status == "ok"
    ]
    keys_drawn = {image.attempt.key for image in drawn}
    for group in prompt_groups(plan, task, attempts):
        hashes = {
            attempt.sha256 or "" for attempt in group if attempt.key in keys_drawn
        }
        if not hashes:
            continue
        rows = {
            name: _deviating(
                claims.stores.encoders[name], "images", kinds["images"], hashes
            )
            for name, kinds in remade.by_encoder.items()
            if name in claims.stores.encoders
        }
        if any(rows.values()):
            yield Deviations("images", rows, drawn=len(hashes), total=len(group))


def _deviating(
    store: EvidenceStore,
    kind: Kind,
    made_here: Mapping[str, Float32Array],
    keys: set[str],
) -> dict[str, Float64Array]:
    """Return the embeddings with these keys that are not those that were sent."""
    return {
        key: row.astype(np.float64)
        for key, row in made_here.items()
        if key in keys
        and store.has(kind, key)
        and np.isfinite(row).all()
        and not is_as_stored(row, store.get(kind, key))
    }
