"""Read the rows of a file of answers, grouped by the image that each is about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.judges.question_column import OF_PEOPLE
from t2ibench.store.file_errors import reading
from t2ibench.store.file_names import FileFinder, composed, visible_entries
from t2ibench.store.files import read_ordinary
from t2ibench.store.people_tables.cells import half_width
from t2ibench.store.people_tables.headings import heading_key
from t2ibench.store.people_tables.json_records import text_of
from t2ibench.store.people_tables.reader import Table

ImageName = tuple[str, str]  # 'SHA-256', 'file', 'sheet' or 'prompt', and its value
HASH = "SHA-256"
_FILE = "file"
_SHEET = "sheet"
_PROMPT = "prompt"
_MOST_ENTRIES = 200  # entries of the table's folder that are searched for images
_MOST_CLASSES = 12  # different answers to a question with classes
_SHA256 = re.compile("[0-9a-f]{64}")
# An index as spreadsheets and pandas write it: 1, 1.0, and 1,0 where the comma is decimal.
_INDEX = re.compile(r"'?([0-9]{1,9})(?:[.,]0*)?")
_FORMULA_MARK = re.compile("^'(?=[=+@-])")  # what `label export` puts before a formula
_NOT_ASKED = frozenset(
    {"id", "prompt", "index", "classes", "image", "sha256", "file", "path"}
)
_SHEET_COLUMNS = frozenset({"id", "file", "question", "classes", "answer"})


@dataclass(slots=True)
class ImageRows:
    """The rows about one image in a file of answers.

    Attributes:
        answers: The line of each row, and its answers by question or by heading.
    """

    answers: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)

    def given(self, name: str) -> list[tuple[int, str]]:
        """Return line number and text of each answer to a question or under a heading."""
        texts = ((line, answers.get(name, "")) for line, answers in self.answers)
        return [(line, text) for line, text in texts if text]


def question_key(question: str) -> str:
    """Return a question without case, extra spaces and final punctuation, to compare it.

    Examples:
        >>> question_key("What is  the Gender?") == question_key("what is the gender")
        True
    """
    plain = " ".join(composed(question).casefold().split()).rstrip("?:. ")
    return _FORMULA_MARK.sub("", plain)


def prompt_name(prompt: str, index: int) -> ImageName:
    """Return the name that a row may give an image: its prompt and its index."""
    return _PROMPT, f"{index}\0{' '.join(composed(prompt).split()).casefold()}"


def names_of_image(sha256: str, prompt: str, index: int) -> tuple[ImageName, ...]:
    """Return the names by which a row of a table may refer to an image, besides its file name."""
    return (HASH, sha256), (_SHEET, sha256[:16]), prompt_name(prompt, index)


class AnswerRows:
    """A table of answers about images.

    Attributes:
        wide: Whether each question has a column of its own; else there is a column 'answer'.
        columns: The headings under which answers may stand.
        by_name: The rows by the image's name, as the file gives it.
        questions: What a column 'question' calls the questions of its rows.
        is_any_file_there: Whether any named file exists, after a call of `by_content`.
        alike: Names in rows that may be the same file, after a call of `by_content`.
        indexes: The indexes of rows that name an image by its prompt.
        labellers: Who answered, according to a column of the table.

    Args:
        table: The table.
        by: Who answered. If a column of labellers names this person, only their rows are read.
    """

    def __init__(self, table: Table, by: str = "") -> None:
        self.table = table
        self._path = table.path
        self._image = table.find("image")
        self._prompt = table.find("prompt")
        self._index = table.find("index")
        self._is_sheet = set(map(heading_key, table.columns)) >= _SHEET_COLUMNS
        if self._image is None and self._prompt is None:
            raise table.lacks(
                "image",
                "a row needs its image ('file', 'sha256', or 'prompt' and 'index') and an 'answer' "
                "or columns headed by what is asked",
            )
        answer = table.find("answer")
        question = table.find("question") if answer is not None else None
        self.wide = answer is None
        used = {self._image, self._prompt, self._index}
        self.columns = [
            column
            for column in table.columns
            if column not in used and heading_key(column) not in _NOT_ASKED
        ]
        self.is_any_file_there = True
        self.alike: tuple[str, ...] = ()
        self.indexes: set[int] = set()
        self.questions: set[str] = set()
        self._no_text: dict[str, tuple[int, Mapping[str, object]]] = {}
        rows = self._rows_by(by)
        self._distinct: dict[str, frozenset[str]] = {}
        self.by_name: dict[ImageName, ImageRows] = {}
        for line, row in rows:
            if answer is None:
                answers = self._texts_of(line, row)
            else:
                text = table.text(line, row, answer)
                asked = question_key(table.text(line, row, question))
                answers = {asked: text} if text else {}
                self.questions.update(answers)
            if any(answers.values()):
                name = self._name(line, row)
                self.by_name.setdefault(name, ImageRows()).answers.append(
                    (line, answers)
                )

    def _rows_by(self, by: str) -> Sequence[tuple[int, Mapping[str, object]]]:
        """Return the rows of the person `by` if a column of labellers names them; else all rows."""
        table = self.table
        by_labeller = table.rows_by_labeller()
        self._by_labeller = by_labeller
        self.labellers = tuple(by_labeller)
        name = next(
            (name for name in by_labeller if name.casefold() == by.casefold()), None
        )
        self.is_one_of_several = len(by_labeller) > 1 and name is not None
        if name is None or not self.is_one_of_several:
            return table.rows
        rows = by_labeller[name]
        column = shown(table.find("labeller"))
        table.notes.append(
            f"{table.where()}: of its {len(table.rows)} rows the {len(rows)} are read of which "
            f"'{column}' is '{shown(name)}'."
        )
        nobody = table.rows_of_nobody()
        if nobody:
            verb = "row names" if len(nobody) == 1 else "rows name"
            table.notes.append(
                f"{table.where(nobody[0][0])}: {len(nobody)} {verb} nobody under '{column}', and "
                "count for nobody; write the name into every row."
            )
        return rows

    def _texts_of(self, line: int, row: Mapping[str, object]) -> dict[str, str]:
        """Return a row's filled cells as texts, keyed by heading; record those that are none."""
        texts = {}
        for column in self.columns:
            value = text_of(row.get(column))
            if value is None:
                self._no_text.setdefault(column, (line, row))
            elif value:
                texts[column] = value
        return texts

    @property
    def columns_without_text(self) -> tuple[str, ...]:
        """The headings of columns that have a cell which is no text, such as a JSON object."""
        return tuple(self._no_text)

    def check_used(self, column: str) -> None:
        """Raise an error for a column that exists twice or has a cell that is no text."""
        self.table.check_used(column)
        if column in self._no_text:
            line, row = self._no_text[column]
            self.table.text(line, row, column)

    def _name(self, line: int, row: Mapping[str, object]) -> ImageName:
        """Return the name by which a row refers to its image."""
        table = self.table
        name = table.text(line, row, self._image)
        # The images of a sheet are smaller copies, so they are named by the original's hash.
        if name and self._is_sheet:
            return _SHEET, PurePosixPath(name.replace("\\", "/")).stem
        if name:
            sha256 = name.lower()
            return (HASH, sha256) if _SHA256.fullmatch(sha256) else (_FILE, name)
        prompt = table.text(line, row, self._prompt)
        index = table.text(line, row, self._index) or "0"
        number = _INDEX.fullmatch(half_width(index))
        if prompt and number is not None:
            self.indexes.add(int(number[1]))
            return prompt_name(prompt, int(number[1]))
        what = (
            f"the index '{shown(index)}' is no whole number"
            if prompt
            else "it names none"
        )
        raise T2IBenchError(
            f"{table.where(line)}: a row needs its image, but {what}. {table.listed()}",
            "Name it by 'file', by 'sha256', or by 'prompt' and 'index'.",
        )

    def by_content(self) -> dict[ImageName, ImageRows]:
        """Return the rows of each image, keyed by SHA-256 if its file exists, else by its name."""
        finders = [FileFinder(self._path.parent)]
        names = [name for kind, name in self.by_name if kind == _FILE]
        if names and not any(finders[0].find(name) for name in names):
            finders = self._sub_folders_with(names)
        self.is_any_file_there = bool(finders)
        files = [finder.find_all(names) for finder in finders]
        self.alike = next((pair for finder in finders if (pair := finder.alike())), ())
        rows: dict[ImageName, ImageRows] = {}
        for name, image_rows in self.by_name.items():
            there = [paths[name[1]] for paths in files if name[1] in paths]
            is_file = name[0] == _FILE and len(there) == 1
            key = (HASH, _hash(there[0])) if is_file else name
            rows.setdefault(key, ImageRows()).answers.extend(image_rows.answers)
        return rows

    def _sub_folders_with(self, names: Sequence[str]) -> list[FileFinder]:
        """Return finders for the folders beside the table that have a file of these names."""
        finders = []
        for folder in visible_entries(self._path.parent)[:_MOST_ENTRIES]:
            finder = FileFinder(folder)
            if folder.is_dir() and any(finder.find(name) for name in names):
                finders.append(finder)
        return finders

    def distinct(self, name: str) -> frozenset[str]:
        """Return the distinct answers about all images to a question or under a heading."""
        if name not in self._distinct:
            self._distinct[name] = frozenset(self.texts(name))
        return self._distinct[name]

    def all_count_from_one(self) -> bool:
        """Return whether each of several prompts has the indexes 1, 2, … without a gap."""
        indexes: dict[str, set[int]] = {}
        for kind, value in self.by_name:
            if kind == _PROMPT:
                index, _, prompt = value.partition("\0")
                indexes.setdefault(prompt, set()).add(int(index))
        several = [numbers for numbers in indexes.values() if len(numbers) > 1]
        return len(several) > 1 and all(
            numbers == set(range(1, len(numbers) + 1)) for numbers in indexes.values()
        )

    def is_about_people(self, column: str) -> bool:
        """Return whether a column such as 'Sex' seems to describe the people who answered.

        The table names them in another column, and each has one value in every row of theirs.
        """
        if not self._by_labeller or heading_key(column) not in OF_PEOPLE:
            return False
        rows = self._by_labeller.values()
        return all(
            len({text_of(row.get(column)) for _, row in of_person} - {""}) <= 1
            for of_person in rows
        )

    def has_classes(self, name: str) -> bool:
        """Return whether answers repeat as classes do, unlike free remarks or dates."""
        n_distinct = len(self.distinct(name))
        n_answers = sum(1 for _ in self.texts(name))
        return 1 < n_distinct <= min(_MOST_CLASSES, n_answers / 2)

    def texts(self, name: str) -> Iterable[str]:
        """Yield the answers about all images to a question or under a heading."""
        for rows in self.by_name.values():
            for _, text in rows.given(name):
                yield text


def _hash(file: Path) -> str:
    with reading(file):
        return hashlib.sha256(read_ordinary(file)).hexdigest()
