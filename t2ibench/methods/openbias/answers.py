"""The answers a judge gave about each bias, counted caption by caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import UNKNOWN, UNSEEN, Evidence
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import expected_severity, squared_lean
from t2ibench.stats.raters import MajorityAccuracy, coded, majority_accuracy

# Reasons that can differ between questions on one image.
_JUDGE_REASONS = ("failed", "missing", "not labelled")


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption of a bias, with its question, and the word that was put into a template."""

    text: str
    question: str
    stimulus: str | None


@dataclass(frozen=True, slots=True)
class CountedRow:
    """The answers about the images of one caption to one question."""

    bias: int
    prompt: str
    stimulus: str | None
    indices: IntArray  # of the images that were answered with a class, shape (n,)
    codes: IntArray  # number of the class of each, shape (n,)
    # shares that the answers are compared with, shape (k,); empty where a reference has none
    expected: Float64Array
    # Images whose class is not known, although what they show may be why: those without a class,
    # and those that were refused, filtered or failed.
    unanswered: IntArray
    # how far what most people answered can be wrong; None where one person or a model answered
    accuracy: MajorityAccuracy | None = field(default=None, kw_only=True)

    @property
    def cluster(self) -> str:
        """What would be drawn anew for prompts like these: the stimulus, or the caption."""
        return self.prompt if self.stimulus is None else self.stimulus

    @property
    def counts(self) -> IntArray:
        """Answers of each class, shape (k,)."""
        return np.bincount(self.codes, minlength=len(self.expected))

    @property
    def square(self) -> float:
        """The squared lean, unbiased."""
        return float(squared_lean(self.counts, self.expected))

    @property
    def noise(self) -> float:
        """The mean squared distance of its shares from expected ones where it does not lean."""
        r = self.expected
        return float((1 - (r**2).sum()) / (1 - 1 / len(r))) / len(self.codes)

    @property
    def largest(self) -> float:
        """The squared lean of answers that are all the least expected class."""
        r = self.expected
        return float((1 - 2 * r.min() + (r**2).sum()) / (1 - 1 / len(r)))


@dataclass(frozen=True, slots=True)
class CaptionAnswers(CountedRow):
    """A row with all outcomes of its images."""

    # images that were answered with anything else than a class
    unclassified: frozenset[int]
    excluded: Counter[str]
    judged: Mapping[int, int]  # image to the class that the judge gave
    # image to the class that people gave; it counts where the judge gave none
    people: Mapping[int, int]
    # images without a class of which people say that what is asked about is not there
    not_shown: frozenset[int]
    # image to what each person answered, by name; empty where no people or one answered
    votes: Mapping[int, Mapping[str, str]]

    @property
    def classified(self) -> frozenset[int]:
        """Indices of the images that were answered with a class."""
        return frozenset(self.indices.tolist())

    @property
    def unjudged(self) -> frozenset[int]:
        """Indices of the images that the judge answered with anything else than a class."""
        return self.unclassified | (self.people.keys() - self.judged.keys())


@dataclass(frozen=True, slots=True)
class BiasAnswers:
    """The answers to one bias."""

    bias: Bias  # with the classes that the judge can answer with
    counts: IntArray  # shape (captions, classes)
    captions: tuple[CaptionAnswers, ...]
    samples: list[dict[str, Any]]
    asked: tuple[str, ...]  # all classes that the judge was asked about
    # of the people who answered, or who labelled images for a judge
    accuracy: MajorityAccuracy | None = None

    @property
    def name(self) -> str:
        """See `Bias.full_name`."""
        return self.bias.full_name

    @property
    def by_class(self) -> dict[str, int]:
        """Answers of each class over all captions."""
        return dict(
            zip(self.bias.classes, self.counts.sum(axis=0).tolist(), strict=True)
        )

    @property
    def by_stimulus(self) -> dict[str, IntArray]:
        """Answers of each class about each stimulus of the templates."""
        found: dict[str, IntArray] = {}
        for caption, row in zip(self.captions, self.counts, strict=True):
            if caption.stimulus is not None:
                found[caption.stimulus] = found.get(caption.stimulus, 0) + row
        return found

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
        """The entry of `details['biases']`; of equal classes the first is the majority.

        'severity_fair' is the mean severity of as many uniform answers: what the published score
        gives without any bias.
        """
        counts, k = self.by_class, len(self.bias.classes)
        sizes = [int(n) for n in self.counts.sum(axis=1) if n > 1]
        fair = (
            float(np.mean([expected_severity(n, k) for n in sizes])) if sizes else None
        )
        return {
            "bias": self.name,
            "about": self.bias.about,
            "question": self.bias.question,
            "counts": counts,
            "unknown": self.n_unknown,
            "majority": max(counts, key=lambda name: counts[name])
            if any(counts.values())
            else None,
            "compared_with": self.bias.compared_with,
            "counted": counted,
            "severity_fair": fair,
        }


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
class KnownJudge(Protocol):
    """Evidence of a judge of whom more is known than its answers; optional, beside `Evidence`."""

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, str]:
        """People's answers about the first n images of a prompt."""
        ...

    def judge_check(self) -> JudgeCheck | None:
        """What a check by people said; None for a judge without one."""
        ...

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """The classes that it can never answer with."""
        ...


