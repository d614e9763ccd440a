"""A flipped byte of run.db costs no label of a person, and is never taken for another version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.results.run import mending, run_folder
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import COPY, Label, LabelStore
from t2ibench.store.repair import mend

LABELS = [
    Label("Which?", ("a", "b"), f"{number:064x}", "anna \ud800", "a")
    for number in range(3)
]


def labelled(folder: Path) -> Path:
    """A run with labels of a person and an image; the path of its run.db."""
    database = Database(folder)
    images = ImageStore(database, "f" * 64)
    images.record([Attempt(ImageKey.of("a nurse", 0), 7, "ok", sha256="e" * 64)])
    LabelStore(database).add(LABELS)
    database.close()
    return folder / "run.db"


def labels_of(folder: Path) -> list[Label]:
    with closing(Database(folder)) as database:
        return LabelStore(database).all()


def flip(path: Path, place: int, value: int) -> None:
    data = bytearray(path.read_bytes())
    assert data[place] != value
    data[place] = value
    path.write_bytes(data)


HEADER = [
    *((0, 0), (5, ord("x")), (15, 1), (18, 0xFF), (19, 3), (60, 0xFF), (62, 0x7F)),
    # The size of a page, its unused bytes and fractions, the number of pages, the format of the
    # tables and the encoding of texts.
    *((16, 0x20), (17, 1), (20, 1), (21, 0), (23, 0xFF), (28, 1), (29, 0xFF), (31, 1)),
    *((44, 1), (47, 0x7F), (59, 0x7F)),
    (68, 0),  # whose database it is
]


@pytest.mark.parametrize(("place", "value"), HEADER)
def test_a_flipped_byte_of_the_header_is_damage_that_loses_no_row(
    place: int, value: int, tmp_path: Path
) -> None:
    path = labelled(tmp_path)
    (tmp_path / COPY).unlink()
    flip(path, place, value)
    with pytest.raises(T2IBenchError, match="is damaged") as caught, mending():
        Database(tmp_path).read("SELECT * FROM labels")
    assert "permission" not in str(caught.value) and "0 rows" not in str(caught.value)
    assert labels_of(tmp_path) == LABELS
    with closing(Database(tmp_path)) as database:
        assert len(ImageStore(database, "f" * 64)) == 1


def test_nothing_is_written_into_what_was_no_run(tmp_path: Path) -> None:
    """Only what has the marks of a run.db is put right before it is kept aside."""
    path = tmp_path / "run.db"
    content = b"SQLite format 3\0" + bytes(range(256)) * 64
    path.write_bytes(content)
    with pytest.raises(T2IBenchError, match="is damaged"), mending():
        Database(tmp_path).read("SELECT * FROM labels")
    assert (tmp_path / "run.db.broken").read_bytes() == content


@pytest.mark.parametrize("page", [4096, 16384])
def test_a_database_of_another_program_is_kept_aside_as_it_was(
    page: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute(f"PRAGMA page_size = {page}")
        foreign.execute("CREATE TABLE notes(text)")
        rows = [("y" * 50,)] * 500
        foreign.executemany("INSERT INTO notes VALUES (?)", rows)
        foreign.commit()
    content = path.read_bytes()
    with pytest.raises(T2IBenchError, match="not a database of t2ibench"), mending():
        Database(tmp_path).read("SELECT * FROM labels")
    assert (tmp_path / "run.db.broken").read_bytes() == content


@pytest.mark.parametrize("version", [2, 900])
def test_another_version_is_not_damage(version: int, tmp_path: Path) -> None:
    path = labelled(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(T2IBenchError, match=f"is of version {version}") as caught:
        Database(tmp_path).read("SELECT * FROM labels")
    assert not isinstance(caught.value, BrokenDatabaseError)


def test_damaged_labels_come_back_from_their_copy(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE labels SET answer = 'b'")
        connection.commit()
    database, notices = Database(tmp_path), Mock()
    assert LabelStore(database).all() == []
    mend(database, notices)
    assert "3 labels" in notices.warn.call_args.args[0]
    assert labels_of(tmp_path) == LABELS


def test_labels_survive_the_loss_of_the_whole_database(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(T2IBenchError, match="is damaged"), mending():
        Database(tmp_path).read("SELECT * FROM labels")
    assert labels_of(tmp_path) == LABELS


def test_a_damaged_line_of_the_copy_costs_itself_alone(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    path.unlink()
    copy = tmp_path / COPY
    copy.write_text(copy.read_text().replace(f"{1:064x}", f"{9:064x}"))
    with closing(Database(tmp_path)) as database:
        assert LabelStore(database).restore() == 2


def test_the_newest_answer_is_restored(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    newer = replace(LABELS[0], answer="b")
    with closing(Database(tmp_path)) as database:
        LabelStore(database).add([newer])
    path.unlink()
    with closing(Database(tmp_path)) as database:
        LabelStore(database).restore()
    assert newer in labels_of(tmp_path) and LABELS[0] not in labels_of(tmp_path)


def test_lost_provenance_is_said(tmp_path: Path) -> None:
    labelled(tmp_path / "a-model")
    _, warnings = run_folder(tmp_path, "a model", "f" * 64, plain=True)
    assert any(
        "has lost the settings" in line and "fingerprint, ffffffffffff" in line
        for line in warnings
    )
