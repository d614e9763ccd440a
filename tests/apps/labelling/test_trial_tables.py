"""Tables of labels that a judge is tried on, with what people write in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from t2ibench.apps.labelling.trial import people_questions
from t2ibench.errors import T2IBenchError
from tests.models.tiny import images


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, image in enumerate(images(4, 8)):
        image.save(tmp_path / f"{number}.png")
    (tmp_path / "prompts.csv").write_text(
        "file,prompt\n" + "".join(f"{number}.png,a nurse\n" for number in range(4))
    )
    return tmp_path


def truths(folder: Path, text: str) -> dict[str, Counter[str]]:
    """The correct answers of each attribute that a judge would be asked about."""
    (folder / "labels.csv").write_text(text, encoding="utf-8")
    questions, _ = people_questions(folder, folder / "labels.csv")
    by_attribute: dict[str, Counter[str]] = {}
    for question in questions:
        by_attribute.setdefault(question.attribute, Counter())[question.truth] += 1
        assert set(question.query.classes) == {"female", "male"}
    return by_attribute


FILLED = "file,gender\n0.png,female\n1.png,male\n2.png,female\n"


@pytest.mark.parametrize(
    ("row", "gender"),
    [
        ("3.png,male", {"female": 2, "male": 2}),
        ("3.png,weiß nicht", {"female": 2, "male": 1, "unknown": 1}),
        ("3.png,unsure", {"female": 2, "male": 1, "unknown": 1}),
        # Not labelled, and a row below the table.
        ("3.png,NA", {"female": 2, "male": 1}),
        ("3.png,#N/A", {"female": 2, "male": 1}),
        ("Total,3", {"female": 2, "male": 1}),
        # A row that says the same, and one that says less.
        ("2.png,female", {"female": 2, "male": 1}),
        ("2.png,", {"female": 2, "male": 1}),
    ],
)
def test_only_labels_are_classes(
    folder: Path, row: str, gender: dict[str, int]
) -> None:
    assert truths(folder, f"{FILLED}{row}\n") == {"gender": gender}


def test_the_people_who_labelled_are_no_attribute(folder: Path) -> None:
    text = "file,annotator,gender\n0.png,anna,male\n1.png,ben,female\n"
    assert truths(folder, text) == {"gender": {"male": 1, "female": 1}}


def test_labels_that_contradict_each_other_are_refused(folder: Path) -> None:
    with pytest.raises(T2IBenchError, match=r":5: '2.png' is labelled differently in"):
        truths(folder, f"{FILLED}2.png,male\n")


def test_cells_na_are_counted_because_a_class_may_be_called_so(folder: Path) -> None:
    rows = "0.png,EU\n1.png,NA\n2.png,AS\n3.png,NA\n"
    (folder / "labels.csv").write_text(f"file,continent\n{rows}")
    questions, notes = people_questions(folder, folder / "labels.csv")
    assert len(questions) == 2
    assert "cells 'NA' count as not labelled ('continent' 2)" in " ".join(notes)
