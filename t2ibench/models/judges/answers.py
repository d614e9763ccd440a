"""The judge `answers:FILE`: answers that people or another tool gave."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path

from pydantic import Field

from t2ibench.arguments import Arguments, Columns, Text
from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.judges.answer_report import (
    AnswerReport,
    Question,
    quoted,
    values_of,
)
from t2ibench.models.judges.answer_rows import (
    AnswerRows,
    ImageName,
    ImageRows,
    names_of_image,
    prompt_name,
)
from t2ibench.models.judges.class_words import UNSURE, class_named
from t2ibench.models.judges.question_column import (
    QuestionColumn,
    column_of,
    is_of,
    named_question,
)
from t2ibench.models.locations import is_file
from t2ibench.models.protocols import Answer, FurtherAnswers, Query
from t2ibench.store.answers import ANSWERS_BY, ANSWERS_IN
from t2ibench.store.images import StoredImage
from t2ibench.store.labels import labeller_name
from t2ibench.store.people_tables.cells import NOT_AVAILABLE
from t2ibench.store.people_tables.headings import heading_key
from t2ibench.store.people_tables.image_indexes import counted_from_one
from t2ibench.store.people_tables.reader import read_table
from t2ibench.store.user_paths import expanded

_OPTION = re.compile(r",(?=(?:by|sheet)=)")
_LABELLERS = 6  # that a message lists
_EXAMPLE = '{"prompt": "…", "index": 0, "answer": "…"}'


class AnswersArguments(Arguments):
    """The options of `answers:FILE` that --judge-args accepts.

    `columns` maps 'image', 'prompt', 'answer' or a word of a question to a heading; `sheet` names
    the sheet of a workbook.
    """

    columns: Columns = Field(default_factory=dict)
    sheet: Text | None = None


class AnswersJudge:
    """Looks answers up in a table (see models.protocols.Judge and LooksUp).

    Each row names its image by 'file' (relative to the file of answers), by 'sha256', or by
    'prompt' and 'index'. It has an 'answer', with its 'question' where several are asked; or each
    question has a column of its own, headed by the question or by a word of it ('gender'). If a
    column 'labeller' names the person `by`, only their rows are read. Runs with answers by the same
    person or people, `by`, can be compared.
    """

    def __init__(
        self, path: Path, by: str = "", arguments: AnswersArguments | None = None
    ) -> None:
        if not is_file(path):
            raise T2IBenchError(
                f"No such file: '{shown(path)}'.", "Check the path after answers:"
            )
        arguments = arguments or AnswersArguments()
        self.name = _name(path, by)
        self.batch_size = 256
        self._path = path
        self._headings = arguments.columns
        table = read_table(
            path,
            columns=arguments.columns,
            sheet=arguments.sheet,
            person=by,
            expected=_EXAMPLE,
        )
        self._by = by
        self._has_missing = False
        self._rows = AnswerRows(table, by)
        parts = {"adapter": "answers 5", "file": file_hash(path)}
        is_headed = any(is_of(column, by) for column in self._rows.columns)
        if self._rows.is_one_of_several or table.sheet_of or is_headed:
            parts["labeller"] = by.casefold()
        self.fingerprint = fingerprint(
            parts | {k: str(v) for k, v in arguments.given().items()}
        )
        self._column_of = cache(self._column)

    @cached_property
    def _by_image(self) -> dict[ImageName, ImageRows]:
        return self._rows.by_content()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return the file's answers; synonyms and other cases of a class count as that class."""
        return [self._answer_query(query) for query in queries]

    def _answer_query(self, query: Query) -> Answer:
        question = (query.question, tuple(query.classes))
        for name in names_of_image(query.sha256, query.prompt, query.index):
            rows = self._by_image.get(name)
            given = [] if rows is None else self._given(rows, question)
            if given:
                text = self._agreed(given, question)
                if not query.classes:
                    return Answer(text, text)
                return Answer(self._class_of(text, question) or UNKNOWN, text)
        return Answer(None, reason="the file has no answer")

    def _given(self, rows: ImageRows, question: Question) -> list[tuple[int, str]]:
        """Return line number and text of each answer to a question about one image."""
        name = self._column_of(question).name
        given = [] if name is None else rows.given(name)
        given = [
            answer for answer in given if not self._is_missing(answer[1], question)
        ]
        if (
            not given
            and not self._rows.wide
            and self._answers_without_question(question[1])
        ):
            given = rows.given("")
        return given

    def _is_missing(self, text: str, question: Question) -> bool:
        """Return whether an answer is R's mark of a missing value, and no class."""
        is_missing = text == NOT_AVAILABLE and self._class_of(text, question) is None
        self._has_missing = self._has_missing or is_missing
        return is_missing

    def _answers_without_question(self, classes: Sequence[str]) -> bool:
        """Return whether answers without a question may belong to one of these classes."""
        texts = self._rows.distinct("")
        words = [text for text in texts if text.casefold() not in UNSURE]
        return (
            not classes
            or not words
            or any(class_named(text, classes, texts) for text in words)
        )

    def _agreed(self, given: Sequence[tuple[int, str]], question: Question) -> str:
        """Return the answer that all rows about an image give; raise an error if they differ."""
        line, text = given[0]
        meant = self._class_of(text, question) or text.casefold()
        for other_line, other in given[1:]:
            if (self._class_of(other, question) or other.casefold()) != meant:
                column = self._column_of(question).name if self._rows.wide else "answer"
                raise T2IBenchError(
                    f"{self._rows.table.where(other_line)}: '{shown(column)}' is answered "
                    f"differently: '{shown(other, 60)}' here, '{shown(text, 60)}' in line {line}.",
                    self._one_answer_each(),
                )
        return text

    def _class_of(self, text: str, question: Question) -> str | None:
        """Return the class that a text in a question's column means; None if it means none."""
        name = self._column_of(question).name
        beside = self._rows.distinct("" if name is None else name)
        return class_named(text, question[1], beside)

    def _one_answer_each(self) -> str:
        """Return advice for two answers to one question about the same image."""
        labellers = self._rows.labellers
        if len(labellers) < 2 or self._rows.is_one_of_several:
            return "Keep one answer to each question about an image; one file for each person."
        column = shown(self._rows.table.find("labeller"))
        judges = ",".join(
            f"answers:{shown_path(self._path)},by={shown(name)}"
            for name in labellers[:_LABELLERS]
        )
        more = (
            f" and {len(labellers) - _LABELLERS} more"
            if len(labellers) > _LABELLERS
            else ""
        )
        return (
            f"The column '{column}' says who answered; make each person a judge: "
            f'--judge "{judges}"{more}.'
        )

    def _column(self, question: Question) -> QuestionColumn:
        if not self._rows.wide:
            name = named_question(
                question[0], self._rows.questions - {""}, self._headings
            )
            return QuestionColumn(name)
        columns = self._rows.columns
        column = column_of(
            *question,
            columns,
            self._rows.distinct,
            self._mapped,
            self._by,
            self._rows.is_about_people,
        )
        if column.name is not None:
            self._rows.check_used(column.name)
        elif column.candidates and column.by_heading:
            raise T2IBenchError(
                f"{self._rows.table.where()}: '{shown(question[0])}' may be answered by "
                f"{quoted(column.candidates)}{_about_people(column)}.",
                "Say which: --columns WORD=NAME, with a word of the question and the column's name "
                f"({'; '.join(values_of(self._rows, name) for name in column.candidates)}).",
            )
        return column

    @cached_property
    def _mapped(self) -> dict[str, str]:
        """Columns that the user assigned to words of questions, if the table has them."""
        table = self._rows.table
        columns = set(self._rows.columns)
        mapped = {
            name: table.mapped.get(heading_key(name), "") for name in self._headings
        }
        return {name: column for name, column in mapped.items() if column in columns}

    def further_answers(self, questions: Sequence[Question]) -> FurtherAnswers:
        """Return what the file answers besides these questions (see HasFurtherAnswers)."""
        columns = [self._column_of(question).name for question in questions]
        answered = {name for name in columns if name}
        every = self._rows.columns if self._rows.wide else sorted(self._rows.questions)
        unasked = [
            name
            for name in every
            if name and name not in answered and self._rows.has_classes(name)
        ]
        return FurtherAnswers(
            file=str(self._path),
            answered=tuple(name for name in every if name in answered),
            unasked=tuple(unasked),
        )

    # Checks before the first question

    def check_images(
        self, asked: Iterable[tuple[StoredImage, Sequence[Question]]]
    ) -> str | None:
        """Check the answers against a run's images; return notes for the user, None without notes.

        See models.protocols.LooksUp.
        """
        matched: set[int] = set()
        answers: dict[Question, Counter[str]] = {}
        first: StoredImage | None = None
        images: Counter[str] = Counter()
        for image, questions in asked:
            first = first or image
            images[image.prompt] += 1
            for name in names_of_image(image.sha256, image.prompt, image.index):
                rows = self._by_image.get(name)
                if rows is not None:
                    matched.update(line for line, _ in rows.answers)
                    self._count(rows, questions, answers)
        if first is None:
            return None
        self._check_any_answer()
        first_index = self._check_first_index(images)
        unmatched = self._unmatched(matched, first)
        report = AnswerReport(self._rows, self._column_of, self._class_of)
        report.check(answers)
        further = [f"{self.name}: {line}" for line in report.lines(answers)]
        missing = f"{self.name}: cells 'NA' count as not answered."
        lines = [*self._rows.table.notes, first_index, unmatched, *further]
        lines += [missing] if self._has_missing else []
        return " ".join(line for line in lines if line) or None

    def _check_any_answer(self) -> None:
        """Raise an error for a file without rows, or whose cells are lists or objects of JSON.

        Rows without an answer are allowed: a person has not answered yet.
        """
        table = self._rows.table
        if self._rows.by_name or (table.rows and not self._rows.columns_without_text):
            return
        what = "it has headings and no rows"
        if table.rows:
            nested = quoted(self._rows.columns_without_text)
            what = f"no row has an answer, and {nested} has no texts"
        raise T2IBenchError(
            " ".join([f"{table.where()}: {what}. {table.listed()}", *table.notes]),
            "A row names an image and has an 'answer', or columns headed by what is asked.",
        )

    def _check_first_index(self, images: Counter[str]) -> str | None:
        """Return a note on image indexes that start at 1, which would shift answers by one.

        Raise an error if they certainly do: an index is as large as the number of images, or each
        of several prompts has the indexes 1, 2, … without a gap.
        """
        indexes = self._rows.indexes
        if not indexes or min(indexes) != 1:
            return None
        beyond = [
            prompt
            for prompt, count in images.items()
            if prompt_name(prompt, count) in self._by_image
        ]
        where = self._rows.table.where()
        if not beyond and not self._rows.all_count_from_one():
            return (
                f"{where}: no row has the index 0, which is the first image of a prompt. If the "
                "indexes count from 1, each answer is read for the image behind its own."
            )
        example = (beyond or list(images))[0]
        hint = "Count from 0, or name images by 'file'."
        raise counted_from_one(where, indexes, example, images[example], hint)

    def _count(
        self,
        rows: ImageRows,
        questions: Sequence[Question],
        answers: dict[Question, Counter[str]],
    ) -> None:
        """Add the answers to the questions about one image to the counts in `answers`."""
        for question, classes in questions:
            key = (question, tuple(classes))
            counts = answers.setdefault(key, Counter())
            given = self._given(rows, key)
            if given:
                counts[self._agreed(given, key)] += 1

    def _unmatched(self, matched: set[int], image: StoredImage) -> str | None:
        """Return a sentence on rows that match no image; raise an error if none matches any."""
        by_name = self._rows.by_name.items()
        rows = [
            (line, name)
            for name, image_rows in by_name
            for line, _ in image_rows.answers
        ]
        left = sorted((line, name) for line, name in rows if line not in matched)
        if not left:
            return None
        line, (kind, value) = left[0]
        example = f"line {line} names the {kind} '{shown(value.partition(chr(0))[2] or value)}'"
        if self._rows.alike:
            example += f"; {quoted(self._rows.alike)} may be the same file here"
        if matched:
            verb = "matches" if len(left) == 1 else "match"
            return f"{self.name}: {len(left)} of {len(rows)} rows {verb} no image here; {example}."
        where = shown_path(self._path.parent.resolve())
        if not self._rows.is_any_file_there:
            example += (
                f", and no file that a row names is in '{where}' or a folder in it"
            )
        raise T2IBenchError(
            f"{self._path}: none of its {len(rows)} rows matches an image of this run; {example}.",
            f"A row names an image by its file, as seen from '{where}' (put the table beside the "
            f"images), by its SHA-256 ('{image.sha256}'), or by prompt and index "
            f"('{shown(image.prompt)}', {image.index}).",
        )


