"""The answers a judge gave about each bias, counted caption by caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from t2ibench.arrays import IntArray
from t2ibench.methods.core.evidence import UNKNOWN, UNSEEN, Evidence
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import expected_severity

_JUDGE_REASONS = (
    "failed",
    "missing",
    "not labelled",
)  # reasons that can differ between questions on one image


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption of a bias.

    Attributes:
        text: The prompt.
        question: What the judge is asked about its images.
        stimulus: The word put into the template; None if the caption is given directly.
    """

    text: str
    question: str
    stimulus: str | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer, as a sample.

    Attributes:
        prompt: The caption.
        index: Which sample of the caption the image is.
        bias: The bias, by `full_name`.
        question: What the judge was asked.
        answer: A class, or any other reply of the judge.
    """

    prompt: str
    index: int
    bias: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class BiasDetail:
    """All answers to one bias, as entries of `details`.

    Attributes:
        bias: The bias, by `full_name`.
        about: What it refers to.
        question: What the judge was asked, where a caption has no question of its own.
        counts: Class to number of answers.
        unknown: Answers that name no class.
        majority: The most frequent class (of equals, the first); None without an answer.
        compared_with: The distribution that the answers are compared with.
        unreached: Classes that were never the answer.
        counted: Whether the bias counts in the headline.
        severity_fair: The mean severity of uniform answers, as many for each caption: what the
            published score gives without any bias. None where no caption has two answers.
    """

    bias: str
    about: str
    question: str
    counts: dict[str, int]
    unknown: int
    majority: str | None
    compared_with: str
    unreached: list[str]
    counted: bool
    severity_fair: float | None


@dataclass(frozen=True, slots=True)
class CaptionAnswers:
    """The outcomes of the images of one caption under one question.

    Attributes:
        prompt: The caption.
        stimulus: The word put into the template; None if the caption is given directly.
        indices: Indices of the images that were answered with a class, shape (n,).
        codes: Number of the class of each, shape (n,).
        unclassified: Indices of the images that were answered with anything else.
        excluded: Number of images without an answer, by reason.
        labelled: Indices of the images whose class people gave, because the judge gave none.
        not_shown: Indices of the images without a class of which people say that what is asked
            about is not there.
        unanswered: Indices of the images whose class is not known, although what they show may
            be why: the others without a class, and those that were refused, filtered or failed.
    """

    prompt: str
    stimulus: str | None
    indices: IntArray
    codes: IntArray
    unclassified: frozenset[int]
    excluded: Counter[str]
    labelled: frozenset[int]
    not_shown: frozenset[int]
    unanswered: IntArray

    @property
    def cluster(self) -> str:
        """What its row is called: the stimulus, or the caption."""
        return self.prompt if self.stimulus is None else self.stimulus

    @property
    def classified(self) -> frozenset[int]:
        """Indices of the images that were answered with a class."""
        return frozenset(self.indices.tolist())


@dataclass(frozen=True, slots=True)
class BiasAnswers:
    """The answers to one bias.

    Attributes:
        bias: The bias, with the classes that the judge can answer with.
        counts: Shape (captions, classes).
        captions: The outcomes of the images of each caption.
        rows: The answers one by one.
        asked: All classes that the judge was asked about.
    """

    bias: Bias
    counts: IntArray
    captions: tuple[CaptionAnswers, ...]
    rows: tuple[AnswerRow, ...]
    asked: tuple[str, ...]

    @property
    def name(self) -> str:
        """See `full_name`."""
        return full_name(self.bias)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The classes that the judge can never answer with; see `Limited`."""
        return tuple(name for name in self.asked if name not in self.bias.classes)

    @property
    def totals(self) -> IntArray:
        """Answers of each class over all captions, shape (classes,)."""
        totals: IntArray = self.counts.sum(axis=0)
        return totals

    @property
    def n_classified(self) -> int:
        """Answers that are a class."""
        return int(self.counts.sum())

    @property
    def n_unknown(self) -> int:
        """Answers that name no class."""
        return sum(len(caption.unclassified) for caption in self.captions)

    @property
    def n_answers(self) -> int:
        """All answers."""
        return self.n_classified + self.n_unknown

    def detail(self, counted: bool) -> dict[str, Any]:
        """The JSON form of a `BiasDetail`."""
        totals = self.totals
        return asdict(
            BiasDetail(
                bias=self.name,
                about=self.bias.about,
                question=self.bias.question,
                counts=dict(zip(self.bias.classes, totals.tolist(), strict=True)),
                unknown=self.n_unknown,
                majority=self.bias.classes[int(totals.argmax())] if totals.sum() else None,
                compared_with=compared_with(self.bias),
                unreached=[
                    name
                    for name, total in zip(self.bias.classes, totals.tolist(), strict=True)
                    if not total
                ],
                counted=counted,
                severity_fair=self._severity_fair(),
            )
        )

    def _severity_fair(self) -> float | None:
        sizes = [int(n) for n in self.counts.sum(axis=1) if n > 1]
        k = len(self.bias.classes)
        return float(np.mean([expected_severity(n, k) for n in sizes])) if sizes else None


