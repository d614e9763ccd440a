"""Five numbers of a remedy, before and after it, and refusals by group.

They are lean, over-correction, spill-over, diversity within groups, and agreement with prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.text_image_alignment import mean_cosine
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_remarks import rewriting_line, unread_lines
from t2ibench.results.contrast import Contrast
from t2ibench.results.corrected_tests import NamedTest, corrected_tests
from t2ibench.results.display import displayed
from t2ibench.results.frontier_numbers import GroupChange, RemedyNumber, least_p
from t2ibench.results.group_diversity import (
    few_images_line,
    group_diversity,
    group_vendi,
)
from t2ibench.results.group_refusals import group_refusals
from t2ibench.results.over_correction import TurnedRow, contradictions, turned_rows
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_changes import compare_prompts
from t2ibench.results.schema import Results, Score, TaskResult
from t2ibench.results.score_difference import Difference
from t2ibench.results.spill_over import (
    PairOfParts,
    SpillOver,
    mean_squared_shift,
    paired_parts,
    score_of_shift,
    spill_over,
    with_corrected_tests,
)
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.results.task_attributes import SEVERAL, attribute_of, guided_groups
from t2ibench.results.text_image_alignment import compare_agreement, every_prompt

NumberName = Literal[
    "lean", "contradictions", "spill_over", "diversity", "agreement", "refusals"
]
# The numbers that can be an axis of the plane, in the order of the table.
AXES: tuple[NumberName, ...] = (
    "lean",
    "contradictions",
    "spill_over",
    "diversity",
    "agreement",
)
CostName = Literal[
    "contradictions", "turned", "spill_over", "diversity", "agreement", "refusals"
]
_NO_INFLUENCES = (
    "it takes the run.db of both runs, scored by this version: `t2ibench score RUN`"
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a remedy changes, and what it costs.

    Attributes:
        name: What the run with the remedy is called.
        results: Its results.
        numbers: The numbers before and after, in the order of the table.
        leans: Differences of the tests about the attribute that the remedy is for.
        contradictions: Contradicting images by the group that was asked for.
        turned: Rows that lean to the other side after the remedy.
        spill_over: The tests about other attributes.
        diversity: Diversity by group of guided prompts.
        vendi: Vendi scores by group of guided prompts; exploratory, no cost rests on them.
        refusals: Refused and filtered images by group.
        costs: Which of these are clear; each p-value is the least of its groups, tests or rows,
            after Holm's correction over those.
        notes: What a reader must know, in sentences.
    """

    name: str
    results: Results
    numbers: Mapping[NumberName, RemedyNumber]
    leans: tuple[Difference, ...]
    contradictions: tuple[GroupChange, ...]
    turned: tuple[TurnedRow, ...]
    spill_over: tuple[SpillOver, ...]
    diversity: tuple[GroupChange, ...]
    refusals: tuple[GroupChange, ...]
    costs: tuple[NamedTest[CostName], ...]
    notes: tuple[str, ...] = ()
    vendi: tuple[GroupChange, ...] = ()

    @property
    def clear_costs(self) -> list[CostName]:
        """Return the names of the costs that are clear."""
        return [cost.name for cost in self.costs if cost.clear]


@dataclass(frozen=True, slots=True)
class Frontier:
    """One model before and after one remedy or several.

    Attributes:
        task: The test whose lean the remedies are for.
        attribute: What that test is about.
        before: The run without a remedy.
        remedies: The runs with one, each compared with the run without.
        fair: The upper end of the fair band of that test, in 95 of 100 runs of its size.
        level: The confidence level.
    """

    task: str
    attribute: str
    before: ComparedRun
    remedies: tuple[Remedy, ...]
    fair: float | None = None
    level: float = 0.95


def frontier(runs: Sequence[ComparedRun], task: str | None = None) -> Frontier:
    """Return the numbers of remedies, from a run without one and runs with one.

    Args:
        runs: The run before, and one or more runs after, of the same tasks.
        task: The test whose lean the remedies are for; by default the largest whose guided images
            a judge has seen, of those whose rows may lean either way.

    Returns:
        The numbers of each remedy beside those of the run before.

    Raises:
        T2IBenchError: there is no run after, or some run lacks the test.
    """
    if len(runs) < 2:
        raise T2IBenchError(
            "A remedy needs two runs: one before and one after.",
            "`t2ibench frontier BEFORE AFTER`",
        )
    before, *after = runs
    name = _chosen_task(runs, task)
    target = before.results.tasks[name]
    return Frontier(
        task=name,
        attribute=attribute_of(target),
        before=before,
        remedies=tuple(_remedy(before, run, name) for run in after),
        fair=displayed(target.headline).fair_high,
        level=target.settings.level,
    )