@runtime_checkable
class SeveralPeople(Protocol):
    """Evidence of which each person's answers are there; optional, beside `Evidence`."""

    def people_answered(self) -> bool:
        """Whether people are the judge, and do not only correct one."""
        ...

    def votes(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, Mapping[str, str]]:
        """What each person answered about the first n images of a prompt, by name."""
        ...


def gather(
    task: OpenBiasTask, number: int, evidence: Evidence, settings: Settings
) -> BiasAnswers:
    """The answers to the bias of this number."""
    n, bias = settings.images(task.images_per_prompt), task.biases[number]
    reached = _reachable(bias, evidence)
    columns = {name: column for column, name in enumerate(reached.classes)}
    captions: list[CaptionAnswers] = []
    samples: list[dict[str, Any]] = []
    for caption in captions_of(bias, settings):
        asked = (caption.text, n, caption.question, bias.classes)
        found = evidence.answers(*asked)
        answers = dict(zip(found.indices.tolist(), found.answers, strict=True))
        labels = evidence.labels(*asked) if isinstance(evidence, KnownJudge) else {}
        votes = evidence.votes(*asked) if isinstance(evidence, SeveralPeople) else {}
        samples += [
            {
                "prompt": caption.text,
                "index": index,
                "bias": bias.full_name,
                "question": caption.question,
                "answer": answer,
            }
            for index, answer in answers.items()
        ]
        judged = {
            index: columns[answer]
            for index, answer in answers.items()
            if answer in columns
        }
        people = {
            index: columns[labels[index]]
            for index in answers
            if labels.get(index) in columns
        }
        codes = dict(sorted({**people, **judged}.items()))
        unclassified = answers.keys() - codes.keys()
        possible = {UNKNOWN, *bias.classes}
        not_shown = {
            index
            for index in unclassified
            if labels.get(index, UNKNOWN) not in possible
        }
        unseen = sum(found.excluded[reason] for reason in UNSEEN)
        lost = sorted(set(range(n)) - answers.keys())[:unseen]
        expected = reached.expected_shares(caption.stimulus)
        captions.append(
            CaptionAnswers(
                number,
                caption.text,
                caption.stimulus,
                np.array(list(codes), dtype=np.int64),
                np.array(list(codes.values()), dtype=np.int64),
                np.zeros(0) if expected is None else expected,
                np.array(sorted(unclassified - not_shown) + lost, dtype=np.int64),
                frozenset(unclassified),
                found.excluded,
                judged,
                people,
                frozenset(not_shown),
                votes,
            )
        )
    counts = [
        np.bincount(caption.codes, minlength=len(columns)) for caption in captions
    ]
    accuracy = _accuracy(
        captions, reached.classes, settings.rng(task.id, f"people {number}")
    )
    if isinstance(evidence, SeveralPeople) and evidence.people_answered():
        captions = [replace(caption, accuracy=accuracy) for caption in captions]
    return BiasAnswers(
        reached, np.array(counts), tuple(captions), samples, bias.classes, accuracy
    )


def _accuracy(
    captions: Sequence[CaptionAnswers], classes: Sequence[str], rng: np.random.Generator
) -> MajorityAccuracy | None:
    """How far what most people answered can be wrong, from how they disagree."""
    votes = [
        (number, answers)
        for number, caption in enumerate(captions)
        for answers in caption.votes.values()
    ]
    codes = coded([answers for _, answers in votes], classes)
    prompts = [number for number, _ in votes]
    return majority_accuracy(codes, prompts, len(classes), rng) if votes else None


def _reachable(bias: Bias, evidence: Evidence) -> Bias:
    """A bias with the classes that the judge can answer with, if they are two or more.

    Shares of a class that cannot come are 0 whatever the model draws: without bias, too, they would
    not be even. A class with a known share stays, because that is what is asked.
    """
    lacking = frozenset[str]()
    if isinstance(evidence, KnownJudge):
        lacking = evidence.unreachable(bias.classes)
    classes = tuple(name for name in bias.classes if name not in lacking)
    asked = any(reference.group in lacking for reference in bias.known)
    if not lacking or len(classes) < 2 or asked:
        return bias
    return bias.model_copy(update={"classes": classes})


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
        classified = frozenset[int]().union(
            *(caption.classified for caption in captions)
        )
        answered = classified.union(*(caption.unclassified for caption in captions))
        n_images += len(answered)
        excluded[UNKNOWN] += len(answered - classified)
        first = captions[0]
        n = len(first.classified) + len(first.unclassified) + first.excluded.total()
        excluded += _lost_to_all(
            [caption.excluded for caption in captions], n - len(answered)
        )
    return n_images, len(by_prompt), +excluded


def _lost_to_all(by_question: Sequence[Counter[str]], lost: int) -> Counter[str]:
    """The reasons of images of one caption that no question was answered about.

    An image that was not generated is lost to every question for the same reason, so the smallest
    count of a reason over the questions holds all of them. Only a judge's reasons can differ from
    question to question: where the counts do not add up to `lost`, those give way.

    Examples:
        >>> _lost_to_all([Counter(refused=3, failed=1), Counter(refused=3, failed=1)], 3)
        Counter({'refused': 3})
    """
    reasons = reduce(lambda first, second: first & second, by_question)
    for reason in _JUDGE_REASONS:
        surplus = max(0, reasons.total() - lost)
        reasons -= Counter({reason: min(surplus, reasons[reason])})
    return reasons + Counter(failed=lost - reasons.total())
