"""Where a lean comes from: from the words, from the images, or from what a rewriter makes of them.

Of one test, over the same prompts: how their texts lean, how their images lean, what rewritten
prompts name, and how the images lean that were made from these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import JointInfluence
from t2ibench.results.comparison import is_current, items_of
from t2ibench.results.comparison_remarks import Remarks
from t2ibench.results.contrast import Contrast
from t2ibench.results.corrected_tests import NamedTest
from t2ibench.results.lean_split import (
    LeanSplit,
    SplitChange,
    can_split,
    change_of_split,
    split_leans,
    weighted_contrast,
)
from t2ibench.results.rewritten_words import (
    RewrittenWords,
    n_wordings_of,
    rewritten_words,
)
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Score, TaskResult
from t2ibench.results.spill_over import mean_squared_shift
from t2ibench.results.task_across_runs import ComparedRun
from t2ibench.results.task_attributes import guided_groups
from t2ibench.results.where_remarks import (
    check_first_run,
    remarks_against,
    rewriter_of,
)
from t2ibench.stats import holm

_TEXT = "lean_text"
_ROW = "lean"
# Images that show exactly what their rewritten prompts name, but for rounding.
_ROUNDING = 1e-9
_NO_INFLUENCES = (
    "its influences are missing: `t2ibench score RUN` writes them from the evidence"
)
_UNEQUAL_WEIGHTS = (
    "its wordings have alternatives, so that a prompt counts in a lean for as much as its wording "
    "has, and an earlier version did not store which wording a prompt is of; `t2ibench score RUN` "
    "stores it"
)

_TOO_ALIKE = "the images of both groups are too alike for leans of single prompts"
_FEWEST_ADDED = 2
_NO_WORDS = "the run has no prompts of both groups' images for"
_NO_VARIANCE = "a prompt has too few images to say how far its lean varies"

# By run, the rows of a test's images.
Samples = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class AddedToWords:
    """What images add to the words of a rewriter: their lean less the lean of those words.

    Here each prompt's lean is its row's, between its own images of both groups, so that it is 1
    where all of its images show the first group, as it is of words that all name it.

    Attributes:
        mean: Mean over prompts.
        square: Mean square over prompts, less what noise adds to it.
        left_out: Stimuli that do not count in either, since their images of both groups are too
            alike for a lean of their own.
    """

    mean: Contrast
    square: Score
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeanSource:
    """The leans of one run's images, and what they follow.

    Attributes:
        name: What the run is called.
        rewriter: The rewriter before its model; empty for none.
        split: Its leans in three parts.
        findings: Which of the three parts is clear: 'mean', 'slope' and 'beside', without p-values
            where the run's own test is inconclusive.
        inconclusive: Why the run's own test is inconclusive; empty if it is not.
        rewritten: What rewritten prompts name; None where none was rewritten.
        added: What images add to these words; None where that is not known.
        not_added: Why it is not known, where it could be asked.
        change: How the parts differ from those of the first run; None for that run itself.
        changes: Which of these differences are clear ('change_of_mean', 'change_of_slope' and
            'change_of_beside'), and which of `added` ('added_mean' and 'added'); without p-values
            where a test is inconclusive or was measured in another way than that of the first run.
        remarks: What differs from the first run besides the model; None for that run itself.
    """

    name: str
    rewriter: str
    split: LeanSplit
    findings: tuple[NamedTest[str], ...]
    inconclusive: str = ""
    rewritten: RewrittenWords | None = None
    added: AddedToWords | None = None
    not_added: str = ""
    change: SplitChange | None = None
    changes: tuple[NamedTest[str], ...] = ()
    remarks: Remarks | None = None

    def is_clear(self, name: str) -> bool:
        """Return whether a finding of this name is clear."""
        return any(
            finding.name == name and finding.clear
            for finding in (*self.findings, *self.changes)
        )


@dataclass(frozen=True, slots=True)
class Where:
    """Where a lean comes from, in one run or behind several rewriters.

    Attributes:
        task: The test.
        groups: Its groups; a positive lean is to the first.
        stimuli: The prompts' stimuli, in the order of the words.
        sources: The runs, the first without a rewriter unless all have one.
        left_out: Stimuli that lack a lean of their text, or of their images in some run.
        level: The confidence level.
        runs: The runs that were read.
    """

    task: str
    groups: tuple[str, str]
    stimuli: tuple[str, ...]
    sources: tuple[LeanSource, ...]
    left_out: tuple[str, ...]
    level: float
    runs: tuple[ComparedRun, ...]


def where(
    runs: Sequence[ComparedRun],
    task: str | None = None,
    samples: Sequence[Samples] | None = None,
) -> Where:
    """Return where the lean of a test comes from.

    Args:
        runs: One run, or the run without a rewriter and those behind one.
        task: The test; by default the one with most images among those whose texts were measured.
        samples: The rows of each run's images; by default they are read from its folder.

    Returns:
        The parts of each run's lean, and how those of further runs differ from the first one's.

    Raises:
        T2IBenchError: the runs have no such test in common, do not measure one thing by it, or its
            leans cannot be split.
    """
    check_first_run(runs)
    name = _chosen_task(runs, task)
    first = runs[0].results.tasks[name]
    remarks = [remarks_against(runs[0], run, name) for run in runs[1:]]
    level = first.settings.level
    prompts = _shared_prompts(runs, name)
    groups = _two_groups(first)
    rows = samples if samples is not None else [_samples(run, name) for run in runs]
    is_shown = set(prompts.stimuli)
    sources: list[LeanSource] = []
    for number, run in enumerate(runs):
        split = split_leans(prompts.parts_by_run[number], prompts.words, level)
        of_prompts = [row for row in rows[number] if row["stimulus"] in is_shown]
        rewritten = rewritten_words(of_prompts, groups)
        source = _source(run, name, split, rewritten, level)
        if sources:
            source = replace(source, remarks=remarks[number - 1])
            source = _compared(name, sources[0], source, level)
        sources.append(_with_findings_of_changes(source))
    return Where(
        task=name,
        groups=groups,
        stimuli=tuple(prompts.stimuli),
        sources=_corrected(sources, level),
        left_out=tuple(row.name for row in first.by if row.name not in is_shown),
        level=level,
        runs=tuple(runs),
    )


@dataclass(frozen=True, slots=True)
class _SharedPrompts:
    """The stimuli that have a lean of their text, and of their images in every run.

    Attributes:
        stimuli: Their names, in the order of the words.
        words: The leans of their texts.
        parts_by_run: For each run, the leans of their images.
    """

    stimuli: list[str]
    words: list[float]
    parts_by_run: list[list[Part]]


def _shared_prompts(runs: Sequence[ComparedRun], task: str) -> _SharedPrompts:
    """Return what every run has of a test; raise an error where its leans cannot be split."""
    texts = _text_leans(runs[0].results.tasks[task])
    leans = [_image_leans(run, task) for run in runs]
    shared = [
        stimulus for stimulus in texts if all(stimulus in of_run for of_run in leans)
    ]
    stimuli = sorted(shared, key=lambda stimulus: texts[stimulus])
    words = [texts[stimulus] for stimulus in stimuli]
    parts_by_run = [[of_run[stimulus] for stimulus in stimuli] for of_run in leans]
    for run, parts in zip(runs, parts_by_run, strict=True):
        reason = can_split(parts, words)
        if reason:
            raise T2IBenchError(
                f"{shown(run.name)}, {task}: {reason}.",
                "Choose a test of occupations with --task, and run it with more images.",
            )
    return _SharedPrompts(stimuli, words, parts_by_run)


def _chosen_task(runs: Sequence[ComparedRun], wanted: str | None) -> str:
    """Return the test that is asked for, or the largest that can be split."""
    first, *others = runs
    shared = [
        name
        for name in first.results.tasks
        if all(name in run.results.tasks for run in others)
    ]
    if wanted is not None and wanted not in shared:
        raise T2IBenchError(
            f"The runs have no test '{shown(wanted)}' in common."
            f"{did_you_mean(wanted, shared)}",
            "Run all of them on the same tasks.",
        )
    can_be_split = [
        name
        for name in shared
        if _text_leans(first.results.tasks[name])
        and len(guided_groups(first.results.tasks[name])) == 2
        and first.results.tasks[name].headline.value is not None
    ]
    if wanted is not None:
        if wanted not in can_be_split:
            raise T2IBenchError(
                f"{wanted}: this test does not measure leans of texts and images of two groups.",
                _which_tests(can_be_split),
            )
        return wanted
    if not can_be_split:
        raise T2IBenchError(
            "The runs have no test in common that measures leans of texts and of images of two "
            "groups.",
            "Run an occupations task, such as core_occupations_gender.",
        )
    return max(can_be_split, key=lambda name: first.results.tasks[name].n_images)


def _which_tests(names: Sequence[str]) -> str:
    if not names:
        return "Run an occupations task, such as core_occupations_gender."
    return f"These do: {', '.join(names)}."


def _text_leans(task: TaskResult) -> dict[str, float]:
    """Return the lean of each stimulus's prompts as texts, where it was measured."""
    leans = {}
    for row in task.by:
        score = row.scores.get(_TEXT)
        if score is not None and score.value is not None:
            leans[row.name] = score.value
    return leans


