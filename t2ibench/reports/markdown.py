"""The writers `md` and `latex`: results.md, and tables for GitHub and for papers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from tabulate import LATEX_ESCAPE_RULES, tabulate

from t2ibench.errors import visible_lines
from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import ShownAttribute, ShownRow, sorted_rows
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.methods.core.scales import SCALES, scale_named
from t2ibench.reports import limits, overview, sentences
from t2ibench.reports.cells import (
    PUBLISHED,
    ends,
    excluded,
    format_p,
    level_name,
    level_of,
    main_score,
    score_words,
    signed,
    task_cells,
)
from t2ibench.reports.people import agreement_table, disputed_table
from t2ibench.reports.score_rows import score_table_views
from t2ibench.reports.view import RunView, TaskView, run_view
from t2ibench.reports.writers import Table
from t2ibench.results.display import cut, in_two, shown_rows
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.people import PeopleAgreement
from t2ibench.results.schema import Results, Score, TaskResult

EXPLANATION = (
    "The headline is a lean: 0 is balanced, +1 and -1 are all one side (of shares P and 1 - P, it "
    "is 2 P - 1). An estimate can lie beyond 1 by chance; ‹ and › mark what goes on beyond the "
    "axis. A fair model's headline lies in the band 'Fair' at this number of images. About "
    "'these': these very prompts, with other images; 'like these': prompts like them, too. Holm's "
    "correction is over all tasks of this table. A score describes this model as this encoder or "
    "judge sees it; it says nothing about real people, and no single number sums a model up."
)
OF_ENCODERS = (
    "These tests read words alone: they describe the text encoder, which is the instrument, and "
    "not the generator. They are the same for every model that is read with this encoder."
)
_INCONCLUSIVE = (
    "inconclusive: the test failed its own check, or it hangs on answers that are unknown, so it "
    "decides nothing."
)
_PUBLISHED = (
    f"{PUBLISHED} as the paper computes it, kept for comparison: its p-value and its interval are "
    "not vouched for."
)

_SCORED_WITHOUT = (
    "and the tasks were scored on the other images; not a result to report."
)
_DISPUTED = 20  # images that people dispute, shown at most
_NAMED = 5


def missing_line(task: TaskResult) -> str:
    """Return a sentence that names the prompts without images."""
    missing = task.missing_prompts
    named = ", ".join(f"'{prompt}'" for prompt in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    which = (
        "a prompt, which has"
        if len(missing) == 1
        else f"{len(missing)} prompts, which have"
    )
    return f"scored without {which} no image, so it is about the others alone: {named}{more}."


def explanations(results: Results) -> list[str]:
    """Return the explanations that a reader of the table needs."""
    tasks = list(results.tasks.values())
    scales = {task.headline.scale for task in tasks}
    explained = [scale_named(name).explanation for name in SCALES if name in scales]
    also = [text for text in explained if text]
    if any(task.inconclusive for task in tasks):
        also.append(_INCONCLUSIVE)
    if any(PUBLISHED in main_score(task) for task in tasks):
        also.append(_PUBLISHED)
    return [EXPLANATION, *([" ".join(also)] if also else [])]


def tables(results: Results) -> Iterator[Table]:
    """Return a table of the tests on images, and one of the tests on texts alone."""
    of_generator, of_encoders = in_two(results)
    if of_generator.tasks or not of_encoders.tasks:
        yield _tests(of_generator, [])
    if of_encoders.tasks:
        yield _tests(of_encoders, [OF_ENCODERS])


def _tests(results: Results, notes: list[str]) -> Table:
    rows = [
        [
            name,
            *task_cells(task),
            main_score(task),
            str(task.n_images or "–"),
            excluded(task),
        ]
        for name, task in results.tasks.items()
    ]
    heads = [
        "Task",
        "Headline",
        level_of(results),
        "About",
        "Fair",
        "p",
        "p (Holm)",
        "Score",
    ]
    return Table([*heads, "Images", "Excluded"], rows, [*notes, *explanations(results)])


def escape(text: str) -> str:
    """Escape untrusted text for a Markdown table or paragraph, so that it is never markup."""
    line = " ".join(text.splitlines()).replace("\t", " ")
    line = re.sub(r"&(?=#?\w+;)", "&amp;", line)
    escaped = (
        line.replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("`", "'")
    )
    # Links, and addresses that GitHub makes links of.
    escaped = re.sub(r"\](?=[(\[:])", r"\\]", escaped)
    return re.sub(r"(?i)(?<=:)(/)(?=/)|(?<=www)(\.)", r"\\\1\2", escaped)


def github(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table in which every cell is escaped."""
    cells = [[escape(cell) for cell in row] for row in rows]
    return tabulate(
        cells, list(map(escape, heads)), tablefmt="github", disable_numparse=True
    )


