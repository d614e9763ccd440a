"""Contents of the leaderboard's pages about models and tests, ready for HTML templates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from t2ibench.apps.leaderboard.chosen import choice_of_seed, choice_of_settings
from t2ibench.apps.leaderboard.downloads import identity, ran_as
from t2ibench.apps.leaderboard.pictures import file_on_site
from t2ibench.apps.leaderboard.ranks import Rank
from t2ibench.apps.leaderboard.table import Entry, Stratum, question_key
from t2ibench.apps.leaderboard.views import (
    BESIDE,
    FamilyCell,
    Item,
    ItemTable,
    Model,
    item_tables,
)
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.describe import counts_text
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.class_bars import ClassKey, StackPart, class_key, stack_parts
from t2ibench.reports.html.marks import TaskRowView, task_row_view, tone
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.sentences import ends, row_spoken
from t2ibench.reports.view import RowView, TaskView
from t2ibench.results.display import IntervalMark
from t2ibench.results.judge_checks import judges_said

_BARS = 6  # prompts whose answers a row of the first page shows, at most
_QUESTIONS = 2  # questions of which it does
NOT_CHECKED = "not checked against the model"
_PICTURES = 4  # of a model on a test's page
_FEW_FAMILIES = 4  # below which a table is narrow


@dataclass(frozen=True, slots=True)
class RankView:
    """A model's overall rank over all families, as text and as positions of a bar.

    Attributes:
        text: The rank, or the range of ranks.
        words: The same in words, with the number of models.
        among: How many models are ranked.
        start: Where the bar of the range begins, as a share of the models.
        end: Where it ends.
        middle: The middle of the range, by which a table is sorted.
    """

    text: str
    words: str
    among: int
    start: float
    end: float
    middle: float


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model's name, origin and verification level, for table rows and its own page.

    Attributes:
        id: The submission.
        name: The model's name, with nothing hidden in it.
        level: How far it was checked.
        choice: Who chose what was measured.
        seed: Where the seed of its images comes from.
        regenerated_parts: What was made again, of how many; empty where nothing was.
        tilt_check: What the check for tilted embeddings could have noticed; empty where nothing
            was made again.
        is_toy: Whether it draws simple pictures with biases that were put in.
        weights: Whether its weights are open.
        readers: The encoder or judge that read its images.
        submitted: When it was submitted; empty where that is not stated.
        ran_as: What was given to --model, with its arguments.
        ran: The same in short, with who states it.
        rank: Its rank over families; None without one.
        unranked: Why it has no rank.
    """

    id: str
    name: str
    level: str
    choice: str
    seed: str
    regenerated_parts: str
    tilt_check: str
    is_toy: bool
    weights: str
    readers: str
    submitted: str
    ran_as: str
    ran: str
    rank: RankView | None
    unranked: str


def model_view(model: Model) -> ModelView:
    """Return a model's name, origin and verification level, for table rows and its own page."""
    entry = model.entry
    card = entry.manifest.card
    return ModelView(
        id=entry.id,
        name=model.name,
        level=entry.verdict.level,
        choice=choice_of_settings(entry.manifest, entry.results),
        seed=choice_of_seed(entry.manifest, entry.results),
        regenerated_parts="; ".join(entry.verdict.regenerated_parts()),
        tilt_check=entry.verdict.tilt_check,
        is_toy=entry.toy,
        weights=card.weights or "weights: not stated",
        readers=model.stratum.readers,
        submitted=card.submitted or "",
        ran_as=ran_as(entry),
        ran=_ran(entry),
        rank=_rank(entry.overall),
        unranked=entry.why or "",
    )


def _ran(entry: Entry) -> str:
    """Return the model that was run as text, marked 'stated' unless its images were reproduced."""
    if "model" in entry.verdict.unconfirmed:
        return "images from the submitter"
    qualifier = "" if "reproduced" in entry.verdict.level else "stated: "
    return f"{qualifier}--model {identity(entry)['ran']}"


def _rank(rank: Rank | None) -> RankView | None:
    if rank is None:
        return None
    return RankView(
        text=rank.text,
        words=rank.words,
        among=rank.among,
        start=round((rank.best - 1) / rank.among, 4),
        end=round(rank.worst / rank.among, 4),
        middle=(rank.best + rank.worst) / 2,
    )


@dataclass(frozen=True, slots=True)
class PictureView:
    """A picture of a model.

    Attributes:
        file: Its file below the site's folder.
        prompt: What the image that it is said to show was made from.
        unchecked: What a reader has to know where that image was not made again; else empty.
    """

    file: str
    prompt: str
    unchecked: str


