"""Labels that people gave, while several threads read and add them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from t2ibench.store.database import Database
from t2ibench.store.labels import Label, LabelStore

CLASSES = ("old", "young")
QUESTION = "Is the person old?"


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
def test_a_label_is_there_while_others_are_added(tmp_path: Path) -> None:
    store = LabelStore(Database(tmp_path))
    labels = [
        Label(QUESTION, CLASSES, f"{number:064}", "anna", "old")
        for number in range(500)
    ]
    store.add(labels)
    ended = threading.Event()

    def add() -> None:
        for label in labels[:20]:
            store.add([label])
        ended.set()

    adding = threading.Thread(target=add)
    adding.start()
    while not ended.is_set():
        assert store.votes(labels[-1].image, QUESTION, CLASSES) == {"anna": "old"}
    adding.join()
