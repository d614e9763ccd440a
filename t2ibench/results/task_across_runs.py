"""One test in several runs: which of them can be compared, and whether they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from t2ibench.results.comparison import is_current
from t2ibench.results.comparison_remarks import remarks_on
from t2ibench.results.display import IntervalMark, displayed, state_of, text_only
from t2ibench.results.heterogeneity import (
    paired_heterogeneity,
    shared_items,
    unpaired_heterogeneity,
)
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_changes import compare_prompts, p_values_of_answers
from t2ibench.results.schema import Results, TaskResult
from t2ibench.results.trend import Trend, trend_of

_ALONE = "no other run can be compared with it"


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that is compared with others.

    Attributes:
        name: What tables call it; no other run is called so.
        results: Its results.
        paired: Its influences by task; empty where it has none, such as a results.json alone.
        position: Where it lies in the order of runs, such as its number of training steps.
    """

    name: str
    results: Results
    paired: Mapping[str, PairedTask] = field(default_factory=dict)
    position: float = 0.0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one test in one run.

    Attributes:
        run: The run's name.
        task: The result; None where the run does not have the task.
        excluded: Why the run is not among those that are tested for a difference; empty if it is.
    """

    run: str
    task: TaskResult | None
    excluded: str = ""

    @property
    def mark(self) -> IntervalMark | None:
        """Return the headline as tables show it, with its state; None without the task."""
        if self.task is None:
            return None
        return replace(displayed(self.task.headline), state=state_of(self.task))


@dataclass(frozen=True, slots=True)
class TaskAcrossRuns:
    """One test in several runs.

    Attributes:
        task: The task's id.
        runs: Its result in each run, in the order of the runs.
        n_compared: How many runs were tested for a difference.
        statistic: F or Q of that test; None where counts of answers were tested, or nothing was.
        p_differ: p-value that all these runs are alike, uncorrected.
        p_differ_holm: The same after Holm's correction over tests.
        differ: Whether they differ: `p_differ_holm` is below 1 - level; None without a test.
        paired: Whether images that runs share were compared in pairs.
        level: The confidence level.
        trend: The trend over these runs, where they are in an order.
        notes: What a reader must know, in words.
    """

    task: str
    runs: tuple[RunResult, ...]
    n_compared: int = 0
    statistic: float | None = None
    p_differ: float | None = None
    p_differ_holm: float | None = None
    differ: bool | None = None
    paired: bool = False
    level: float = 0.95
    trend: Trend | None = None
    notes: tuple[str, ...] = ()

    @property
    def first_result(self) -> TaskResult:
        """Return the test's result in the first run that has it."""
        return next(run.task for run in self.runs if run.task is not None)


@dataclass(frozen=True, slots=True)
class _Member:
    """A run that has the task, with its result.

    Attributes:
        run: The run.
        task: The result.
        paired: Its influences, where they are those of the present headline.
    """

    run: ComparedRun
    task: TaskResult
    paired: PairedTask | None

    @property
    def name(self) -> str:
        """Return the name of the run."""
        return self.run.name


def task_across_runs(
    task: str, runs: Sequence[ComparedRun], *, ordered: bool
) -> TaskAcrossRuns:
    """Return one test of several runs, before corrections over tests.

    Those runs are compared that measured it in one way: the largest group of runs with the same
    version of the task, encoders, judges and prompts, of two equally large ones the earlier.

    Args:
        task: The id of a task that at least one run has.
        runs: The runs.
        ordered: Whether they are in an order, so that the test has a trend.
    """
    having = [_member(run, task) for run in runs if task in run.results.tasks]
    alike = _largest_group(having)
    excluded = {
        member.name: _difference_in_words(alike[0], member)
        for member in having
        if member not in alike
    }
    excluded |= _sharing_a_text_encoder(alike)
    alike = [member for member in alike if member.name not in excluded]
    without_score = _without_comparable_score(alike)
    members = [member for member in alike if member.name not in without_score]
    level = alike[0].task.settings.level
    test = TaskAcrossRuns(task, (), level=level, notes=_notes(alike))
    if len(members) > 1:
        test = _tested(test, members, ordered=ordered)
    if test.p_differ is None and len(alike) > 1:
        p_differ = _p_of_answers(task, alike)
        if p_differ is not None:
            without_score = {}
            test = _tested_by_answers(test, p_differ, len(alike))
    excluded |= without_score
    if test.p_differ is None:
        excluded = {member.name: _ALONE for member in members[:1]} | excluded
    return replace(test, runs=_results(task, runs, excluded))


def _member(run: ComparedRun, task: str) -> _Member:
    result = run.results.tasks[task]
    influences = run.paired.get(task)
    if influences is None or not is_current(influences, result.headline):
        return _Member(run, result, None)
    return _Member(run, result, influences)


def _results(
    task: str, runs: Sequence[ComparedRun], excluded: Mapping[str, str]
) -> tuple[RunResult, ...]:
    """Return the result of a task in each run, with the reasons why some are not compared."""
    results = []
    for run in runs:
        result = run.results.tasks.get(task)
        why = "the run does not have it" if result is None else ""
        results.append(RunResult(run.name, result, excluded.get(run.name, why)))
    return tuple(results)


