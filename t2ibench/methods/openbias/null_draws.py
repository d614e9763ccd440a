"""Random draws of mean squared leans, as they arise by chance where no answer leans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.squared_lean import expected_table
from t2ibench.methods.openbias.unanswered import completed
from t2ibench.stats import Answers, relabelled_counts, squared_lean

# The most answers that are drawn in total, which limits the draws of large tasks.
_ANSWERS = 20_000_000
# The fewest and the most draws of a null distribution.
_FEWEST = 2_000
_MOST = 20_000


@dataclass(frozen=True, slots=True)
class NullDraws:
    """Random draws of each question's mean squared lean, as if its answers did not lean.

    Attributes:
        all_rows: The rows of all images, answered or not.
        biases: Positions of the biases, in ascending order.
        of_answers: Draws for the images that were answered, shape (draws, biases).
        of_images: Draws for all images, shape (draws, biases).
    """

    all_rows: Sequence[CountedRow]
    biases: list[int]
    of_answers: Float64Array
    of_images: Float64Array

    @classmethod
    def drawn(
        cls,
        rows: Sequence[CountedRow],
        all_rows: Sequence[CountedRow],
        n_draws: int,
        rng: np.random.Generator,
    ) -> NullDraws:
        """Draw mean squared leans by chance, for the compared answers and for all images."""
        of_answers = null_means(rows, n_draws, rng)
        of_images = of_answers
        if any(len(row.unanswered) for row in all_rows):
            completed_rows = [completed(row, most=False) for row in all_rows]
            of_images = null_means(completed_rows, n_draws, rng)
        biases = sorted({row.bias for row in rows})
        return cls(all_rows, biases, of_answers, of_images)

    def for_answers(self, rows: Sequence[CountedRow]) -> Float64Array:
        """Return the draws averaged over the questions of `rows`, for answered images only."""
        draws: Float64Array = self.of_answers[:, self._columns(rows)].mean(axis=1)
        return draws

    def for_images(self, rows: Sequence[CountedRow]) -> Float64Array:
        """Return the draws averaged over the questions of `rows`, for all images."""
        draws: Float64Array = self.of_images[:, self._columns(rows)].mean(axis=1)
        return draws

    def rows_of_all_images(self, rows: Sequence[CountedRow]) -> list[CountedRow]:
        """Return, for the questions of `rows`, the rows of all images, answered or not."""
        biases = {row.bias for row in rows}
        return [row for row in self.all_rows if row.bias in biases]

    def _columns(self, rows: Sequence[CountedRow]) -> list[int]:
        return [self.biases.index(bias) for bias in sorted({row.bias for row in rows})]


def null_means(
    rows: Sequence[CountedRow], n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return random draws of each question's mean squared lean, as if answers did not lean.

    Answers are relabelled image by image, so that what the answers about one image have
    in common stays.

    Args:
        rows: The rows.
        n_draws: The most draws; large tasks get fewer.
        rng: Source of randomness.

    Returns:
        The means, shape (draws, biases of the rows in ascending order).
    """
    numbers: dict[tuple[str, int], int] = {}
    images = []
    for row in rows:
        for index in row.indices:
            image = (row.prompt, int(index))
            images.append(numbers.setdefault(image, len(numbers)))
    expected, n_classes = expected_table(rows)
    answers = Answers(
        image=np.array(images, dtype=np.int64),
        row=np.repeat(np.arange(len(rows)), [len(row.codes) for row in rows]),
        code=np.concatenate([row.codes for row in rows]),
        expected=expected,
        classes=n_classes,
    )
    biases, column = np.unique([row.bias for row in rows], return_inverse=True)
    is_of_bias = column[:, None] == np.arange(len(biases))
    weights = is_of_bias / np.bincount(column)
    affordable = int(np.clip(_ANSWERS // len(answers.image), _FEWEST, _MOST))
    draws = relabelled_counts(answers, min(n_draws, affordable), rng)
    return np.concatenate(
        [squared_lean(counts, expected, n_classes) @ weights for counts in draws]
    )