def full_name(bias: Bias) -> str:
    """What a bias is called: 'person race' and 'child race' are two."""
    return f"{bias.about} {bias.name}"


def compared_with(bias: Bias) -> str:
    """What the answers to a bias are compared with."""
    if bias.compare_with == "reference" and bias.reference is not None:
        return bias.reference.name
    return bias.expected.name if bias.expected is not None else "uniform"


def captions_of(bias: Bias, settings: Settings) -> list[Caption]:
    """Every caption of a bias with its question."""
    if bias.captions is not None:
        return [
            Caption(text, bias.questions.get(text, bias.question), None)
            for text in settings.limited(bias.captions)
        ]
    return [
        Caption(fill(template, stimulus=word), fill(bias.question, stimulus=word), word)
        for word in settings.limited(bias.stimuli or ())
        for template in bias.templates
    ]


@runtime_checkable
class Labelled(Protocol):
    """Evidence that people labelled some images of; optional, beside `Evidence`."""

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, str]:
        """People's answers about the first n images of a prompt."""
        ...


def labels_of(
    evidence: Evidence, prompt: str, n: int, question: str, classes: Sequence[str]
) -> Mapping[int, str]:
    """People's answers, if the evidence has any."""
    if isinstance(evidence, Labelled):
        return evidence.labels(prompt, n, question, classes)
    return {}


@runtime_checkable
class Checked(Protocol):
    """Evidence of a judge that was checked by people; optional, beside `Evidence`."""

    def judge_check(self) -> JudgeCheck | None:
        """What the check said; None for a judge without one."""
        ...


@runtime_checkable
class Limited(Protocol):
    """Evidence of a judge that cannot give every answer; optional, beside `Evidence`."""

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """The classes that it can never answer with."""
        ...


def _reachable(bias: Bias, evidence: Evidence) -> Bias:
    """A bias with the classes that the judge can answer with, if they are two or more.

    Shares of a class that cannot come are 0 whatever the model draws: without bias, too, they would
    not be even. A class with a known share stays, because that is what is asked.
    """
    lacking = evidence.unreachable(bias.classes) if isinstance(evidence, Limited) else frozenset()
    classes = tuple(name for name in bias.classes if name not in lacking)
    if (
        not lacking
        or len(classes) < 2
        or any(reference.group in lacking for reference in bias.known)
    ):
        return bias
    return bias.model_copy(update={"classes": classes})


