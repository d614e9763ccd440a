"""The page of a run, put together from its figures, images and sections."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from markupsafe import Markup

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.describe import about_people
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.reports.figures.answer_bars import who_is_shown
from t2ibench.reports.figures.facts import facts_of_answers, facts_of_run, facts_of_task
from t2ibench.reports.figures.figure import DrawnFigure, draw
from t2ibench.reports.figures.forest import forest
from t2ibench.reports.html.cards import CardParts
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.edit_pictures import (
    EditedPairs,
    edited_pairs,
    pair_thumbnails,
)
from t2ibench.reports.html.evidence import Rows, Thumbnails, evidence, of_prompts
from t2ibench.reports.html.page import report_html
from t2ibench.reports.html.sections import run_sections
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.method_agreement import agreements, measures
from t2ibench.results.paired import PairedTask, read_paired
from t2ibench.results.samples import read_samples


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure of a run, on its page or beside it.

    Attributes:
        name: The name of its files.
        about: The run or test that it shows.
        figure: The figure.
        facts: Who read how many images.
    """

    name: str
    about: str
    figure: DrawnFigure
    facts: str


@dataclass(frozen=True, slots=True)
class RunPage:
    """The HTML of a run's page, and every figure that is a file beside it."""

    html: str
    figures: tuple[PageFigure, ...]


def run_page(run: RunView, folder: Path, origin: str) -> RunPage:
    """Return the HTML of a run's page, and every figure that it contains.

    Args:
        run: The run.
        folder: Its folder, which has its images and samples.
        origin: When and from what the page was made, in a line.
    """
    whole = forest(run)
    drawn: list[PageFigure] = []
    if whole is not None:
        drawn.append(PageFigure("forest", run.name, whole, facts_of_run(run)))
    thumbnails = Thumbnails(folder)
    of_pairs = pair_thumbnails(thumbnails)
    parts = {}
    for task in run.tasks:
        samples = read_samples(folder, task.id)
        figures = _task_figures(run, task, samples)
        parts[task.id] = _card_parts(
            task, samples, figures, thumbnails, _pairs(task, samples, of_pairs)
        )
        drawn += [*figures, *_answer_figures(run, task)]
    paired = _paired(folder)
    specs = {task.id: task.spec for task in run.tasks if task.spec is not None}
    pairs = agreements(measures(run.results, specs, paired))
    html = report_html(
        run,
        parts=parts,
        sections=run_sections(run, paired, pairs),
        origin=origin,
    )
    return RunPage(html, tuple(drawn))


def _task_figures(run: RunView, task: TaskView, samples: Rows) -> list[PageFigure]:
    """Return the figures of a test, without those that have no data."""
    drawn = []
    for number, spec in enumerate(task.shown.figures, start=1):
        figure = draw(spec, task, samples)
        if figure is not None:
            about = f"{run.name}, {task.name}"
            name = f"{task.id}-{number}"
            drawn.append(PageFigure(name, about, figure, facts_of_task(task)))
    return drawn


def _answer_figures(run: RunView, task: TaskView) -> list[PageFigure]:
    """Return the bars of who is shown, a figure for each question about people.

    The page has them as part of the test's card.
    """
    drawn = []
    taken: set[str] = set()
    for shown in task.prompts:
        counted = shown.counted
        is_answered = any(row.most is not None for row in shown.rows)
        if not is_answered or not about_people(counted.attribute):
            continue
        name = _distinct(_file_name(counted.attribute), taken)
        taken.add(name)
        drawn.append(
            PageFigure(
                name=f"{task.id}-shown-{name}",
                about=f"{run.name}, {task.name}",
                figure=who_is_shown(shown),
                facts=facts_of_answers(task, shown),
            )
        )
    return drawn


def _file_name(attribute: str) -> str:
    """Return the name of a question as part of a file's name, such as 'person-skin-tone'."""
    return re.sub(r"[^a-z0-9]+", "-", attribute.casefold()).strip("-")


def _distinct(name: str, taken: Container[str]) -> str:
    """Return a name, with the first number from 2 on that makes it a new one if it is taken.

    Examples:
        >>> _distinct("person-age", {"person-age", "person-age-2"})
        'person-age-3'
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def _card_parts(
    task: TaskView,
    samples: Rows,
    figures: Sequence[PageFigure],
    thumbnails: Thumbnails,
    pairs: tuple[EditedPairs, ...],
) -> CardParts:
    tiles = of_prompts(task, samples, thumbnails)
    # A source image and its edit say more beside each other than an edit alone.
    is_pictured = bool(tiles or pairs)
    return CardParts(
        figures=tuple(map(_figure, figures)),
        tiles=tiles,
        evidence=None if is_pictured else evidence(task, samples, thumbnails),
        pairs=pairs,
    )


def _pairs(
    task: TaskView, samples: Rows, thumbnails: Thumbnails
) -> tuple[EditedPairs, ...]:
    """Return source images beside edits of them; empty for a test that edits no images."""
    report = edit_report(task.result.details)
    if report is None:
        return ()
    return edited_pairs(task.id, report, samples, thumbnails)


def _figure(drawn: PageFigure) -> Markup:
    """Return a figure of a card as HTML, with its data as a link."""
    figure = drawn.figure
    link = csv_link(drawn.name, figure.head, figure.rows)
    return fragment("figure.html", drawn=figure, link=link)


def _paired(folder: Path) -> Mapping[str, PairedTask]:
    """Return the influences that a run folder stores for each task; empty if unreadable."""
    with contextlib.suppress(T2IBenchError):
        return read_paired(folder)
    return {}
