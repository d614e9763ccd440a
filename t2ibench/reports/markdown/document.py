"""The text of results.md, with one function for each of its sections, in their order."""

from __future__ import annotations

import shlex

from t2ibench.errors import visible_lines
from t2ibench.reports import overview, sentences
from t2ibench.reports.coverage import coverage
from t2ibench.reports.markdown.answers import answers_sections, people_sections
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.markdown.remarks import remarks_section
from t2ibench.reports.markdown.rows import rows_sections
from t2ibench.reports.positive_controls import controls_said
from t2ibench.reports.results_tables import OF_ENCODERS, explanations, tables
from t2ibench.reports.view import RunView, run_view
from t2ibench.results.schema import Results

_SCORED_WITHOUT = (
    "and the tasks were scored on the other images; not a result to report."
)


def results_markdown(results: Results, run: RunView | None = None) -> str:
    """Return the text of results.md for a run."""
    run = run or run_view(results)
    lines = _opening(results, run)
    lines += _overview(run)
    lines += _in_words(run)
    lines += answers_sections(run)
    lines += people_sections(run)
    lines += _all_numbers(results)
    lines += _instruments(results, run)
    lines += rows_sections(results)
    lines += remarks_section(results, run)
    lines += _repetition(results)
    lines += [f"t2ibench {results.t2ibench}, schema {results.schema_version}.", ""]
    return visible_lines("\n".join(lines))


def _opening(results: Results, run: RunView) -> list[str]:
    """Return the first lines of results.md: title, verdict, and warnings about the run."""
    covered = coverage(run)
    lines = covered.lines() if covered is not None else []
    parts = [f"# {escape(run.title)}", ""]
    for text in (*lines, sentences.sentence(run)):
        parts += [escape(text), ""]
    if results.limited:
        parts += ["**Made with --limit; not a result to report.**", ""]
    if results.partial:
        parts += [f"**{results.what_is_missing}, {_SCORED_WITHOUT}**", ""]
    return parts


def _overview(run: RunView) -> list[str]:
    """Return lines of results.md with the number of tests in each state, and their bars."""
    if not run.families:
        return []
    parts = [overview.counts(run), ""]
    fine = controls_said(run)[1]
    if fine:
        parts += [fine, ""]
    drawn = [line for line, _ in (*overview.prompts(run), *overview.bars(run))]
    return [*parts, "```", *drawn, "```", ""]


def _in_words(run: RunView) -> list[str]:
    """Return lines of results.md with each test's result as a sentence, and who answered."""
    lines = [f"- `{name}`: {escape(text)}" for name, text in sentences.findings(run)]
    lines += [f"- {escape(text)}" for text in sentences.judged(run)]
    return ["## In words", "", *lines, ""] if lines else []


def _all_numbers(results: Results) -> list[str]:
    """Return lines of results.md with the tables of headlines, and explanations of them."""
    parts = ["## All numbers", ""]
    for table in tables(results):
        if OF_ENCODERS in table.notes:
            parts += ["## Text encoders", "", OF_ENCODERS, ""]
        parts += [github(table.headers, table.rows), ""]
    for text in explanations(results):
        parts += [text, ""]
    return parts


def _instruments(results: Results, run: RunView) -> list[str]:
    """Return lines of results.md that name the encoders, judges and networks of a run."""
    parts: list[str] = []
    for title, names in (("Encoders", run.encoders), ("Judges", run.judges)):
        if names:
            parts += [f"{title}: {', '.join(escape(name) for name in names)}.", ""]
    if results.networks:
        networks = sorted(results.networks.items())
        parts += [
            f"- {escape(f'{name}: {sentences.network_text(network)}')}"
            for name, network in networks
        ]
        parts += [""]
    return parts


def _repetition(results: Results) -> list[str]:
    """Return lines of results.md with the command that repeats the run; empty if unknown."""
    if not results.command:
        return []
    command = shlex.join(results.command)
    return ["## Repeat this run", "", "```", command, "```", ""]
