"""Renders the page that compares two runs as one file that needs no network access."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.comparison import ComparedRun, Comparison
from t2ibench.reports.comparison_pictures import (
    PicturedRow,
    PicturePair,
    Pictures,
    chosen_pictures,
)
from t2ibench.reports.comparison_sentences import overall_in_words, verdict, warnings
from t2ibench.reports.files import dated, task_files
from t2ibench.reports.html.comparison_rows import (
    ChangedQuestionView,
    ComparedTestView,
    NotComparedView,
    changed_question,
    compared_tests,
    not_compared,
)
from t2ibench.reports.html.evidence import Thumbnails, Tile
from t2ibench.reports.html.templating import fragment, static, style
from t2ibench.reports.view import TaskView, run_view
from t2ibench.results.compared_settings import (
    NONE,
    ComparedSetting,
    compared_settings,
)
from t2ibench.results.text_image_alignment import agreement_sentence

_BUDGET = 1_100_000  # characters of data URIs, so that the page stays below 1.5 MB
_SIDE = 256  # pixels of a picture
_QUALITY = 60
_ABOUT = (
    "A is the first run, B the second. The change of a test says how much more B leans than A: "
    "leans count without their sign, so that two opposite leans of one size differ and neither is "
    "less. An interval is about one test or one prompt alone; verdicts, bold names and filled "
    "marks follow from p-values after Holm’s correction. Images are compared pair by pair, by "
    "prompt and number, where the results have what that takes; “unpaired” takes the runs as "
    "independent."
)


@dataclass(frozen=True, slots=True)
class PairView:
    """Two pictures beside each other, with what was answered about them."""

    number: int
    before: Tile
    after: Tile
    caption: str


@dataclass(frozen=True, slots=True)
class PicturedRowView:
    """The pictures of one prompt or stimulus.

    Attributes:
        anchor: Its place on the page.
        name: The prompt or stimulus.
        task: The test.
        swipe: Whether all pairs have the same prompt and seed, so that one may lie on the other.
        pairs: The pictures.
    """

    anchor: str
    name: str
    task: str
    swipe: bool
    pairs: tuple[PairView, ...]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Everything that the page shows.

    Attributes:
        names: What both runs are called.
        made: When each run finished, and the SHA-256 of its results.json.
        differing: The settings in which they differ.
        same: The settings in which they do not.
        verdict: The result in a sentence, in parts; those that are a finding are marked.
        overall: The test over all tests in words.
        warnings: Why it must not be reported as a result.
        remarks: What else differs, and how well the images agree with their prompts.
        questions: Who is shown as what, question by question.
        pictures: Their rule and basis.
        pictured: The pictures, row by row.
        left_out: Rows whose pictures did not fit into the page.
        tests: The tests that can be compared.
        not_compared: Those that cannot, and why.
        about: How to read the numbers.
    """

    names: tuple[str, str]
    made: tuple[str, str]
    differing: tuple[ComparedSetting, ...]
    same: tuple[ComparedSetting, ...]
    verdict: tuple[tuple[str, bool], ...]
    overall: str
    warnings: tuple[str, ...]
    remarks: tuple[str, ...]
    questions: tuple[ChangedQuestionView, ...]
    pictures: Pictures
    pictured: tuple[PicturedRowView, ...]
    left_out: int
    tests: tuple[ComparedTestView, ...]
    not_compared: tuple[NotComparedView, ...]
    about: str


def comparison_html(comparison: Comparison) -> str:
    """Return the HTML of the page that compares two runs."""
    script = static("swipe.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return fragment(
        "comparison.html",
        page=comparison_view(comparison),
        style=style("pairs.css", "comparison.css"),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def comparison_view(comparison: Comparison) -> ComparisonView:
    """Return everything that the page shows of two runs."""
    first, second = comparison.first, comparison.second
    tasks = (_tasks_of(first), _tasks_of(second))
    pictures = chosen_pictures(comparison, tasks[0])
    pictured = _pictured(comparison, pictures, tasks[0])
    anchors = {
        (row.task, row.name): view.anchor
        for row, view in zip(pictures.rows, pictured, strict=False)
    }
    settings = compared_settings([first.results, second.results])
    differing = [setting for setting in settings if setting.differs]
    same = [
        setting
        for setting in settings
        if not setting.differs and setting.values[0] != NONE
    ]
    questions = [
        changed_question(question, _name_of(question.task, tasks[0]), anchors)
        for question in comparison.prompts
    ]
    names = comparison.names
    agreement = agreement_sentence(comparison.agreement, names)
    return ComparisonView(
        names=names,
        made=(_made(first), _made(second)),
        differing=tuple(differing),
        same=tuple(same),
        verdict=tuple(verdict(comparison)),
        overall=overall_in_words(comparison),
        warnings=tuple(warnings(comparison)),
        remarks=(*agreement, *comparison.remarks),
        questions=tuple(questions),
        pictures=pictures,
        pictured=tuple(pictured),
        left_out=len(pictures.rows) - len(pictured),
        tests=tuple(compared_tests(comparison.tests, tasks, names)),
        not_compared=tuple(not_compared(comparison.tests, tasks, names)),
        about=_ABOUT,
    )


def _tasks_of(run: ComparedRun) -> dict[str, TaskView]:
    """Return the views of all tests of a run by id, those on images first."""
    view = run_view(run.results, task_files(run.results, run.folder))
    return {task.id: task for task in [*view.tasks, *view.texts]}


def _name_of(task: str, tasks: dict[str, TaskView]) -> str:
    return tasks[task].name if task in tasks else task


def _made(run: ComparedRun) -> str:
    date = dated(run.folder) or "date not recorded"
    return f"{date} · SHA-256 of results.json {run.sha256}"


def _pictured(
    comparison: Comparison, pictures: Pictures, tasks: dict[str, TaskView]
) -> list[PicturedRowView]:
    """Return the rows of pictures that the page has room for, in their order."""
    # Links to originals would not lead anywhere once the page has been mailed.
    before, after = (
        Thumbnails(run.folder, _BUDGET // 2, _SIDE, _QUALITY)
        for run in (comparison.first, comparison.second)
    )
    views: list[PicturedRowView] = []
    for number, row in enumerate(pictures.rows, start=1):
        pairs = [_pair(pair, row, before, after) for pair in row.pairs]
        if before.full or after.full:
            break
        views.append(
            PicturedRowView(
                anchor=f"pictures-{number}",
                name=row.name,
                task=_name_of(row.task, tasks),
                swipe=all(pair.same_start for pair in row.pairs),
                pairs=tuple(pairs),
            )
        )
    return views


def _pair(
    pair: PicturePair, row: PicturedRow, before: Thumbnails, after: Thumbnails
) -> PairView:
    number = pair.index + 1
    image = pair.source or f"image {number}"
    alt = f"{pair.prompt}, {image}"
    answers = _answers([answer for answer, _ in pair.answers])
    other_answers = _answers([answer for _, answer in pair.answers])
    caption = image
    if pair.prompt != row.name and not pair.answers and not pair.source:
        caption = alt
    return PairView(
        number=number,
        before=Tile(before.of(pair.first), f"A: {alt}", answers),
        after=Tile(after.of(pair.second), f"B: {alt}", other_answers),
        caption=caption,
    )


def _answers(answers: Sequence[str]) -> str:
    return ", ".join(answers)
