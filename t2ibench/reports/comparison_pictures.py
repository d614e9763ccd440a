"""The pictures of two runs that a comparison shows beside each other, chosen by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.methods.core.presentation import ImageGroups, ImageSeries
from t2ibench.reports.comparison import ComparedRun, Comparison
from t2ibench.reports.view import TaskView
from t2ibench.results.display import ALPHA
from t2ibench.results.image_pairs import (
    ImagePair,
    RecordedImages,
    pair_images,
    pairs_in_words,
    recorded_images,
)
from t2ibench.results.run import open_images
from t2ibench.results.samples import image_of, read_samples

PROMPTS = 8  # of which pictures are shown, at most
PAIRS = 4  # of each

Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PicturePair:
    """Two images with the same prompt of the task and the same number.

    Attributes:
        prompt: The prompt.
        index: The number, from 0.
        source: Prompt and number of the source image that both are edits of; "" for no edits.
        first: The image of the first run, as its samples have it.
        second: That of the second run.
        answers: What was answered about both, question by question.
        same_start: Whether prompt and seed are the same by the records of the runs.
    """

    prompt: str
    index: int
    source: str
    first: Sample
    second: Sample
    answers: tuple[tuple[str, str], ...]
    same_start: bool


@dataclass(frozen=True, slots=True)
class PicturedRow:
    """The pairs of one prompt, or of one stimulus of a task."""

    task: str
    name: str
    pairs: tuple[PicturePair, ...]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures that a comparison shows.

    Attributes:
        rows: Prompt by prompt, in the order of the rule.
        rule: How prompts and images were chosen.
        basis: What the images of a pair share, by the records of the runs; "" without pictures.
        why_none: Why no picture is shown; "" where some are.
    """

    rows: tuple[PicturedRow, ...] = ()
    rule: str = ""
    basis: str = ""
    why_none: str = ""


def chosen_pictures(comparison: Comparison, tasks: Mapping[str, TaskView]) -> Pictures:
    """Return pairs of images of the prompts that changed most, the first numbers of each.

    Args:
        comparison: The two runs.
        tasks: The views of tests of both, which know of what an image is.
    """
    first = _records(comparison.first)
    second = _records(comparison.second)
    without = [
        run.name
        for run, records in ((comparison.first, first), (comparison.second, second))
        if records is None
    ]
    if first is None or second is None:
        return Pictures(why_none=_not_in_folder(without))
    pairs = pair_images(first, second)
    chooser = _Chooser(comparison, tasks, pairs)
    # Lazily: the samples of a test are read only where its rows are wanted.
    changed = (chooser.row(task, name) for task, name in _wanted(comparison))
    rows = list(islice(filter(None, changed), PROMPTS))
    rule = _RULE_OF_CHANGE
    if not rows:
        rows = list(islice(chooser.every_row(), PROMPTS))
        rule = _RULE_OF_ORDER
    basis = pairs_in_words(pairs, first, second)
    return Pictures(tuple(rows), rule, basis) if rows else Pictures(why_none=basis)


_IMAGES = (
    f"the first {PAIRS} numbers whose images both runs have and are not the same file. None is "
    "chosen by hand."
)
_RULE_OF_CHANGE = (
    f"At most {PROMPTS} prompts or stimuli, those that changed most first, clear changes before "
    f"others; of each {_IMAGES}"
)
_RULE_OF_ORDER = (
    f"The first {PROMPTS} prompts or stimuli of the tests; of each {_IMAGES}"
)


def _records(run: ComparedRun) -> RecordedImages | None:
    """Return the records of a run's images; None where its folder has no images."""
    with suppress(T2IBenchError):
        folder, store = open_images(run.folder)
        if store.attempts():
            return recorded_images(run.name, folder, store)
    return None


def _not_in_folder(names: Sequence[str]) -> str:
    """Return a sentence on runs whose folders have results without images."""
    who = " and ".join(names)
    folders = "folder" if len(names) == 1 else "folders"
    its = "its" if len(names) == 1 else "their"
    return f"The pictures of {who} are not in {its} {folders}: none can be shown here."


