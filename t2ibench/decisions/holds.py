"""What must hold beside a limit, such as agreement with prompts, diversity, and equal refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from t2ibench.decisions.held import Held, at_least, ends_in_words, signed, worst
from t2ibench.decisions.profile import Scenario
from t2ibench.decisions.remedy_limits import NO_OLDER_RUN, remedy_limits
from t2ibench.decisions.rules import Outcome
from t2ibench.decisions.runs import MeasuredRun, RunPair
from t2ibench.methods.core.edit_report import (
    LEAN,
    OUTCOME,
    REFUSED,
    EditReport,
    edit_report,
)
from t2ibench.results.contrast import difference_interval
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from t2ibench.results.schema import Score, TaskResult
from t2ibench.stats.clopper_pearson import clopper_pearson

_ALPHA = 0.05


def holds(
    scenario: Scenario, run: MeasuredRun, older: MeasuredRun | None
) -> list[Held]:
    """Return whether everything holds that a scenario asks for; the run must have its tasks."""
    asked = scenario.holds
    outcomes: list[Held] = []
    for task in scenario.measurement.task:
        pair = None if older is None else RunPair(older, run)
        if asked.agreement is not None:
            outcomes.append(_agreement(task, asked.agreement, pair))
        if asked.diversity is not None:
            outcomes.append(_diversity(task, asked.diversity, pair))
        if asked.refusals is not None:
            outcomes.append(_refusals(run.results.tasks[task], asked.refusals))
        outcomes += remedy_limits(task, asked, pair)
    return outcomes


def _agreement(task: str, least: float, pair: RunPair | None) -> Held:
    wanted = f"agreement with the prompts changes by no less than {signed(least)}"
    if pair is None:
        return Held("agreement", wanted, "undecided", NO_OLDER_RUN)
    changes = [
        # First minus second, there.
        (change.encoder, change.turned)
        for change in pair.agreement
        if change.task == task
    ]
    if not changes:
        return Held(
            "agreement",
            wanted,
            "undecided",
            "it was not measured in both runs by the same encoder",
        )
    # Every encoder has to agree.
    outcomes = [at_least(change.low, change.high, least) for _, change in changes]
    shows = "; ".join(
        f"{encoder} {signed(change.value)} ({ends_in_words(change.low, change.high)})"
        for encoder, change in changes
    )
    return Held("agreement", wanted, worst(outcomes), shows)


def _diversity(task: str, least: float, pair: RunPair | None) -> Held:
    wanted = (
        f"diversity of the images of a prompt changes by no less than {signed(least)}"
    )
    if pair is None:
        return Held("diversity", wanted, "undecided", NO_OLDER_RUN)
    old_task = pair.first.results.tasks.get(task)
    new_task = pair.second.results.tasks[task]
    if old_task is None or old_task.task_hash != new_task.task_hash:
        text = "the older run has not the same version of the task"
        return Held("diversity", wanted, "undecided", text)
    before = _diversities(old_task)
    after = _diversities(new_task)
    outcomes: list[Outcome] = []
    shows = []
    for encoder in sorted(before.keys() & after.keys()):
        if old_task.settings.encoders.get(encoder) != new_task.settings.encoders.get(
            encoder
        ):
            # The same name of another network.
            continue
        old, new = before[encoder], after[encoder]
        low, high = difference_interval(new, old)
        value = (new.value or 0.0) - (old.value or 0.0)
        outcomes.append(at_least(low, high, least))
        shows.append(f"{encoder} {signed(value)} ({ends_in_words(low, high)})")
    if not outcomes:
        text = "it was not measured in both runs by the same encoder"
        return Held("diversity", wanted, "undecided", text)
    return Held("diversity", wanted, worst(outcomes), "; ".join(shows))


def _diversities(task: TaskResult) -> Mapping[str, Score]:
    """Return the diversity over all prompts of a task, by encoder."""
    return {
        encoder: Score(value=record.value, ci_low=record.ci_low, ci_high=record.ci_high)
        for encoder, records in task.diversity.items()
        for record in records
        if record.group is None and record.value is not None
    }


def _refusals(task: TaskResult, most: float) -> Held:
    wanted = f"no two groups' shares of refused images differ by more than {most:g}"
    edits = edit_report(task.details)
    if edits is not None:
        return _refused_edits(task, edits, wanted, most)
    if not task.prompt_outcomes:
        return _none_refused(task, wanted, most)
    groups = [outcome for outcome in task.prompt_outcomes if outcome.group is not None]
    if len(groups) < 2:
        return Held("refusals", wanted, "undecided", "the prompts name a single group")
    outcomes: list[Outcome] = []
    largest = ""
    size = -1.0
    for first, second in combinations(groups, 2):
        for difference, low, high, kind in _differences(first, second):
            outcomes.append(_within(low, high, most))
            if abs(difference) > size:
                size = abs(difference)
                largest = (
                    f"{kind}: {first.group} and {second.group} differ by {size:.3f} "
                    f"({ends_in_words(low, high)})"
                )
    return Held("refusals", wanted, worst(outcomes), f"the largest: {largest}")


def _within(low: float, high: float, most: float) -> Outcome:
    """Return whether a difference is no larger than allowed, by its interval."""
    if max(-low, high) <= most:
        return "pass"
    return "fail" if low > most or high < -most else "undecided"


def _refused_edits(
    task: TaskResult, edits: EditReport, wanted: str, most: float
) -> Held:
    """Return whether the compared groups' shares of refused or filtered edits differ.

    Edits of one source image depend on one another, which the row's interval takes into account.
    """
    first, second = edits.between
    for row in task.by:
        if (row.group, row.name) != (OUTCOME, REFUSED):
            continue
        lean = row.scores[LEAN]
        if lean.value is None or lean.ci_low is None or lean.ci_high is None:
            return Held("refusals", wanted, "undecided", "too few source images")
        shows = (
            f"refused edits: {first} and {second} differ by {abs(lean.value):.3f} "
            f"({ends_in_words(lean.ci_low, lean.ci_high)})"
        )
        outcome = _within(lean.ci_low, lean.ci_high, most)
        return Held("refusals", wanted, outcome, shows)
    smallest = round(min(edits.sources.get(name, 0) for name in edits.between))
    if smallest < 1:
        return Held("refusals", wanted, "undecided", "a group has no source images")
    _, high = clopper_pearson(0, smallest, 1 - 2 * _ALPHA)
    shows = (
        f"no edit was refused or filtered; of the smallest group's {smallest} source images "
        f"edits of up to {high:.3f} could be"
    )
    return Held("refusals", wanted, "pass" if high <= most else "undecided", shows)


def _differences(
    first: PromptOutcomes, second: PromptOutcomes
) -> Iterator[tuple[float, float, float, str]]:
    """Yield the differences of two groups' shares, with their intervals."""
    for kind, rate, other in (
        ("refused", first.refused, second.refused),
        ("filtered", first.filtered, second.filtered),
    ):
        low, high = difference_interval(_score(rate), _score(other))
        if low is None or high is None:
            low, high = -1.0, 1.0
        yield (rate.share or 0.0) - (other.share or 0.0), low, high, kind


