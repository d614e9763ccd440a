"""The scores of runs, and links from each score to the images that it was computed from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from t2ibench.apps.explorer.album import Source
from t2ibench.apps.explorer.row_images import RowImages
from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import bar_order
from t2ibench.methods.core.presentation import ImageGroups, ImageSeries
from t2ibench.reports.files import task_files
from t2ibench.reports.view import (
    RowView,
    RunView,
    SeriesView,
    TaskView,
    run_view,
    scale_record,
)
from t2ibench.results.display import IntervalMark
from t2ibench.results.files import read_results
from t2ibench.results.samples import image_of, read_samples

MOST_ROWS = 12  # rows of tests that a word is looked up in
_LONGEST = 200  # characters of the word
_NONE = "A folder of images has no scores."
_UNSCORED = "This run has no scores yet."


class NumberedImages(Protocol):
    """Runs and folders whose images have numbers: an `Album` or a `Collection`."""

    def source(self, run: int) -> Source:
        """Return the run or folder with the index `run`."""
        ...

    def samples(self, run: int) -> dict[ImageKey, int]:
        """Return the number of each image of a run, keyed by its `ImageKey`."""
        ...


class Scores:
    """The scores of each run for the explorer's pages, read when one first asks for them."""

    def __init__(self, images: NumberedImages) -> None:
        self._images = images

    def view(self, run: int) -> RunView | None:
        """Return a run's scores as reports show them; None if it has not been scored."""
        source = self._images.source(run)
        scored = source.run is not None and (source.folder / "results.json").is_file()
        return _read(source.folder) if scored else None

    def all(self, run: int) -> dict[str, Any]:
        """Return the scores of every task of a run, or the reason why it has none."""
        view = self.view(run)
        if view is None:
            folder = self._images.source(run).run is None
            return {"tasks": [], "reason": _NONE if folder else _UNSCORED}
        tasks = [
            _task_record(task, group.title)
            for group in view.groups
            for task in group.tasks
        ]
        tasks += [
            _task_record(task, "Text encoder: no images", text_only=True)
            for task in view.texts
        ]
        return {"tasks": tasks, "reason": "" if tasks else _UNSCORED}

    def of_words(self, run: int, words: str) -> dict[str, Any]:
        """Return a run's scores of up to 12 items, such as nurse, whose names contain `words`."""
        view = self.view(run)
        wanted = _words(words[:_LONGEST])
        if view is None or not wanted:
            return {"rows": []}
        matches = [
            (_words(row.name) != wanted, row, series, task)
            for task in view.tasks
            for series in task.series
            for row in series.rows
            if row.mark.value is not None and _within(wanted, _words(row.name))
        ]
        matches.sort(
            key=lambda match: (
                match[0],
                match[1].mark.state != "clear",
                -abs(match[1].mark.value or 0.0),
            )
        )
        rows = [
            _row_record(row, series, task)
            for _, row, series, task in matches[:MOST_ROWS]
        ]
        return {"rows": rows}

    def of_images(self, run: int, name: str, row: str) -> dict[str, Any] | None:
        """Return each image behind a score with its value or class; None for an unknown task."""
        view = self.view(run)
        tasks = {} if view is None else {task.id: task for task in view.tasks}
        if name not in tasks:
            return None
        task = tasks[name]
        samples = self._samples(run, task)
        rows = _rows_with_images(task, samples)
        series = task.shown.images
        if row and row not in rows:
            raise T2IBenchError(f"'{task.id}' has no row '{row[:80]}'.")
        chosen = row or (rows[0] if rows else "")
        ids, values, labels = self._values(run, task, chosen, samples)
        axis = None
        noun = ""
        answer = ""
        if isinstance(series, ImageSeries):
            axis = series.axis
            noun = series.noun
        elif isinstance(series, ImageGroups):
            answer = series.phrase
        return {
            "ids": ids,
            "values": values,
            "labels": labels,
            "row": chosen or None,
            "rows": rows,
            "poles": _poles(axis),
            "noun": noun,
            "said": answer,
            "colours": bar_order(
                sorted({value for value in values if isinstance(value, str)})
            ),
        }

    def rows(self, run: int, name: str) -> dict[str, Any] | None:
        """Return the rows of a test, each with whether it has images; None for an unknown test."""
        task = self._task(run, name)
        if task is None:
            return None
        images = RowImages(task, self._samples(run, task))
        rows = [
            {
                **_row_record(row, series, task),
                "group": row.group,
                "images": images.has(row.name, row.group),
            }
            for series in task.series
            for row in sorted(series.rows, key=lambda row: -abs(row.mark.value or 0.0))
        ]
        return {**_task_record(task, task.name), "rows": rows}

    def of_test(
        self, run: int, name: str, row: str, group: str
    ) -> dict[str, Any] | None:
        """Return every image that a test, or one of its rows, was computed from, each once.

        Each has a value where the test measures one for an image, and a label: its stimulus, the
        answer that it was given or the group that it counts to. None for an unknown test.
        """
        task = self._task(run, name)
        if task is None:
            return None
        images = RowImages(task, self._samples(run, task))
        if row and not images.has(row, group or None):
            raise T2IBenchError(f"'{task.id}' has no row '{row[:80]}' with images.")
        numbers = self._images.samples(run)
        shown: dict[int, tuple[float | None, str]] = {}
        for sample, value, label in images.of(row, group or None):
            number = numbers.get(image_of(sample))
            # The samples of an image that several questions are about need not all have a label.
            if number is not None and not shown.get(number, (None, ""))[1]:
                shown[number] = (value, label)
        axis = getattr(task.shown.images, "axis", None)
        return {
            "ids": list(shown),
            "values": [value for value, _ in shown.values()],
            "labels": [label for _, label in shown.values()],
            "poles": _poles(axis),
        }

    def _task(self, run: int, name: str) -> TaskView | None:
        view = self.view(run)
        tasks = () if view is None else view.tasks
        return next((task for task in tasks if task.id == name), None)

    def _samples(self, run: int, task: TaskView) -> list[dict[str, Any]]:
        return read_samples(self._images.source(run).folder, task.id)

    def _values(
        self,
        run: int,
        task: TaskView,
        row: str,
        samples: Sequence[Mapping[str, Any]],
    ) -> tuple[list[int], list[float | str], list[str]]:
        """Return the indices of the images that have a value, the values, and the labels."""
        numbers = self._images.samples(run)
        ids: list[int] = []
        values: list[float | str] = []
        labels: list[str] = []
        seen = set[int]()
        for sample in samples:
            number = numbers.get(image_of(sample))
            value_and_label = _value(task, row, sample)
            if number is None or value_and_label is None or number in seen:
                continue
            seen.add(number)
            value, label = value_and_label
            ids.append(number)
            values.append(value)
            labels.append(label)
        return ids, values, labels


