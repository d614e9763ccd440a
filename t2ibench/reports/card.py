"""The writer `card`, which formats results as a section of a model card or audit file."""

from __future__ import annotations

import shlex

from t2ibench.reports import sentences
from t2ibench.reports.cells import level_of
from t2ibench.reports.coverage import coverage
from t2ibench.reports.exchange.exported_tests import unfinished_notes
from t2ibench.reports.files import digest, task_files
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.limits import limits
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.markdown.writer import MarkdownTables
from t2ibench.reports.sentences import task_ends
from t2ibench.reports.view import RunView, TaskView, run_view
from t2ibench.results.schema import Results
from t2ibench.results.states import STATES

METHOD_NOTE = (
    "A lean is 0 where images are balanced and ±1 where all are on one side; rms is the root mean "
    "square of several. Clear: outside a fair model's band, and p below 0.05 after Holm's "
    "correction over all tests. A score describes these prompts, this model and this encoder or "
    "judge; it says nothing about real people."
)


def _value(task: TaskView) -> str:
    value = task.mark.value
    scale = task.mark.scale
    if task.mark.sized and value is not None:
        return f"{scale.prefix} {plain(value)}{scale.unit}".lstrip()
    return f"{signed(value)}{scale.unit if value is not None else ''}"


def tests_table(run: RunView) -> str:
    """Return the tests on images as a Markdown table, in the order of display."""
    heads = ["Test", "Lean", level_of(run.results), "Shows", "In words"]
    rows = [
        [
            task.id,
            _value(task),
            task_ends(task),
            STATES[task.mark.state].word,
            task.sentence,
        ]
        for task in run.tasks
    ]
    return github(heads, rows)


def measured_with(run: RunView) -> str:
    """Return the version of t2ibench, the encoders and the judges as one line."""
    parts = [f"t2ibench {run.results.t2ibench}"]
    parts += [f"encoders {', '.join(run.encoders)}"] if run.encoders else []
    parts += [f"judges {', '.join(run.judges)}"] if run.judges else []
    return "; ".join(parts)


def limit_lines(run: RunView) -> str:
    """Return the limits of a run as a Markdown list."""
    return "\n".join(f"- {escape(title)} {escape(text)}" for title, text in limits(run))


def _covered(run: RunView) -> list[str]:
    """Return lines on what was asked and answered; empty for tests on words alone."""
    covered = coverage(run)
    return [] if covered is None else covered.lines()


class CardWriter(MarkdownTables):
    """Formats a run's results as a Markdown section for a model card.

    Implements `t2ibench.reports.writers.Writer`.
    """

    description = "a section on bias for a model card, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the section of a model card that states a run's results."""
        run = run_view(results, task_files(results, None))
        parts = [
            "## Social bias",
            *(escape(line) for line in _covered(run)),
            escape(sentences.sentence(run)),
            *unfinished_notes(results),
            f"Measured with {escape(measured_with(run))}.",
            *([tests_table(run), METHOD_NOTE] if run.tasks else []),
            "### Limits of these measurements",
            limit_lines(run),
        ]
        if results.command:
            parts.append(f"Repeat: `{escape(shlex.join(results.command))}`")
        parts.append(f"SHA-256 of results.json: `{digest(results)}`")
        return "\n\n".join(parts) + "\n"


WRITER = CardWriter()
