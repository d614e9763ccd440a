"""A trial of a judge on images that people labelled, before it is used for a long run."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from t2ibench.apps.labelling.sheet import NO_CLASS
from t2ibench.errors import T2IBenchError, failing, shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.judge_errors import (
    FOLDER,
    LabelledAnswer,
    check_attribute,
)
from t2ibench.models.generators.image_folder import ImageFolder
from t2ibench.models.judges.answer_classes import in_its_classes
from t2ibench.models.judges.class_words import UNSURE
from t2ibench.models.protocols import Answer, Judge, Query, QueryOfFile
from t2ibench.store.decoded_images import DecodedImages
from t2ibench.store.file_names import FileFinder
from t2ibench.store.files import read_ordinary
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageFile
from t2ibench.store.people_tables.cells import NOT_AVAILABLE
from t2ibench.store.people_tables.headings import heading_key, role_of
from t2ibench.store.people_tables.json_records import text_of
from t2ibench.store.people_tables.reader import Table, read_table

_ASKED_TWICE = 40  # questions that are asked twice
_EXAMPLE = "'file,gender' with rows such as 'nurse 1.jpg,female'"
_NOT_ASKED_WORDS = "id prompt index sha256 labeller file filename image path unnamed:0"
_NOT_ASKED = frozenset(_NOT_ASKED_WORDS.split())
# what no class answers
_NO_ONE_CLASS = UNSURE | set(NO_CLASS)
# Columns with these roles are about a row, or about who answered.
_ROLES = frozenset({"labeller", "question", "model"})
_MOST_CLASSES = 12  # a column with more holds no classes


@dataclass(frozen=True, slots=True)
class Known:
    """A question about an image with its correct answer: one of the classes, or 'unknown'.

    `cluster` is what the image was generated for; images of one cluster are alike. `groups` maps
    other attributes to what people said of them.
    """

    query: Query
    truth: str
    attribute: str
    cluster: str
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a judge's trial: its error rates, and how often it gives the same answer twice.

    `asked_twice` questions were asked a second time, in another order and one by one, of which
    `answered_alike` were answered alike; `reasons` count the questions that were not answered.
    """

    check: JudgeCheck
    asked_twice: int
    answered_alike: int
    reasons: dict[str, int] = field(default_factory=dict)


def people_questions(
    folder: Path,
    labels: Path,
    *,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
) -> tuple[list[Known], list[str]]:
    """Return questions about labelled images in a folder, and notes on rows that cannot be used.

    `labels` is a table with a column of files, seen from the folder, and one column an attribute;
    `columns` says which heading holds the files where it is not a known one.
    """
    hint = f"Give a CSV such as {_EXAMPLE}."
    table = read_table(labels, hint, columns=columns, sheet=sheet)
    file_column = table.need("image", f"each row needs its image, such as {_EXAMPLE}")
    paths = FileFinder(folder).find_all(
        text_of(row.get(file_column)) or "" for _, row in table.rows
    )
    classes = _classes(table, file_column, paths, hint)
    prompt_column = table.find("prompt")
    prompts: dict[str, str] = {}
    if prompt_column is None:
        prompts = {str(path): prompt for path, prompt in ImageFolder(folder).pictures()}
    questions: list[Known] = []
    notes = [*table.notes, *_not_available(table, classes)]
    labelled: dict[str, tuple[int, tuple[str, ...], Path]] = {}
    decoded = DecodedImages()
    for line, row in table.rows:
        name = table.text(line, row, file_column)
        path = paths.get(name) or folder / name
        try:
            image = _read(path, decoded)
        except (UnreadableImageError, OSError, ValueError) as error:
            notes.append(
                f"{table.where(line)}: '{shown(name)}' cannot be read: {error}"
            )
            continue
        sha256 = image.sha256
        given = tuple(_label(table.text(line, row, name)) for name in classes)
        earlier_line, earlier, earlier_path = labelled.setdefault(
            sha256, (line, given, path)
        )
        if earlier_line != line:
            if path == earlier_path:
                _check_alike(table, line, name, earlier_line, given, earlier)
            notes.append(
                f"{table.where(line)}: '{shown(name)}' repeats line {earlier_line}"
            )
            continue
        prompt = table.text(line, row, prompt_column) or prompts.get(
            str(path.resolve()), sha256
        )
        truths = dict(zip(classes, given, strict=True))
        for attribute, options in classes.items():
            if table.text(line, row, attribute) in {"", NOT_AVAILABLE}:
                continue
            question = f"What is the {attribute.replace('_', ' ')} of the person?"
            read = partial(decoded.read, image)
            query = QueryOfFile(read, prompt, line, sha256, question, options)
            groups = _other_groups(truths, attribute)
            groups[FOLDER] = folder.name
            cluster = f"{folder}\0{prompt}"
            questions.append(
                Known(query, truths[attribute], attribute, cluster, groups)
            )
    return questions, notes


def _not_available(table: Table, attributes: Iterable[str]) -> list[str]:
    """Return a note that counts the cells 'NA' of each attribute; none if there are none."""
    counts = {
        name: sum(
            table.text(line, row, name) == NOT_AVAILABLE for line, row in table.rows
        )
        for name in attributes
    }
    listed = ", ".join(
        f"'{shown(name)}' {count}" for name, count in counts.items() if count
    )
    if not listed:
        return []
    return [
        f"{table.where()}: cells 'NA' count as not labelled ({listed}); write a class that is "
        "called so in full, such as 'North America'."
    ]


