"""Databases that a stranger wrote: each is refused in a line, and none is written to."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from t2ibench.apps.leaderboard import evidence
from t2ibench.store import untrusted
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.schema import VERSION
from tests.apps.leaderboard.forging import Rows, edit_table, refusal, seal


def sql(*statements: str) -> Callable[[Path], None]:
    """Statements that anybody can run on a database, its schema included."""

    def change(folder: Path) -> None:
        with closing(
            sqlite3.connect(folder / "evidence.db", isolation_level=None)
        ) as connection:
            for statement in ("PRAGMA writable_schema = ON", *statements):
                connection.execute(statement)

    return change


def table(name: str, change: Callable[[Rows], Any]) -> Callable[[Path], None]:
    """A change of rows; their checksums fit."""
    return lambda folder: edit_table(folder, name, change)


def first(name: str, **values: Any) -> Callable[[Path], None]:
    return table(name, lambda rows: rows[0].update(values))


def add(name: str, *values: dict[str, Any]) -> Callable[[Path], None]:
    return table(name, lambda rows: [*rows, *values])


def stored(
    name: str, column: str, value: Any, kind: str = "TEXT"
) -> Callable[[Path], None]:
    """A value of another type, which SQLite would have converted had it been stored as such."""

    def declare(folder: Path, old: str, new: str) -> None:
        texts = f"replace(sql, '{column} {old}', '{column} {new}')"
        sql(f"UPDATE sqlite_schema SET sql = {texts} WHERE name = '{name}'")(folder)

    def change(folder: Path) -> None:
        declare(folder, kind, "BLOB")
        first(name, **{column: value})(folder)
        declare(folder, "BLOB", kind)

    return change


def cut(share: float) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "evidence.db"
        os.truncate(file, int(file.stat().st_size * share))

    return change


def patch(at: int, data: bytes) -> Callable[[Path], None]:
    """Other bytes in the file; behind it where they begin at -1."""

    def change(folder: Path) -> None:
        with (folder / "evidence.db").open("r+b") as file:
            file.seek(*((0, os.SEEK_END) if at == -1 else (at,)))
            file.write(data)

    return change


TRIGGER = "CREATE TRIGGER t AFTER DELETE ON labels BEGIN DELETE FROM texts; END"
SCHEMA = "UPDATE sqlite_schema SET"
LABEL = {"question": 1, "image": "0" * 64, "labeller": "me", "answer": "x"}
OTHER, UNREADABLE, NONE = (
    "has other tables",
    "cannot be read|damaged",
    "the evidence gives null",
)
HOSTILE: list[tuple[Callable[[Path], None], str]] = [
    # Its schema.
    (sql(TRIGGER), OTHER),
    (sql(TRIGGER, f"{SCHEMA} name = 'sqlite_autoindex_t' WHERE name = 't'"), "malformed database"),
    (sql("DROP TABLE labels", "CREATE VIEW labels AS SELECT * FROM answers"), OTHER),
    (sql("CREATE VIRTUAL TABLE more USING fts5(x)"), OTHER),
    (sql("CREATE INDEX slow ON attempts(hex(zeroblob(10)))"), OTHER),
    (sql("ANALYZE"), OTHER),
    (sql("ALTER TABLE labels ADD COLUMN x"), OTHER),
    (sql(f"{SCHEMA} sql = 'CREATE TABLE labels(' WHERE name = 'labels'"), UNREADABLE),
    (sql(f"{SCHEMA} rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'texts') WHERE "
         "name = 'labels'"), UNREADABLE),
    # Its file.
    (sql("PRAGMA application_id = 7"), "it is not a database of t2ibench"),
    (sql(f"PRAGMA user_version = {VERSION + 1}"), f"it is of version {VERSION + 1}"),
    (patch(56, bytes([0, 0, 0, 2])), UNREADABLE),  # another encoding
    (patch(0, b"#!/bin/sh\n"), "file is not a database"),
    (patch(-1, b"PK\3\4" * 1000), "something behind its last page"),
    (patch(28, b"\x7f\xff\xff\xff"), UNREADABLE),  # more pages than there are
    (patch(32, b"\0\0\0\1\0\0\0\5"), "damaged"),  # free pages that are not free
    (patch(16, b"\2\0"), UNREADABLE),  # pages of another size
    (patch(20, b"\x20"), UNREADABLE),  # room for an extension on each page
    (cut(0.0), "it is not a database of t2ibench"),
    (cut(0.01), UNREADABLE),
    (cut(0.5), UNREADABLE),
    # Its rows.
    (add("labels", LABEL), "in its table labels"),
    (add("run", {"key": "labels", "value": "1"}), "in its table run"),
    (stored("answers", "answer", 7), " answers.answer"),
    (stored("attempts", "seed", "12", "INTEGER"), " attempts.seed"),
    (first("attempts", seed=0.5), " attempts.seed"),
    (first("embeddings", width=float("inf")), " embeddings.width"),
    (first("answers", image=b"\0" * 32), " answers.image"),
    (sql("UPDATE answers SET answer = CAST(x'ff28' AS TEXT)"), "Could not decode to UTF-8"),
    (sql("UPDATE texts SET text = hex(zeroblob(20000000)) WHERE id IN (SELECT id FROM texts "
         "LIMIT 1)"), "under a wrong number|does not match its checksum"),
    (sql("UPDATE answers SET answer = 'male'"), "does not match its checksum"),
    (first("texts", text="a bribe"), "holds no such image"),
    (first("answers", image="x"), "the evidence gives"),
    (first("answers", judge=7), "the evidence gives"),
    (first("embeddings", model=7), NONE),
    (first("embeddings", kind="sounds"), NONE),
    (first("embeddings", width=10**9), NONE),
    (first("embeddings", width=-21), NONE),
    (first("embeddings", dtype="int8"), NONE),
    (first("embeddings", keys=b""), NONE),
    (first("embeddings", keys=b"", rows=b"", sums=b""), NONE),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), HOSTILE)
def test_a_hostile_database_is_refused(
    change: Callable[[Path], None], message: str, submission: Path
) -> None:
    change(submission)
    seal(submission)
    before = (submission / "evidence.db").read_bytes()
    said = refusal(submission)
    assert re.search(message, said) and "Run the original command" not in said
    assert (submission / "evidence.db").read_bytes() == before
    assert not list(submission.glob("evidence.db-*"))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_journal_beside_the_evidence_is_never_applied(
    mode: str, submission: Path
) -> None:
    """Of a writer that was killed, or still runs: its pages would replace those checked."""
    file = submission / "evidence.db"
    kind, before = "wal" if mode == "WAL" else "journal", file.read_bytes()
    beside = file.with_name(f"evidence.db-{kind}")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE answers SET answer = 'x'")
        connection.execute("UPDATE texts SET text = 'x' || text")
        if mode == "WAL":
            connection.execute("COMMIT")
            before = file.read_bytes()
        journal = beside.read_bytes()
    assert len(journal) > 512
    file.write_bytes(before)
    beside.write_bytes(journal)
    assert (
        f"evidence.db-{kind}' is not a file that a submission may contain"
        in refusal(submission)
    )
    assert evidence.content_problem(submission) is None  # even if it were let through
    assert (file.read_bytes(), beside.read_bytes()) == (before, journal)


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE 'file:/etc/passwd?mode=ro' AS x", "CREATE TEMP TABLE t(x)",
        "DELETE FROM answers", "PRAGMA writable_schema = ON; SELECT 1",
        "VACUUM INTO '/tmp/x'", "SELECT * FROM dbstat", "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')", "BEGIN IMMEDIATE",
    ],
)  # fmt: skip
def test_nothing_but_known_tables_is_read(statement: str, submission: Path) -> None:
    database = Database(submission, "evidence.db", trusted=False)
    before = (submission / "evidence.db").read_bytes()
    assert database.read("SELECT count(*) FROM answers")
    with pytest.raises(
        (BrokenDatabaseError, sqlite3.Warning, sqlite3.ProgrammingError)
    ):
        database.read(statement)
    assert (submission / "evidence.db").read_bytes() == before


def strangers(folder: Path, texts: Iterable[str]) -> Database:
    """A database of texts alone, opened as one that a stranger wrote."""
    written = Database(folder, "evidence.db")
    written.add_texts(texts)
    written.close()
    return Database(folder, "evidence.db", trusted=False)


PAIRS = "SELECT count(*) FROM texts first, texts second"


@pytest.mark.parametrize(
    ("query", "times"), [(f"{PAIRS}, texts third", 1), (PAIRS, 20)]
)
def test_queries_without_an_end_are_cut_off(
    query: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a million steps of SQLite, in place of 200 million: of one query, or of several."""
    monkeypatch.setattr(untrusted, "_STEPS", 1_000_000)
    monkeypatch.setattr(untrusted, "_STEPS_A_CALL", 10_000)
    database = strangers(tmp_path, map(str, range(200)))
    assert database.read(PAIRS) == [(40_000,)]
    with pytest.raises(BrokenDatabaseError, match="interrupted"):
        for _ in range(times):
            database.read(query)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 sets no limits before")