def _chosen_task(runs: Sequence[ComparedRun], wanted: str | None) -> str:
    """Return the test that is asked for, or the one that says most about a remedy."""
    before, *after = runs
    shared = [
        name
        for name in before.results.tasks
        if all(name in run.results.tasks for run in after)
    ]
    if wanted is not None:
        if wanted not in shared:
            raise T2IBenchError(
                f"The runs have no test '{shown(wanted)}' in common."
                f"{did_you_mean(wanted, shared)}",
                "Run BEFORE and AFTER on the same tasks.",
            )
        return wanted
    candidates = [
        name
        for name in shared
        if guided_groups(before.results.tasks[name])
        and attribute_of(before.results.tasks[name]) != SEVERAL
        and before.results.tasks[name].headline.value is not None
    ]
    if not candidates:
        raise T2IBenchError(
            "The runs have no test in common whose prompts name groups.",
            "Run both on an occupations task, such as core_occupations_gender, or give --task.",
        )

    def size(name: str) -> tuple[bool, bool, int]:
        task = before.results.tasks[name]
        influences = before.paired.get(name)
        is_judged = influences is not None and bool(influences.contradictions)
        return is_judged, task.headline.scale == "mean_square", task.n_images

    return max(candidates, key=size)


@dataclass(frozen=True, slots=True)
class _RunPair:
    """The run before and one run after, with what `compare` finds.

    Attributes:
        before: The run without a remedy.
        after: The run with one.
        task: The test that the remedy is for.
        differences: Those of `compare`.
    """

    before: ComparedRun
    after: ComparedRun
    task: str
    differences: Sequence[Difference] = field(default=())

    @property
    def results(self) -> tuple[TaskResult, TaskResult]:
        """Return the results of the test that the remedy is for."""
        return self.results_of(self.task)

    def results_of(self, name: str) -> tuple[TaskResult, TaskResult]:
        """Return the results of a test in both runs."""
        return self.before.results.tasks[name], self.after.results.tasks[name]

    def paired_of(self, name: str) -> tuple[PairedTask, PairedTask] | None:
        """Return the influences of a test in both runs; None where one has none."""
        first = self.before.paired.get(name)
        second = self.after.paired.get(name)
        return None if first is None or second is None else (first, second)

    @property
    def headlines(self) -> list[Difference]:
        """Return the differences of the tests that are comparable."""
        return [
            difference
            for difference in self.differences
            if not difference.row and difference.comparable
        ]


def _remedy(before: ComparedRun, after: ComparedRun, task: str) -> Remedy:
    differences = compare(before.results, after.results, before.paired, after.paired)
    pair = _RunPair(before, after, task, differences)
    attribute = attribute_of(before.results.tasks[task])
    level = pair.results[0].settings.level
    paired = pair.paired_of(task)
    contradicting = diversity = RemedyNumber(reason=_NO_INFLUENCES)
    contradicting_by_group: tuple[GroupChange, ...] = ()
    diversity_by_group: tuple[GroupChange, ...] = ()
    vendi_by_group: tuple[GroupChange, ...] = ()
    if paired is not None:
        contradicting, contradicting_by_group = contradictions(*paired, level)
        diversity, diversity_by_group = group_diversity(pair.results, paired)
        vendi_by_group = group_vendi(pair.results, paired)
    shift, cells, unassigned = _spill_over(pair, attribute, level)
    refusals, refusals_by_group = group_refusals(*pair.results)
    turned = turned_rows(
        task, differences, compare_prompts(before.results, after.results)
    )
    numbers: dict[NumberName, RemedyNumber] = {
        "lean": _lean(pair),
        "contradictions": contradicting,
        "spill_over": shift,
        "diversity": diversity,
        "agreement": _agreement(pair, level),
        "refusals": refusals,
    }
    p_values: dict[CostName, float | None] = {
        "contradictions": least_p(contradicting_by_group, rises=True),
        "turned": min((row.p for row in turned), default=1.0),
        "spill_over": _least([1.0 if cell.falls else cell.p_holm for cell in cells]),
        "diversity": least_p(diversity_by_group, rises=False),
        "agreement": _p_of_fall(numbers["agreement"].change),
        "refusals": least_p(refusals_by_group, rises=True),
    }
    leans_of_attribute = tuple(
        difference
        for difference in pair.headlines
        if attribute_of(before.results.tasks[difference.task]) == attribute
    )
    return Remedy(
        name=after.name,
        results=after.results,
        numbers=numbers,
        leans=leans_of_attribute,
        contradictions=contradicting_by_group,
        turned=tuple(row for row in turned if row.p < 1 - level),
        spill_over=cells,
        diversity=diversity_by_group,
        refusals=refusals_by_group,
        costs=corrected_tests(p_values, level),
        notes=_notes(pair, unassigned),
        vendi=vendi_by_group,
    )