def _wanted(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the task and the name of rows, those that changed most first, each once.

    Rows that were answered come before rows that only an encoder read.
    """
    answered = [
        (row.p_holm >= ALPHA, -abs(row.change.value), question.task, name)
        for question in comparison.prompts
        for row in question.prompts
        for name in [row.first.counted.name]
    ]
    read = [
        (
            not _is_clear(difference.p_holm),
            -abs(difference.change.value),
            difference.task,
            difference.row,
        )
        for difference in comparison.differences
        if difference.row and difference.change is not None and difference.p is not None
    ]
    seen = set()
    for _, _, task, name in [*sorted(answered), *sorted(read)]:
        if (task, name) not in seen:
            seen.add((task, name))
            yield task, name


def _is_clear(p: float | None) -> bool:
    return p is not None and p < ALPHA


class _Chooser:
    """Finds the images of a row in the samples of both runs."""

    def __init__(
        self,
        comparison: Comparison,
        tasks: Mapping[str, TaskView],
        pairs: Sequence[ImagePair],
    ) -> None:
        self._comparison = comparison
        self._tasks = tasks
        self._pairs = {pair.first.key: pair for pair in pairs}
        self._by_row: dict[str, dict[str, list[PicturePair]]] = {}

    def row(self, task: str, name: str) -> PicturedRow | None:
        """Return the first pairs of a row; None where it has none."""
        pairs = self._rows_of(task).get(name, [])
        return PicturedRow(task, name, tuple(pairs[:PAIRS])) if pairs else None

    def every_row(self) -> Iterator[PicturedRow]:
        """Yield all rows of all tests in their order."""
        for task in self._tasks:
            for name, pairs in self._rows_of(task).items():
                yield PicturedRow(task, name, tuple(pairs[:PAIRS]))

    def _rows_of(self, task: str) -> dict[str, list[PicturePair]]:
        """Return the pairs of a task by what its pages call their prompt, by number."""
        if task not in self._by_row:
            by_name: dict[str, list[PicturePair]] = {}
            if task in self._tasks:
                for pair in self._read(self._tasks[task]):
                    name = _name_of(self._tasks[task], pair)
                    by_name.setdefault(name, []).append(pair)
            self._by_row[task] = by_name
        return self._by_row[task]

    def _read(self, task: TaskView) -> list[PicturePair]:
        first = _samples(self._comparison.first, task)
        second = _samples(self._comparison.second, task)
        pairs = []
        for image in first.keys() & second.keys():
            pair = self._pairs.get(image)
            if pair is None or pair.same_file:
                continue
            before, after = first[image], second[image]
            pairs.append(
                PicturePair(
                    prompt=pair.first.prompt,
                    index=pair.first.index,
                    source=_source_of(before[0]),
                    first=before[0],
                    second=after[0],
                    answers=tuple(_answers(task, before, after)),
                    same_start=pair.same_start,
                )
            )
        return sorted(pairs, key=lambda pair: (pair.index, pair.prompt, pair.source))


def _samples(run: ComparedRun, task: TaskView) -> dict[ImageKey, list[Sample]]:
    """Return the samples of a test by image: one for each question about it."""
    by_image: dict[ImageKey, list[Sample]] = {}
    for sample in read_samples(run.folder, task.id):
        if isinstance(sample.get("file"), str):
            by_image.setdefault(image_of(sample), []).append(sample)
    return by_image


def _source_of(sample: Sample) -> str:
    """Return prompt and number of the source image of a sample; "" where it is of no edit."""
    prompt = sample.get("source_prompt")
    if not isinstance(prompt, str):
        return ""
    return f"{prompt}, image {int(sample.get('source_index', 0)) + 1}"


def _name_of(task: TaskView, pair: PicturePair) -> str:
    """Return the name of the row that an image belongs to."""
    shown = task.shown.images
    if isinstance(shown, ImageSeries):
        return str(pair.first.get(shown.caption, pair.prompt))
    if isinstance(shown, ImageGroups):
        return shown.stimuli.get(pair.prompt, pair.prompt)
    return pair.prompt


def _answers(
    task: TaskView, before: Sequence[Sample], after: Sequence[Sample]
) -> Iterator[tuple[str, str]]:
    """Yield the answers about both images of a pair, for each question that they have."""
    shown = task.shown.images
    if not isinstance(shown, ImageGroups):
        return
    for question in task.prompts:
        attribute = question.counted.attribute
        answers = [
            next(
                filter(None, (shown.of(attribute, sample) for sample in samples)), None
            )
            for samples in (before, after)
        ]
        if answers[0] is not None or answers[1] is not None:
            yield answers[0] or _SILENT, answers[1] or _SILENT


_SILENT = "no answer"
