"""The content of a test's card on a report page, ready for the HTML templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from t2ibench.decimals import decimal
from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import (
    ShownAttribute,
    ShownRow,
    sorted_rows,
)
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.registry import needs
from t2ibench.reports.cells import score_words
from t2ibench.reports.class_bars import ClassKey, StackPart, class_key, stack_parts
from t2ibench.reports.exclusions import excluded_of, reasons_said
from t2ibench.reports.figures.answer_bars import answers_table
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.design_sections import WordingsSection, wordings_section
from t2ibench.reports.html.edit_pictures import EditedPairs
from t2ibench.reports.html.edit_section import EditsView, edits_view
from t2ibench.reports.html.evidence import Tile
from t2ibench.reports.html.marks import tone, value_text
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.html.prompt_sections import GroupsView, groups_view
from t2ibench.reports.sentences import (
    clear_count_text,
    controls_by_reader,
    image_count_text,
    interval_text,
    row_spoken,
    task_ends,
)
from t2ibench.reports.view import RowView, SeriesView, TaskView
from t2ibench.results.display import IntervalMark
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.states import STATES
from t2ibench.settings import Settings

_OPEN_ROWS = 30  # rows of a card that may be open
_MANY_EXCLUDED = 0.2  # of the images of a test, from which on its card says so
_PROMPTS = 5  # named
_MANY_ROWS = 24  # of a card, from which on its figures go to the right
_LONG_NAME = 24  # letters of a row's name, for which names get more room
_CUT_NAME = 16  # letters of a row's name that are always seen

TilesByRow = Mapping[tuple[str, str], Sequence[Tile]]


@dataclass(frozen=True, slots=True)
class CardParts:
    """The parts of a card that are made from a run's files: figures and images.

    Attributes:
        figures: Its figures, as HTML.
        tiles: Images of each prompt that a judge was asked about, by question and prompt.
        evidence: Images behind its number, as HTML.
        pairs: Source images beside edits of them.
    """

    figures: tuple[Markup, ...] = ()
    tiles: TilesByRow = field(default_factory=dict)
    evidence: Markup | None = None
    pairs: tuple[EditedPairs, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswersView:
    """The answers of a judge about the images of one prompt, as counts and as a bar.

    Attributes:
        name: The prompt.
        short: The prompt without what all have in common.
        clear: Whether one class is clearly more frequent.
        counts: How many images show what, in words.
        parts: The same as a bar.
        remarks: Interval, human labels and reference values.
        tiles: Some of its images.
    """

    name: str
    short: str
    clear: bool
    counts: str
    parts: tuple[StackPart, ...]
    remarks: tuple[str, ...]
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """The answers to one question about each prompt, with the colours of the classes."""

    attribute: str
    key: tuple[ClassKey, ...]
    rows: tuple[AnswersView, ...]
    link: Markup


@dataclass(frozen=True, slots=True)
class SeriesRowView:
    """A row of a card: a stimulus, word, target or question with its value."""

    name: str
    title: str
    clear: bool
    mark: IntervalMark
    spoken: str
    tone: str
    value: str


@dataclass(frozen=True, slots=True)
class CardSeriesView:
    """The rows of a card that lie on one axis, with its poles.

    Attributes:
        noun: What a row is.
        counts: How many rows lean clearly.
        poles: The words at both ends; None where there is a size but no direction.
        wide: Whether names get more room.
        rows: The rows, from the lowest to the highest.
        link: The same as CSV.
    """

    noun: str
    counts: str
    poles: Axis | None
    wide: bool
    rows: tuple[SeriesRowView, ...]
    link: Markup


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A value that a paper published for another model, beside the value of this run."""

    model: str
    score: str
    published: str
    here: str
    source: str


@dataclass(frozen=True, slots=True)
class ControlLine:
    """The result of one control of a test, as read by one encoder or judge."""

    reader: str
    text: str
    contradicts: bool


@dataclass(frozen=True, slots=True)
class MethodView:
    """How a test was measured: its formula, prompts, citation, limits and controls."""

    formula: str
    source: str
    estimand: str
    interval: str
    prompts: str
    citation: str
    limits: tuple[str, ...]
    controls: tuple[ControlLine, ...]


