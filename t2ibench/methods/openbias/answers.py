"""Records of the answers to each bias, counted caption by caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.openbias.schema import Bias
from t2ibench.stats import squared_lean
from t2ibench.stats.raters import MajorityAccuracy


@dataclass(frozen=True, slots=True)
class CountedRow:
    """The answers about the images of one caption to one question.

    Attributes:
        bias: Position of the bias in the task.
        prompt: The caption.
        stimulus: The word in the caption's template; None for a caption without one.
        indices: The images that were answered with a class, shape (n,).
        codes: Position of the class that each of them was given, shape (n,).
        expected: Shares that the answers are compared with, shape (k,); empty where a
            reference has none for the stimulus.
        unanswered: Images without a class, although what they show may be why: those
            that got no class as an answer, and those that were refused, filtered or
            failed.
        accuracy: How often the answer of most people is right; None where one person
            or a model answered.
    """

    bias: int
    prompt: str
    stimulus: str | None
    indices: IntArray
    codes: IntArray
    expected: Float64Array
    unanswered: IntArray
    accuracy: MajorityAccuracy | None = field(default=None, kw_only=True)

    @property
    def cluster(self) -> str:
        """The stimulus or, without one, the caption, which a sample of similar prompts redraws."""
        return self.prompt if self.stimulus is None else self.stimulus

    @property
    def counts(self) -> IntArray:
        """Number of answers of each class, shape (k,)."""
        return np.bincount(self.codes, minlength=len(self.expected))

    @property
    def square(self) -> float:
        """Return the unbiased squared lean of the caption's answers from the expected shares."""
        return float(squared_lean(self.counts, self.expected))

    @property
    def noise(self) -> float:
        """Return the mean squared distance that answers have from expected shares by chance."""
        shares = self.expected
        largest = 1 - 1 / len(shares)
        return float((1 - (shares**2).sum()) / largest) / len(self.codes)

    @property
    def largest(self) -> float:
        """Return the squared lean of answers that are all the least expected class."""
        shares = self.expected
        distance = 1 - 2 * shares.min() + (shares**2).sum()
        return float(distance / (1 - 1 / len(shares)))


@dataclass(frozen=True, slots=True)
class CaptionAnswers(CountedRow):
    """The answers about one caption to one question, with the outcome of every image.

    Attributes:
        unclassified: Images that were answered, but not with a class.
        excluded: Number of images without an answer, by reason.
        judged: Image to the position of the class that the judge gave.
        people: Image to the position of the class that people gave; it counts where
            the judge gave none.
        not_shown: Images without a class in which, people say, the subject of the
            question is absent.
        votes: Image to the answer of each person, by name; empty where nobody or one
            person answered.
    """

    unclassified: frozenset[int]
    excluded: Counter[str]
    judged: Mapping[int, int]
    people: Mapping[int, int]
    not_shown: frozenset[int]
    votes: Mapping[int, Mapping[str, str]]

    @property
    def classified(self) -> frozenset[int]:
        """Return the images that were answered with a class."""
        return frozenset(self.indices.tolist())

    @property
    def unjudged(self) -> frozenset[int]:
        """Return the images that the judge answered, but not with a class."""
        return self.unclassified | (self.people.keys() - self.judged.keys())


@dataclass(frozen=True, slots=True)
class BiasAnswers:
    """All answers to one bias.

    Attributes:
        bias: The bias, with the classes that the judge can answer with.
        counts: Number of answers of each class, shape (captions, classes).
        captions: The answers of each caption.
        samples: A row for each answer, for the run's table of samples.
        asked: All classes that the judge was offered.
        accuracy: How often the answer of most people is right, where several people
            answered or labelled images for a judge.
    """

    bias: Bias
    counts: IntArray
    captions: tuple[CaptionAnswers, ...]
    samples: list[dict[str, Any]]
    asked: tuple[str, ...]
    accuracy: MajorityAccuracy | None = None

    @property
    def name(self) -> str:
        """Return the full name of the bias, such as 'person race'."""
        return self.bias.full_name

    @property
    def by_class(self) -> dict[str, int]:
        """Each class with its number of answers over all captions."""
        totals = self.counts.sum(axis=0).tolist()
        return dict(zip(self.bias.classes, totals, strict=True))

    @property
    def by_stimulus(self) -> dict[str, IntArray]:
        """Each stimulus of the templates with its number of answers of each class."""
        totals: dict[str, IntArray] = {}
        for caption, counts in zip(self.captions, self.counts, strict=True):
            if caption.stimulus is not None:
                total = totals.get(caption.stimulus, 0)
                totals[caption.stimulus] = total + counts
        return totals

    @property
    def n_classified(self) -> int:
        """Number of the answers that are a class, over all captions."""
        return int(self.counts.sum())

    @property
    def n_unknown(self) -> int:
        """Number of the answers that are not a class, over all captions."""
        return sum(len(caption.unclassified) for caption in self.captions)

    @property
    def n_answers(self) -> int:
        """Number of all answers, whether they are a class or not."""
        return self.n_classified + self.n_unknown
