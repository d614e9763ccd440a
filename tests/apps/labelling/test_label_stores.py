"""Labels of a run with edits, which has one store for its images and one for their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.apps.labelling.pairs import add_labels, labelled_places
from t2ibench.errors import T2IBenchError
from t2ibench.store.database import Database
from t2ibench.store.labels import Label, LabelStore

OF_RUN, OF_BOTH, OF_SOURCES, OF_NEITHER = (letter * 64 for letter in "abcd")


def label(image: str, answer: str = "old") -> Label:
    return Label("Is the person old?", ("old", "young"), image, "anna", answer)


def stores(folder: Path) -> list[tuple[LabelStore, frozenset[str]]]:
    return [
        (LabelStore(Database(folder)), frozenset({OF_RUN, OF_BOTH})),
        (LabelStore(Database(folder / "sources")), frozenset({OF_SOURCES, OF_BOTH})),
    ]


def test_a_label_of_an_image_that_is_gone_is_stored_with_the_run(
    tmp_path: Path,
) -> None:
    of_run_and_sources = stores(tmp_path)
    images = (OF_RUN, OF_BOTH, OF_SOURCES, OF_NEITHER)
    add_labels(of_run_and_sources, [label(image) for image in images])
    of_run, of_sources = (store for store, _ in of_run_and_sources)
    assert {row.image for row in of_run.all()} == {OF_RUN, OF_BOTH, OF_NEITHER}
    assert {row.image for row in of_sources.all()} == {OF_SOURCES, OF_BOTH}


def test_an_answer_that_both_stores_have_is_one_answer(tmp_path: Path) -> None:
    of_run_and_sources = stores(tmp_path)
    add_labels(of_run_and_sources, [label(OF_BOTH)])
    assert len(labelled_places(of_run_and_sources)) == 1
    add_labels(of_run_and_sources, [label(OF_BOTH, "young"), label(OF_SOURCES)])
    assert len(labelled_places(of_run_and_sources)) == 2


def test_a_store_that_fails_costs_the_other_no_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_run_and_sources = stores(tmp_path)
    (of_run, _), (of_sources, _) = of_run_and_sources

    def full(labels: object) -> None:
        raise T2IBenchError("the disk is full")

    monkeypatch.setattr(of_run, "add", full)
    with pytest.raises(T2IBenchError, match="the disk is full"):
        add_labels(of_run_and_sources, [label(OF_RUN), label(OF_BOTH)])
    assert [row.image for row in of_sources.all()] == [OF_BOTH]
