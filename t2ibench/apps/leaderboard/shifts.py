"""Whether embeddings that were made again move a test to one side, as a forger's do.

Rounding has no direction. A forger who stays within the tolerance of each embedding still has to
tilt all of them along the axis of a test to move it. So every test is scored again with what was
made here in place of what was sent, once for each group of its drawn images and once for its texts.
Where a score moves, the same deviations are turned into random directions and scored, which shows
what noise of their size does; a score that moves far more than that was tilted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.apps.leaderboard.regenerate import (
    Claims,
    RegeneratedImage,
    Verdict,
    prompt_groups,
)
from t2ibench.apps.leaderboard.tolerance import is_as_stored
from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import score_task
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import evidence_of
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, Kind, text_key
from t2ibench.tasks.loader import LoadedTask

# A score that moves by less is not looked at further. It is half of what has to be noticed, and six
# times what bfloat16 in place of float32 moves a headline by (docs/reproducibility.md).
SMALLEST_SHIFT = 0.01
# Turned deviations that a shift is compared with, and how many times as large as theirs it may be.
# Student's t with as many degrees of freedom exceeds it in 3 of 10,000 cases.
TURNS = 12
LARGEST_RATIO = 5.0
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
        times: How many embeddings of the group there are for each that was drawn.
    """

    kind: Kind
    rows: Mapping[str, Mapping[str, Float64Array]]
    times: float

    def turned(self, stores: Stores, rng: np.random.Generator) -> Deviations:
        """Return deviations of the same sizes in random directions."""
        turned_rows = {
            name: {
                key: _turned(stores.encoders[name].get(self.kind, key), row, rng)
                for key, row in rows.items()
            }
            for name, rows in self.rows.items()
        }
        return replace(self, rows=turned_rows)


def _turned(
    stored: Float32Array, made_here: Float64Array, rng: np.random.Generator
) -> Float64Array:
    """Return an embedding as far from the stored one, in a random direction."""
    start = stored.astype(np.float64)
    start /= np.linalg.norm(start)
    distance = float(np.linalg.norm(made_here - start))
    direction = rng.normal(size=len(start))
    direction -= (direction @ start) * start
    end = start + distance * direction / np.linalg.norm(direction)
    turned: Float64Array = end / np.linalg.norm(end)
    return turned


@dataclass(frozen=True, slots=True)
class Shift:
    """How a score moves with what was made here, over all of its embeddings.

    Attributes:
        name: The score.
        size: By how much, extrapolated from what was drawn.
        ratio: How many times as far as the same deviations move it in random directions.
    """

    name: str
    size: float
    ratio: float


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
    tilted = []
    for task in plan.tasks:
        deviations = [
            *_text_deviations(plan, task, stores, remade),
            *_image_deviations(claims, plan, task, drawn, remade),
        ]
        for shift in tilts(plan, task, stores, deviations):
            tilted.append(
                f"{task.id}: the embeddings made here move {shift.name} by {shift.size:+.3f} over "
                f"all of its evidence, {shift.ratio:.0f} times as far as rounding of their size "
                "does: those that were sent are tilted"
            )
    verdict.differ(tilted, "tests")


def tilts(
    plan: Plan, task: LoadedTask, stores: Stores, deviations: Sequence[Deviations]
) -> Iterator[Shift]:
    """Yield the scores of a test that deviations move further than rounding would.

    Args:
        plan: The plan of the submission.
        task: The test.
        stores: The evidence that was sent.
        deviations: What came out otherwise, in groups.

    Yields:
        Each score that moves by at least `SMALLEST_SHIFT`, extrapolated to all embeddings, and by
        more than `LARGEST_RATIO` times the root mean square of `TURNS` turned deviations.
    """
    if not deviations:
        return
    sent = _scores(plan, task, stores)
    shifts = _shifts(plan, task, stores, deviations, sent)
    moved = [name for name, size in shifts.items() if abs(size) >= SMALLEST_SHIFT]
    if not moved:
        return
    rng = np.random.default_rng(0)
    squares = dict.fromkeys(moved, 0.0)
    for _ in range(TURNS):
        turned = [deviation.turned(stores, rng) for deviation in deviations]
        noise = _shifts(plan, task, stores, turned, sent)
        for name in moved:
            squares[name] += noise.get(name, 0.0) ** 2 / TURNS
    for name in moved:
        spread = math.sqrt(squares[name])
        ratio = abs(shifts[name]) / spread if spread else math.inf
        if ratio > LARGEST_RATIO:
            yield Shift(name, shifts[name], ratio)


def _shifts(
    plan: Plan,
    task: LoadedTask,
    stores: Stores,
    deviations: Sequence[Deviations],
    sent: Mapping[str, float],
) -> dict[str, float]:
    """Return by how much deviations move each score, extrapolated to all embeddings."""
    shifts = dict.fromkeys(sent, 0.0)
    for deviation in deviations:
        encoders = {
            name: ReplacedEmbeddings(
                store, deviation.kind, deviation.rows.get(name, {})
            )
            for name, store in stores.encoders.items()
        }
        moved = _scores(plan, task, replace(stores, encoders=encoders))
        for name, value in sent.items():
            shifts[name] += deviation.times * (moved.get(name, value) - value)
    return shifts


def _scores(plan: Plan, task: LoadedTask, stores: Stores) -> dict[str, float]:
    """Return a test's headline over all encoders and by each, and its other scores, by name."""
    needs = plan.needs[task.id]
    evidence = evidence_of(plan, task, stores)
    judged = bool(needs.questions)
    if not evidence.by_reader:
        return {}
    scored = score_task(task, evidence.by_reader, plan.settings, judges=judged)
    headlines = {"its headline": scored.combined.headline}
    for name, result in scored.by_encoder.items():
        headlines[f"its headline by {name}"] = result.headline
    scores: dict[str, float] = {}
    for name, headline in headlines.items():
        if headline.value is not None:
            squared = headline.scale == "mean_square"
            scores[name] = _root(headline.value) if squared else headline.value
    for name, estimate in scored.combined.scores.items():
        if estimate.value is not None:
            scores[f"its score {name}"] = estimate.value
    return scores


def _root(square: float) -> float:
    """Return the root of a mean square, which pages show; 0 for a negative one."""
    return math.sqrt(max(square, 0.0))


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
    return [Deviations("texts", rows, times=1.0)] if any(rows.values()) else []


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
            yield Deviations("images", rows, times=len(group) / len(hashes))


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