def results_markdown(results: Results, run: RunView | None = None) -> str:
    """Return the text of results.md."""
    run = run or run_view(results)
    parts = _opening(results, run)
    for table in tables(results):
        if OF_ENCODERS in table.notes:
            parts += ["## Text encoders", "", OF_ENCODERS, ""]
        parts += [github(table.headers, table.rows), ""]
    for text in explanations(results):
        parts += [text, ""]
    parts += _instruments(results, run)
    parts += _rows_and_tables(results)
    earlier_limits = limits.earlier(run)
    of_libraries = limits.warnings_of_libraries(results) + limits.unknown_networks(
        results
    )
    remarks = [
        *([f"- {' '.join(earlier_limits)}"] if earlier_limits else []),
        *(f"- {escape(text)}" for text in of_libraries),
        *_mixed(results),
        *_remarks(results),
    ]
    if remarks:
        parts += ["## What to know about these results", "", *remarks, ""]
    if results.command:
        parts += [
            "## Repeat this run",
            "",
            "```",
            shlex.join(results.command),
            "```",
            "",
        ]
    parts += [f"t2ibench {results.t2ibench}, schema {results.schema_version}.", ""]
    return visible_lines("\n".join(parts))


def _instruments(results: Results, run: RunView) -> list[str]:
    """Return lines on the encoders, judges and networks that were used."""
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


def _rows_and_tables(results: Results) -> list[str]:
    """Return the rows of each task, and the further tables of its method."""
    parts: list[str] = []
    for name, task in results.tasks.items():
        rows = _rows_table(task)
        if rows:
            parts += [f"## Rows of {name}", "", rows, ""]
        for view in score_table_views(task):
            parts += [
                f"## {escape(view.title)}: {name}",
                "",
                github(view.heads, view.rows),
                "",
            ]
            for note in (
                view.caption,
                *(f"No value: {reason}." for reason in view.reasons),
            ):
                parts += [escape(note), ""]
    return parts


def _opening(results: Results, run: RunView) -> list[str]:
    parts = [f"# {escape(results.title)}", "", escape(sentences.sentence(run)), ""]
    if results.limited:
        parts += ["**Made with --limit; not a result to report.**", ""]
    if results.partial:
        parts += [f"**{results.what_is_missing}, {_SCORED_WITHOUT}**", ""]
    for text in sentences.asked(run):
        parts += [escape(text), ""]
    if run.families:
        fine = sentences.controls_said(run)[1]
        parts += [overview.counts(run), "", *([fine, ""] if fine else [])]
        drawn = [line for line, _ in (*overview.prompts(run), *overview.bars(run))]
        parts += ["```", *drawn, "```", ""]
    sentence_lines = [
        f"- `{name}`: {escape(text)}" for name, text in sentences.findings(run)
    ]
    sentence_lines += [f"- {escape(text)}" for text in sentences.judged(run)]
    if sentence_lines:
        parts += ["## In words", "", *sentence_lines, ""]
    for task in run.tasks:
        for attribute in task.prompts:  # who is shown as what, prompt by prompt
            title = f"## Who is shown: {escape(attribute.counted.attribute)}, in {escape(task.id)}"
            shown = (
                _estimated(attribute)
                if attribute.counted.estimated
                else _counted(attribute, task)
            )
            parts += [title, "", shown, "", escape(judges_said(task.result)), ""]
    for task in run.tasks:
        for question in task.result.people:
            parts += _people(task, question)
    parts += ["## All numbers", ""]
    return parts


def _people(task: TaskView, question: PeopleAgreement) -> list[str]:
    """Return lines on people's agreement on one question, and the images with different answers."""
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


def _estimated(attribute: ShownAttribute) -> str:
    heads = [
        "Prompt",
        f"Shown when no {attribute.counted.attribute} is asked for",
        "Clear",
    ]
    rows = [
        [row.counted.name, counts_text(row), _clear(row)]
        for row in sorted_rows(attribute)
    ]
    return github(heads, rows)


def _clear(row: ShownRow) -> str:
    return "clear" if row.clear else "not clear"


def _counted(attribute: ShownAttribute, task: TaskView) -> str:
    counted = attribute.counted
    nouns = {name: people(name, counted.attribute) for name in counted.classes}
    with_reference = sorted(
        {name for row in attribute.rows for name in row.counted.known}
    )
    labels = (
        ["Labels of people"]
        if any(row.counted.labels for row in attribute.rows)
        else []
    )
    heads = [counted.noun.capitalize(), "Images", *nouns.values(), "No answer", "Most"]
    heads += [level_name([task.result.settings.level]), "Clear", *labels]
    heads += [
        f"{counted.references.get(k)}: {people(k, counted.attribute)}"
        for k in with_reference
    ]
    rows = []
    for row in sorted_rows(attribute):
        counts = [row.images, *(row.counted.counts.get(name, 0) for name in nouns)]
        ends = [f"{100 * end:.0f} %" for end in row.interval or ()]
        labels_text = ", ".join(
            f"{n} {nouns[name]}" for name, n in row.counted.labels.items() if n
        )
        shares = [row.counted.known.get(name) for name in with_reference]
        rows.append(
            [
                row.counted.name,
                *(
                    f"{round(count, 1):g}"
                    for count in (*counts, row.counted.unanswered)
                ),
                nouns.get(row.most or "", "–"),
                " to ".join(ends) or "–",
                _clear(row),
                *([labels_text] if labels else []),
                *("–" if share is None else f"{100 * share:.1f} %" for share in shares),
            ]
        )
    return github(heads, rows)


