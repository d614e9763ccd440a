"""What surrounds run.db goes wrong: pipes in its place, full disks, logs of other runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.generators.comfyui.workflow import read_workflow
from t2ibench.results.files import read_results
from t2ibench.results.run import mending
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.file_errors import read_text
from t2ibench.store.files import write_text
from t2ibench.store.images import ImageStore
from t2ibench.store.jsonl import read_rows
from t2ibench.store.labels import COPY, Label, LabelStore
from t2ibench.store.people_tables.reader import read_table
from tests.store.test_lost_bytes import LABELS, labelled, labels_of
from tests.system import files_up_to

has_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no named pipes"
)
IN_PLACE: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),  # noqa: PLW0108  # not on Windows
    "a folder": lambda path: path.mkdir(),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@has_pipes
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_no_file_is_refused_at_once(name: str, tmp_path: Path) -> None:
    IN_PLACE[name](tmp_path / "run.db")
    for use in (
        lambda: Database(tmp_path).read("SELECT * FROM texts"),
        lambda: Database(tmp_path).add_texts(["a nurse"]),
    ):
        with pytest.raises(T2IBenchError, match="is no file") as caught, mending():
            use()
        assert "kept" not in str(caught.value)


@has_pipes
@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_no_file_in_place_of_a_journal_is_refused_at_once(
    name: str, ending: str, tmp_path: Path
) -> None:
    path = labelled(tmp_path)
    beside = path.with_name(f"run.db{ending}")
    IN_PLACE[name](beside)
    with pytest.raises(T2IBenchError, match=rf"run\.db{ending} is no file"):
        Database(tmp_path).read("SELECT * FROM texts")
    if beside.is_dir():
        beside.rmdir()
    else:
        beside.unlink()
    assert labels_of(tmp_path) == LABELS


@has_pipes
@pytest.mark.parametrize("name", ["a pipe", "a link to a device"])
def test_a_copy_of_labels_that_keeps_nothing_is_refused(
    name: str, tmp_path: Path
) -> None:
    labelled(tmp_path)
    another = Label("Which?", ("a", "b"), "f" * 64, "berta", "b")
    (tmp_path / COPY).unlink()
    IN_PLACE[name](tmp_path / COPY)
    with closing(Database(tmp_path)) as database:
        with pytest.raises(T2IBenchError, match=r"labels\.jsonl .* no ordinary file"):
            LabelStore(database).add([another])
        assert another in LabelStore(database).all()


@has_pipes
@pytest.mark.parametrize("name", ["a pipe", "a link to a device"])
@pytest.mark.parametrize(
    "read",
    [
        read_results,
        lambda path: list(read_rows(path)),
        read_table,
        lambda path: read_text(path, 1000),
        lambda path: read_workflow(str(path)),
    ],
    ids=["results", "rows", "table", "text", "workflow"],
)
def test_a_file_of_users_that_could_be_endless_is_not_read(
    name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    IN_PLACE[name](path)
    with pytest.raises(T2IBenchError, match="no ordinary file"):
        read(path)


@has_pipes  # which is where /dev/fd is, too
def test_what_a_shell_passes_on_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    try:
        assert read_text(Path(f"/dev/fd/{reading}"), 1000) == "text"
    finally:
        os.close(reading)


def test_a_link_to_a_run_is_followed_and_stays(tmp_path: Path) -> None:
    labelled(tmp_path / "there")
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "run.db"
    link.symlink_to(tmp_path / "there" / "run.db")
    with closing(Database(link.parent)) as database:
        assert LabelStore(database).all() == LABELS
        database.add_texts(["a doctor"])
    assert link.is_symlink()
    with closing(Database(tmp_path / "there")) as database:
        assert "a doctor" in database.texts("").values()


def test_a_disk_that_fills_up_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    size = path.stat().st_size
    texts = [f"{number} " + "x" * 1000 for number in range(200)]
    with files_up_to(size), closing(Database(tmp_path)) as database:
        with pytest.raises(T2IBenchError) as caught:
            database.add_texts(texts)
        assert len(str(caught.value).splitlines()) == 1
    assert labels_of(tmp_path) == LABELS
    with closing(Database(tmp_path)) as database:
        database.add_texts(texts)
        assert len(database.texts("")) >= 200


def test_labels_whose_copy_finds_no_room_are_copied_later(tmp_path: Path) -> None:
    labelled(tmp_path)
    another = Label("Which?", ("a", "b"), "f" * 64, "berta", "b")
    size = (tmp_path / COPY).stat().st_size
    copy = (tmp_path / COPY).read_bytes()
    with closing(Database(tmp_path)) as database:
        store = LabelStore(database)
        (tmp_path / COPY).unlink()
        (tmp_path / COPY).mkdir()  # what cannot be written to, for root, too
        with pytest.raises(T2IBenchError):
            store.add([another])
    (tmp_path / COPY).rmdir()
    (tmp_path / COPY).write_bytes(copy)
    assert another in labels_of(tmp_path)
    with closing(Database(tmp_path)) as database:
        assert LabelStore(database).restore() == 0
    assert (tmp_path / COPY).stat().st_size > size


def test_the_log_of_another_run_changes_nothing(tmp_path: Path) -> None:
    """Two runs' write-ahead logs are swapped while neither is open."""
    runs = [tmp_path / "one", tmp_path / "two"]
    for number, run in enumerate(runs):
        path = labelled(run)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE labels SET crc = crc")
        connection.commit()
        # As after a kill: copied while it is open, so that nothing is merged.
        for file in ("run.db", "run.db-wal"):
            shutil.copy(run / file, tmp_path / f"{number}-{file}")
        connection.close()
    killed = [tmp_path / "killed one", tmp_path / "killed two"]
    for number, folder in enumerate(killed):
        folder.mkdir()
        shutil.copy(tmp_path / f"{number}-run.db", folder / "run.db")
        shutil.copy(tmp_path / f"{1 - number}-run.db-wal", folder / "run.db-wal")
        shutil.copy(runs[number] / COPY, folder / COPY)
    for folder in killed:
        try:
            with mending(), closing(Database(folder)) as database:
                assert set(LabelStore(database).all()) <= set(LABELS)
        except T2IBenchError:
            pass
        with closing(Database(folder)) as database:
            LabelStore(database).restore()
        assert labels_of(folder) == LABELS


