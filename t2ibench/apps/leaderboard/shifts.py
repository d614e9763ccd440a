"""Whether embeddings that were made again move a test to one side, as a forger's do.

Rounding has no side. A forger who stays within the tolerance of each embedding still has to tilt
all of them along the axis of a test to move it. So every test is scored again with each embedding
that was made here in place of the one that was sent, which gives that embedding's effect on each
score. The effects of rounding go to either side, whatever directions it takes in the space of the
embeddings; those of a tilt go to one. What tells them apart is in `tilts`.
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
from t2ibench.apps.leaderboard.tilt_summary import CheckedTilt, tilt_summary
from t2ibench.apps.leaderboard.tilts import (
    FALSE_ALARMS,
    HEADLINE,
    NOTICED_SHIFT,
    Score,
    Shift,
    shift_of,
    smallest_noticed,
)
from t2ibench.apps.leaderboard.tolerance import is_as_stored
from t2ibench.arrays import Float32Array, Float64Array, IntArray
from t2ibench.decimals import decimal
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import score_task
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import evidence_of
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, Kind, text_key
from t2ibench.tasks.loader import LoadedTask

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
        places = self.find(kind, list(replacements))
        self._replacements = dict(
            zip(places.tolist(), replacements.values(), strict=True)
        )

    def rows_at(self, places: IntArray) -> Float64Array:
        """Return the embeddings at places, shape (n, d), with the replacements among them."""
        rows = super().rows_at(places)
        for number, place in enumerate(places.tolist()):
            if place in self._replacements:
                rows[number] = self._replacements[place]
        return rows


@dataclass(frozen=True, slots=True)
class Deviations:
    """The drawn embeddings of a group that came out otherwise than they were sent.

    Attributes:
        kind: Whether they are of images or texts.
        rows: What was made here, by encoder and key.
        drawn: How many images or texts of the group were drawn, with those that came out the same.
        total: How many of them the group has.
        unread: How many of those drawn some encoder did not read again.
    """

    kind: Kind
    rows: Mapping[str, Mapping[str, Float64Array]]
    drawn: int
    total: int
    unread: int = 0

    def by_key(self) -> Iterator[Mapping[str, Mapping[str, Float64Array]]]:
        """Yield what was made here of one image or text after the other, by encoder and key."""
        for key in sorted({key for rows in self.rows.values() for key in rows}):
            yield {
                name: {key: rows[key]}
                for name, rows in self.rows.items()
                if key in rows
            }


@dataclass(frozen=True, slots=True)
class CheckedTest:
    """A test of a submission, and how far what was made here moves its scores.

    Attributes:
        task: The test.
        groups: How the embeddings that were made here deviate from those that were sent.
        shifts: How far these deviations move each score; none where nothing deviates.
    """

    task: LoadedTask
    groups: Sequence[Deviations]
    shifts: Sequence[Shift]


def check_shifts(
    claims: Claims,
    drawn: Sequence[RegeneratedImage],
    remade: RemadeRows,
    verdict: Verdict,
) -> None:
    """Note on `verdict` each test that the embeddings made here move to one side.

    What the check could have noticed is noted as well.
    """
    tests = _checked_tests(claims, drawn, remade)
    tilted = [
        _line(test.task, shift)
        for test in tests
        for shift in test.shifts
        if shift.tilted
    ]
    verdict.differ(tilted, "tests")
    verdict.tilt_check = tilt_summary(
        [_tested(claims, test) for test in tests if _reads_embeddings(claims, test)]
    )
    undecided = [
        test.task.id for test in tests if any(shift.undecided for shift in test.shifts)
    ]
    if undecided:
        verdict.notes.append(
            f"too few images were drawn to tell whether the embeddings move {len(undecided)} of "
            f"{len(tests)} tests to one side by {NOTICED_SHIFT:g}, such as {undecided[0]}; a "
            "larger --draw tells"
        )


def _checked_tests(
    claims: Claims, drawn: Sequence[RegeneratedImage], remade: RemadeRows
) -> list[CheckedTest]:
    """Return every test of a submission with the shifts of its scores."""
    images = DistinctImages(claims.images)
    stores = replace(claims.stores, controls={}, images=images)
    settings = claims.plan.settings.model_copy(update=_DRAWS)
    plan = replace(claims.plan, settings=settings)
    groups_of = {
        task.id: [
            *_text_deviations(plan, task, stores, remade),
            *_image_deviations(claims, plan, task, drawn, remade),
        ]
        for task in plan.tasks
    }
    deviating = {
        name: [group for group in groups if any(group.rows.values())]
        for name, groups in groups_of.items()
    }
    n_deviating = sum(1 for groups in deviating.values() if groups)
    tests = []
    for task in plan.tasks:
        groups = deviating[task.id]
        shifts = (
            list(shifts_of(plan, task, stores, groups, tests=n_deviating))
            if groups
            else []
        )
        tests.append(CheckedTest(task, groups_of[task.id], shifts))
    return tests


def _reads_embeddings(claims: Claims, test: CheckedTest) -> bool:
    """Return whether a test has scores that embeddings could tilt."""
    needs = claims.plan.needs[test.task.id]
    return bool(test.groups) and (needs.embeds or not needs.is_judged)


def _tested(claims: Claims, test: CheckedTest) -> CheckedTilt:
    """Return how far a test could be checked, from its groups and the shifts of its scores.

    A group of which nothing was drawn, or some of which was not read again, may be tilted by
    anything.
    """
    result = claims.results.tasks[test.task.id]
    headline = [shift.noticed for shift in test.shifts if shift.noticed is not None]
    differs = any(group.rows[name] for group in test.groups for name in group.rows)
    without_estimate = math.inf if differs else 0.0
    noticed = max(headline, default=without_estimate)
    if any(group.unread or not group.drawn for group in test.groups):
        noticed = math.inf
    return CheckedTilt(
        task=test.task.id,
        scores=1 + len(result.by_encoder) + len(result.scores),
        drawn=[group.drawn for group in test.groups if group.kind == "images"],
        noticed=noticed,
        squared=result.headline.scale == "mean_square",
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
        shift = shift_of(name, score, of_score, totals, chance=chance, scores=len(sent))
        if name == HEADLINE:
            smallest = smallest_noticed(
                score, of_score, totals, chance=chance, scores=len(sent)
            )
            shift = replace(shift, noticed=smallest)
        yield shift


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


def _scores(plan: Plan, task: LoadedTask, stores: Stores) -> dict[str, Score]:
    """Return a test's headline over all encoders and by each, and its other scores, by name."""
    needs = plan.needs[task.id]
    evidence = evidence_of(plan, task, stores)
    judged = needs.is_judged
    if not evidence.by_reader:
        return {}
    scored = score_task(task, evidence.by_reader, plan.settings, judges=judged)
    headlines = {HEADLINE: scored.combined.headline}
    for name, result in scored.by_encoder.items():
        headlines[f"{HEADLINE} by {name}"] = result.headline
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
    if not keys or not stores.encoders:
        return []
    return [_group(stores, remade, "texts", keys, total=len(keys))]


