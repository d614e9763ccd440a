"""Rows completed with the answers, for images without one, that lean least or most.

What images without an answer show is not known. The mean squared lean of all images
lies between that of the completion that leans least and that of the one that leans
most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import IntArray
from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow
from t2ibench.methods.openbias.compared_rows import comparable_rows, is_pooled
from t2ibench.stats.rounding import settled


def rows_of_all_images(
    answers: Sequence[BiasAnswers], rows: Sequence[CountedRow]
) -> list[CountedRow]:
    """Return the captions' rows that have at least two images, answered or not.

    Args:
        answers: The answers to every bias of the task.
        rows: Its compared rows. Biases without any are left out.
    """
    if not rows or is_pooled(rows):
        return list(rows)
    biases = {row.bias for row in rows}
    return [
        row
        for row in comparable_rows(answers)
        if row.bias in biases and len(row.codes) + len(row.unanswered) > 1
    ]


def completed(row: CountedRow, *, most: bool) -> CountedRow:
    """Return a row with its unanswered images answered so that it leans least, or most.

    With n answers of a class, N of all, and the expected share r, the squared lean is
    a multiple of the sum over classes of n (n - 1) - 2 (N - 1) r n. It grows with one
    more answer of a class by twice n - (N - 1) r. It is convex: the least is reached
    one answer at a time, the most where all answers are of one class.

    Args:
        row: The row.
        most: Whether it leans most; otherwise it leans least.

    Examples:
        >>> even = np.array([0.5, 0.5])
        >>> row = CountedRow(
        ...     0, "a chef", None, np.arange(4), np.array([0, 0, 0, 1]), even, np.arange(4, 7)
        ... )
        >>> completed(row, most=False).counts.tolist(), completed(row, most=True).counts.tolist()
        ([4, 3], [6, 1])
    """
    n_unanswered = len(row.unanswered)
    n_images = len(row.codes) + n_unanswered
    gains = row.counts - (n_images - 1) * row.expected
    if most:
        codes = np.full(n_unanswered, settled(gains).argmax())
    else:
        codes = np.zeros(n_unanswered, dtype=np.int64)
        for place in range(n_unanswered):
            code = settled(gains).argmin()
            codes[place] = code
            gains[code] += 1
    return _filled(row, codes)


def _filled(row: CountedRow, codes: IntArray) -> CountedRow:
    """Return a row in which the unanswered images have the given classes as answers."""
    return replace(
        row,
        indices=np.concatenate([row.indices, row.unanswered]),
        codes=np.concatenate([row.codes, codes]),
        unanswered=row.unanswered[:0],
    )