def test_a_value_that_is_too_long_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "_LARGEST", 10_000)
    database = strangers(tmp_path, ["x" * 9_000])
    assert len(database.read("SELECT text FROM texts")) == 1
    database = strangers(tmp_path, ["y" * 11_000])
    with pytest.raises(BrokenDatabaseError, match="too big"):
        database.read("SELECT text FROM texts")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 sets no limits before")
def test_no_other_database_is_attached_though_it_were_authorized(
    tmp_path: Path,
) -> None:
    database = strangers(tmp_path, ["x"])
    assert database.read("SELECT 1") == [(1,)]
    assert database._connection is not None
    database._connection.set_authorizer(None)
    with pytest.raises(BrokenDatabaseError, match="too many attached databases"):
        database.read("ATTACH DATABASE ':memory:' AS other")


def content(folder: Path) -> list[Any] | None:
    """All that is read of a database; None where SQLite cannot read it."""
    try:
        database = Database(folder, "evidence.db", trusted=False)
        return [database.read(f"SELECT * FROM {name}") for name in evidence._TABLES]
    except Exception:
        return None


def test_a_flipped_byte_on_any_page_is_seen(submission: Path) -> None:
    """Headers, inner and outer pages of trees, and what flows over: what is read is the same, or
    it is refused. SQLite's own check finds few of them."""
    file = submission / "evidence.db"
    whole, honest = file.read_bytes(), content(submission)
    size = int.from_bytes(whole[16:18], "big")
    kinds = {whole[at + (100 if at == 0 else 0)] for at in range(0, len(whole), size)}
    assert {2, 5, 10, 13} & kinds >= {10, 13}  # leaves of both kinds of trees, at least
    rng, noticed = random.Random(0), 0
    for at in range(0, len(whole), size):
        for _ in range(6):
            data = bytearray(whole)
            place = at + rng.randrange(size)
            data[place] ^= 1 << rng.randrange(8)
            file.write_bytes(bytes(data))
            if content(submission) != honest:
                assert evidence.look(submission), place
                noticed += 1
    assert noticed > 10


def test_many_rows_are_not_read(
    submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_MOST_ROWS", 20)
    assert evidence.look(submission) == "holds more than 20 rows in its table texts"


@pytest.mark.parametrize(
    "end",
    [
        lambda command, **_: subprocess.CompletedProcess(command, -11, b"", b""),
        Mock(side_effect=subprocess.TimeoutExpired("", 1)),
    ],
)
def test_a_crash_of_the_reading_process_refuses_only_this_submission(
    end: Any, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.apps.leaderboard.bounded_process.subprocess.run", end)
    assert "evidence.db" in refusal(submission)