@dataclass(frozen=True, slots=True)
class CardView:
    """Everything that a test's card shows.

    Attributes:
        id: The test's id, which is its place on the page.
        name: What pages call it.
        family: The title of its method.
        size: How many images and prompts it is based on.
        open: Whether the card is open from the start.
        value: Its headline.
        tone: The class of the headline.
        scale: What the headline is.
        ends: Its interval.
        sentence: Its result in words.
        excluded: How many of its images are excluded; empty where that is little.
        description: What it asks; empty where its file is not at hand.
        questions: Who is shown as what.
        judges: Who answered; empty where nobody was asked.
        series: Its rows.
        left: Figures below the rows.
        right: Figures beside them.
        evidence: Images behind its number.
        published: Published values beside this run's.
        groups: By groups of prompts; None if nothing is known of them.
        wordings: By wording; None if it compares none.
        edits: Who is changed by edits; None if it edits no images.
        method: How it was measured.
    """

    id: str
    name: str
    family: str
    size: str
    open: bool
    value: str
    tone: str
    scale: str
    ends: str
    sentence: str
    excluded: str
    description: str
    questions: tuple[QuestionView, ...]
    judges: str
    series: tuple[CardSeriesView, ...]
    left: tuple[Markup, ...]
    right: tuple[Markup, ...]
    evidence: Markup | None
    published: tuple[PublishedValue, ...]
    groups: GroupsView | None
    wordings: WordingsSection | None
    edits: EditsView | None
    method: MethodView


def card_view(
    task: TaskView,
    family: str,
    *,
    parts: CardParts | None = None,
    is_open: bool = False,
    says_excluded: bool = True,
) -> CardView:
    """Return everything that a test's card shows."""
    parts = parts or CardParts()
    left = _left_figures(task, parts)
    right = tuple(figure for figure in parts.figures if figure not in left)
    description = task.spec.description if task.spec is not None else ""
    questions = tuple(_question(shown, parts.tiles) for shown in task.prompts)
    return CardView(
        id=task.id,
        name=task.name,
        family=family,
        size=image_count_text(task),
        open=is_open,
        value=value_text(task.mark),
        tone=tone(task.mark),
        scale=task.scale,
        ends=task_ends(task),
        sentence=task.sentence,
        excluded=_excluded(task) if says_excluded else "",
        description=description,
        questions=questions,
        judges=_judges(task),
        series=tuple(_series(series) for series in task.combined),
        left=left,
        right=right,
        evidence=parts.evidence,
        published=tuple(published(task)),
        groups=groups_view(task),
        wordings=wordings_section(task),
        edits=edits_view(task, parts.pairs),
        method=_method(task),
    )


def is_short(task: TaskView) -> bool:
    """Return whether a card has so few rows that a page may show it open from the start."""
    answers = sum(len(shown.rows) for shown in task.prompts)
    rows = sum(len(series.rows) for series in task.combined)
    return answers + rows <= _OPEN_ROWS


def _excluded(task: TaskView) -> str:
    """Return how many images of a test are excluded and why; "" if at most a fifth are."""
    total, by_reason = excluded_of(task.result)
    n_excluded = sum(by_reason.values())
    if n_excluded <= _MANY_EXCLUDED * total:
        return ""
    return f"{n_excluded:,} of {total:,} images ({reasons_said(by_reason)})"


def _judges(task: TaskView) -> str:
    """Return a sentence on which judges answered about a test's images; "" if none was asked."""
    if task.result.settings.judges or task.prompts:
        return judges_said(task.result)
    return ""


def _left_figures(task: TaskView, parts: CardParts) -> tuple[Markup, ...]:
    """Return the figures for a card's left column, as many as balance the two columns."""
    rows = sum(len(series.rows) for series in task.combined)
    if rows > _MANY_ROWS:
        return parts.figures[1:]
    if parts.evidence:
        return parts.figures[:2]
    return () if task.combined else parts.figures[:1]


def _question(shown: ShownAttribute, tiles: TilesByRow) -> QuestionView:
    attribute = shown.counted.attribute
    unanswered = any(row.counted.unanswered for row in shown.rows)
    rows = [_answers(row, shown, tiles) for row in sorted_rows(shown)]
    return QuestionView(
        attribute=attribute,
        key=class_key(shown.counted.classes, attribute, unanswered=unanswered),
        rows=tuple(rows),
        link=_answers_link(shown),
    )


def _answers_link(shown: ShownAttribute) -> Markup:
    """Return the counts of answers about each prompt as a link to CSV."""
    heads, rows = answers_table(shown)
    return csv_link(f"shown {shown.counted.attribute}", heads, rows)