def picture_views(model: Model, task: str | None = None) -> list[PictureView]:
    """Return the pictures that a model's submission shows: of one test, or all of them."""
    entry = model.entry
    checked = set(entry.verdict.checked_pictures)
    return [
        PictureView(
            file=file_on_site(entry.id, picture.sha256),
            prompt=picture.prompt,
            unchecked="" if picture.sha256 in checked else NOT_CHECKED,
        )
        for picture in entry.verdict.pictures
        if task is None or task in picture.tasks
    ]


@dataclass(frozen=True, slots=True)
class CellView:
    """A model's score in one family of tests, as a cell of its table row.

    Attributes:
        family: The family's id.
        sort: The number by which a table is sorted; empty where there is none.
        ran: Whether the model ran it.
        mark: The root mean square lean; without a value where it is not known.
        spoken: All of it in a sentence.
        without_number: The text where there is no number.
        value: The number.
        clear: Whether one of its tests is clear.
        counted: How many of its tests are clear.
        toward: Which way the strongest leans.
    """

    family: str
    sort: str
    ran: bool
    mark: IntervalMark
    spoken: str = ""
    without_number: str = ""
    value: str = ""
    clear: bool = False
    counted: str = ""
    toward: str = ""


def _cell(family: str, cell: FamilyCell | None) -> CellView:
    if cell is None:
        empty = IntervalMark(None, None, None, "no_score", None)
        return CellView(family=family, sort="", ran=False, mark=empty)
    square = cell.cell.square
    mark = cell.mark
    return CellView(
        family=family,
        sort="" if square is None else str(round(square, 4)),
        ran=True,
        mark=mark,
        spoken=cell.sentence,
        without_number="failed its check" if cell.cell.inconclusive else "no number",
        value="" if mark.value is None else plain(mark.value),
        clear=mark.state == "clear",
        counted=cell.counted,
        toward=cell.toward,
    )


@dataclass(frozen=True, slots=True)
class StackView:
    """The classes that a judge saw in a model's images of one prompt, as parts of a bar."""

    spoken: str
    parts: tuple[StackPart, ...]


def answers_of(item: Item, row: ShownRow, table: ItemTable) -> StackView:
    """Return the answers about a model's images of one prompt as a bar."""
    return StackView(
        spoken=f"{item.name}: {counts_text(row)}",
        parts=stack_parts(row, table.classes),
    )


@dataclass(frozen=True, slots=True)
class AnswersCell:
    """A model's answers to one question on the first page.

    `stacks` has None for a prompt that the model did not run; `rank` is its rank in this question.
    """

    stacks: tuple[StackView | None, ...]
    rank: RankView | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A model's row on the first page: its answers for each prompt, and its score in each family.

    Attributes:
        model: The model.
        answers: Its answers, question by question, and what its rank is in each.
        cells: Its score in each family.
    """

    model: ModelView
    answers: tuple[AnswersCell, ...]
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True)
class AnswersColumn:
    """A column of the first page for one question: its title, prompts and the classes' colours."""

    title: str
    key: tuple[ClassKey, ...]
    prompts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyColumn:
    """A column of the first page for a family of tests; `far` labels the right end of its axis."""

    family: str
    title: str
    tests: str
    far: str


@dataclass(frozen=True, slots=True)
class BoardTable:
    """A table of the first page, of the models that were measured in the same way."""

    id: str
    title: str
    settings: str
    is_ranked: bool
    is_narrow: bool
    questions: tuple[AnswersColumn, ...]
    families: tuple[FamilyColumn, ...]
    rows: tuple[BoardRow, ...]


def board_table(
    stratum: Stratum,
    models: Sequence[Model],
    titles: Mapping[str, str],
    tasks: Sequence[str],
) -> BoardTable:
    """Return the first page's table of the models in one stratum.

    Args:
        stratum: What its models have in common.
        models: All models of the leaderboard.
        titles: Family to what pages call it.
        tasks: The ids of all tests.
    """
    members = [model for model in models if model.stratum is stratum]
    families = tuple(
        _family_column(family, members, titles) for family in stratum.families
    )
    # There is room for who is shown, of tests with few prompts.
    tables = _few_answers(members, tasks) if len(families) == 1 else []
    rows = tuple(_board_row(model, stratum, tables) for model in members)
    ranked = sum(model.entry.overall is not None for model in members)
    short = "Short runs: " if "fewer than asked for" in stratum.settings else ""
    settings = f"{short}{stratum.settings}"
    settings = f"{settings[:1].upper()}{settings[1:]}"
    return BoardTable(
        id=stratum.id,
        title=stratum.title,
        settings=settings,
        is_ranked=ranked > 1,
        is_narrow=len(stratum.families) < _FEW_FAMILIES,
        questions=tuple(_answers_columns(tables)),
        families=families,
        rows=rows,
    )


