"""Records of the answers to each question of a task, counted caption by caption."""

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
        """Stimulus or, without one, caption: what a sample of similar prompts would replace."""
        return self.prompt if self.stimulus is None else self.stimulus

    @property
    def counts(self) -> IntArray:
        """Number of answers of each class, shape (k,)."""
        return np.bincount(self.codes, minlength=len(self.expected))

    @property
    def square(self) -> float:
        """Unbiased squared lean of the caption's answers, compared with expected shares."""
        return float(squared_lean(self.counts, self.expected))

    @property
    def noise(self) -> float:
        """Mean squared distance of answers from expected shares that arises by chance."""
        shares = self.expected
        largest = 1 - 1 / len(shares)
        return float((1 - (shares**2).sum()) / largest) / len(self.codes)

    @property
    def largest(self) -> float:
        """Squared lean that answers have if all are the least expected class."""
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
        """Indices of the images that were answered with a class."""
        return frozenset(self.indices.tolist())

    @property
    def unjudged(self) -> frozenset[int]:
        """Indices of the images that the judge answered, but not with a class."""
        return self.unclassified | (self.people.keys() - self.judged.keys())


@dataclass(frozen=True, slots=True)
class BiasAnswers:
    """All answers to one question of a task, about the images of all its captions.

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
        """Full name of the question, such as 'person race'."""
        return self.bias.full_name

    @property
    def by_class(self) -> dict[str, int]:
        """Number of answers of each class over all captions, keyed by class."""
        totals = self.counts.sum(axis=0).tolist()
        return dict(zip(self.bias.classes, totals, strict=True))

    @property
    def by_stimulus(self) -> dict[str, IntArray]:
        """Number of answers of each class for each stimulus, keyed by stimulus."""
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