def _mixed(results: Results) -> Iterator[str]:
    info = results.model
    for other in info.other_libraries:
        changed = [
            f"{name} {info.libraries.get(name, 'none')} and {other.get(name, 'none')}"
            for name in sorted(info.libraries.keys() | other.keys())
            if info.libraries.get(name) != other.get(name)
        ]
        yield f"- The images are a mixture: generated with {escape(', '.join(changed))}."


def _rows_table(task: TaskResult) -> str | None:
    """Return a table of rows that may lean either way; None unless the headline hides that."""
    if task.headline.scale != "mean_square":
        return None
    wanted = method_named(task.method).row_scores
    counted = {attribute.counted.attribute for attribute in shown_rows(task)}
    by = [row for row in task.by if row.group not in counted]
    wanted_names = [
        name for row in by for name in row.scores if name.partition(":")[0] in wanted
    ]
    names = list(dict.fromkeys(wanted_names))
    if not names:
        return None
    level = level_name([task.settings.level])
    heads = ["Row", "Images"]
    heads += [head for name in names for head in (score_words(name), level, "p (Holm)")]
    rows = []
    for row in by:
        cells = [row.name, "–" if row.n_images is None else str(row.n_images)]
        for name in names:
            score = row.scores.get(name, Score())
            interval = ends(cut(score.ci_low), cut(score.ci_high))
            cells += [signed(cut(score.value)), interval, format_p(score.p_holm)]
        if any(name in row.scores for name in names):
            rows.append(cells)
    return github(heads, rows)


def _remarks(results: Results) -> Iterator[str]:
    for name, task in results.tasks.items():
        yield from _without_value(name, task)
        if task.missing_prompts:
            yield f"- `{name}`: {escape(missing_line(task))}"
        for status, reasons in task.excluded_because.items():
            for reason, count in reasons.items():
                plural = "" if count == 1 else "s"
                yield f"- `{name}`: {count} image{plural} {status}: {escape(reason)}"
        for reader, key, control in sentences.controls_by_reader(task):
            is_shown = key.startswith(("obedience", "breakdown", "variances"))
            if is_shown and not control.contradicts:
                by = f" ({escape(reader)})" if reader else ""
                yield f"- `{name}`{by}: {escape(control.says)}"
        for warning in task.warnings:
            yield f"- `{name}`: {escape(warning)}"
        if task.encoder_agreement is False:
            yield f"- `{name}`: the encoders do not agree on the sign of the association."


def _without_value(name: str, task: TaskResult) -> Iterator[str]:
    """Return why a test is inconclusive or has no score, with the controls responsible."""
    if task.inconclusive:
        yield f"- `{name}` is inconclusive: {escape(task.inconclusive)}"
        for reader, _, control in sentences.controls_by_reader(task):
            if control.contradicts:
                by = f"{reader}: " if reader else ""
                yield f"  - {escape(by + control.says)}"
    elif task.reason:
        yield f"- `{name}` has no score: {escape(task.reason)}"
    elif task.headline.reason:
        yield f"- `{name}` has no headline: {escape(task.headline.reason)}"


class MarkdownTables:
    """Formats tables as Markdown; base class of the writers that reuse these tables."""

    def table(self, table: Table) -> str:
        """Return a table and its notes in GitHub's Markdown."""
        text = github(table.headers, table.rows)
        return "\n\n".join([text, *map(escape, table.notes)]) + "\n"


class MarkdownWriter(MarkdownTables):
    """Writes GitHub's Markdown (see reports.writers.Writer)."""

    description = "Markdown tables; of a run, results.md"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the text of results.md."""
        return results_markdown(results)


class LatexWriter:
    """Writes LaTeX tables (see reports.writers.Writer)."""

    description = "LaTeX tables with booktabs"
    suffix = "tex"

    def table(self, table: Table) -> str:
        """Return a table with its notes in small print; tabulate escapes the cells."""
        body = tabulate(
            table.rows, table.headers, tablefmt="latex_booktabs", disable_numparse=True
        )
        notes = [
            "".join(LATEX_ESCAPE_RULES.get(sign, sign) for sign in note)
            for note in table.notes
        ]
        return (
            "\n".join([body, *(f"\\par{{\\footnotesize {note}}}" for note in notes)])
            + "\n"
        )

    def results(self, results: Results) -> str:
        """Return the table of a run."""
        return "\n".join(map(self.table, tables(results)))


WRITER = MarkdownWriter()
LATEX = LatexWriter()
