"""The answers as rows of counts: one row for each bias and caption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.schema import Bias
from t2ibench.stats import Answers, squared_lean

POOLED = "one image a caption"  # stands for all captions where each has a single image


@dataclass(frozen=True, slots=True)
class CountedRow:
    """Two or more answers about the images of one caption to one question.

    Attributes:
        bias: Number of the bias.
        prompt: The caption.
        stimulus: The word that was put into a template, if any.
        indices: Indices of the images, shape (n,).
        codes: Number of the class of each image, shape (n,).
        expected: Shares of the classes that the answers are compared with, shape (k,).
    """

    bias: int
    prompt: str
    stimulus: str | None
    indices: IntArray
    codes: IntArray
    expected: Float64Array

    @property
    def cluster(self) -> str:
        """What would be drawn anew for prompts like these: the stimulus, or the caption."""
        return self.prompt if self.stimulus is None else self.stimulus

    @property
    def counts(self) -> IntArray:
        """Answers of each class, shape (k,)."""
        counts: IntArray = np.bincount(self.codes, minlength=len(self.expected))
        return counts

    @property
    def square(self) -> float:
        """The squared lean, unbiased."""
        return float(squared_lean(self.counts, self.expected))

    @property
    def largest(self) -> float:
        """The squared lean of answers that are all the least expected class."""
        r = self.expected
        return float((1 - 2 * r.min() + (r**2).sum()) / (1 - 1 / len(r)))


def expected_shares(bias: Bias, stimulus: str | None) -> Float64Array | None:
    """What answers about a caption are compared with.

    Args:
        bias: The bias.
        stimulus: The caption's stimulus.

    Returns:
        Shares of the classes, shape (k,); None where the reference has none of this stimulus.
    """
    if bias.compare_with == "reference" and bias.reference is not None:
        share = bias.reference.shares.get(stimulus or "")
        if share is None:
            return None
        return np.array(
            [share if name == bias.reference.group else 1.0 - share for name in bias.classes]
        )
    if bias.expected is not None:
        shares = np.array([bias.expected.shares[name] for name in bias.classes])
        normalised: Float64Array = shares / shares.sum()
        return normalised
    return np.full(len(bias.classes), 1.0 / len(bias.classes))


def rows_of(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """The rows of a task.

    Where no caption has two answers (real images with a caption each), all captions of a bias
    make one row, whose images are those of the captions.
    """
    single = [
        CountedRow(
            number, caption.prompt, caption.stimulus, caption.indices, caption.codes, expected
        )
        for number, found in enumerate(answers)
        for caption in found.captions
        if (expected := expected_shares(found.bias, caption.stimulus)) is not None
    ]
    several = [row for row in single if len(row.codes) > 1]
    return several or _pooled(answers, single)


def _pooled(answers: Sequence[BiasAnswers], rows: Iterable[CountedRow]) -> list[CountedRow]:
    prompts = {
        prompt: number
        for number, prompt in enumerate(
            dict.fromkeys(caption.prompt for found in answers for caption in found.captions)
        )
    }
    answered = [row for row in rows if len(row.codes)]
    pooled = []
    for number, found in enumerate(answers):
        own = [row for row in answered if row.bias == number]
        if len(own) > 1 and found.bias.compare_with != "reference":
            pooled.append(
                CountedRow(
                    number,
                    POOLED,
                    None,
                    np.array([prompts[row.prompt] for row in own]),
                    np.concatenate([row.codes for row in own]),
                    own[0].expected,
                )
            )
    return pooled


def half(rows: Sequence[CountedRow], remainder: int) -> list[CountedRow]:
    """The rows of the images with even, or with odd, indices."""
    chosen = []
    for row in rows:
        keep = row.indices % 2 == remainder
        chosen.append(replace(row, indices=row.indices[keep], codes=row.codes[keep]))
    return [row for row in chosen if len(row.codes) > 1]


def table_of(rows: Sequence[CountedRow]) -> Answers:
    """The rows as one table of answers, for their null distribution."""
    images: dict[tuple[str, int], int] = {}
    numbers = [
        images.setdefault((row.prompt, int(index)), len(images))
        for row in rows
        for index in row.indices
    ]
    width = max(len(row.expected) for row in rows)
    return Answers(
        image=np.array(numbers, dtype=np.int64),
        row=np.repeat(np.arange(len(rows)), [len(row.codes) for row in rows]),
        code=np.concatenate([row.codes for row in rows]),
        expected=np.array([np.pad(row.expected, (0, width - len(row.expected))) for row in rows]),
        classes=np.array([len(row.expected) for row in rows]),
    )
