"""Sentences on the comparison of several runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from t2ibench.decimals import p_in_words
from t2ibench.methods.core.describe import listed
from t2ibench.results.display import displayed
from t2ibench.results.several_runs import OverallTest, RunsComparison
from t2ibench.results.states import STATES
from t2ibench.results.task_across_runs import TaskAcrossRuns

# Tests that a sentence names; of others it says how many they are.
_NAMED = 3
# Settings that differ and are listed.
_SETTINGS = 12

_HOW_TESTED = (
    "'Differ' is the p-value that a test is alike in every run that is compared, after Holm's "
    "correction over the tests: of a lean an F test of the differences between runs, paired by the "
    "images that runs share, and of an rms lean the same of every item's lean. Runs without "
    "influences are compared by their intervals (Q). It does not say which runs differ: "
    "`t2ibench compare OLD NEW` compares a pair that was chosen beforehand."
)
_HOW_TREND = (
    "'Slope' is that of the regression line over the runs in their order, weighted by numbers of "
    "images, for one step; for an rms lean it is that of its mean square. 'Line' is the line at "
    "the first and the last run; the other runs may lie off it. The slope's p is corrected over "
    "the tests (Holm); its interval is about one test alone."
)


def settings_notes(comparison: RunsComparison) -> list[str]:
    """Return what differs between the settings of the runs: a sentence, and a clause a setting."""
    clauses = list(comparison.settings)
    if clauses:
        hidden = len(clauses) - _SETTINGS
        if hidden > 1:
            clauses = [*clauses[:_SETTINGS], f"and {hidden} more settings"]
        return ["The runs differ in", *clauses]
    models = {run.results.model.name for run in comparison.runs}
    fingerprints = {run.results.model.fingerprint for run in comparison.runs}
    if len(models) > 1:
        return ["The runs are of different models; no other recorded setting differs."]
    if len(fingerprints) == 1:
        return ["The runs have the same generator, settings and seeds."]
    return [
        "No recorded setting differs; the generators do, such as in their adapters."
    ]


def overall_notes(comparison: RunsComparison) -> list[str]:
    """Return what all tests say together: whether runs differ, and whether there is a trend."""
    notes = []
    overall = comparison.overall
    if overall is None:
        notes.append("No test could be compared between the runs.")
    elif overall.clear:
        notes.append(f"All tests together: the runs differ{_beyond_chance(overall)}.")
    else:
        notes.append(
            "All tests together: no difference between the runs beyond chance "
            f"({p_in_words(overall.p)}, {_tests(overall.n_tests)})."
        )
    trend = comparison.overall_trend
    if comparison.ordered and trend is None:
        notes.append("No test has a trend: it takes three runs that can be compared.")
    elif trend is not None and trend.clear:
        notes.append(f"Over the runs in order there is a trend{_beyond_chance(trend)}.")
    elif trend is not None:
        notes.append(
            "Over the runs in order there is no trend beyond chance "
            f"({p_in_words(trend.p)}, {_tests(trend.n_tests)})."
        )
    return notes


def _beyond_chance(overall: OverallTest) -> str:
    p = p_in_words(overall.p)
    if overall.n_tests == 1:
        return f" beyond chance ({p}, 1 test)"
    return (
        f" ({p}), in {overall.n_clear} of {overall.n_tests} tests beyond chance after Holm's "
        "correction"
    )


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"


def legend(comparison: RunsComparison) -> str:
    """Return what the signs, numbers and brackets of the table mean."""
    signs = [
        f"{STATES[state].sign} {STATES[state].word}"
        for state in ("clear", "not_clear", "none_above")
    ]
    unsure = f"{STATES['cannot_tell'].sign} {STATES['cannot_tell'].word} or no score"
    text = f"{', '.join([*signs, unsure])}, each in its run."
    labels = {
        displayed(test.first_result.headline).scale.prefix for test in comparison.tasks
    }
    if "rms" in labels:
        text += " A number without a sign is an rms lean."
    if any(run.excluded for test in comparison.tasks for run in test.runs):
        text += " In parentheses: not compared with the others."
    return text


def notes_on_tests(comparison: RunsComparison) -> list[str]:
    """Return what a reader must know of single tests: what was not compared, and limits."""
    tests_by_reason: dict[str, list[str]] = {}
    for test in comparison.tasks:
        for run in test.runs:
            if run.excluded:
                reason = f"Not compared, {run.run}: {run.excluded}"
                tests_by_reason.setdefault(reason, []).append(test.task)
    for test in comparison.tasks:
        for note in _limits(test):
            tests_by_reason.setdefault(_NOTES.get(note, note), []).append(test.task)
    compared = {test.task for test in comparison.tasks if test.p_differ is not None}
    return [
        f"{reason} ({_which(tests, compared)})."
        for reason, tests in tests_by_reason.items()
    ]


# Notes on a test that are too short to be understood away from it.
_NOTES: Mapping[str, str] = {
    "unpaired": "Compared by their intervals, as independent runs"
}


def _limits(test: TaskAcrossRuns) -> list[str]:
    """Return the notes on a test except why runs are inconclusive, which their states show."""
    inconclusive = {
        f"{run.run} is inconclusive: {run.task.inconclusive}"
        for run in test.runs
        if run.task is not None
    }
    return [note for note in test.notes if note not in inconclusive]


def _which(tests: Sequence[str], compared: Collection[str]) -> str:
    if len(compared) > _NAMED and set(tests) == set(compared):
        return "all tests that are compared"
    return listed(tests, _NAMED)


def how_tested(comparison: RunsComparison) -> list[str]:
    """Return how the p-values, and the slopes if the runs are in order, are to be read."""
    return [_HOW_TESTED, _HOW_TREND] if comparison.ordered else [_HOW_TESTED]
