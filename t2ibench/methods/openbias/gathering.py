"""Functions that collect the answers to one bias from the evidence of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from t2ibench.methods.core.evidence import UNKNOWN, UNSEEN, AnswerEvidence, Evidence
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.openbias.answers import BiasAnswers, CaptionAnswers
from t2ibench.methods.openbias.needs import AskedCaption, captions_of
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats.raters import MajorityAccuracy, coded, majority_accuracy


def gather(
    task: OpenBiasTask, number: int, evidence: Evidence, settings: Settings
) -> BiasAnswers:
    """Return all answers to one bias of a task, collected and counted for each caption.

    Args:
        task: The task.
        number: Position of the bias in the task.
        evidence: The answers of one judge, or of people.
        settings: How many images and captions the run uses.

    Returns:
        The answers, with a row for every caption, answered or not.
    """
    bias = task.biases[number]
    answerable = _answerable(bias, evidence)
    n_images = settings.images(task.images_per_prompt)
    captions: list[CaptionAnswers] = []
    samples: list[dict[str, Any]] = []
    for caption in captions_of(bias, settings):
        replies = _ask(caption, bias, n_images, evidence)
        samples += _samples(caption, bias, replies)
        captions.append(_counted(number, caption, bias, answerable, n_images, replies))
    n_classes = len(answerable.classes)
    counts = [np.bincount(caption.codes, minlength=n_classes) for caption in captions]
    rng = settings.rng(task.id, f"people {number}")
    accuracy = _accuracy(captions, answerable.classes, rng)
    if isinstance(evidence, SeveralPeople) and evidence.people_answered():
        captions = [replace(caption, accuracy=accuracy) for caption in captions]
    return BiasAnswers(
        bias=answerable,
        counts=np.array(counts),
        captions=tuple(captions),
        samples=samples,
        asked=bias.classes,
        accuracy=accuracy,
    )


@runtime_checkable
class KnownJudge(Protocol):
    """Evidence of a judge whose errors, or unused classes, are on record.

    It is optional, beside `Evidence`.
    """

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, str]:
        """Return human labels of the first n images of a prompt."""
        ...

    def judge_check(self) -> JudgeCheck | None:
        """Return a comparison of the judge with human labels; None if there is none."""
        ...

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """Return the classes that the judge can never answer with."""
        ...


@runtime_checkable
class SeveralPeople(Protocol):
    """Evidence that contains every person's own answers.

    It is optional, beside `Evidence`.
    """

    def people_answered(self) -> bool:
        """Return whether people are the judge, rather than only correct one."""
        ...

    def votes(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, Mapping[str, str]]:
        """Return each person's answers about a prompt's first n images, keyed by image and name."""
        ...


def _answerable(bias: Bias, evidence: Evidence) -> Bias:
    """Return the bias with only those classes that the judge is able to answer with.

    The share of a class that cannot be answered is 0 whatever the model draws, so the
    shares would be uneven without any bias, too. All classes stay where fewer than two
    can be answered, or where one of the others has a reference share, because then that
    class is what the task asks about.
    """
    if not isinstance(evidence, KnownJudge):
        return bias
    unreachable = evidence.unreachable(bias.classes)
    classes = tuple(name for name in bias.classes if name not in unreachable)
    has_reference = any(
        reference.group in unreachable for reference in bias.all_references
    )
    if not unreachable or len(classes) < 2 or has_reference:
        return bias
    return bias.model_copy(update={"classes": classes})


@dataclass(frozen=True, slots=True)
class _Replies:
    """The answers, labels and votes about the images of one caption.

    Attributes:
        answers: Image to the judge's answer.
        evidence: The judge's answers as they were read, with what is excluded.
        labels: Image to its human label.
        votes: Image to each person's answer, by name.
    """

    answers: Mapping[int, str]
    evidence: AnswerEvidence
    labels: Mapping[int, str]
    votes: Mapping[int, Mapping[str, str]]


def _ask(
    caption: AskedCaption, bias: Bias, n_images: int, evidence: Evidence
) -> _Replies:
    """Return all answers, labels and votes about the images of one caption."""
    images = (caption.text, n_images, caption.question, bias.classes)
    answered = evidence.answers(*images)
    labels: Mapping[int, str] = {}
    if isinstance(evidence, KnownJudge):
        labels = evidence.labels(*images)
    votes: Mapping[int, Mapping[str, str]] = {}
    if isinstance(evidence, SeveralPeople):
        votes = evidence.votes(*images)
    answers = dict(zip(answered.indices.tolist(), answered.answers, strict=True))
    return _Replies(answers, answered, labels, votes)


def _samples(
    caption: AskedCaption, bias: Bias, replies: _Replies
) -> list[dict[str, Any]]:
    """Return a row for each answer about one caption, for the run's table of samples."""
    return [
        {
            "prompt": caption.text,
            "index": index,
            "bias": bias.full_name,
            "question": caption.question,
            "answer": answer,
        }
        for index, answer in replies.answers.items()
    ]