def _read(folder: Path) -> RunView:
    """Return the scores of a run folder as reports show them, with those of earlier commands."""
    # A run may be scored again, such as with new labels, while its page is open.
    return _read_at(folder, (folder / "results.json").stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read_at(folder: Path, changed: int) -> RunView:
    """Return a run folder's scores; `changed` is when its results were written."""
    results = read_results(folder).with_earlier()
    return run_view(results, task_files(results, folder))


def _task_record(task: TaskView, group: str, text_only: bool = False) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.name,
        "title": task.result.title,
        "family": group,
        **_marked(task.mark),
        "fair_low": task.mark.fair_low,
        "fair_high": task.mark.fair_high,
        **scale_record(task.mark.scale),
        "poles": _poles(task.shown.axis),
        "sentence": task.sentence,
        "text_only": text_only,
    }


def _marked(mark: IntervalMark) -> dict[str, Any]:
    return {
        name: getattr(mark, name) for name in ("state", "value", "low", "high", "side")
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _within(some: list[str], words: list[str]) -> bool:
    """Return whether the words `some` occur in `words` one after another, in this order."""
    return any(
        words[start : start + len(some)] == some
        for start in range(len(words) - len(some) + 1)
    )


def _row_record(row: RowView, series: SeriesView, task: TaskView) -> dict[str, Any]:
    shown = series.series
    row_name = row.name if row.name in _rows(task) else None
    return {
        "task": task.id,
        "name": task.name,
        "family": method_named(task.result.method).title,
        "item": row.name,
        "row": row_name,
        "noun": shown.noun,
        "square": shown.square,
        "n": row.n_images,
        **_marked(row.mark),
        **scale_record(row.mark.scale),
        "poles": _poles(shown.axis),
    }


def _poles(axis: Any) -> list[str] | None:
    return None if axis is None else [axis.low, axis.high]


def _rows(task: TaskView) -> list[str]:
    """Return the names of the rows that group a task's images, the largest absolute lean first."""
    series = task.shown.images
    if not isinstance(series, ImageGroups):
        return []
    scored = {row.name: row.scores.get(series.row) for row in task.result.by}
    leans = {
        name: abs(score.value)
        for name, score in scored.items()
        if score and score.value is not None
    }
    return sorted(leans, key=lambda name: (-leans[name], name))


def _rows_with_images(
    task: TaskView, samples: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return the names of the rows that group at least one image, in their order.

    What became of edits is a row, too, but of images that nobody was asked about.
    """
    return [
        name
        for name in _rows(task)
        if any(_value(task, name, sample) is not None for sample in samples)
    ]


def _value(
    task: TaskView, row: str, sample: Mapping[str, Any]
) -> tuple[float | str, str] | None:
    """Return an image's value and label: its number and stimulus, or its group and prompt."""
    series = task.shown.images
    if isinstance(series, ImageSeries):
        stimulus = str(sample.get(series.caption, ""))
        return _numbered(sample.get(series.value), stimulus)
    group = series.of(row, sample) if isinstance(series, ImageGroups) else None
    if series is None or group is None:
        return None
    if series.value is None:
        return group, str(sample.get("prompt", ""))
    return _numbered(series.value(row, sample), group)


def _numbered(value: Any, label: str) -> tuple[float, str] | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return (float(value), label) if is_number and math.isfinite(value) else None
