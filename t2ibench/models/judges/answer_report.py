"""Report which answers of a file match no class, or why the file is unusable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.judges.answer_rows import AnswerRows
from t2ibench.models.judges.class_words import UNSURE
from t2ibench.models.judges.question_column import QuestionColumn

Question = tuple[str, tuple[str, ...]]  # its text and its classes
# How often each answer was given about the images of a run, by question.
Answers = Mapping[Question, Counter[str]]
_VALUES = 6  # different answers that a message lists
_MOST_VALUES = 12  # a column with more has no classes


class AnswerReport:
    """Compares the answers of a file with the classes of the questions that a run asks."""

    def __init__(
        self,
        rows: AnswerRows,
        column_of: Callable[[Question], QuestionColumn],
        class_of: Callable[[str, Question], str | None],
    ) -> None:
        self._rows = rows
        self._class_of = class_of
        self._table = rows.table
        self._column_of = column_of

    def lines(self, answers: Answers) -> list[str]:
        """Return messages on answers that match no class, or match one by another word."""
        lines = []
        for question, counts in answers.items():
            column = self._column_of(question)
            if column.by_cells and counts:
                lines.append(
                    f"'{shown(question[0])}' is answered by '{shown(column.name)}', the only "
                    "column whose cells are its classes."
                )
            unfit = self._unfit(question, counts)
            if unfit:
                which = "It counts" if unfit.total() == 1 else "They count"
                lines.append(f"{self._unfit_line(question, unfit)} {which} as unknown.")
            words = self._other_words(question, counts)
            if words:
                lines.append(words)
        return lines

    def check(self, answers: Answers) -> None:
        """Raise an error if no answer of the file is a class of a question that the run asks."""
        if not answers or any(
            self._fits_some(question, counts) for question, counts in answers.items()
        ):
            return
        without_question = Counter(self._rows.texts(""))
        unfit = {
            question: self._unfit(question, counts or without_question)
            for question, counts in answers.items()
        }
        lines = [
            self._unfit_line(question, counts)
            for question, counts in unfit.items()
            if counts
        ]
        if lines:
            raise T2IBenchError(
                f"{self._table.where()}: {' '.join(lines)} {self._table.listed()}",
                "Write the classes as they are in the task, or name another column: "
                "--columns WORD=NAME, with a word of the question.",
            )
        if self._rows.wide:
            if all(self._column_of(question).name is None for question in answers):
                raise self._no_column(answers)
        elif not any(self._is_answered(question) for question in answers):
            raise self._other_questions(answers)

    def _unfit(self, question: Question, counts: Counter[str]) -> Counter[str]:
        """Return answers, with counts, that are neither a class nor a word such as 'unknown'."""
        unfit: Counter[str] = Counter()
        for text, count in counts.items():
            is_any = not question[1] or text.casefold() in UNSURE
            if not is_any and self._class_of(text, question) is None:
                unfit[text] = count
        return unfit

    def _fits_some(self, question: Question, counts: Counter[str]) -> bool:
        return counts.total() > self._unfit(question, counts).total()

    def _other_words(self, question: Question, counts: Counter[str]) -> str:
        """Return which words were read as which class, as text; '' if all were class names."""
        words = []
        for text in counts:
            name = self._class_of(text, question)
            if name is not None and text.casefold() != name.casefold():
                words.append(f"'{shown(text, 60)}' as {shown(name)}")
        more = ", …" if len(words) > _VALUES else ""
        return f"read {', '.join(words[:_VALUES])}{more}." if words else ""

    def _is_answered(self, question: Question) -> bool:
        """Return whether a file's column 'answer' answers a question about any image."""
        return self._column_of(question).name is not None or any(self._rows.texts(""))

    def _unfit_line(self, question: Question, unfit: Counter[str]) -> str:
        column = self._column_of(question).name if self._rows.wide else question[0]
        are = "answer of '{}' is" if unfit.total() == 1 else "answers of '{}' are"
        return (
            f"{unfit.total()} {are.format(shown(column))} none of the classes "
            f"({', '.join(map(shown, question[1]))}): {_counted(unfit)}."
        )

    def _no_column(self, answers: Answers) -> T2IBenchError:
        questions = ", ".join(
            f"'{shown(question)}' ({', '.join(map(shown, classes))})"
            for question, classes in answers
        )
        values = "; ".join(
            text
            for column in self._rows.columns
            if (text := values_of(self._rows, column))
        )
        return T2IBenchError(
            f"{self._table.where()}: no column answers {questions}. {self._table.listed()}"
            + (f" {values}." if values else ""),
            "Head it by a word of the question, or say which it is: --columns WORD=NAME; and "
            "write the classes as they are in the task.",
        )

    def _other_questions(self, answers: Answers) -> T2IBenchError:
        named: Counter[str] = Counter()
        for rows in self._rows.by_name.values():
            for _, given in rows.answers:
                named.update(given.keys())
        return T2IBenchError(
            f"{self._table.where()}: it answers {_counted(named)}, but this run asks "
            f"{_questions(answers)}.",
            "Write the question, or a word of it such as gender, or say which it is: --columns "
            "WORD=QUESTION; a file that answers one question needs no column 'question'.",
        )


def values_of(rows: AnswerRows, column: str) -> str:
    """Return a column's heading, answers and counts as text; "" if there are none or too many."""
    counts = Counter(rows.texts(column))
    if not counts or len(counts) > _MOST_VALUES:
        return ""
    return f"'{shown(column, 60)}': {_counted(counts)}"


def quoted(names: Iterable[str]) -> str:
    """Return quoted names as one text, such as 'a', 'b' or 'c'."""
    *others, last = [f"'{shown(name, 60)}'" for name in names]
    return f"{', '.join(others)} or {last}" if others else last


def _questions(answers: Answers) -> str:
    return ", ".join(f"'{shown(question)}'" for question, _ in answers)


def _counted(counts: Counter[str]) -> str:
    """Return answers with their counts as text, the most frequent first."""
    listed = ", ".join(
        f"'{shown(text, 60)}' {n}" for text, n in counts.most_common(_VALUES)
    )
    return f"{listed}, …" if len(counts) > _VALUES else listed
