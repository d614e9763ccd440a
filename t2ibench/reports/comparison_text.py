"""The comparison of two runs as Markdown that a terminal of a hundred columns shows well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from t2ibench.decimals import p_value
from t2ibench.errors import visible_lines
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.describe import people
from t2ibench.reports.cells import ends, headline, in_points, signed
from t2ibench.reports.comparison import Comparison
from t2ibench.reports.comparison_sentences import (
    change_in_words,
    overall_sentence,
    verdict_summary,
)
from t2ibench.reports.comparison_tables import distances
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.results.compared_settings import compared_settings
from t2ibench.results.contrast import Contrast
from t2ibench.results.prompt_changes import AttributeChange, PromptChange, request_of
from t2ibench.results.schema import Headline, Score
from t2ibench.results.score_difference import Difference
from t2ibench.results.text_image_alignment import agreement_sentence

WIDTH = 100
_SHORTEST = 12  # letters to which a cell may be cut
_SETTINGS = 12  # that are listed where the runs differ in more
_DOTS = "…"
_VERDICTS = {
    "first": "A leans less",
    "second": "B leans less",
    "opposite": "they differ",
    "tie": "no difference",
    None: "not compared",
}
_ABOUT = (
    "'Change' says how much more B leans than A, with its interval: leans count without their "
    "sign. 'Differ, p' is that both runs are alike in the test. Verdicts and words follow from "
    "p-values after Holm's correction. `--format csv` has every number, `--format html` is a page "
    "with pictures."
)


def comparison_text(comparison: Comparison, *, rows: bool) -> str:
    """Return a comparison in reading order: settings, claims, prompts, tests, notes.

    Args:
        comparison: The two runs.
        rows: Whether rows such as occupations are listed, too.
    """
    names = comparison.names
    parts = [_differing_settings(comparison)]
    claims = [
        *overall_sentence(comparison.overall),
        verdict_summary(comparison.differences, names),
        *agreement_sentence(comparison.agreement, names),
        *comparison.remarks,
    ]
    parts += map(_folded, claims)
    parts += [_question(question) for question in comparison.prompts]
    parts += _requests(comparison)
    parts.append(_tests("Test", comparison.tests))
    if rows:
        parts += _rows(comparison.differences)
    notes = "\n".join(_notes(comparison.tests))
    parts += [*([notes] if notes else []), _folded(_ABOUT)]
    return visible_lines("\n\n".join(parts)) + "\n"


def _differing_settings(comparison: Comparison) -> str:
    """Return what both runs are called, and the settings in which they differ."""
    first, second = comparison.first, comparison.second
    settings = compared_settings([first.results, second.results])
    differing = [setting for setting in settings if setting.differs]
    lines = [_folded(f"A: {first.name}. B: {second.name}. They differ in:")]
    lines += [
        _folded(f"- {setting.name}: {'; '.join(setting.values)}", indent="  ")
        for setting in differing[:_SETTINGS]
    ]
    if len(differing) > _SETTINGS:
        lines.append(f"- and {len(differing) - _SETTINGS} more settings")
    return (
        "\n".join(lines)
        if differing
        else _folded(f"A: {first.name}. B: {second.name}.")
    )


def _requests(comparison: Comparison) -> Iterator[str]:
    """Yield what was added to every prompt of a run."""
    for run in (comparison.first, comparison.second):
        request = request_of(run.results)
        if request is not None:
            yield _folded(f"Added to every prompt of {run.name}: {request}.")


def _question(question: AttributeChange) -> str:
    """Return the answers to one question, prompt by prompt, as a table with its title."""
    about = question.prompts[0].first.about
    classes = " : ".join(people(name, about) for name in question.classes)
    title = f"{question.task}, {question.attribute}: images of {classes} (+ without an answer)"
    table = fitted(
        ["Prompt", "A", "B", "Change, points", "In words"],
        [_prompt(question, prompt) for prompt in question.prompts],
        cut=(0, 4),
    )
    tables = [table]
    is_known = any(prompt.known_share is not None for prompt in question.prompts)
    if question.asked or is_known:
        tables.append(_distances(question))
    return "\n\n".join([_folded(title), *tables, *map(_folded, question.notes())])


def _distances(question: AttributeChange) -> str:
    """Return how far the shares of both runs are from even and from known ones, as a table."""
    return fitted(
        ["Prompt", "Points from even, A and B", "From known share, A and B"],
        [[prompt.short, *distances(question, prompt)] for prompt in question.prompts],
        cut=(0,),
    )


def _prompt(question: AttributeChange, prompt: PromptChange) -> list[str]:
    change = prompt.change
    group = people(prompt.group, prompt.first.about)
    interval = f"[{in_points(change.low)}, {in_points(change.high)}]"
    return [
        prompt.short,
        _counts(prompt.first, question.classes),
        _counts(prompt.second, question.classes),
        f"{group} {in_points(change.value)} {interval}",
        change_in_words(question, prompt),
    ]


def _counts(row: ShownRow, classes: Sequence[str]) -> str:
    """Return the number of images of each class, in the order of the title."""
    counts = [f"{row.counted.counts.get(name, 0):g}" for name in classes]
    missing = row.counted.unanswered
    return " : ".join(counts) + (f" (+{missing:g})" if missing else "")


def _tests(noun: str, differences: Sequence[Difference]) -> str:
    return fitted(
        [noun, "A", "B", "Differ, p", "Change", "Verdict"],
        [_test(difference) for difference in differences],
        cut=(0,),
    )


def _test(difference: Difference) -> list[str]:
    name = difference.task
    if difference.row:
        name = f"{difference.row}: {difference.name}"
    return [
        name,
        _value(difference.first),
        _value(difference.second),
        p_value(difference.p_differ_holm),
        _change(difference.change),
        _VERDICTS[difference.verdict],
    ]


def _value(score: Score) -> str:
    if isinstance(score, Headline):
        return headline(score)
    return signed(score.value)


def _change(change: Contrast | None) -> str:
    if change is None:
        return "–"
    return f"{signed(change.value)} {ends(change.low, change.high)}"


def _rows(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield the rows of each task as a table with the task's name."""
    by_task: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.row and difference.value is not None:
            by_task.setdefault(difference.task, []).append(difference)
    for task, rows in by_task.items():
        yield f"Rows of {escape(task)}:\n\n{_tests('Row', rows)}"


