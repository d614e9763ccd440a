"""The writer `nist-ai-rmf`: what a run measured, by NIST's AI Risk Management Framework.

The subcategories are those of the MEASURE function of AI RMF 1.0 (NIST AI 100-1, table 3), in
short. NIST AI 800-3 (2026) separates benchmark accuracy, about the very items of a benchmark, from
generalized accuracy, about a population of items; the two questions of a headline are that
distinction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from t2ibench.methods.core.inference import Inference
from t2ibench.reports.card import METHOD_NOTE, limit_lines, measured_with, tests_table
from t2ibench.reports.cells import ends, number
from t2ibench.reports.edit_counts import edits_counted
from t2ibench.reports.exchange.exported_tests import (
    omitted_tests,
    unfinished_notes,
    view_of,
)
from t2ibench.reports.exclusions import missing_by_reason, reasons_said
from t2ibench.reports.files import digest
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.markdown.writer import MarkdownTables
from t2ibench.reports.positive_controls import controls_said
from t2ibench.reports.sentences import judged
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import IntervalMark, within
from t2ibench.results.schema import Results
from t2ibench.store.answers import ANSWERS_BY, LABELS_BY

_COSINE_DECIMALS = 4
_OPENING = (
    "NIST's AI Risk Management Framework (AI RMF 1.0) names what an organization measures; which "
    "risks matter, its MAP function says, which t2ibench does not know. Here is what this run has "
    "for the subcategories of MEASURE that it can serve. It is no statement of conformity."
)
_NOT_SERVED = (
    "Not measured by t2ibench: MEASURE 1.2 and 1.3 (regular assessment, independent assessors), "
    "2.4 (production), 2.6 (safety), 2.7 (security), 2.8 (accountability), 2.9 (explanation), "
    "2.10 (privacy), 2.12 (environment), and MEASURE 3 and 4."
)
_TWO_QUESTIONS = (
    "NIST AI 800-3 separates *benchmark accuracy*, about the very items of a benchmark, from "
    "*generalized accuracy*, about a population of items that they stand for. Its two quantities "
    "are accuracies of language models; the same distinction for a lean is *these prompts* (other "
    "images of them) and *prompts like these* (other prompts, too). An interval about these "
    "prompts must not be read as one about others. A dash: no such interval holds, or was "
    "computed."
)


class NistWriter(MarkdownTables):
    """Writes a mapping to MEASURE of the AI RMF (see reports.writers.Writer)."""

    description = "what was measured, by the measures of NIST's AI RMF, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the measures that a run serves, each with its numbers."""
        run = view_of(results)
        parts = [
            f"# NIST AI RMF, MEASURE: {escape(results.title)}",
            _OPENING,
            *unfinished_notes(results),
        ]
        for title, section in _SECTIONS.items():
            parts += [f"## {title}", *section(run)]
        parts += [_NOT_SERVED, f"SHA-256 of results.json: `{digest(results)}`"]
        return "\n\n".join(parts) + "\n"


def _approaches(run: RunView) -> Iterator[str]:
    """Yield which tests there are, and what could not be measured."""
    families = [f"{family.title} ({len(family.tasks)})" for family in run.families]
    listed_families = escape(", ".join(families)) or "none"
    yield (
        f"Tests on images, by method: {listed_families}. Which risks they were chosen for: not "
        "known to t2ibench."
    )
    omitted = [f"- `{name}`: {escape(reason)}" for name, reason in omitted_tests(run)]
    if omitted:
        yield "Measured, but deciding nothing about the model:"
        yield "\n".join(omitted)


def _tools(run: RunView) -> Iterator[str]:
    """Yield the test sets with their hashes, and the instruments."""
    rows = [
        (
            name,
            str(task.version),
            task.task_hash,
            edits_counted([task]) or str(task.n_prompts),
            str(task.n_images),
        )
        for name, task in run.results.tasks.items()
    ]
    yield f"Measured with {escape(measured_with(run))}."
    yield github(("Test", "Version", "SHA-256", "Prompts", "Images"), rows)