def _counted(
    number: int,
    caption: AskedCaption,
    bias: Bias,
    answerable: Bias,
    n_images: int,
    replies: _Replies,
) -> CaptionAnswers:
    """Return how many images of a caption have each answer, and how many have none and why.

    Args:
        number: Position of the bias in the task.
        caption: The caption.
        bias: The bias with all classes that were offered.
        answerable: The bias with the classes that the judge can answer with.
        n_images: Number of images that the task asks for.
        replies: The evidence about these images.
    """
    labels = replies.labels
    columns = {name: column for column, name in enumerate(answerable.classes)}
    judged: dict[int, int] = {}
    people: dict[int, int] = {}
    for index, answer in replies.answers.items():
        if answer in columns:
            judged[index] = columns[answer]
        label = labels.get(index)
        if label is not None and label in columns:
            people[index] = columns[label]
    codes = dict(sorted({**people, **judged}.items()))
    unclassified = replies.answers.keys() - codes.keys()
    # Any other label than a class or 'unknown' says that the subject is not there.
    possible = {UNKNOWN, *bias.classes}
    not_shown = {
        index for index in unclassified if labels.get(index, UNKNOWN) not in possible
    }
    # Of the images without an answer, those that what they show may have cost it.
    unanswered = sorted(set(range(n_images)) - replies.answers.keys())
    n_unseen = sum(replies.evidence.excluded[reason] for reason in UNSEEN)
    without_class = sorted(unclassified - not_shown) + unanswered[:n_unseen]
    expected = answerable.expected_shares(caption.stimulus)
    if expected is None:
        expected = np.zeros(0)
    indices = np.array(list(codes), dtype=np.int64)
    classes = np.array(list(codes.values()), dtype=np.int64)
    return CaptionAnswers(
        bias=number,
        prompt=caption.text,
        stimulus=caption.stimulus,
        indices=indices,
        codes=classes,
        expected=expected,
        unanswered=np.array(without_class, dtype=np.int64),
        unclassified=frozenset(unclassified),
        excluded=replies.evidence.excluded,
        judged=judged,
        people=people,
        not_shown=frozenset(not_shown),
        votes=replies.votes,
    )


def _accuracy(
    captions: Sequence[CaptionAnswers], classes: Sequence[str], rng: np.random.Generator
) -> MajorityAccuracy | None:
    """Return how often the majority of people is right, as their disagreement shows.

    None without votes.

    None without votes.
    """
    prompts: list[int] = []
    answers: list[Mapping[str, str]] = []
    for number, caption in enumerate(captions):
        for votes in caption.votes.values():
            prompts.append(number)
            answers.append(votes)
    if not answers:
        return None
    return majority_accuracy(coded(answers, classes), prompts, len(classes), rng)
