"""run.db: what goes in comes out, and damage costs its own rows alone."""

from __future__ import annotations

import errno
import pickle
import sqlite3
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.results.run import mending
from t2ibench.store import connections
from t2ibench.store import database as module
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.checksums import row_checksums, unsealed
from t2ibench.store.connections import is_on_network
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import Label, LabelStore
from t2ibench.store.repair import mend
from t2ibench.store.rewrites import RewriteStore, StoredRewriting
from t2ibench.store.schema import TABLES, blob_checksum, key_columns
from t2ibench.store.scores import ScoreStore, StoredScore
from tests import hand

ODD = "é \ud800 \x00 \u2028 end"
_WITH_LABELS = {"labels", "questions"}
KEYS = [text_key(text) for text in "abcd"]


def unit(n: int, width: int = 8) -> Float32Array:
    rows = np.random.default_rng(n).normal(size=(n, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def answer(number: int) -> StoredAnswer:
    return StoredAnswer(f"{number:064x}", "Which?", ("a", "b"), "a", ODD)


def embeddings(folder: Path) -> EvidenceStore:
    return EvidenceStore(Database(folder), "e", "f" * 64)


def filled(folder: Path) -> Database:
    """A database with rows in every table."""
    database = Database(folder)
    images = ImageStore(database, "f")
    images.record(
        [
            Attempt(ImageKey.of(f"a nurse {n}", n), 2**63 - 1, "refused", reason=ODD)
            for n in range(4)
        ]
    )
    EvidenceStore(database, "e", "f" * 64).add("images", KEYS, unit(4))
    AnswerStore(database, "j", "f" * 64).add([answer(number) for number in range(3)])
    LabelStore(database).add(
        [Label("Which?", ("a", "b"), f"{n:064x}", "me", "a") for n in range(3)]
    )
    RewriteStore(database, "f").add([StoredRewriting(ODD, 3, "ok", ODD, None)])
    ScoreStore(database).add("task", "inputs", StoredScore("{}", "[]", b"\x00\xff"))
    database.write("run", [("status", '"complete"')])
    return database


def content(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables."""
    query = "SELECT * FROM {} ORDER BY {}"
    return {
        table: database.read(query.format(table, ", ".join(key_columns(table))))
        for table in TABLES
    }


def test_stored_rows_are_read_back_unchanged(tmp_path: Path) -> None:
    assert not any(content(Database(tmp_path)).values())
    assert not list(tmp_path.iterdir())  # nothing is made by reading
    database = filled(tmp_path)
    assert all(content(database).values())
    for again in (Database(tmp_path), pickle.loads(pickle.dumps(database))):
        attempt = ImageStore(again, "f").get(ImageKey.of("a nurse 2", 2))
        assert (attempt.status, attempt.reason, attempt.seed) == (
            "refused",
            ODD,
            2**63 - 1,
        )
        rows = EvidenceStore(again, "e", "f" * 64)
        assert np.array_equal(rows.rows("images", KEYS), unit(4).astype(np.float64))
        assert list(AnswerStore(again, "j", "f" * 64)) == [answer(n) for n in range(3)]
        assert len(LabelStore(again)) == 3 and not again.damage()
        (one,) = RewriteStore(again, "f")
        assert one == StoredRewriting(ODD, 3, "ok", ODD, None)
        assert ScoreStore(again).find("task", "inputs") == StoredScore(
            "{}", "[]", b"\x00\xff"
        )
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["labels.jsonl", "run.db"]


def test_all_of_a_batch_is_stored_or_nothing(tmp_path: Path) -> None:
    database = filled(tmp_path)
    before = content(database)
    with pytest.raises(ZeroDivisionError), database.writing():
        AnswerStore(database, "another", "f" * 64).add([answer(9)])
        EvidenceStore(database, "e", "f" * 64).add("texts", KEYS[:1], unit(1))
        raise ZeroDivisionError
    assert content(database) == before
    AnswerStore(database, "another", "f" * 64).add([answer(9)])
    assert len(database.read("SELECT * FROM models WHERE name = 'another'")) == 1


def test_rows_of_another_width_and_rows_that_are_no_numbers_are_damage(
    tmp_path: Path,
) -> None:
    nothing = np.full((1, 8), np.nan, np.float32)
    embeddings(tmp_path).add("images", KEYS, unit(4))
    embeddings(tmp_path).add("texts", [text_key("no vector")], nothing)
    embeddings(tmp_path).add("images", [text_key("no face")], nothing)
    some = unit(1)
    some[0, 0] = np.nan
    spoilt = {"wide": unit(1, 9), "nan": some, "long": 3 * unit(1)}
    wrong = [text_key(name) for name in spoilt]
    for key, rows in zip(wrong, spoilt.values(), strict=True):
        embeddings(tmp_path).add("images", [key], rows)
    store = embeddings(tmp_path)
    assert store.missing("images", [*KEYS, *wrong]) == wrong
    assert store.has("texts", text_key("no vector"))
    assert store.has("images", text_key("no face"))
    damage = store.database.damage()
    assert "(embeddings 3)" in damage and store.width == 8
    assert damage.endswith("makes again what scores need.")  # no label is damaged
    notices = Mock()
    mend(store.database, notices)
    notices.warn.assert_called_once_with(damage)
    mended = embeddings(tmp_path).database
    assert not mended.damage()
    mend(mended, notices)
    notices.warn.assert_called_once()


def test_a_text_that_is_not_utf_8_is_damage_and_no_fault_of_the_disk(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path)
    database.add_texts(["a nurse"])
    database.execute("UPDATE texts SET text = CAST(x'ff41' AS TEXT)")
    with pytest.raises(BrokenDatabaseError, match="is damaged"):
        database.read_checked("texts")


@pytest.mark.parametrize("column", ["rows", "sums", "keys"])
def test_a_batch_whose_parts_do_not_fit_is_damage_whatever_its_checksum(
    column: str, tmp_path: Path
) -> None:
    """As somebody would write it who sends a database and knows how its checksums are made."""
    store = embeddings(tmp_path)
    store.add("images", KEYS[:2], unit(2))
    store.add("images", KEYS[2:], unit(2))
    ((part, *blobs),) = store.database.read(
        "SELECT part, keys, rows, sums FROM embeddings WHERE part = 2"
    )
    place = ["keys", "rows", "sums"].index(column)
    for cut in (blobs[place][:-4], blobs[place][:-3], blobs[place] * 2, b""):
        changed = [*blobs[:place], cut, *blobs[place + 1 :]]
        store.database.execute(
            f"UPDATE embeddings SET {column} = ?, crc = ? WHERE part = ?",
            *(cut, blob_checksum(*changed), part),
        )
        again = embeddings(tmp_path)
        assert again.keys("images") == KEYS[:2]
        assert "(embeddings 1)" in again.database.damage()


def test_the_checksum_of_an_embedding_is_of_its_key_and_all_of_its_numbers() -> None:
    """Scores that are kept are those of these checksums."""
    rows = unit(3)
    keys = np.frombuffer(bytes.fromhex("".join(KEYS[:3])), np.uint8).reshape(3, -1)
    expected = [
        zlib.crc32(bytes.fromhex(key) + row.tobytes())
        for key, row in zip(KEYS, rows, strict=False)
    ]
    assert row_checksums(keys, rows).tolist() == expected


def test_a_file_that_is_nested_beyond_measure_is_damaged() -> None:
    content: dict[str, object] = {"checksum": "00000000"}
    for _ in range(100_000):
        content = {"checksum": "00000000", "inner": content}
    assert not unsealed(content)
    while isinstance(inner := content.get("inner"), dict):
        content = inner  # level by level: to free them at once is nested as deeply


def test_embeddings_in_half_precision_are_read(tmp_path: Path) -> None:
    embeddings(tmp_path).add("images", KEYS, unit(4), "float16")
    store = embeddings(tmp_path)
    assert not store.database.damage()
    assert np.array_equal(
        store.rows("images", KEYS), unit(4).astype(np.float16).astype(float)
    )


def test_rows_that_are_not_held_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.store.held_parts.MOST_ROWS", 3)
    store, rows = embeddings(tmp_path), unit(4)
    for key, row in zip(KEYS, rows, strict=True):
        store.add("images", [key], row[None])
    for one in (store, embeddings(tmp_path)):
        for key, row in [*zip(KEYS, rows, strict=True)] * 2:
            assert np.array_equal(one.get("images", key), row)
        assert (
            one.width == 8 and len({one.checksum("images", key) for key in KEYS}) == 4
        )
    again = embeddings(tmp_path)
    hand.damage(tmp_path, "UPDATE embeddings SET rows = zeroblob(32)")
    with pytest.raises(T2IBenchError, match="was changed while it was in use"):
        for key in KEYS:
            again.get("images", key)


def test_a_store_of_some_images_reads_each_part_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.store.held_parts.MOST_ROWS", 3)
    store, rows = embeddings(tmp_path), unit(4)
    store.add("images", KEYS[:2], rows[:2])
    store.add("images", KEYS[2:], rows[2:])
    some = pickle.loads(pickle.dumps(store.only([KEYS[3], KEYS[1]])))
    read = Mock(wraps=some.database.read)
    monkeypatch.setattr(some.database, "read", read)
    for number in (1, 3, 1, 3):
        assert np.array_equal(some.get("images", KEYS[number]), rows[number])
    assert np.array_equal(some.rows("images", [KEYS[3], KEYS[1]]), rows[[3, 1]])
    assert read.call_count == 2 and some.missing("images", KEYS) == [KEYS[0], KEYS[2]]


@pytest.mark.slow
def test_a_bit_flipped_anywhere_never_changes_what_is_read(tmp_path: Path) -> None:
    whole, file = content(filled(tmp_path)), tmp_path / "run.db"
    data = file.read_bytes()
    used = [at for at in range(0, len(data), 7) if any(data[max(at - 64, 0) : at + 64])]
    assert len(used) > 200
    for at in used:
        file.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        try:
            database = Database(tmp_path)
            for table in ("attempts", "answers", "labels", "texts"):
                found = database.read_checked(table)
                assert set(found) <= {row[:-1] for row in whole[table]}, at
        except (
            T2IBenchError
        ) as error:  # a page, or the first one: the next run mends it
            assert "run.db" in error.message
        finally:
            database.close()


def mended(error: BrokenDatabaseError) -> str:
    """What a run says that meets a damaged database, and copies it."""
    with pytest.raises(T2IBenchError) as said, mending():
        raise error
    return str(said.value)


@pytest.mark.parametrize("page", range(1, 12))
def test_a_page_of_zeros_is_mended_and_costs_its_own_table(
    page: int, tmp_path: Path
) -> None:
    whole, file = content(filled(tmp_path)), tmp_path / "run.db"
    data = file.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    file.write_bytes(data[: page * size] + bytes(size) + data[(page + 1) * size :])
    database, lost = Database(tmp_path), {}
    for table in TABLES:
        try:
            assert database.read(f"SELECT * FROM {table}") == whole[table]
        except BrokenDatabaseError as error:
            lost[table] = error
    database.close()
    assert len(lost) <= 1
    for table, error in lost.items():
        assert "run.db.broken" in mended(error)
        assert (tmp_path / "run.db.broken").exists()
        # Labels, with their questions, come back from labels.jsonl.
        restored = table in _WITH_LABELS
        assert content(Database(tmp_path)) == (
            whole if restored else whole | {table: []}
        )


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.6, 0.9])
def test_a_file_that_was_cut_off_keeps_what_is_before(
    share: float, tmp_path: Path
) -> None:
    whole, file = content(filled(tmp_path)), tmp_path / "run.db"
    with file.open("r+b") as stream:
        stream.truncate(int(file.stat().st_size * share))
    with pytest.raises(BrokenDatabaseError) as raised:
        content(Database(tmp_path))
    assert "rows of it are kept" in mended(raised.value)
    found = content(Database(tmp_path))
    assert all(set(found[table]) <= set(whole[table]) for table in TABLES)
    assert found["labels"] == whole["labels"]  # from labels.jsonl
    others = [rows for name, rows in found.items() if name not in _WITH_LABELS]
    assert any(others) == (share >= 0.3)


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "run.db")) as other, other:
        other.execute("CREATE TABLE mine(x)")
    with pytest.raises(BrokenDatabaseError, match="not a database of t2ibench"):
        Database(tmp_path).read("SELECT 1")
    newer = tmp_path / "newer"
    filled(newer).close()
    with closing(sqlite3.connect(newer / "run.db")) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(
        T2IBenchError, match=r"is of version 99; this t2ibench reads 1\. Use"
    ):
        Database(newer).read("SELECT 1")
    (tmp_path / "folder" / "run.db").mkdir(parents=True)
    with pytest.raises(T2IBenchError, match=r"is no file\. Remove it"):
        Database(tmp_path / "folder").read("SELECT 1")
        filled(tmp_path / "folder")


def test_of_two_simultaneously_created_databases_one_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Database(tmp_path), Database(tmp_path)
    whole = connections.connect

    def slowly(path: Path, how: str) -> sqlite3.Connection:
        if how == "mode=rwc":  # while this one is made, the other is there
            monkeypatch.setattr(connections, "connect", whole)
            first.write("run", [("status", "1")])
        return whole(path, how)

    monkeypatch.setattr(connections, "connect", slowly)
    second.write("run", [("tasks", "[]")])
    assert (
        len(first.read("SELECT key FROM run"))
        == len(second.read("SELECT key FROM run"))
        == 2
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


def test_a_read_only_database_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = filled(tmp_path)
    database.close()
    # a run that was killed left this
    with closing(sqlite3.connect(database.path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
    whole = content(Database(tmp_path))
    connection = module.connect

    def read_only(path: Path, how: str) -> sqlite3.Connection:
        if "immutable" not in how:
            raise sqlite3.OperationalError("unable to open database file")
        return connection(path, how)

    monkeypatch.setattr(module, "connect", read_only)
    assert content(Database(tmp_path)) == whole


def test_a_database_of_another_user_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that only reads would otherwise say that it cannot be written."""
    filled(tmp_path).close()
    opened = Path.open

    def unopened(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    def denied(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.name == "run.db":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **more)

    monkeypatch.setattr(module, "connect", unopened)
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(T2IBenchError, match="cannot be read: permission denied"):
        Database(tmp_path).read("SELECT * FROM run")


def test_a_run_has_a_log_on_a_local_disk_and_one_file_at_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for network, journal in ((False, "wal"), (True, "delete")):
        monkeypatch.setattr(module, "is_on_network", lambda _, found=network: found)
        database = Database(tmp_path / journal)
        database.begin_run()
        AnswerStore(database, "j", "f").add([answer(1)])
        assert database.read("PRAGMA journal_mode") == [(journal,)]
        other = Database(tmp_path / journal)  # whoever reads meanwhile sees it
        assert len(list(AnswerStore(other, "j", "f"))) == 1
        other.close()
        database.end_run()
        assert database.read("PRAGMA journal_mode") == [("delete",)]
        database.close()
        assert [path.name for path in (tmp_path / journal).iterdir()] == ["run.db"]


def test_disks_of_several_machines_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 21 0:50 / /home rw - nfs4 host:/home rw\n"
        "31 30 0:51 / /home/my\\040data rw - fuse.s3fs s3fs rw\n"
        "32 21 8:2 / /home/local rw - xfs /dev/sdb rw\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: lines)
    folders = ["/", "/home/a/run", "/home/my data/x", "/home/local/run", "/homeless"]
    assert [is_on_network(Path(one)) for one in folders] == [
        False,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("shared", [True, False])
def test_several_write_at_once(shared: bool, tmp_path: Path) -> None:
    database = filled(tmp_path)

    def work(who: int) -> None:
        own = database if shared else Database(tmp_path)
        for step in range(20):
            AnswerStore(own, f"j{who}", "f").add([answer(step)])
            LabelStore(own).add(
                [Label("Who?", ("a", "b"), f"{step:064x}", str(who), "a")]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert all(len(list(AnswerStore(database, f"j{n}", "f"))) == 20 for n in range(4))
    labels = LabelStore(database)
    assert len(labels) == 3 + 4 * 20 and not database.damage()


KILLED = """
import os, sys
from pathlib import Path
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.database import Database
database = Database(Path(sys.argv[1]))
database.begin_run()
store = AnswerStore(database, "j", "f")
for number in range(int(sys.argv[2])):
    store.add([StoredAnswer(f"{number:064x}", "Which?", ("a", "b"), "a", "")])
with database.writing():
    store.add([StoredAnswer("e" * 64, "Which?", ("a", "b"), "a", "")])
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("stored", [0, 7])
def test_a_kill_loses_nothing_that_was_stored(stored: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path, str(stored)], check=False
    )
    assert done.returncode == -9
    found = AnswerStore(Database(tmp_path), "j", "f")
    assert sorted(one.image for one in found) == [
        f"{number:064x}" for number in range(stored)
    ]


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    database = filled(tmp_path)
    before = content(database)
    ((pages,),) = database.read("PRAGMA page_count")
    database.read(f"PRAGMA max_page_count = {pages}")
    store = EvidenceStore(database, "e", "f" * 64)
    with pytest.raises(T2IBenchError, match=r"The disk is full: .*run\.db.*kept; free"):
        for _ in range(9):
            store.add(
                "images", [text_key("more")], unit(1, 8).repeat(1000, axis=1)[:, :8000]
            )
    assert content(database) == before


def test_a_database_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path).close()
    whole, file = module.connect, tmp_path / "run.db"
    monkeypatch.setattr(connections, "_WAIT", 0.1)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(T2IBenchError, match="database is locked"):
            Database(tmp_path).execute("DELETE FROM run")
    monkeypatch.setattr(module, "connect", lambda path, _: whole(path, "mode=ro"))
    with pytest.raises(T2IBenchError, match="cannot be written: permission denied"):
        Database(tmp_path).execute("DELETE FROM run")


def test_published_scores_stay_until_replaced(
    tmp_path: Path,
) -> None:
    store = ScoreStore(Database(tmp_path))
    score = StoredScore("{}", "[]", b"x")
    for task, inputs in (("a", "1"), ("b", "1"), ("c", "once 3")):
        store.add(task, inputs, score)
    assert not store.current()
    store.publish({"a": "1", "b": "1", "c": "once 3"}, {"a", "b", "c"})
    assert store.current().keys() == {"a", "b", "c"}
    store.add("a", "2", score)
    store.add("c", "once 4", score)
    assert store.find("a", "1") and store.find("a", "2")
    store.publish({"a": "2"}, {"a", "c"})
    assert store.current().keys() == {"a", "c"} and not store.find("a", "1")
    assert (
        store.find("c", "once 3")
        and not store.find("c", "once 4")
        and not store.find("b", "1")
    )