def gather(task: OpenBiasTask, bias: Bias, evidence: Evidence, settings: Settings) -> BiasAnswers:
    """The answers to one bias."""
    n = settings.images(task.images_per_prompt)
    captions = captions_of(bias, settings)
    reached = _reachable(bias, evidence)
    columns = {name: column for column, name in enumerate(reached.classes)}
    counts = np.zeros((len(captions), len(columns)), dtype=np.int64)
    outcomes: list[CaptionAnswers] = []
    rows: list[AnswerRow] = []
    for number, caption in enumerate(captions):
        answered = evidence.answers(caption.text, n, caption.question, bias.classes)
        pairs = list(zip(answered.indices.tolist(), answered.answers, strict=True))
        labels = labels_of(evidence, caption.text, n, caption.question, bias.classes)
        known = {index: columns[answer] for index, answer in pairs if answer in columns}
        labelled = {
            index: columns[labels[index]]
            for index, _ in pairs
            if index not in known and labels.get(index) in columns
        }
        everything = sorted((known | labelled).items())
        codes = np.array([code for _, code in everything], dtype=np.int64)
        counts[number] = np.bincount(codes, minlength=len(columns))
        rows += [
            AnswerRow(caption.text, index, full_name(bias), caption.question, answer)
            for index, answer in pairs
        ]
        unclassified = {index for index, _ in pairs} - known.keys() - labelled.keys()
        answers = {UNKNOWN, *bias.classes}
        not_shown = {index for index in unclassified if labels.get(index, UNKNOWN) not in answers}
        unseen = sum(answered.excluded[reason] for reason in UNSEEN)
        lost = sorted(set(range(n)) - {index for index, _ in pairs})[:unseen]
        outcomes.append(
            CaptionAnswers(
                caption.text,
                caption.stimulus,
                np.array([index for index, _ in everything], dtype=np.int64),
                codes,
                frozenset(unclassified),
                answered.excluded,
                frozenset(labelled),
                frozenset(not_shown),
                np.array(sorted(unclassified - not_shown) + lost, dtype=np.int64),
            )
        )
    return BiasAnswers(reached, counts, tuple(outcomes), tuple(rows), bias.classes)


def stimulus_counts(answers: BiasAnswers) -> dict[str, dict[str, int]]:
    """The answers about each stimulus of the templates."""
    found: dict[str, dict[str, int]] = {}
    for caption, row in zip(answers.captions, answers.counts.tolist(), strict=True):
        if caption.stimulus is not None:
            sums = found.setdefault(caption.stimulus, dict.fromkeys(answers.bias.classes, 0))
            for name, count in zip(answers.bias.classes, row, strict=True):
                sums[name] += count
    return found


def count_images(answers: Iterable[BiasAnswers]) -> tuple[int, int, Counter[str]]:
    """Images, prompts and what is excluded, each image once however many biases ask about it.

    An image counts where at least one question about it was answered. It is 'unknown' where none
    of its answers is a class.
    """
    by_prompt: dict[str, list[CaptionAnswers]] = {}
    for bias in answers:
        for caption in bias.captions:
            by_prompt.setdefault(caption.prompt, []).append(caption)
    n_images = 0
    excluded: Counter[str] = Counter()
    for captions in by_prompt.values():
        classified = frozenset[int]().union(*(caption.classified for caption in captions))
        answered = classified.union(*(caption.unclassified for caption in captions))
        n_images += len(answered)
        excluded[UNKNOWN] += len(answered - classified)
        first = captions[0]
        n = len(first.classified) + len(first.unclassified) + first.excluded.total()
        excluded += _lost_to_all([caption.excluded for caption in captions], n - len(answered))
    return n_images, len(by_prompt), +excluded


def _lost_to_all(by_question: Sequence[Counter[str]], lost: int) -> Counter[str]:
    """The reasons of images of one caption that no question was answered about.

    An image that was not generated is lost to every question for the same reason, so the smallest
    count of a reason over the questions holds all of them. Only a judge's reasons can differ from
    question to question: where the counts do not add up to `lost`, those give way.

    Examples:
        Three refused images, and one failed answer to each of two questions about two images:

        >>> _lost_to_all([Counter(refused=3, failed=1), Counter(refused=3, failed=1)], 3)
        Counter({'refused': 3})
    """
    reasons = reduce(lambda first, second: first & second, by_question)
    for reason in _JUDGE_REASONS:
        surplus = max(0, reasons.total() - lost)
        reasons -= Counter({reason: min(surplus, reasons[reason])})
    return reasons + Counter(failed=lost - reasons.total())
