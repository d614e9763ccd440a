"""Choose the column of a table that answers a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from t2ibench.models.judges.class_words import UNSURE, class_named
from t2ibench.store.file_names import composed

_WORD = re.compile(r"\w+")
# Words that two questions may share without being about the same.
_COMMON_WORDS = (
    "a an and any are at by can do does for has have how if in is it its of on or people "
    "person shown that the there this to what which who whose with you image picture photo"
)
# Headings of what platforms and forms say about the people who answered.
_OF_PEOPLE_WORDS = (
    "sex gender age ethnicity race nationality language geschlecht alter sexe âge sexo edad "
    "genre"
)
OF_PEOPLE = frozenset(_OF_PEOPLE_WORDS.split())
# Words of headings that are about the labeller, not about the image.
_WORDS_OF_LABELLERS = (
    "my your own self annotator annotators rater raters labeller labellers labeler worker "
    "workers participant participants respondent coder"
)
_OF_THE_LABELLER = frozenset(_WORDS_OF_LABELLERS.split())
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class QuestionColumn:
    """The column that answers a question, or the candidates if several fit equally well.

    Attributes:
        name: Its heading; None if there is none, or if several fit equally well.
        candidates: Headings that may each answer it; empty if one fits best.
        by_heading: Whether the candidates fit by their headings, or only by their cells.
        by_cells: Whether the column was chosen by its cells alone.
    """

    name: str | None
    candidates: tuple[str, ...] = ()
    by_heading: bool = True
    by_cells: bool = False


def column_of(
    question: str,
    classes: Sequence[str],
    columns: Sequence[str],
    texts: Callable[[str], Iterable[str]],
    headings: Mapping[str, str],
    person: str = "",
    is_about_people: Callable[[str], bool] = lambda _: False,
) -> QuestionColumn:
    """Return the column that answers a question, judging by heading and cells, or candidates.

    A heading that equals the question comes before one that occurs in it, before one that shares a
    word with it, before any other column whose cells are classes. Of columns whose headings fit
    equally well, those whose cells are classes come first.

    Args:
        question: The question.
        classes: Its classes; empty for free text.
        columns: The columns that may answer it.
        texts: Returns the cells of a column.
        headings: Words of questions that a user gave, each with the column that is meant.
        person: Who answered, or ''.
        is_about_people: Returns whether a column seems to describe the people who answered, whose
            names are in the table. Such a column is not read if another one may answer.

    Returns:
        The column, or the candidates of which none fits best.
    """
    asked = _plain(question)
    words = frozenset(_WORD.findall(asked))
    named = {name: _plain(name) for name in columns}
    column = _given_column(asked, columns, headings)
    if column is not None:
        return QuestionColumn(column)

    def heads(heading: str) -> bool:
        return heading == asked

    def is_word(heading: str) -> bool:
        return _contains(asked, heading)

    def shares_word(heading: str) -> bool:
        return bool(words.intersection(_WORD.findall(heading)) - _COMMON)

    def any_heading(heading: str) -> bool:
        return True

    def answering_of(
        names: Sequence[str],
        answers: Callable[[Iterable[str], Sequence[str]], bool] = _answers,
    ) -> list[str]:
        return [name for name in names if answers(texts(name), classes)]

    fallback: QuestionColumn | None = None
    by_kind = (
        (heads, _answers),
        (is_word, _answers),
        (shares_word, _answers),
        (any_heading, _mostly),
    )
    for fits, answers in by_kind:
        by_heading = fits in {heads, is_word}
        by_cells = fits is any_heading
        fitting = [name for name in columns if fits(named[name])]
        answering = answering_of(fitting, answers)
        if not classes:
            answering = fitting if by_heading else []
        doubtful = _about_people(
            answering,
            answering_of(columns),
            is_about_people,
            by_cells=by_cells,
        )
        if doubtful:
            return QuestionColumn(None, doubtful, by_heading=True)
        answering = _enough(answering, texts, classes, person, by_cells=by_cells)
        if answering:
            best = _best(_of_person(answering, person), by_heading=by_heading)
            return replace(best, by_cells=by_cells)
        if fitting and fallback is None and by_heading:
            fallback = _best(fitting, by_heading=True)
    return fallback or QuestionColumn(None)


def _about_people(
    fitting: Sequence[str],
    answering: Sequence[str],
    is_about_people: Callable[[str], bool],
    *,
    by_cells: bool,
) -> tuple[str, ...]:
    """Return the candidates if a fitting column may be about who answered; none otherwise.

    Args:
        fitting: The columns that fit a question best.
        answering: All columns whose cells are its classes.
        is_about_people: Returns whether a column seems to describe the people who answered.
        by_cells: Whether the columns fit by their cells alone.
    """
    if any(map(_about_the_labeller, fitting)):
        return tuple(dict.fromkeys([*fitting, *answering]))
    if any(map(is_about_people, fitting)):
        others = [name for name in answering if not is_about_people(name)]
        if others or by_cells:
            return tuple(dict.fromkeys([*fitting, *others]))
    return ()


def _enough(
    names: Sequence[str],
    texts: Callable[[str], Iterable[str]],
    classes: Sequence[str],
    person: str,
    *,
    by_cells: bool,
) -> list[str]:
    """Return the columns that may be read.

    One that fits by its cells alone needs the person's name or two different classes.
    """
    return [
        name
        for name in names
        if not by_cells
        or is_of(name, person)
        or _name_two_classes(texts(name), classes)
    ]


def _of_person(names: Sequence[str], person: str) -> Sequence[str]:
    """Return the one name that names a person, such as 'gender (anna)'; else all names."""
    of_person = [name for name in names if is_of(name, person)]
    return of_person if len(of_person) == 1 else names


def _given_column(
    asked: str, columns: Sequence[str], headings: Mapping[str, str]
) -> str | None:
    """Return the column that a user assigned to words of a question; None if there is none."""
    for heading, column in headings.items():
        if column in columns and _contains(asked, _plain(heading)):
            return column
    return None


def named_question(
    question: str, names: Iterable[str], headings: Mapping[str, str]
) -> str | None:
    """Return what a column 'question' calls a question; None if no name or several fit.

    Args:
        question: The question.
        names: What the cells of the column call the questions of their rows.
        headings: Words of a question that a user gave, with what the cells call it.

    Returns:
        One of the names; None if none fits, or if several fit equally well.
    """
    asked = _plain(question)
    plain = {_plain(name): name for name in names}
    if asked in plain:
        return plain[asked]
    for word, name in headings.items():
        if _plain(name) in plain and _contains(asked, _plain(word)):
            return plain[_plain(name)]
    fitting = [name for form, name in plain.items() if _contains(asked, form)]
    return _best(fitting, by_heading=True).name if fitting else None


def _best(names: Sequence[str], *, by_heading: bool) -> QuestionColumn:
    """Return the only column, or that with the longest heading if `by_heading`; else candidates."""
    if len(names) == 1:
        return QuestionColumn(names[0])
    if by_heading:
        lengths = [len(_WORD.findall(_plain(name))) for name in names]
        longest = [
            name
            for name, length in zip(names, lengths, strict=True)
            if length == max(lengths)
        ]
        if len(longest) == 1:
            return QuestionColumn(longest[0])
    return QuestionColumn(None, tuple(names), by_heading)


def _about_the_labeller(heading: str) -> bool:
    """Return whether a heading such as 'my gender' concerns the labeller."""
    return bool(_OF_THE_LABELLER.intersection(_WORD.findall(_plain(heading))))


def _answers(texts: Iterable[str], classes: Sequence[str]) -> bool:
    return any(class_named(text, classes) is not None for text in texts)


def _mostly(texts: Iterable[str], classes: Sequence[str]) -> bool:
    """Return whether at least half of the distinct cells are classes, or words such as unknown."""
    distinct = set(texts)
    fitting = [
        text
        for text in distinct
        if text.casefold() in UNSURE or class_named(text, classes, distinct)
    ]
    return 2 * len(fitting) >= len(distinct)


def _name_two_classes(texts: Iterable[str], classes: Sequence[str]) -> bool:
    """Return whether cells alone show what a column answers: they name two classes or more.

    A column 'reviewed' that is TRUE throughout answers no question about the images. Classes that
    are numbers show nothing either, because numbers may count people or be grades of anything.
    """
    distinct = set(texts)
    named = {class_named(text, classes, distinct) for text in distinct} - {None}
    return len([name for name in named if name and not name.isdigit()]) > 1


def is_of(heading: str, person: str) -> bool:
    """Return whether a heading such as 'anna' or 'gender (anna)' names a person."""
    return bool(person) and _contains(_plain(heading), _plain(person))


def _contains(asked: str, heading: str) -> bool:
    return bool(heading) and re.search(rf"\b{re.escape(heading)}\b", asked) is not None


def _plain(text: str) -> str:
    return " ".join(composed(text).replace("_", " ").casefold().split()).rstrip("?:. ")