def _image_deviations(
    claims: Claims,
    plan: Plan,
    task: LoadedTask,
    drawn: Sequence[RegeneratedImage],
    remade: RemadeRows,
) -> Iterator[Deviations]:
    """Yield what came out otherwise of a test's drawn images, by their groups of prompts."""
    if not claims.stores.encoders:
        return
    attempts = [attempt for attempt in claims.attempts if attempt.status == "ok"]
    keys_drawn = {image.attempt.key for image in drawn}
    for group in prompt_groups(plan, task, attempts):
        hashes = {
            attempt.sha256 or "" for attempt in group if attempt.key in keys_drawn
        }
        if group:
            yield _group(claims.stores, remade, "images", hashes, total=len(group))


def _group(
    stores: Stores, remade: RemadeRows, kind: Kind, keys: set[str], *, total: int
) -> Deviations:
    """Return what came out otherwise of a group's drawn images, or of its texts."""
    rows = {}
    unread = 0
    for name, store in stores.encoders.items():
        made_here = remade.by_encoder.get(name, {}).get(kind, {})
        rows[name] = _deviating(store, kind, made_here, keys)
        needed = (key for key in keys if store.has(kind, key))
        unread = max(unread, sum(1 for key in needed if key not in made_here))
    return Deviations(kind, rows, drawn=len(keys), total=total, unread=unread)


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
