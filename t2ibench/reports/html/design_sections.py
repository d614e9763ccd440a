"""Report sections on how tests depend on wording, compare parts, and what they can detect."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.wording_report import PartScore, WordingReport
from t2ibench.power.designs import Reach, reach
from t2ibench.power.pilots import pilot_of
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.score_rows import ScoreTableView, score_table_views
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import root
from t2ibench.results.paired import PairedTask

_REPORTS = TypeAdapter(list[WordingReport])
_NO_LANGUAGE = "–"
_INCONCLUSIVE = "No estimate: the test was inconclusive."
_NO_VARIATION = "No estimate: the variation is not known."
_NO_FILE = "No estimate: its task file is not here."
_MORE_PROMPTS = "needs more prompts; more images would not help"


@dataclass(frozen=True, slots=True)
class WordingRow:
    """A test's headline in prompts of one wording, or of one language."""

    name: str
    language: str
    value: str
    interval: str
    reason: str


@dataclass(frozen=True, slots=True)
class WordingsView:
    """How a test's headline differs between wordings and languages.

    Attributes:
        pair: The pair of groups that is compared; empty where there is one alone.
        brief: The lowest and the highest headline of a wording.
        sentence: The result in words.
        by_language: Whether some rows are of whole languages.
        has_languages: Whether rows name their language.
        has_reasons: Whether some row has no value, and says why.
        rows: Languages, then wordings.
    """

    pair: str
    brief: str
    sentence: str
    by_language: bool
    has_languages: bool
    has_reasons: bool
    rows: tuple[WordingRow, ...]


def wordings_of(task: TaskView) -> list[WordingsView]:
    """Return how a test's headline depends on wording; empty if it compares no wordings."""
    return [_wordings(report) for report in _wording_reports(task)]


@dataclass(frozen=True, slots=True)
class WordingsSection:
    """A test in each of its wordings, in its card.

    Attributes:
        tests: What is compared, one table each.
        link: Saves them as CSV.
    """

    tests: tuple[WordingsView, ...]
    link: Markup


def wordings_section(task: TaskView) -> WordingsSection | None:
    """Return the part of a test's card on its wordings; None if it compares none."""
    tests = wordings_of(task)
    if not tests:
        return None
    heads = ["pair", "wording", "language", "headline", "interval", "why not"]
    rows = [
        [test.pair, row.name, row.language, row.value, row.interval, row.reason]
        for test in tests
        for row in test.rows
    ]
    link = csv_link(f"{task.id} by wording", heads, rows)
    return WordingsSection(tuple(tests), link)


def _wording_reports(task: TaskView) -> list[WordingReport]:
    """Return a test's results for each wording; empty if its method stores none in this form."""
    try:
        return _REPORTS.validate_python(task.result.details.get("wording", []))
    except ValidationError:
        return []


def _wordings(report: WordingReport) -> WordingsView:
    is_square = report.scale == "mean_square"
    parts = [*report.by_language, *report.by_wording]
    rows = tuple(_wording_row(part, is_square) for part in parts)
    return WordingsView(
        pair=report.pair or "",
        brief=_range(report, is_square),
        sentence=report.sentence,
        by_language=bool(report.by_language),
        has_languages=any(row.language != _NO_LANGUAGE for row in rows),
        has_reasons=any(row.reason for row in rows),
        rows=rows,
    )


def _range(report: WordingReport, is_square: bool) -> str:
    """Return the lowest and the highest headline of a wording; a dash where none has one."""
    values = [
        (root(part.value) if is_square else part.value) or 0.0
        for part in report.by_wording
        if part.value is not None
    ]
    if not values:
        return _NO_LANGUAGE
    shown = plain if is_square else signed
    return f"{shown(min(values))} to {shown(max(values))}"


def _wording_row(part: PartScore, is_square: bool) -> WordingRow:
    low = part.ci_low
    value = part.value
    high = part.ci_high
    if is_square:
        low = root(low)
        value = root(value)
        high = root(high)
    shown = plain if is_square else signed
    several = f" ({part.wordings} wordings)" if part.wordings > 1 else ""
    has_interval = value is not None and low is not None
    return WordingRow(
        name=f"{part.name}{several}",
        language=part.language or _NO_LANGUAGE,
        value=shown(value),
        interval=f"{shown(low)} to {shown(high)}" if low is not None else "–",
        reason="" if has_interval else part.reason or "",
    )


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A table of scores that compares parts of one test, such as grammatical forms."""

    id: str
    test: str
    table: ScoreTableView
    link: Markup


def score_tables_section(run: RunView) -> Markup | None:
    """Return the section of comparisons within tests, such as of forms; None if there are none."""
    comparisons = [
        ComparisonView(
            task.id, task.name, table, csv_link(table.title, table.heads, table.rows)
        )
        for task in run.tasks
        for table in score_table_views(task.result)
    ]
    if not comparisons:
        return None
    return fragment("score_tables.html", comparisons=comparisons)


@dataclass(frozen=True, slots=True)
class PowerRow:
    """The smallest lean that a test can detect, and how many images would halve its interval.

    Attributes:
        missing: Why there is no estimate; empty where there is one.
        width: The length of the meter, in per cent; empty without an estimate.
        over: Whether it sees no lean, however large.
        effect: The smallest lean.
        half: Half of its interval.
        now: Images a prompt, at present.
        advice: What would halve its interval.
    """

    missing: str
    width: str = ""
    over: bool = False
    effect: str = ""
    half: str = ""
    now: int | None = None
    advice: str = ""


def power_row(task: TaskView, paired: PairedTask | None) -> PowerRow:
    """Return the smallest lean that a test detects; why it is unknown where it is."""
    if task.spec is None:
        return PowerRow(missing=_NO_FILE)
    reached, now = _reach(task, paired)
    if reached is None:
        missing = _INCONCLUSIVE if task.result.inconclusive else _NO_VARIATION
        return PowerRow(missing=missing)
    effect = reached.effect
    sees = effect is not None and 0 < effect < 1
    images = f"{reached.images} images a prompt" if reached.images else _MORE_PROMPTS
    return PowerRow(
        missing="",
        width=str(round(100 * effect if sees and effect is not None else 100, 1)),
        over=not sees,
        effect=plain(effect) if sees else "none",
        half=plain(reached.half),
        now=now,
        advice=images,
    )


def _reach(
    task: TaskView, paired: PairedTask | None
) -> tuple[Reach | None, int | None]:
    """Return what a test can detect, and its images per prompt; None for what is unknown."""
    assert task.spec is not None
    parts = paired.headline if paired is not None else ()
    try:
        pilot = pilot_of(task.spec, task.result, parts, "this run")
        if pilot is None or task.mark.value is None:
            return None, None
        return reach(pilot, task.distance), pilot.size.images
    except T2IBenchError:
        # The run has no variance to start from.
        return None, None