def _read(path: Path, decoded: DecodedImages) -> ImageFile:
    """Return an image that can be decoded.

    Raises:
        UnreadableImageError: the file is no image.
        OSError: it cannot be read.
        ValueError: it is no ordinary file.
    """
    image = ImageFile(path, hashlib.sha256(read_ordinary(path)).hexdigest())
    decoded.read(image)
    return image


def _check_alike(
    table: Table,
    line: int,
    name: str,
    earlier_line: int,
    labels: Sequence[str],
    earlier: Sequence[str],
) -> None:
    """Raise an error if two rows about an image name different classes of an attribute."""
    pairs = (set(pair) - {UNKNOWN} for pair in zip(labels, earlier, strict=True))
    if any(len(named) > 1 for named in pairs):
        raise T2IBenchError(
            f"{table.where(line)}: '{shown(name)}' is labelled differently in line "
            f"{earlier_line}.",
            "Keep one row for each image, such as that of one annotator.",
        )


def _classes(
    table: Table, file_column: str, paths: Mapping[str, Path], hint: str
) -> dict[str, tuple[str, ...]]:
    """Return each column that holds two to twelve distinct labels, with these labels as classes.

    Raises:
        T2IBenchError: no column does; `hint` is the next step.
    """
    rows = [row for _, row in table.rows]
    # A row such as 'Total,8' below the table has no classes.
    of_images = [row for row in rows if (text_of(row.get(file_column)) or "") in paths]
    classes = {}
    for name in table.columns:
        is_asked = heading_key(name) not in _NOT_ASKED and role_of(name) not in _ROLES
        if name == file_column or not is_asked:
            continue
        labels = {
            _label(text)
            for row in of_images or rows
            if (text := text_of(row.get(name)))
        }
        labels.discard(UNKNOWN)
        if 1 < len(labels) <= _MOST_CLASSES:
            table.check_used(name)
            classes[name] = tuple(sorted(labels))
    if not classes:
        raise T2IBenchError(
            f"{table.where()}: no column of labels with two classes or more. {table.listed()}",
            hint,
        )
    return classes


def _other_groups(truths: Mapping[str, str], attribute: str) -> dict[str, str]:
    return {
        name: truth
        for name, truth in truths.items()
        if name != attribute and truth != UNKNOWN
    }


def same_classes(questions: Sequence[Known]) -> list[Known]:
    """Return the questions with one set of classes for each attribute, and folders as groups.

    Images of one folder only are not grouped by folder.
    """
    classes: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        classes[question.attribute].update(question.query.classes)
    several = len({question.groups[FOLDER] for question in questions}) > 1
    return [
        replace(
            question,
            query=question.query.with_classes(
                tuple(sorted(classes[question.attribute]))
            ),
            groups={
                grouping: group
                for grouping, group in question.groups.items()
                if several or grouping != FOLDER
            },
        )
        for question in questions
    ]


def _label(text: str) -> str:
    """Return a label in lower case; 'unknown' if it names no single class, such as 'several'."""
    label = " ".join(text.split()).casefold()
    is_none = not label or label in _NO_ONE_CLASS or text == NOT_AVAILABLE
    return UNKNOWN if is_none else label


def try_judge(
    judge: Judge,
    questions: Sequence[Known],
    tell: Callable[[int, int], None] = lambda *_: None,
    source: Sequence[str] = (),
) -> Trial:
    """Ask a judge about labelled images, up to 40 twice, and compare its answers with labels."""
    queries = [question.query for question in questions]
    starts = [*range(0, len(queries), judge.batch_size), len(queries)]
    answers: list[Answer] = []
    with failing(f"The judge '{shown(judge.name)}' failed with"):
        for batch in (queries[begin:end] for begin, end in pairwise(starts)):
            given = list(judge.answer(batch))
            if len(given) != len(batch):
                raise T2IBenchError(
                    f"It gave {len(given)} answers to {len(batch)} questions."
                )
            answers += given
            tell(len(answers), len(queries))
    reasons = Counter(
        answer.reason or "no answer" for answer in answers if answer.answer is None
    )
    if sum(reasons.values()) == len(answers):
        raise T2IBenchError(f"It answered nothing: {reasons.most_common(1)[0][0]}")
    checked: dict[tuple[str, str, tuple[str, ...]], list[LabelledAnswer]] = defaultdict(
        list
    )
    for question, answer in zip(questions, answers, strict=True):
        key = (question.attribute, question.query.question, question.query.classes)
        rows = checked[key]
        # A question that failed with an error is excluded.
        if answer.answer is not None:
            name = in_its_classes(answer, question.query.classes).answer
            answered = name if name in question.query.classes else UNKNOWN
            rows.append(
                LabelledAnswer(
                    question.truth, answered, question.cluster, question.groups
                )
            )
    # Some are asked a second time, one by one and backwards.
    step = max(1, len(queries) // _ASKED_TWICE)
    repeated = range(0, len(queries), step)[:_ASKED_TWICE][::-1]
    with failing(f"The judge '{shown(judge.name)}' failed with"):
        same = sum(
            judge.answer([queries[number]])[0].answer == answers[number].answer
            for number in repeated
        )
    return Trial(
        JudgeCheck(
            judge=judge.name,
            fingerprint=judge.fingerprint,
            images=len({query.sha256 for query in queries}),
            source=tuple(source),
            attributes=tuple(
                check_attribute(*key, rows) for key, rows in checked.items()
            ),
        ),
        len(repeated),
        same,
        dict(reasons.most_common()),
    )