def judge_name(source: str) -> str:
    """Return the name of the judge that `answers:SOURCE` names, without reading its file.

    Examples:
        >>> judge_name("a/people.csv"), judge_name("people.csv,by= anna")
        ('answers:people.csv', 'answers by anna')
    """
    path, *options = _OPTION.split(source)
    given = dict(option.split("=", 1) for option in options)
    return _name(Path(path), given.get("by", "").strip())


def _name(path: Path, by: str) -> str:
    return f"{ANSWERS_BY}{by}" if by else f"{ANSWERS_IN}{path.name}"


def _create(request: Request[AnswersArguments]) -> AnswersJudge:
    path, *options = _OPTION.split(request.source)
    given = dict(option.split("=", 1) for option in options)
    by = labeller_name(given["by"], "answers: by=") if "by" in given else ""
    arguments = request.args
    if given.get("sheet"):
        arguments = arguments.model_copy(update={"sheet": given["sheet"]})
    return AnswersJudge(expanded(path), by, arguments)


ADAPTER = Adapter(
    create=_create,
    form="answers:FILE[,by=NAME]",
    description="answers that people or another tool gave, as CSV, XLSX or JSON",
    Args=AnswersArguments,
    check=_create,
    regenerates=False,
)


def _about_people(column: QuestionColumn) -> str:
    """Return a clause on the only candidate, which seems to describe who answered; else ''."""
    if len(column.candidates) > 1:
        return ""
    return ", which seems to describe the person who answered"
