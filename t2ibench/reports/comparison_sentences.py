"""The sentences of a page that compares two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.decimals import p_in_words
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.describe import listed, shown_class
from t2ibench.reports.comparison import Comparison
from t2ibench.results.comparison_claims import OverallDifference
from t2ibench.results.display import ALPHA
from t2ibench.results.prompt_changes import AttributeChange, PromptChange
from t2ibench.results.score_difference import Difference, tally

# A sentence in parts, each with whether it is a finding.
Sentence = list[tuple[str, bool]]
_REASONS = 2  # why nothing can be told, in the summary


def verdict(comparison: Comparison) -> Sentence:
    """Return whether two runs differ, and in what, in parts."""
    first, second = comparison.names
    overall = comparison.overall
    changed = _changed(comparison.prompts)
    if overall is None:
        reasons = dict.fromkeys(
            note for test in comparison.tests for note in test.notes[:1]
        )
        why = "; ".join(list(reasons)[:_REASONS]) or "no test can be compared"
        return [
            (f"It is unknown whether {first} and {second} differ", True),
            (f": {why}. {changed}".rstrip(), False),
        ]
    tests = "the one test" if overall.n_tests == 1 else f"{overall.n_tests} tests"
    if not overall.differ:
        return [
            (f"No difference between {first} and {second}", True),
            (f" beyond chance in {tests}.", False),
        ]
    where = ""
    if overall.n_tests > 1:
        where = f" in {overall.n_differ} of {tests}"
    parts = [(f"{first} and {second} differ", True)]
    parts.append((f"{where}; {_leaning(comparison)}.", False))
    return [*parts, *([(f" {changed}", False)] if changed else [])]


def _leaning(comparison: Comparison) -> str:
    """Return a clause on which run leans less, and in how many tests."""
    counts = tally(comparison.differences)
    n_tests = len(comparison.tests)
    clauses = []
    for name, n_less in (
        (comparison.second.name, counts["second"]),
        (comparison.first.name, counts["first"]),
    ):
        if n_less:
            clauses.append(
                f"{name} leans less" + (f" in {n_less}" if n_tests > 1 else "")
            )
    return listed(clauses) or "neither leans less beyond chance"


def _changed(questions: Sequence[AttributeChange]) -> str:
    """Return a sentence on the prompts whose images show others now, with the largest change."""
    rows = [row for question in questions for row in question.prompts]
    changed = [row for row in rows if row.p_holm < ALPHA]
    if not rows:
        return ""
    if not changed:
        return "Who is shown changed clearly for no prompt."
    counted = "prompts" if len(questions) == 1 else "pairs of prompt and question"
    most = max(changed, key=lambda row: abs(row.change.value))
    return (
        f"Who is shown changed clearly in {len(changed)} of {len(rows)} {counted}, most for "
        f"{most.short}: {_most_shown(most.first)}, then {_most_shown(most.second)}."
    )


def _most_shown(row: ShownRow) -> str:
    """Return what most images of a prompt show, and how many do."""
    return (
        f"{shown_class(row.most, row.about)} in {row.hits:g} of {row.images:g} images"
    )


def overall_in_words(comparison: Comparison) -> str:
    """Return the result of the test over all tests, with what it is a test of."""
    overall = comparison.overall
    if overall is None:
        return ""
    corrected = ""
    if overall.n_tests > 1:
        corrected = f", after Holm’s correction over {overall.n_tests}"
    return (
        f"All tests together: {p_in_words(overall.p)} that the runs are alike in every test"
        f"{corrected}. It asks whether they differ at all, and needs no lean. Where it finds no "
        "difference, nothing is claimed of a single test."
    )


def change_in_words(question: AttributeChange, prompt: PromptChange) -> str:
    """Return the change for a prompt in words, or that the model did not read it to its end."""
    if question.unread:
        return "the end of the prompt was not read"
    return "over-corrected" if question.asked and prompt.turned else prompt.words


def warnings(comparison: Comparison) -> Iterator[str]:
    """Yield why a comparison must not be reported as a result."""
    for run in (comparison.first, comparison.second):
        if run.results.limited:
            yield f"{run.name} was made with --limit, with fewer stimuli."
        if run.results.partial:
            yield f"{run.name}: {run.results.what_is_missing}."


def overall_sentence(overall: OverallDifference | None) -> list[str]:
    """Return a sentence on whether two runs differ at all; empty if no test can tell."""
    if overall is None:
        return []
    p = p_in_words(overall.p)
    if not overall.differ:
        tests = "1 test" if overall.n_tests == 1 else f"{overall.n_tests} tests"
        return [
            f"All tests together: no difference between the runs beyond chance ({p}, {tests})."
        ]
    if overall.n_tests == 1:
        return [
            f"The one test: the runs differ beyond chance ({p}), whichever leans less."
        ]
    where = f"in {overall.n_differ} of {overall.n_tests} tests"
    return [
        f"All tests together: the runs differ ({p}), {where} beyond chance after Holm's "
        "correction, whichever leans less."
    ]


def verdict_summary(differences: Sequence[Difference], names: Sequence[str]) -> str:
    """Return a sentence on how many headlines lean less in each run."""
    counts = tally(differences)
    n_neither = counts["opposite"] + counts["tie"]
    differ = f" ({counts['opposite']} of them differ)" if counts["opposite"] else ""
    return (
        f"Headlines, after Holm's correction: {names[0]} leans less in {counts['first']}, "
        f"{names[1]} in {counts['second']}, neither beyond chance in {n_neither}{differ}; "
        f"{counts[None]} not compared."
    )