@pytest.mark.parametrize("during", ["a run", "other work"])
@pytest.mark.parametrize("how", ["the file", "the folder"])
def test_what_loses_its_database_ends_and_begins_no_other(
    how: str, during: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    labelled(run)
    with closing(Database(run)) as database:
        if during == "a run":
            database.begin_run()
        database.add_texts(["a doctor"])
        images = ImageStore(database, "f" * 64)
        gone = run / "run.db" if how == "the file" else run
        gone.rename(tmp_path / "gone")
        for use in (
            lambda: database.add_texts(["a nurse"]),
            lambda: database.read("SELECT * FROM texts"),
            lambda: images.add_image(ImageKey.of("a nurse", 0), 0, b"image", ".png"),
        ):
            with pytest.raises(T2IBenchError, match="was removed or replaced while"):
                use()
        database.end_run()
    assert not (run / "run.db").exists() and not (run / "images").exists()


def test_embeddings_of_a_file_that_is_gone_are_not_mixed_with_new_ones(
    tmp_path: Path,
) -> None:
    """A new file numbers its parts from 1 again, as the one before it did."""
    with closing(Database(tmp_path)) as database:
        store = EvidenceStore(database, "encoder", "f" * 64)
        store.add("texts", [text_key("a"), text_key("b")], np.eye(2, dtype=np.float32))
        with closing(Database(tmp_path / "another")) as another:
            another.add_texts(["a doctor"])
        (tmp_path / "another" / "run.db").replace(tmp_path / "run.db")
        with pytest.raises(T2IBenchError, match="was changed while it was in use"):
            store.add("texts", [text_key("c")], np.eye(2, dtype=np.float32)[1:])
        assert store.get("texts", text_key("a")).tolist() == [1, 0]
    with closing(Database(tmp_path)) as replaced:
        assert replaced.read("SELECT count(*) FROM embeddings") == [(0,)]


@has_pipes
def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "report.html"
    os.mkfifo(pipe)
    with pytest.raises(T2IBenchError, match=r"report\.html cannot be written"):
        write_text(pipe, "text")
    with ThreadPoolExecutor() as pool:
        reader = pool.submit(pipe.read_text)
        while True:  # until it reads
            try:
                write_text(pipe, "text")
                break
            except T2IBenchError:
                time.sleep(0.01)
        assert reader.result(10) == "text"
    assert pipe.is_fifo()