def _image_leans(run: ComparedRun, task: str) -> dict[str, Part]:
    """Return the lean of each stimulus's images, as the headline has it."""
    paired = run.paired.get(task)
    result = run.results.tasks[task]
    if result.headline.value is None:
        raise T2IBenchError(
            f"{shown(run.name)}, {task}: {result.headline.reason or 'it has no value'}."
        )
    if paired is None or not is_current(paired, result.headline):
        raise T2IBenchError(f"{shown(run.name)}, {task}: {_NO_INFLUENCES}.")
    return {part.name: part for part in items_of(paired)}


def _row_leans(run: ComparedRun, task: str, stimuli: Sequence[str]) -> list[Part]:
    """Return the leans of stimuli as rows have them, each between its own images of the groups.

    Stimuli whose row has no value are missing.
    """
    rows = run.paired[task].rows
    return [
        replace(rows[stimulus, _ROW], name=stimulus)
        for stimulus in stimuli
        if (stimulus, _ROW) in rows
    ]


def _two_groups(task: TaskResult) -> tuple[str, str]:
    first, second = guided_groups(task)
    return first, second


def _samples(run: ComparedRun, task: str) -> Samples:
    return [] if run.results.folder is None else read_samples(run.results.folder, task)


def _source(
    run: ComparedRun,
    task: str,
    split: LeanSplit,
    rewritten: RewrittenWords | None,
    level: float,
) -> LeanSource:
    inconclusive = run.results.tasks[task].inconclusive or ""
    source = LeanSource(
        name=run.name,
        rewriter=rewriter_of(run),
        split=split,
        findings=_findings_of_parts(split, inconclusive),
        inconclusive=inconclusive,
        rewritten=rewritten,
    )
    if rewritten is None:
        return source
    if not _has_equal_weights(split, rewritten):
        return replace(source, not_added=_UNEQUAL_WEIGHTS)
    stimuli = [part.name for part in split.parts]
    rows = _row_leans(run, task, stimuli)
    if len(rows) < _FEWEST_ADDED:
        return replace(source, not_added=_TOO_ALIKE)
    with_words = {part.name for part in rewritten.parts}
    without_words = [row.name for row in rows if row.name not in with_words]
    if without_words:
        reason = f"{_NO_WORDS} {', '.join(without_words)}"
        return replace(source, not_added=reason)
    added = _added(rows, rewritten.parts, level)
    if added is None:
        return replace(source, not_added=_NO_VARIANCE)
    with_row = {row.name for row in rows}
    left_out = tuple(name for name in stimuli if name not in with_row)
    return replace(source, added=replace(added, left_out=left_out))


