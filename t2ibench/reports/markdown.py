"""The writer `md`: results.md, and tables in GitHub's Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tabulate import tabulate

from t2ibench.reports import overview
from t2ibench.reports.cells import PUBLISHED, excluded, level_of, main_score, task_cells
from t2ibench.reports.view import RunView, run_view
from t2ibench.reports.writers import Table
from t2ibench.results.display import in_two
from t2ibench.results.schema import Results

COLUMNS = (
    "Task",
    "Headline",
    "CI",
    "About",
    "Fair",
    "p",
    "p (Holm)",
    "Score",
    "Images",
    "Excluded",
)
EXPLANATION = (
    "The headline is a lean: 0 is balanced, +1 and -1 are all one side (of shares P and 1 - P, it "
    "is 2 P - 1). A fair model's headline lies in the band 'Fair' at this number of images. About "
    "'these': these very prompts, with other images; 'like these': prompts like them, too. Holm's "
    "correction is over all tasks of this table. A score describes this model as this encoder or "
    "judge sees it; it says nothing about real people, and no single number sums a model up."
)
OF_ENCODERS = (
    "These tests read words alone: they describe the text encoder, which is the instrument, and "
    "not the generator. They are the same for every model that is read with this encoder."
)
_SCALES = {
    "mean_square": "rms: the root mean square of the leans of several prompts, each of which may "
    "lean either way.",
    "excess": "excess: how much more the concepts lean than unrelated words do, from -1 to 1.",
}
_INCONCLUSIVE = "inconclusive: a control contradicts the test, so it decides nothing."
_PUBLISHED = (
    f"{PUBLISHED} as the paper computes it, kept for comparison: its p-value and its interval are "
    "not vouched for."
)


def columns(results: Results) -> tuple[str, ...]:
    """The heads of the table of a run.

    Args:
        results: What results.json holds.

    Returns:
        `COLUMNS`, with the level of the intervals.
    """
    return tuple(level_of(results) if name == "CI" else name for name in COLUMNS)


def explanations(results: Results) -> list[str]:
    """What a reader of the table must know.

    Args:
        results: What results.json holds.

    Returns:
        Paragraphs.
    """
    tasks = list(results.tasks.values())
    scales = {task.headline.scale for task in tasks}
    also = [text for scale, text in _SCALES.items() if scale in scales]
    if any(task.inconclusive for task in tasks):
        also.append(_INCONCLUSIVE)
    if any(PUBLISHED in main_score(task) for task in tasks):
        also.append(_PUBLISHED)
    return [EXPLANATION, *([" ".join(also)] if also else [])]


def table_rows(results: Results) -> Iterator[list[str]]:
    """The results as rows of text, one a task.

    Args:
        results: What results.json holds.

    Yields:
        The cells of a row, in the order of `COLUMNS`.
    """
    for name, task in results.tasks.items():
        yield [
            name,
            *task_cells(task),
            main_score(task),
            str(task.n_images) if task.n_images else "–",
            excluded(task),
        ]


def escape(text: str) -> str:
    """Text of others inside a Markdown table or paragraph.

    Args:
        text: The text.

    Returns:
        The same without markup that a table or HTML would read.
    """
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("\n", " ").replace("`", "'")


def _table(results: Results) -> str:
    return tabulate(
        [[escape(cell) for cell in row] for row in table_rows(results)],
        headers=columns(results),
        tablefmt="github",
        disable_numparse=True,
    )


def results_markdown(results: Results, run: RunView | None = None) -> str:
    """The text of results.md.

    Args:
        results: What results.json holds.
        run: The same as pages show it; made from the results alone where it is not given.

    Returns:
        Markdown: the run in a sentence, its tests as bars in 80 columns, in words, and all
        numbers with the explanation of the columns.
    """
    run = run or run_view(results)
    name = results.model.name or "text encoders"
    parts = [f"# {escape(name)}", "", escape(overview.sentence(run)), ""]
    if results.limited:
        parts += ["**Made with --limit; not a result to report.**", ""]
    if run.families:
        parts += [
            overview.counts(run),
            "",
            "```",
            *(line for line, _ in overview.bars(run)),
            "```",
            "",
        ]
    told = [f"- `{name}`: {escape(text)}" for name, text in overview.findings(run)]
    if told:
        parts += ["## In words", "", *told, ""]
    parts += ["## All numbers", ""]
    of_generator, of_encoders = in_two(results)
    if of_generator.tasks or not of_encoders.tasks:
        parts += [_table(of_generator), ""]
    if of_encoders.tasks:
        parts += ["## Text encoders", "", OF_ENCODERS, "", _table(of_encoders), ""]
    for text in explanations(results):
        parts += [text, ""]
    encoders = sorted({name for task in results.tasks.values() for name in task.settings.encoders})
    judges = sorted({name for task in results.tasks.values() for name in task.settings.judges})
    for title, names in (("Encoders", encoders), ("Judges", judges)):
        if names:
            parts += [f"{title}: {', '.join(escape(name) for name in names)}.", ""]
    remarks = list(_remarks(results))
    if remarks:
        parts += ["## What to know about these results", "", *remarks, ""]
    if results.command:
        parts += ["## Repeat this run", "", "```", shlex.join(results.command), "```", ""]
    parts += [f"t2ibench {results.t2ibench}, schema {results.schema_version}.", ""]
    return "\n".join(parts)


def _remarks(results: Results) -> Iterator[str]:
    for name, task in results.tasks.items():
        if task.inconclusive:
            yield f"- `{name}` is inconclusive: {escape(task.inconclusive)}"
            for control in task.controls.values():
                if control.contradicts:
                    yield f"  - {escape(control.says)}"
        elif task.reason:
            yield f"- `{name}` has no score: {escape(task.reason)}"
        elif task.headline.reason:
            yield f"- `{name}` has no headline: {escape(task.headline.reason)}"
        for warning in task.warnings:
            yield f"- `{name}`: {escape(warning)}"
        if task.signs_agree is False:
            yield f"- `{name}`: the encoders do not agree on the sign of the association."


def table_of(table: Table) -> str:
    """A table and its notes in GitHub's Markdown.

    Args:
        table: The table.

    Returns:
        Markdown; text that would be markup is escaped.
    """
    rows = [[escape(cell) for cell in row] for row in table.rows]
    headers = [escape(head) for head in table.headers]
    text = tabulate(rows, headers, tablefmt="github", disable_numparse=True)
    return "\n\n".join([text, *table.notes]) + "\n"


class MarkdownWriter:
    """GitHub's Markdown (see reports.writers.Writer)."""

    description = "Markdown tables; of a run, results.md"
    suffix = "md"

    def table(self, table: Table) -> str:
        """A table and its notes.

        Args:
            table: The table.

        Returns:
            Markdown; text that would be markup is escaped.
        """
        return table_of(table)

    def results(self, results: Results) -> str:
        """The text of results.md.

        Args:
            results: What results.json holds.

        Returns:
            Markdown.
        """
        return results_markdown(results)


WRITER = MarkdownWriter()