def _largest_group(members: Sequence[_Member]) -> list[_Member]:
    """Return the most runs that measured a task in one way; the earlier of equally large groups."""
    groups: list[list[_Member]] = []
    for member in members:
        group = next((group for group in groups if _alike(group[0], member)), None)
        if group is None:
            groups.append([member])
        else:
            group.append(member)
    return max(groups, key=len)


def _alike(first: _Member, second: _Member) -> bool:
    """Return whether two runs measured a task in one way."""
    if remarks_on(first.task, second.task).testable:
        return True
    same_task = first.task.task_hash == second.task.task_hash
    return same_task and text_only(first.task) and text_only(second.task)


def _sharing_a_text_encoder(members: Sequence[_Member]) -> dict[str, str]:
    """Return the runs whose texts were read by an encoder that read those of an earlier run.

    Of texts alone such runs measure one thing twice.
    """
    reasons: dict[str, str] = {}
    firsts: list[_Member] = []
    for member in members:
        if not text_only(member.task):
            continue
        encoders = member.task.settings.encoders
        same = [first for first in firsts if first.task.settings.encoders == encoders]
        if same:
            which = same[0].name
            reasons[member.name] = f"measures the text encoder that {which} has, too"
        else:
            firsts.append(member)
    return reasons


def _difference_in_words(base: _Member, member: _Member) -> str:
    """Return why a run is not compared with others, of which `base` is one."""
    remarks = remarks_on(base.task, member.task, (base.name, member.name))
    return remarks.notes[0]


def _without_comparable_score(members: Sequence[_Member]) -> dict[str, str]:
    """Return the runs whose headline cannot be compared with that of the others, and why."""
    reasons = {}
    kinds = [
        (member.task.headline.scale, member.task.headline.question)
        for member in members
        if member.task.headline.value is not None
    ]
    for member in members:
        headline = member.task.headline
        if headline.value is None:
            reasons[member.name] = "no score"
        elif (headline.scale, headline.question) != kinds[0]:
            reasons[member.name] = "another kind of headline"
    return reasons


def _notes(members: Sequence[_Member]) -> tuple[str, ...]:
    """Return what limits the comparison of runs that measured a task in one way."""
    base = members[0]
    notes: dict[str, None] = {}
    for member in members[1:]:
        remarks = remarks_on(base.task, member.task, (base.name, member.name))
        notes |= dict.fromkeys(remarks.notes)
    return tuple(notes)


def _tested(
    test: TaskAcrossRuns, members: Sequence[_Member], *, ordered: bool
) -> TaskAcrossRuns:
    """Return a test with the p-value that its runs are alike, and with their trend."""
    headlines = [member.task.headline for member in members]
    sizes = [member.task.n_images for member in members]
    paired = [member.paired for member in members if member.paired is not None]
    notes = test.notes
    influences = None
    if len(paired) == len(members):
        influences = paired
        heterogeneity = paired_heterogeneity(paired)
        notes += _note_on_items(paired)
    else:
        heterogeneity = unpaired_heterogeneity(headlines, sizes, test.level)
        notes += ("unpaired",)
    trend = None
    if ordered:
        trend = trend_of(
            positions=[member.run.position for member in members],
            sizes=sizes,
            headlines=headlines,
            paired=influences,
            level=test.level,
        )
    return replace(
        test,
        n_compared=len(members),
        statistic=None if heterogeneity is None else heterogeneity.statistic,
        p_differ=None if heterogeneity is None else heterogeneity.p,
        paired=influences is not None,
        trend=trend,
        notes=notes,
    )


def _tested_by_answers(
    test: TaskAcrossRuns, p_differ: float, n_compared: int
) -> TaskAcrossRuns:
    """Return a test that rests on counts of answers, which need no headline."""
    notes = (*test.notes, "counts of answers were compared")
    return replace(test, n_compared=n_compared, p_differ=p_differ, notes=notes)


def _note_on_items(paired: Sequence[PairedTask]) -> tuple[str, ...]:
    """Return a note where the items of a mean square are not those of all runs."""
    if paired[0].scale != "mean_square":
        return ()
    items = shared_items(paired)
    if items.complete:
        return ()
    return (f"{items.count} of {items.most} rows in common",)


def _p_of_answers(task: str, members: Sequence[_Member]) -> float | None:
    """Return the p-value that all runs answer alike; None without answers.

    The least p-value of all pairs, times the number of pairs: it holds whatever runs share.
    """
    results = [
        member.run.results.model_copy(update={"tasks": {task: member.task}})
        for member in members
    ]
    pairs = list(combinations(results, 2))
    p_values = []
    for first, second in pairs:
        p = p_values_of_answers(compare_prompts(first, second)).get(task)
        if p is not None:
            p_values.append(p)
    if not p_values:
        return None
    return min(1.0, len(pairs) * min(p_values))