def _findings_of_parts(
    split: LeanSplit, inconclusive: str
) -> tuple[NamedTest[str], ...]:
    """Return the findings on the parts of a lean, not yet corrected.

    They have no p-value where the run's own test is inconclusive.
    """
    p_values = {
        "mean": split.mean.p,
        "slope": split.slope.p,
        "beside": split.beside.p,
    }
    return tuple(
        NamedTest(name, None if inconclusive else p) for name, p in p_values.items()
    )


def _has_equal_weights(split: LeanSplit, rewritten: RewrittenWords) -> bool:
    """Return whether every prompt of a stimulus counts alike in its lean, as in its words.

    In one wording, all of its alternatives do. In several, each wording counts alike in both where
    the wording of each image is stored; else the prompts do where each wording has one.
    """
    if rewritten.has_wordings:
        return True
    for part in split.parts:
        n_wordings = n_wordings_of(part.influence, part.name)
        n_prompts = rewritten.n_prompts.get(part.name, 0)
        if n_wordings > 1 and n_prompts != n_wordings:
            return False
    return True


def _added(
    images: Sequence[Part], words: Sequence[Part], level: float
) -> AddedToWords | None:
    """Return what images add to the rewritten words that each stimulus has.

    Returns:
        It, or None where the variance of a stimulus's lean is unknown.
    """
    words_of = {part.name: part for part in words}
    pairs = [(words_of[part.name], part) for part in images]
    count = len(pairs)
    parts = [*(first for first, _ in pairs), *(second for _, second in pairs)]
    joint = JointInfluence([part.influence for part in parts])
    leans = np.array([part.value for part in parts])
    weights = np.repeat([-1.0 / count, 1.0 / count], count)
    mean = weighted_contrast(leans, joint, weights, level)
    differences = [second.value - first.value for first, second in pairs]
    if max(map(abs, differences)) < _ROUNDING:
        return AddedToWords(mean, Score(value=0.0, ci_low=0.0, ci_high=0.0, p=1.0))
    square = mean_squared_shift([pairs], level)
    if square is None:
        return None
    score = Score(
        value=square.value, ci_low=square.low, ci_high=square.high, p=square.p
    )
    return AddedToWords(mean, score)


