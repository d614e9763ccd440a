"""Shares and squared leans corrected for the judge's errors, where people labelled some images."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.labels import labels_of
from t2ibench.methods.openbias.answers import BiasAnswers, CaptionAnswers
from t2ibench.settings import Settings
from t2ibench.stats.judged import confusion_matrix, corrected_mean_square, corrected_share
from t2ibench.stats.judged_slope import corrected_slope

_FEWEST = 20  # labels, for a corrected share


def corrected_scores(
    answers: BiasAnswers, evidence: Evidence, n: int, settings: Settings
) -> dict[str, Estimate]:
    """A bias's shares and squared lean as people would have answered.

    Images that people could not tell are left out. Shares are prediction-powered (Angelopoulos et
    al. 2023), the squared lean is that of the true shares after Rogan and Gladen (1978).
    """
    labels = _labels(answers, evidence, n)
    count = sum(len(found) for found in labels.values())
    if not count:
        return {}
    scores = {"n_labels": Estimate(float(count))}
    scores |= _shares(answers, labels, count, settings.level)
    k = len(answers.bias.classes)
    confusions = [
        confusion_matrix(*_paired(labels.get(caption.prompt, {}), caption), k)
        for caption in answers.captions
    ]
    square = corrected_mean_square(answers.counts, np.stack(confusions), settings.level)
    if square.value is None or square.low is None or square.high is None:
        reason = square.reason or "it cannot be corrected"
        return scores | {"h_corrected": Estimate.undefined(reason)}
    interval = (square.low, square.high)
    return scores | {"h_corrected": Estimate(square.value, interval=interval)}


def corrected_slopes(
    answers: BiasAnswers, evidence: Evidence, n: int, settings: Settings
) -> dict[str, Estimate]:
    """The slopes of shares on known shares as people would have answered."""
    labels = _labels(answers, evidence, n) if answers.bias.known else {}
    if not any(labels.values()):
        return {}
    scores = {}
    for reference in answers.bias.known:
        code = answers.bias.classes.index(reference.group)
        judged: dict[str, list[int]] = {}
        people: dict[str, list[int]] = {}
        for caption in answers.captions:
            name = caption.stimulus
            if name is None or name not in reference.shares:
                continue
            codes = _codes(caption)
            images, hits = judged.setdefault(name, [0, 0])
            judged[name] = [
                images + len(codes) + len(caption.unclassified),
                hits + sum(found == code for found in codes.values()),
            ]
            own = people.setdefault(name, [0, 0, 0])
            for index, label in labels.get(caption.prompt, {}).items():
                own[0] += 1
                own[1] += label == code
                own[2] += codes.get(index, -1) == code
        suffix = f":{reference.group}" if len(answers.bias.known) > 1 else ""
        scores[f"share_slope_corrected{suffix}"] = _slope(
            [reference.shares[name] for name in judged],
            list(judged.values()),
            list(people.values()),
            settings.level,
        )
    return scores


def _slope(
    shares: list[float], judged: list[list[int]], people: list[list[int]], level: float
) -> Estimate:
    if not shares:
        return Estimate.undefined("no stimulus has a reference share")
    found = corrected_slope(shares, judged, people, level)
    if found.value is None or found.low is None or found.high is None:
        return Estimate.undefined(found.reason or "it cannot be corrected")
    return Estimate(found.value, interval=(found.low, found.high))


def _labels(answers: BiasAnswers, evidence: Evidence, n: int) -> dict[str, dict[int, int]]:
    """Caption to the class that people gave each labelled image."""
    classes = answers.bias.classes
    number = {name: code for code, name in enumerate(classes)}
    questions = {row.prompt: row.question for row in answers.rows}
    found: dict[str, dict[int, int]] = {}
    for caption in answers.captions:
        question = questions.get(caption.prompt)
        if question is None:
            continue
        judged = caption.classified | caption.unclassified
        given = labels_of(evidence, caption.prompt, n, question, classes)
        found[caption.prompt] = {
            index: number[answer]
            for index, answer in given.items()
            if answer in number and index in judged
        }
    return found


def _codes(caption: CaptionAnswers) -> dict[int, int]:
    """Index of an image to the judge's class, for the images that it gave one."""
    return dict(zip(caption.indices.tolist(), caption.codes.tolist(), strict=True))


def _paired(labels: Mapping[int, int], caption: CaptionAnswers) -> tuple[list[int], list[int]]:
    """People's and the judge's classes of the images that both gave one."""
    codes = _codes(caption)
    both = [index for index in labels if index in codes]
    return [labels[index] for index in both], [codes[index] for index in both]


def _shares(
    answers: BiasAnswers, labels: Mapping[str, Mapping[int, int]], count: int, level: float
) -> dict[str, Estimate]:
    """The corrected share of every class."""
    judged: list[int] = []  # every image; -1 where the judge gave no class
    of_labelled: list[int] = []
    people: list[int] = []
    for caption in answers.captions:
        codes = _codes(caption)
        judged += [*codes.values(), *(-1 for _ in caption.unclassified)]
        for index, label in labels.get(caption.prompt, {}).items():
            of_labelled.append(codes.get(index, -1))
            people.append(label)
    scores = {}
    for code, name in enumerate(answers.bias.classes):
        key = f"share_corrected:{name}"
        if count < _FEWEST:
            scores[key] = Estimate.undefined(f"{count} labels; at least {_FEWEST} are needed")
            continue
        found = corrected_share(
            np.equal(judged, code), np.equal(of_labelled, code), np.equal(people, code), level
        )
        scores[key] = Estimate(found.value, interval=(found.low, found.high))
    return scores
