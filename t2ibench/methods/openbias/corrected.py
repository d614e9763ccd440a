"""Estimates of shares and squared leans as people would have answered, from labels.

The labels are of images of the run, or of other images in a check of the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.judge_check import AttributeCheck
from t2ibench.methods.core.score_names import join_score_name, split_score_name
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.gathering import KnownJudge
from t2ibench.methods.openbias.schema import Bias
from t2ibench.stats.judged import (
    confusion_matrix,
    corrected_mean_square,
    corrected_share,
)

# The fewest labels of a corrected share.
_FEWEST = 20
# The fewest labels that stand for all images without a class.
_FEWEST_UNKNOWN = 3
# Code of an image that the judge gave no class.
_NO_CLASS = -1


def scores_from_labels(answers: BiasAnswers, level: float) -> dict[str, Estimate]:
    """Return shares and squared lean of a bias, corrected with labels of the run's images.

    Empty without labels.
    """
    sample = _LabelledSample.of(answers)
    if sample is None:
        return {}
    scores = {"n_labels": Estimate(float(sample.n_labels))}
    for code, name in enumerate(answers.bias.classes):
        share = _corrected_share(answers, sample, code, level)
        scores[join_score_name("share_corrected", name)] = share
    scores["squared_lean_corrected"] = _corrected_square(answers, level)
    return scores


@dataclass(frozen=True, slots=True)
class _LabelledSample:
    """The judge's answers about all images, and human labels of a sample of them.

    Where people labelled images that the judge gave no class, these stand for all such
    images ('apart'), and without further labels the judge is believed about the others.
    Otherwise the labels are a sample of all images, with or without a class. Images in
    which, people say, the subject of the question is absent do not count.

    Attributes:
        n_labels: Number of labelled images.
        judged: The judge's class of every image; -1 where it gave none. Without the
            latter where they are apart.
        pairs: The judge's and people's class of each labelled image, out of `judged`.
        n_unknown: Estimated number of images without a class that count; 0 where they
            are not apart.
        labels_of_unknown: People's class of each labelled image without a class; empty
            where they are not apart.
    """

    n_labels: int
    judged: list[int]
    pairs: list[tuple[int, int]]
    n_unknown: float
    labels_of_unknown: list[int]

    @classmethod
    def of(cls, answers: BiasAnswers) -> _LabelledSample | None:
        """Return the judge's answers and the human labels for one bias; None without labels."""
        judged: list[int] = []
        pairs: list[tuple[int, int]] = []
        for caption in answers.captions:
            judged += caption.judged.values()
            judged += [_NO_CLASS] * len(caption.unjudged)
            for index, label in caption.people.items():
                pairs.append((caption.judged.get(index, _NO_CLASS), label))
        if not pairs:
            return None
        labels_of_unknown = [label for code, label in pairs if code < 0]
        pairs_with_class = [pair for pair in pairs if pair[0] >= 0]
        n_not_shown = sum(len(caption.not_shown) for caption in answers.captions)
        n_labelled = max(len(labels_of_unknown) + n_not_shown, 1)
        n_unknown = judged.count(_NO_CLASS) * len(labels_of_unknown) / n_labelled
        needed = min(_FEWEST_UNKNOWN, n_unknown)
        is_separate = (
            len(labels_of_unknown) >= needed > 0 and len(pairs_with_class) != 1
        )
        if not is_separate:
            return cls(len(pairs), judged, pairs, 0, [])
        with_class = [code for code in judged if code >= 0]
        return cls(
            n_labels=len(pairs),
            judged=with_class,
            pairs=pairs_with_class,
            n_unknown=n_unknown,
            labels_of_unknown=labels_of_unknown,
        )

    @property
    def is_enough(self) -> bool:
        """Whether there are enough human labels to correct a share.

        A few are, where they are all of images without a class.
        """
        only_unknown = bool(self.labels_of_unknown) and not self.pairs
        return bool(self.judged) and (self.n_labels >= _FEWEST or only_unknown)


def _corrected_share(
    answers: BiasAnswers, sample: _LabelledSample, code: int, level: float
) -> Estimate:
    """Return a class's share as people would have answered, from labels and the judge.

    Source: Angelopoulos et al. 2023, "Prediction-powered inference".
    """
    if not sample.is_enough:
        reason = f"{sample.n_labels} labels; at least {_FEWEST} are needed"
        return Estimate.undefined(reason)
    share = corrected_share(
        np.equal(sample.judged, code),
        [judge == code for judge, _ in sample.pairs],
        [label == code for _, label in sample.pairs],
        level,
        unanswered=sample.n_unknown,
        labels_of_unanswered=np.equal(sample.labels_of_unknown, code),
    )
    interval = share.interval
    # People disagree, too.
    if interval is not None and answers.accuracy is not None:
        interval = answers.accuracy.widened(interval)
    return Estimate(share.value, interval=interval)


def _corrected_square(answers: BiasAnswers, level: float) -> Estimate:
    """Return a bias's squared lean as people would have answered, from their labels.

    Source: Rogan and Gladen 1978.
    """
    n_classes = len(answers.bias.classes)
    counts = []
    confusions = []
    for caption in answers.captions:
        both = [index for index in caption.people if index in caption.judged]
        confusion = confusion_matrix(
            [caption.people[index] for index in both],
            [caption.judged[index] for index in both],
            n_classes,
        )
        confusions.append(confusion)
        codes = np.array([*caption.judged.values()], int)
        counts.append(np.bincount(codes, minlength=n_classes))
    square = corrected_mean_square(counts, np.stack(confusions), level)
    return Estimate(square.value, interval=square.interval, reason=square.reason)


def check_of(evidence: Evidence, bias: Bias) -> AttributeCheck | None:
    """Return the part of the judge's check that is about one bias; None if there is none."""
    check = evidence.judge_check() if isinstance(evidence, KnownJudge) else None
    return None if check is None else check.about(bias.name, bias.classes)


def with_corrected_shares(
    items: Sequence[Item], check: AttributeCheck | None
) -> list[Item]:
    """Return the rows, with corrected shares if the check of the judge recommends them."""
    if check is None or check.verdict != "use corrected":
        return list(items)
    return [corrected_by_check(item, check) for item in items]


def corrected_by_check(item: Item, check: AttributeCheck) -> Item:
    """Return a row with each class's share as people would have answered.

    The errors are those that people found on other images; the intervals contain their
    uncertainty and that of the share.

    Source: Rogan and Gladen 1978.
    """
    errors = {checked.name: checked.errors for checked in check.classes}
    scores = dict(item.scores)
    for name, share in item.scores.items():
        score, group = split_score_name(name)
        if score != "share" or share.value is None or share.interval is None:
            continue
        corrected_name = join_score_name("share_corrected", group)
        if len(errors) > 2:
            reason = (
                "a check corrects shares of two classes; label images of the run itself"
            )
            scores[corrected_name] = Estimate.undefined(reason)
        else:
            low, high = share.interval
            truth = errors[group.casefold()].corrected(share.value, low, high)
            interval = (truth.low, truth.high)
            scores[corrected_name] = Estimate(truth.value, interval=interval)
    return replace(item, scores=scores)
