"""The writers `card` and `audit`: a section for a model card, and tables for a compliance file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from t2ibench.reports import sentences
from t2ibench.reports.cells import level_of
from t2ibench.reports.files import digest, task_files
from t2ibench.reports.html.numbers import percent, plain, signed
from t2ibench.reports.markdown import MarkdownTables, escape, github
from t2ibench.reports.sentences import ends, limits, task_ends
from t2ibench.reports.view import RowView, RunView, TaskView, run_view
from t2ibench.results.display import WORDS
from t2ibench.results.schema import Results

_NO_ADVICE = (
    "This table says where in a file the evidence fits. It is no legal advice, and no statement "
    "that a requirement is met."
)
_METHOD = (
    "A lean is 0 where images are balanced and ±1 where all are on one side; rms is the root mean "
    "square of several. Clear: outside a fair model's band, and p below .05 after Holm's "
    "correction over all tests. A score describes these prompts, this model and this encoder or "
    "judge; it says nothing about real people."
)


def _value(task: TaskView) -> str:
    if task.mark.value is None:
        return "–"
    if task.scale == "rms lean":
        return f"rms {plain(task.mark.value)}"
    return signed(task.mark.value)


def _tests(run: RunView) -> str:
    heads = ["Test", "Lean", level_of(run.results), "Shows", "In words"]
    rows = [
        [task.id, _value(task), task_ends(task), WORDS[task.mark.state], task.sentence]
        for task in run.tasks
    ]
    return github(heads, rows)


def _stimuli(run: RunView) -> str:
    """The rows of every test, with the shares of a judge's answers."""
    heads = ["Test", "What", "Images", "Lean", level_of(run.results), "Shows", "Shares"]
    rows = [
        [
            task.id,
            f"{row.name} ({row.group})" if row.group else row.name,
            "–" if row.n_images is None else str(row.n_images),
            plain(row.mark.value) if series.series.axis is None else signed(row.mark.value),
            ends(row.mark, series.series.axis is None),
            WORDS[row.mark.state],
            "; ".join(_shares(row)),
        ]
        for task in run.tasks
        for series in task.series
        for row in series.rows
    ]
    return github(heads, rows)


def _shares(row: RowView) -> Iterator[str]:
    for name, score in row.row.scores.items():
        kind, _, group = name.partition(":")
        if kind == "share" and score.value is not None:
            low, high = percent(score.ci_low), percent(score.ci_high)
            interval = "" if score.ci_low is None else f" ({low} to {high})"
            yield f"{group} {percent(score.value)}{interval}"


def _measured(run: RunView) -> str:
    parts = [f"t2ibench {run.results.t2ibench}"]
    parts += [f"encoders {', '.join(run.encoders)}"] if run.encoders else []
    parts += [f"judges {', '.join(run.judges)}"] if run.judges else []
    return "; ".join(parts)


class CardWriter(MarkdownTables):
    """A section for a model card (see reports.writers.Writer)."""

    description = "a section on bias for a model card, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """The section of a run."""
        run = run_view(results, task_files(results, None))
        told = [f"- {escape(title)} {escape(text)}" for title, text in limits(run)]
        parts = [
            "## Social bias",
            escape(sentences.sentence(run)),
            f"Measured with {escape(_measured(run))}.",
            _tests(run),
            _METHOD,
            "### Limits of these measurements",
            "\n".join(told),
        ]
        if results.command:
            parts.append(f"Repeat: `{escape(shlex.join(results.command))}`")
        parts.append(f"SHA-256 of results.json: `{digest(results)}`")
        return "\n\n".join(parts) + "\n"


class AuditWriter(MarkdownTables):
    """Tables for a compliance file (see reports.writers.Writer)."""

    description = "tables of evidence for an EU AI Act or NIST AI RMF file, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """What of a run belongs where, and its numbers."""
        run = run_view(results, task_files(results, None))
        counts = run.counts()
        unsure = counts["cannot_tell"] + counts["no_score"]
        found = (
            f"{sentences.sentence(run)} {counts['clear']} clear, {counts['not_clear']} not clear, "
            f"{counts['none_above']} {WORDS['none_above']}, {unsure} cannot tell. Tables 1 and 2 "
            "have the numbers."
        )
        weak = " ".join(f"{title} {text}" for title, text in limits(run))
        again = shlex.join(results.command) if results.command else "see run.db"
        proof = f"{again}; SHA-256 of results.json {digest(results)}"
        rows = [
            [
                "EU AI Act, Annex XI, section 1, 2(c); Annex IV, 2(g)",
                "methods to detect identifiable biases; potentially discriminatory impacts",
                found,
            ],
            [
                "EU AI Act, Annex XI, section 2, 1",
                "evaluation strategies: criteria, metrics, method, limitations",
                f"{_METHOD} Measured with {_measured(run)}. {weak}",
            ],
            ["NIST AI RMF, MEASURE 2.11", "fairness and bias are evaluated and documented", found],
            ["NIST AI RMF, MEASURE 2.1", "test sets, metrics and tools are documented", proof],
            ["NIST AI RMF, MEASURE 2.5", "limits of generalisation are documented", weak],
        ]
        parts = [
            f"## {escape(run.name)}: evidence on social bias",
            github(["Where", "What is asked for", "Evidence of this run"], rows),
            _NO_ADVICE,
            "### Table 1: the tests",
            _tests(run),
            "### Table 2: what each test is made of",
            "Shares are of a judge's answers, with their intervals.",
            _stimuli(run),
        ]
        return "\n\n".join(parts) + "\n"


CARD = CardWriter()
AUDIT = AuditWriter()