def _lean(pair: _RunPair) -> RemedyNumber:
    """Return the lean of the test that the remedy is for, in the unit that tables show."""
    marks = [displayed(task.headline) for task in pair.results]
    before, after = (
        Score(value=mark.value, ci_low=mark.low, ci_high=mark.high) for mark in marks
    )
    for difference in pair.differences:
        if difference.task == pair.task and not difference.row:
            if difference.change is None or not difference.comparable:
                reason = "; ".join(difference.notes) or "it was not compared"
                return RemedyNumber(before, after, reason=reason)
            return RemedyNumber(before, after, difference.change)
    return RemedyNumber(before, after, reason="it was not compared")


def _spill_over(
    pair: _RunPair, attribute: str, level: float
) -> tuple[RemedyNumber, tuple[SpillOver, ...], list[str]]:
    """Return how far other tests' leans move: overall, test by test, and which tests count not."""
    cells: list[SpillOver] = []
    tests: list[Sequence[PairOfParts]] = []
    unassigned: list[str] = []
    for difference in pair.headlines:
        results = pair.results_of(difference.task)
        paired = pair.paired_of(difference.task)
        about = attribute_of(results[0])
        if about == attribute or not results[0].n_images or paired is None:
            continue
        if about == SEVERAL:
            unassigned.append(difference.task)
            continue
        parts = paired_parts(results, paired)
        cell = spill_over(about, difference, parts, level) if parts else None
        if cell is not None:
            cells.append(cell)
            tests.append(parts)
    if not tests:
        reason = f"no test about anything but {attribute} could be compared"
        return RemedyNumber(reason=reason), (), unassigned
    square = mean_squared_shift(tests, level)
    assert square is not None  # each of its tests has one
    score = score_of_shift(square)
    change = Contrast(score.value or 0.0, score.ci_low, score.ci_high, score.p)
    nothing = Score(value=0.0, ci_low=0.0, ci_high=0.0)
    ordered = sorted(cells, key=lambda cell: (cell.attribute, cell.task))
    number = RemedyNumber(nothing, score, change)
    return number, with_corrected_tests(ordered), unassigned


def _agreement(pair: _RunPair, level: float) -> RemedyNumber:
    """Return how well images agree with prompts, over all prompts that both runs have."""
    runs = (pair.before, pair.after)
    changes = compare_agreement(
        pair.before.results, pair.after.results, pair.before.paired, pair.after.paired
    )
    for change in changes:
        if change.overall:
            tasks = [
                name
                for name in pair.before.paired
                if all(
                    change.encoder in run.paired[name].agreement
                    for run in runs
                    if name in run.paired
                )
                and name in pair.after.paired
            ]
            before, after = (
                mean_cosine(every_prompt(run.paired, change.encoder, tasks), level)
                for run in runs
            )
            return RemedyNumber(
                Score(value=before.value, ci_low=before.low, ci_high=before.high),
                Score(value=after.value, ci_low=after.low, ci_high=after.high),
                change.turned,
                reader=change.encoder,
            )
    return RemedyNumber(
        reason="it takes the run.db of both runs, and one encoder that measured it in both"
    )


def _p_of_fall(change: Contrast | None) -> float | None:
    if change is None or change.p is None:
        return None
    return change.p if change.value < 0 else 1.0


def _least(p_values: Sequence[float | None]) -> float | None:
    return min((p for p in p_values if p is not None), default=None)


def _notes(pair: _RunPair, unassigned: Sequence[str]) -> tuple[str, ...]:
    results = pair.before.results, pair.after.results
    names = pair.before.name, pair.after.name
    notes = list(unread_lines(*results, names))
    rewriting = rewriting_line(*results)
    if rewriting:
        notes.append(rewriting)
    if unassigned:
        listed = ", ".join(unassigned)
        notes.append(
            f"About several attributes, so that they count in no cell: {listed}."
        )
    paired = pair.paired_of(pair.task)
    few_images = "" if paired is None else few_images_line(pair.results, paired)
    if few_images:
        notes.append(few_images)
    return tuple(notes)