def _answers(row: ShownRow, shown: ShownAttribute, tiles: TilesByRow) -> AnswersView:
    name = row.counted.name
    return AnswersView(
        name=name,
        short=row.short,
        clear=row.clear,
        counts=counts_text(row),
        parts=stack_parts(row, shown.counted.classes),
        remarks=tuple(_remarks(row, shown)),
        tiles=tuple(tiles.get((shown.counted.attribute, name), ())),
    )


def _remarks(row: ShownRow, shown: ShownAttribute) -> Iterator[str]:
    """Yield remarks on a prompt's answers: their interval, people's labels, reference shares."""
    if row.interval:
        low, high = (round(100 * end) for end in row.interval)
        not_clear = "" if row.clear else ", not clear"
        yield f"{people(row.most or '', row.about)} {low} to {high} %{not_clear}"
    labels = [
        f"{count} {people(name, row.about)}"
        for name, count in row.counted.labels.items()
        if count
    ]
    for number, label in enumerate(labels):
        begin = "" if number else "people: "
        end = "" if number == len(labels) - 1 else ","
        yield f"{begin}{label}{end}"
    for name, share in row.counted.known.items():
        reference = shown.counted.references.get(name, "known")
        yield f"{reference}: {round(100 * share, 1)} % {people(name, row.about)}"


def _series(series: SeriesView) -> CardSeriesView:
    axis = series.series.axis
    poles = None
    if axis is not None:
        poles = Axis(people(axis.low, "people"), people(axis.high, "people"))
    return CardSeriesView(
        noun=series.series.noun,
        counts=clear_count_text(series),
        poles=poles,
        wide=max(len(row.name) for row in series.rows) > _LONG_NAME,
        rows=tuple(_series_row(row, series) for row in series.rows),
        link=_series_link(series),
    )


def _series_link(series: SeriesView) -> Markup:
    """Return the rows of a series as a link to CSV."""
    noun = series.series.noun
    heads = [noun, "group", "value", "low", "high", "shows"]
    rows = [
        [
            row.name,
            row.group,
            row.mark.value,
            row.mark.low,
            row.mark.high,
            STATES[row.mark.state].word,
        ]
        for row in series.rows
    ]
    return csv_link(f"by {noun}", heads, rows)


def _series_row(row: RowView, series: SeriesView) -> SeriesRowView:
    mark = row.mark
    number = plain if series.series.square else signed
    return SeriesRowView(
        name=row.name,
        title=row.name if len(row.name) > _CUT_NAME else "",
        clear=mark.state == "clear",
        mark=mark,
        spoken=row_spoken(row, series.series.axis),
        tone=tone(mark),
        value=f"{number(mark.value)}{mark.scale.unit}",
    )


def _method(task: TaskView) -> MethodView:
    result = task.result
    spec = task.spec
    controls = [
        ControlLine(reader, control.says, control.contradicts is not None)
        for reader, _, control in controls_by_reader(result)
    ]
    prompts = named_prompts(task) if spec is not None else ""
    citation = spec.citation if spec is not None else ""
    return MethodView(
        formula=task.shown.formula,
        source=task.shown.source,
        estimand=estimand(task),
        interval=interval_text(task),
        prompts=prompts,
        citation=citation,
        limits=(*result.warnings, *result.notes),
        controls=tuple(controls) if result.controls else (),
    )


def estimand(task: TaskView) -> str:
    """Return a sentence on the quantity that a test's headline estimates."""
    return method_named(task.result.method).estimand


def named_prompts(task: TaskView) -> str:
    """Return up to five of a test's prompts as text, and how many more there are."""
    assert task.spec is not None
    needed = needs(task.spec, Settings.of(task.result.settings))
    texts = [need.prompt for need in (*needed.prompts, *needed.sources)]
    texts = texts or list(needed.texts)
    shown = ", ".join(f"“{text}”" for text in texts[:_PROMPTS])
    more = len(texts) - _PROMPTS
    return f"{shown} and {more:,} more" if more > 0 else shown


def published(task: TaskView) -> Iterator[PublishedValue]:
    """Yield each published value of other models, beside this run's value of the same score."""
    for entry in task.result.published:
        for name, value in entry["scores"].items():
            score = task.result.scores.get(name)
            here = score.value if score is not None else None
            yield PublishedValue(
                model=entry["model"],
                score=score_words(name),
                published=decimal(value, 3),
                here="–" if here is None else decimal(here, 3),
                source=entry["source"],
            )
