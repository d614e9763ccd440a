"""The writers `card` and `audit`: a section for a model card, and a table for a compliance file."""

from __future__ import annotations

import shlex

from tabulate import tabulate

from t2ibench.reports import overview
from t2ibench.reports.files import digest
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.html.words import ends, limits
from t2ibench.reports.markdown import escape, table_of
from t2ibench.reports.view import RunView, TaskView, run_view
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results
from t2ibench.results.states import WORDS
from t2ibench.tasks.index import specs_of

_NO_ADVICE = (
    "This table says where in a file the evidence fits. It is no legal advice, and no statement "
    "that a requirement is met."
)
_METHOD = (
    "A lean is 0 where images are balanced and ±1 where all are on one side; rms is the root mean "
    "square of several. Clear: outside a fair model's band, and p < .05 after Holm's correction "
    "over all tests. A score describes these prompts, this model and this encoder or judge; it "
    "says nothing about real people."
)


def _view(results: Results) -> RunView:
    return run_view(results, specs_of({n: t.task_hash for n, t in results.tasks.items()}))


def _value(task: TaskView) -> str:
    if task.mark.value is None:
        return "–"
    if task.scale == "rms lean":
        return f"rms {plain(task.mark.value)}"
    return signed(task.mark.value)


def _rows(run: RunView) -> list[list[str]]:
    return [
        [task.id, _value(task), ends(task.mark), WORDS[task.mark.state], task.sentence]
        for task in run.tasks
    ]


def _measured(results: Results) -> str:
    tasks = results.tasks.values()
    readers = {*(n for t in tasks for n in t.settings.encoders)}
    judges = {*(n for t in tasks for n in t.settings.judges)}
    parts = [f"t2ibench {results.t2ibench}"]
    parts += [f"encoders {', '.join(sorted(readers))}"] if readers else []
    parts += [f"judges {', '.join(sorted(judges))}"] if judges else []
    return "; ".join(parts)


class _MarkdownTables:
    """Tables that are no run's: as in Markdown."""

    def table(self, table: Table) -> str:
        """A table and its notes, as in Markdown.

        Args:
            table: The table.

        Returns:
            Markdown.
        """
        return table_of(table)


class CardWriter(_MarkdownTables):
    """A section for a model card (see reports.writers.Writer)."""

    description = "a section on bias for a model card, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """The section of a run.

        Args:
            results: What results.json holds.

        Returns:
            Markdown.
        """
        run = _view(results)
        heads = ["Test", "Lean", "Interval", "Shows", "In words"]
        rows = [[escape(cell) for cell in row] for row in _rows(run)]
        told = [f"- {escape(title)} {escape(text)}" for title, text in limits(run)]
        parts = [
            "## Social bias",
            escape(overview.sentence(run)),
            f"Measured with {escape(_measured(results))}.",
            tabulate(rows, heads, tablefmt="github", disable_numparse=True),
            _METHOD,
            "### Limits of these measurements",
            "\n".join(told),
        ]
        if results.command:
            parts.append(f"Repeat: `{escape(shlex.join(results.command))}`")
        parts.append(f"SHA-256 of results.json: `{digest(results)}`")
        return "\n\n".join(parts) + "\n"


class AuditWriter(_MarkdownTables):
    """A table for a compliance file (see reports.writers.Writer)."""

    description = "a table of evidence for an EU AI Act or NIST AI RMF file, in Markdown"
    suffix = "md"

    def results(self, results: Results) -> str:
        """What of a run belongs where.

        Args:
            results: What results.json holds.

        Returns:
            Markdown.
        """
        run = _view(results)
        counts = run.counts()
        unsure = counts["cannot_tell"] + counts["no_score"]
        found = (
            f"{overview.sentence(run)} {counts['clear']} clear, {counts['not_clear']} not clear, "
            f"{unsure} cannot tell."
        )
        weak = " ".join(f"{title} {text}" for title, text in limits(run))
        ids = ", ".join(task.id for task in run.tasks)
        again = shlex.join(results.command) if results.command else "see run.json"
        proof = f"{again}; SHA-256 of results.json {digest(results)}"
        rows = [
            [
                "EU AI Act, Annex XI, section 1, 2(c); Annex IV, 2(g)",
                "methods to detect identifiable biases; potentially discriminatory impacts",
                f"{found} Tests: {ids}.",
            ],
            [
                "EU AI Act, Annex XI, section 2, 1",
                "evaluation strategies: criteria, metrics, method, limitations",
                f"{_METHOD} Measured with {_measured(results)}. {weak}",
            ],
            ["NIST AI RMF, MEASURE 2.11", "fairness and bias are evaluated and documented", found],
            ["NIST AI RMF, MEASURE 2.1", "test sets, metrics and tools are documented", proof],
            ["NIST AI RMF, MEASURE 2.5", "limits of generalisation are documented", weak],
        ]
        cells = [[escape(cell) for cell in row] for row in rows]
        heads = ["Where", "What is asked for", "Evidence of this run"]
        text = tabulate(cells, heads, tablefmt="github", disable_numparse=True)
        return (
            "\n\n".join([f"## {escape(run.name)}: evidence on social bias", text, _NO_ADVICE])
            + "\n"
        )


CARD = CardWriter()
AUDIT = AuditWriter()