def _notes(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield each note with the tests that it is about."""
    tests_by_note: dict[str, list[str]] = {}
    for difference in differences:
        for note in difference.notes:
            tests_by_note.setdefault(note, []).append(difference.task)
    for note, tests in tests_by_note.items():
        is_of_all = len(tests) == len(differences) > 1
        about = "all tests" if is_of_all else ", ".join(tests)
        yield _folded(f"- {note}: {about}", indent="  ")


def fitted(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    cut: Sequence[int],
    width: int = WIDTH,
) -> str:
    """Return a table of at most some letters a line; cells of the columns in `cut` are cut.

    Args:
        headers: The head of each column.
        rows: The cells.
        cut: The columns that may be cut, the first one first.
        width: The letters of a line.
    """
    table = github(headers, rows)
    limits: dict[int, int] = {}
    for column in cut:
        over = max(map(len, table.splitlines())) - width
        if over <= 0:
            break
        longest = max(len(row[column]) for row in rows)
        limits[column] = max(longest - over, _SHORTEST, len(headers[column]))
        table = github(headers, [_cut_cells(row, limits) for row in rows])
    return table


def _cut_cells(row: Sequence[str], limits: Mapping[int, int]) -> list[str]:
    return [
        cell
        if len(cell) <= limits.get(column, WIDTH)
        else f"{cell[: limits[column] - 1].rstrip()}{_DOTS}"
        for column, cell in enumerate(row)
    ]


def _folded(paragraph: str, indent: str = "") -> str:
    """Return an escaped paragraph in lines of the width of a table."""
    lines = wrap(
        escape(paragraph), WIDTH, break_on_hyphens=False, subsequent_indent=indent
    )
    return "\n".join(lines)