def _few_answers(models: Sequence[Model], tasks: Sequence[str]) -> list[ItemTable]:
    """Return up to two tables of answers about so few prompts that they fit the first page."""
    tables = [
        table
        for name in tasks
        for table in item_tables(models, name, len(models))
        if table.classes and len(table.items) <= _BARS
    ]
    # Prompts of one test stand in one order, whatever is asked about them.
    order: dict[str, int] = {}
    for table in tables:
        for item in table.items:
            order.setdefault(item.name, len(order))
    return [
        replace(
            table,
            items=tuple(sorted(table.items, key=lambda item: order[item.name])),
        )
        for table in tables[:_QUESTIONS]
    ]


def _family_column(
    family: str, models: Sequence[Model], titles: Mapping[str, str]
) -> FamilyColumn:
    cells = [model.cells[family].cell for model in models if family in model.cells]
    tests = max((cell.of for cell in cells), default=0)
    return FamilyColumn(
        family=family,
        title=titles[family],
        tests=f"{tests} test{'' if tests == 1 else 's'}",
        far="one-sided" if all(cell.rooted for cell in cells) else "most",
    )


def _answers_columns(tables: Sequence[ItemTable]) -> list[AnswersColumn]:
    columns: list[AnswersColumn] = []
    before: ItemTable | None = None
    for table in tables:
        noun = table.noun.capitalize()
        changed = before is not None and table.test != before.test
        columns.append(
            AnswersColumn(
                title=f"{noun}: {table.test}" if changed else noun,
                key=class_key(table.classes, table.noun),
                prompts=tuple(item.name for item in table.items),
            )
        )
        before = table
    return columns


def ranks_of_task(model: Model, task: str) -> list[str]:
    """Return a model's ranks in a test and in each of its questions, in words."""
    of_questions = question_key(task, "")
    ranks: list[str] = []
    for key, rank in model.entry.task_ranks.items():
        if key == task:
            ranks.insert(0, rank.words)
        elif key.startswith(of_questions):
            ranks.append(f"{key.removeprefix(of_questions)}: {rank.words}")
    return ranks


def _question_rank(model: Model, table: ItemTable) -> RankView | None:
    """Return a model's rank in a question; None where its test asks one only, or it has none."""
    key = question_key(table.id, table.noun)
    return _rank(model.entry.task_ranks.get(key))


def _board_row(model: Model, stratum: Stratum, tables: Sequence[ItemTable]) -> BoardRow:
    answers = []
    for table in tables:
        rows = [(item, item.rows.get(model.entry.id)) for item in table.items]
        stacks = tuple(
            answers_of(item, row, table) if isinstance(row, ShownRow) else None
            for item, row in rows
        )
        answers.append(AnswersCell(stacks, _question_rank(model, table)))
    return BoardRow(
        model=model_view(model),
        answers=tuple(answers),
        cells=tuple(
            _cell(family, model.cells.get(family)) for family in stratum.families
        ),
    )


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model's row in the table of one test's results.

    `more` is why it is inconclusive, `judges` who answered, `rank` its rank in this test, and
    `pictures` some of the images.
    """

    model: ModelView
    row: TaskRowView
    interval: str
    more: str
    judges: str
    rank: RankView | None
    pictures: list[PictureView]


@dataclass(frozen=True, slots=True)
class StratumTable:
    """The table of one test's results for the models that were measured in the same way."""

    id: str
    title: str
    settings: str
    rows: tuple[ModelRow, ...]


def stratum_tables(
    strata: Sequence[Stratum], models: Sequence[Model], task: str
) -> list[StratumTable]:
    """Return tables of a test's results, one for each stratum; the smallest leans come first."""
    having = by_closeness(models, task)
    tables = []
    for stratum in strata:
        rows = [
            _model_row(model, model.tasks[task])
            for model in having
            if model.stratum is stratum
        ]
        if rows:
            tables.append(
                StratumTable(stratum.id, stratum.title, stratum.settings, tuple(rows))
            )
    return tables