def _compared(
    task: str, first: LeanSource, source: LeanSource, level: float
) -> LeanSource:
    """Return a run with its changes against the first one."""
    seed = int.from_bytes(hashlib.sha256(task.encode()).digest()[:8], "big")
    change = change_of_split(
        first.split, source.split, np.random.default_rng(seed), level
    )
    return replace(source, change=change)


def _with_findings_of_changes(source: LeanSource) -> LeanSource:
    """Return a run with the findings on its changes and on what its images add, not yet corrected.

    They have no p-value where the run's own test is inconclusive; nor do changes where that of the
    first run is, or where it was measured in another way.
    """
    p_values: dict[str, float | None] = {}
    if source.change is not None:
        p_values["change_of_mean"] = source.change.mean.p
        p_values["change_of_slope"] = source.change.slope.p
        p_values["change_of_beside"] = source.change.beside.p
    if source.added is not None:
        p_values["added_mean"] = source.added.mean.p
        p_values["added"] = source.added.square.p
    is_comparable = source.remarks is None or source.remarks.decidable
    for name in p_values:
        is_change = name.startswith("change_of_")
        if source.inconclusive or (is_change and not is_comparable):
            p_values[name] = None
    changes = tuple(NamedTest(name, p) for name, p in p_values.items())
    return replace(source, changes=changes)


def _corrected(sources: Sequence[LeanSource], level: float) -> tuple[LeanSource, ...]:
    """Return runs whose findings have p-values after Holm's correction over all of them.

    One correction over all that is shown together: with one of each run, every further run would
    bring another false finding in one of twenty.
    """
    findings = [
        finding for source in sources for finding in (*source.findings, *source.changes)
    ]
    p_values = holm([finding.p for finding in findings])
    corrected = iter(
        replace(finding, p_holm=p, clear=p is not None and p < 1 - level)
        for finding, p in zip(findings, p_values, strict=True)
    )
    return tuple(
        replace(
            source,
            findings=tuple(islice(corrected, len(source.findings))),
            changes=tuple(islice(corrected, len(source.changes))),
        )
        for source in sources
    )
