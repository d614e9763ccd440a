"""Labels that people gave, which other threads read while some are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.store.database import Database
from t2ibench.store.labels import Label, LabelStore, labeller_name

CLASSES = ("old", "young")
QUESTION = "Is the person old?"


def test_a_label_is_there_while_others_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        Label(QUESTION, CLASSES, number * 64, "anna", "old") for number in "01"
    )
    store = LabelStore(Database(tmp_path))
    store.add([first])
    seen = []

    class Sorted(list[Label]):
        """Labels that, whenever the store takes one of them, are read as by another thread."""

        def __iter__(self) -> Iterator[Label]:
            for label in super().__iter__():
                seen.append(store.votes(first.image, QUESTION, CLASSES))
                yield label

    def watched(labels: Iterable[Label]) -> Sorted:
        return Sorted(sorted(labels))

    monkeypatch.setattr("t2ibench.store.labels.sorted", watched, raising=False)
    store.add([second])
    assert seen == [{"anna": "old"}] * 2
    assert store.votes(second.image, QUESTION, CLASSES) == {"anna": "old"}


@pytest.mark.parametrize(
    "name",
    ["", "  ", "an\nna", "an\x1b[2Jna", "anna\u202egpj", "a\u200bnna", "x" * 10_000],
)
def test_a_name_that_is_not_one_short_visible_line_is_refused(name: str) -> None:
    with pytest.raises(T2IBenchError, match="is no name of 1 to") as caught:
        labeller_name(name, "--labeller")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


def test_names_of_people_are_taken_without_the_spaces_around_them() -> None:
    assert labeller_name(" Änne Müller-李 ", "--labeller") == "Änne Müller-李"