def by_closeness(models: Sequence[Model], task: str) -> list[Model]:
    """Return the models that ran a test, the one with the smallest lean first."""
    return sorted(
        (model for model in models if task in model.tasks),
        key=lambda model: _closeness(model, task),
    )


def _closeness(model: Model, task: str) -> tuple[bool, float, str]:
    """Return the key that sorts a test's models by lean; models without a number come last."""
    result = model.tasks[task].result
    square = result.headline.square
    has_none = square is None or bool(result.inconclusive)
    return has_none, math.inf if square is None else square, model.entry.id


def _model_row(model: Model, task: TaskView) -> ModelRow:
    result = task.result
    return ModelRow(
        model=model_view(model),
        row=task_row_view(task),
        interval=ends(task.mark),
        more=result.inconclusive or "",
        judges=judges_said(result) if result.settings.judges else "",
        rank=_rank(model.entry.task_ranks.get(task.id)),
        pictures=picture_views(model, task.id)[:_PICTURES],
    )


@dataclass(frozen=True, slots=True)
class ItemCell:
    """A model's result for one item of a test, as answers or as a value; empty if not run.

    Attributes:
        model: The model's name.
        answers: Who is shown.
        counts: The same in words.
        mark: The value of the item.
        spoken: The mark in words.
        value: The number.
        tone: The class of the number.
        clear: Whether the answers are clear.
    """

    model: str
    answers: StackView | None = None
    counts: str = ""
    mark: IntervalMark | None = None
    spoken: str = ""
    value: str = ""
    tone: str = ""
    clear: bool = False


@dataclass(frozen=True, slots=True)
class ItemTableView:
    """A table of a test's items, such as occupations, with a column for each model.

    Attributes:
        title: What the table shows.
        noun: What an item is, or what was asked.
        head: The head of the first column.
        counted: Whether answers were counted; else there is a mark for each item.
        key: The colours of the classes.
        square: Whether values are sizes without direction.
        poles: The words at both ends of the axis, where there is one.
        mixed: Whether its models were read by other encoders.
        cut: How many models it shows, where there may be more.
        models: The models.
        ranks: Each model's rank in this question; None where it has none.
        rows: Each item with the cells of all models.
    """

    title: str
    noun: str
    head: str
    counted: bool
    key: tuple[ClassKey, ...]
    square: bool
    poles: Axis | None
    mixed: bool
    cut: int
    models: tuple[ModelView, ...]
    ranks: tuple[RankView | None, ...]
    rows: tuple[tuple[str, tuple[ItemCell, ...]], ...]


def item_table_views(models: Sequence[Model], task: str) -> list[ItemTableView]:
    """Return tables of a test's items, such as occupations, for the test's page."""
    tables = item_tables(models, task)
    return [_item_table(table, is_only=len(tables) == 1) for table in tables]


def _item_table(table: ItemTable, is_only: bool) -> ItemTableView:
    counted = bool(table.classes)
    if counted:
        title = f"Who is shown: {table.noun}"
    else:
        title = "Item by item" if is_only else f"By {table.noun}"
    head = "Prompt" if counted else table.noun.capitalize()
    cut = BESIDE if len(table.models) == BESIDE else 0
    rows = []
    for item in table.items:
        cells = [_item_cell(item, model, table) for model in table.models]
        rows.append((item.name, tuple(cells)))
    strata = {model.stratum.id for model in table.models}
    return ItemTableView(
        title=title,
        noun=table.noun,
        head=head,
        counted=counted,
        key=class_key(table.classes, table.noun),
        square=table.square,
        poles=table.axis,
        mixed=len(strata) > 1,
        cut=cut,
        models=tuple(map(model_view, table.models)),
        ranks=tuple(
            _question_rank(model, table) if counted else None for model in table.models
        ),
        rows=tuple(rows),
    )


def _item_cell(item: Item, model: Model, table: ItemTable) -> ItemCell:
    row = item.rows.get(model.entry.id)
    if isinstance(row, ShownRow):
        return ItemCell(
            model=model.name,
            answers=answers_of(item, row, table),
            counts=counts_text(row),
            clear=row.clear,
        )
    if isinstance(row, RowView):
        number = plain if table.square else signed
        return ItemCell(
            model=model.name,
            mark=row.mark,
            spoken=f"{model.name}, {row_spoken(row, table.axis)}",
            value=f"{number(row.mark.value)}{row.mark.scale.unit}",
            tone=tone(row.mark),
        )
    return ItemCell(model=model.name)
