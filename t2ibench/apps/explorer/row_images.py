"""Which images each row of a test was computed from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from t2ibench.methods.core.presentation import ImageGroups, ImageSeries
from t2ibench.reports.view import TaskView

Sample = Mapping[str, Any]
Valued = tuple[Sample, float | None, str]


class RowImages:
    """The samples of a test, by the rows that they belong to.

    A test either measures a number of each image, and its rows are stimuli; or its rows group the
    images, as by the judge's answer. Then a row that is about one prompt or stimulus of a larger
    row, such as "nurse" of "person gender", has that row as its `group`.
    """

    def __init__(self, task: TaskView, samples: Sequence[Sample]) -> None:
        self._series = task.shown.images
        self._samples = samples
        self._rows = [row.name for row in task.result.by]

    def has(self, row: str, group: str | None) -> bool:
        """Return whether it is known which images a row was computed from."""
        return next(self.of(row, group), None) is not None

    def of(self, row: str, group: str | None) -> Iterator[Valued]:
        """Yield the samples of a row with value and label; of the whole test where `row` is ""."""
        series = self._series
        if isinstance(series, ImageSeries):
            yield from self._of_stimulus(series, row)
        elif isinstance(series, ImageGroups):
            yield from self._of_group(series, row, group)

    def _of_stimulus(self, series: ImageSeries, row: str) -> Iterator[Valued]:
        for sample in self._samples:
            stimulus = str(sample.get(series.caption, ""))
            value = _number(sample.get(series.value))
            if value is not None and row in ("", stimulus):
                yield sample, value, stimulus

    def _of_group(
        self, series: ImageGroups, row: str, group: str | None
    ) -> Iterator[Valued]:
        for sample in self._samples:
            for name in self._grouping(row, group, sample):
                label = series.of(name, sample)
                if label is not None:
                    value = series.value(name, sample) if series.value else None
                    yield sample, value if row else None, label
                    break
            else:
                if not row:
                    yield sample, None, ""

    def _grouping(self, row: str, group: str | None, sample: Sample) -> Sequence[str]:
        """Return the names of the grouping rows that may say which group a sample belongs to."""
        if not row:
            return self._rows
        if group is not None and self._item(sample) in (
            row,
            row.removesuffix(f" ({group})"),
        ):
            return [group]
        return [row]

    def _item(self, sample: Sample) -> str:
        """Return the stimulus of a sample's prompt, or the prompt where it has none."""
        prompt = str(sample.get("prompt"))
        stimuli = getattr(self._series, "stimuli", {})
        return str(stimuli.get(prompt, prompt))


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None