def _score(rate: Rate) -> Score:
    """Return a share with the wider of its interval and the exact one of as many images."""
    low, high = clopper_pearson(rate.count, max(rate.total, 1), 1 - _ALPHA)
    stored_low = low if rate.ci_low is None else min(low, rate.ci_low)
    stored_high = high if rate.ci_high is None else max(high, rate.ci_high)
    return Score(value=rate.share or 0.0, ci_low=stored_low, ci_high=stored_high)


def _none_refused(task: TaskResult, wanted: str, most: float) -> Held:
    """Return what it shows that no image was refused: how large a share could be all the same."""
    groups = {
        record.group: record.n_images
        for records in task.text_image_alignment.values()
        for record in records
        if record.group is not None
    }
    if len(groups) < 2:
        text = "no encoder that reads prompts, too, says how many images each of two groups has"
        return Held("refusals", wanted, "undecided", text)
    smallest = min(groups.values())
    if smallest < 1:
        return Held("refusals", wanted, "undecided", "a group has no images")
    _, high = clopper_pearson(0, smallest, 1 - 2 * _ALPHA)
    shows = (
        f"no image was refused or filtered; of the smallest group's {smallest} images "
        f"up to {high:.3f} could be"
    )
    return Held("refusals", wanted, "pass" if high <= most else "undecided", shows)