def _people(run: RunView) -> Iterator[str]:
    people = [
        judge for judge in run.judges if judge.startswith((ANSWERS_BY, LABELS_BY))
    ]
    if people:
        yield (
            f"People answered questions about images: {escape(', '.join(people))}. Whether they "
            "are representative, and whether requirements on human subjects were met: not known to "
            "t2ibench."
        )
    else:
        yield "No person answered a question about an image in this run."


def _performance(run: RunView) -> Iterator[str]:
    """Yield how well images agree with their prompts, and how many prompts gave none."""
    rows = []
    for task in run.tasks:
        for encoder, records in task.result.text_image_alignment.items():
            overall = [record for record in records if record.group is None]
            for record in overall:
                interval = ends(record.ci_low, record.ci_high, _COSINE_DECIMALS)
                value = number(record.value, _COSINE_DECIMALS)
                rows.append((task.id, encoder, value, interval))
    if rows:
        yield "Agreement of images with their prompts, as the mean cosine of image and prompt:"
        yield github(("Test", "Encoder", "Agreement", "Interval"), rows)
    else:
        yield "Agreement of images with their prompts was not measured."
    missing = missing_by_reason(run)
    reasons = f" ({reasons_said(missing)})" if missing else ""
    count = f"{missing.total():,}{reasons}"
    yield f"Images or answers that are missing, summed over tests: {count}."


def _validity(run: RunView) -> Iterator[str]:
    """Yield for each test what its intervals are about, and the limits of the run."""
    yield _TWO_QUESTIONS
    heads = ("Test", "These prompts", "Prompts like these", "The sentence is about")
    if run.tests:
        yield github(heads, [_two_intervals(task) for task in run.tests])
    else:
        yield "No test on images was scored."
    yield limit_lines(run)


def _two_intervals(task: TaskView) -> tuple[str, str, str, str]:
    head = task.result.headline
    about = {
        "fixed_prompts": "these prompts",
        "prompt_population": "prompts like these",
        None: "–",
    }
    if task.result.inconclusive:
        return task.id, "–", "–", "nothing: inconclusive"
    return (
        task.id,
        _interval(task.mark, head.fixed_prompts),
        _interval(task.mark, head.prompt_population),
        about[head.question],
    )


def _interval(mark: IntervalMark, inference: Inference | None) -> str:
    """Return an interval on the scale on which pages show the headline."""
    if inference is None or inference.ci_low is None or inference.ci_high is None:
        return "–"
    stored = IntervalMark(
        value=None,
        low=inference.ci_low,
        high=inference.ci_high,
        state="no_score",
        side=None,
        scale=mark.scale,
    )
    shown = within(stored, square=mark.scale.rooted)
    return ends(shown.low, shown.high)


def _fairness(run: RunView) -> Iterator[str]:
    if not run.tests:
        yield "No test on images was scored."
        return
    yield tests_table(run)
    yield METHOD_NOTE


def _checks(run: RunView) -> Iterator[str]:
    """Yield what the run knows about its own instruments."""
    lines = [text for text in controls_said(run) if text]
    lines += [f"{text}." for text in judged(run)]
    failed = [task.id for task in run.tests if task.result.inconclusive]
    names = f": {', '.join(failed)}" if failed else ""
    lines.append(
        f"Tests that a control of their own contradicts: {len(failed)}{names}."
    )
    yield "\n".join(f"- {escape(line.replace('..', '.'))}" for line in lines)


_SECTIONS: dict[str, Callable[[RunView], Iterator[str]]] = {
    "MEASURE 1.1: approaches and metrics, and what cannot be measured": _approaches,
    "MEASURE 2.1: test sets, metrics and tools": _tools,
    "MEASURE 2.2: evaluations that involve people": _people,
    "MEASURE 2.3: performance": _performance,
    "MEASURE 2.5: validity, and limits of generalization": _validity,
    "MEASURE 2.11: fairness and bias": _fairness,
    "MEASURE 2.13: effectiveness of the measurement": _checks,
}


WRITER = NistWriter()
