"""Sections of results.md on who is shown, and on how far people agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from t2ibench.methods.core.answer_counts import ShownAttribute, ShownRow, sorted_rows
from t2ibench.methods.core.describe import people
from t2ibench.reports.cells import level_name
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.people import agreement_table, disputed_table
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.people import PeopleAgreement

_DISPUTED = 20  # images that people dispute, shown at most


def answers_sections(run: RunView) -> list[str]:
    """Return lines of results.md that count, for each prompt, how many images show each class."""
    parts: list[str] = []
    for task in run.tasks:
        for attribute in task.prompts:
            question = escape(attribute.counted.attribute)
            title = f"## Who is shown: {question}, in {escape(task.id)}"
            shown = _counted(attribute, task)
            parts += [title, "", shown, "", escape(judges_said(task.result)), ""]
    return parts


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a table of answers that only some questions have.

    Attributes:
        nouns: The noun for the people of each class.
        labelled: Whether there are human labels.
        references: Classes whose share is known from elsewhere.
    """

    nouns: Mapping[str, str]
    labelled: bool
    references: tuple[str, ...]


def _counted(attribute: ShownAttribute, task: TaskView) -> str:
    """Return a Markdown table of how many images of each prompt show each class."""
    counted = attribute.counted
    rows = [row.counted for row in attribute.rows]
    columns = _Columns(
        nouns={name: people(name, counted.attribute) for name in counted.classes},
        labelled=any(row.labels for row in rows),
        references=tuple(sorted({name for row in rows for name in row.known})),
    )
    level = level_name([task.result.settings.level])
    heads = [counted.noun.capitalize(), "Images", *columns.nouns.values()]
    heads += ["No answer", "Most", level, "Clear"]
    if columns.labelled:
        heads.append("Labels of people")
    for name in columns.references:
        reference = counted.references.get(name)
        heads.append(f"{reference}: {people(name, counted.attribute)}")
    return github(heads, [_cells(row, columns) for row in sorted_rows(attribute)])


def _cells(row: ShownRow, columns: _Columns) -> list[str]:
    counted = row.counted
    by_class = [counted.counts.get(name, 0) for name in columns.nouns]
    counts = [row.images, *by_class, counted.unanswered]
    interval = [f"{100 * end:.0f} %" for end in row.interval or ()]
    cells = [counted.name, *(f"{round(count, 1):g}" for count in counts)]
    cells += [columns.nouns.get(row.most or "", "–"), " to ".join(interval) or "–"]
    cells.append(_clear(row))
    if columns.labelled:
        labels = [
            f"{count} {columns.nouns[name]}"
            for name, count in counted.labels.items()
            if count
        ]
        cells.append(", ".join(labels))
    for name in columns.references:
        share = counted.known.get(name)
        cells.append("–" if share is None else f"{100 * share:.1f} %")
    return cells


def _clear(row: ShownRow) -> str:
    return "clear" if row.clear else "not clear"


def people_sections(run: RunView) -> list[str]:
    """Return lines of results.md on how far people agree, for each question."""
    parts: list[str] = []
    for task in run.tasks:
        for question in task.result.people:
            parts += _people(task, question)
    return parts


def _people(task: TaskView, question: PeopleAgreement) -> list[str]:
    """Return lines of results.md on how far people agree on one question, and disputed images."""
    tables = [agreement_table([question])]
    if question.disputed:
        tables.append(disputed_table([question], _DISPUTED))
    parts = [
        f"## How far people agree: {escape(question.about)}, in {escape(task.id)}",
        "",
    ]
    for table in tables:
        parts += [github(table.headers, table.rows), "", *map(escape, table.notes), ""]
    return parts
