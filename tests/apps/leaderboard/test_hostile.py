"""Databases that a stranger wrote: each is refused in a line, and none is written to."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from t2ibench.apps.leaderboard import evidence
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.schema import VERSION, content_id
from tests.apps.leaderboard.forging import Rows, edit_attempts, edit_table, refusal, seal


def sql(*statements: str) -> Callable[[Path], None]:
    """Statements that anybody can run on a database, its schema included."""

    def change(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "evidence.db", isolation_level=None)) as connection:
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


def untyped(name: str, column: str, value: Any) -> Callable[[Path], None]:
    """A value that SQLite would have turned into a text, had it been stored as such."""

    def declare(old: str, new: str) -> Callable[[Path], None]:
        texts = f"replace(sql, '{column} {old}', '{column} {new}')"
        return sql(f"UPDATE sqlite_schema SET sql = {texts} WHERE name = '{name}'")

    def change(folder: Path) -> None:
        declare("TEXT", "BLOB")(folder)
        first(name, **{column: value})(folder)
        declare("BLOB", "TEXT")(folder)

    return change


def as_text(name: str, column: str, value: str) -> Callable[[Path], None]:
    """A number that is stored as a text, which SQLite would have made a number again."""

    def declare(old: str, new: str) -> None:
        texts = f"replace(sql, '{column} {old}', '{column} {new}')"
        sql(f"UPDATE sqlite_schema SET sql = {texts} WHERE name = '{name}'")(declared_in[0])

    declared_in: list[Path] = []

    def change(folder: Path) -> None:
        declared_in.append(folder)
        declare("INTEGER", "BLOB")
        first(name, **{column: value})(folder)
        declare("BLOB", "INTEGER")

    return change


def question(classes: str) -> Callable[[Path], None]:
    """A question with classes that nobody can read."""
    number = content_id("what?", classes)
    return add("questions", {"id": number, "question": "what?", "classes": classes})


def cut(share: float) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        data = (folder / "evidence.db").read_bytes()
        (folder / "evidence.db").write_bytes(data[: int(len(data) * share)])

    return change


def patch(at: int, data: bytes) -> Callable[[Path], None]:
    """Other bytes in the file."""

    def change(folder: Path) -> None:
        with (folder / "evidence.db").open("r+b") as file:
            file.seek(at)
            file.write(data)

    return change


LABEL = {"question": 1, "image": "0" * 64, "labeller": "me", "answer": "x"}
OTHER, UNREADABLE = "has other tables", "cannot be read"
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a trigger": (
        sql("CREATE TRIGGER t AFTER DELETE ON labels BEGIN DELETE FROM texts; END"), OTHER,
    ),
    "a trigger that is called an index": (
        sql(
            "CREATE TRIGGER t AFTER DELETE ON labels BEGIN DELETE FROM texts; END",
            "UPDATE sqlite_schema SET name = 'sqlite_autoindex_t' WHERE name = 't'",
        ),
        "malformed database schema",
    ),
    "a view in a table's place": (
        sql("DROP TABLE labels", "CREATE VIEW labels AS SELECT * FROM answers"), OTHER,
    ),
    "one table more": (sql("CREATE TABLE more(x)"), OTHER),
    "a virtual table": (sql("CREATE VIRTUAL TABLE more USING fts5(x)"), OTHER),
    "an index of an expression": (
        sql("CREATE INDEX slow ON attempts(hex(zeroblob(10)))"), OTHER,
    ),
    "statistics": (sql("ANALYZE"), OTHER),
    "a table less": (sql("DROP TABLE labels"), OTHER),
    "another column": (sql("ALTER TABLE labels ADD COLUMN x"), OTHER),
    "a schema that is no SQL": (
        sql("UPDATE sqlite_schema SET sql = 'CREATE TABLE labels(' WHERE name = 'labels'"),
        UNREADABLE,
    ),
    "two tables in one place": (
        sql("UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE "
            "name = 'texts') WHERE name = 'labels'"), "is damaged|cannot be read",
    ),
    "another program's": (sql("PRAGMA application_id = 7"), "it is not a database of t2ibench"),
    "another version": (
        sql(f"PRAGMA user_version = {VERSION + 1}"), f"it is of version {VERSION + 1}",
    ),
    "another encoding": (patch(56, bytes([0, 0, 0, 2])), "cannot be read|damaged"),
    "no database": (patch(0, b"#!/bin/sh\n"), "file is not a database"),
    "another file behind it": (
        lambda folder: (folder / "evidence.db").open("ab").write(b"PK\3\4" * 1000),
        "something behind its last page",
    ),
    "more pages than there are": (patch(28, b"\x7f\xff\xff\xff"), "cannot be read|damaged"),
    "free pages that are not free": (patch(32, b"\0\0\0\1\0\0\0\5"), "damaged"),
    "pages of another size": (patch(16, b"\2\0"), "cannot be read|damaged"),
    "room for an extension on each page": (patch(20, b"\x20"), "cannot be read|damaged"),
    "nothing": (cut(0.0), "it is not a database of t2ibench"),
    "the first page alone": (cut(0.01), "cannot be read|damaged"),
    "half of it": (cut(0.5), "cannot be read|damaged"),
    "labels": (add("labels", LABEL), "in its table labels"),
    "a record": (add("run", {"key": "labels", "value": "1"}), "in its table run"),
    "texts as numbers": (untyped("answers", "answer", 7), " answers.answer"),
    "numbers as texts": (first("attempts", seed="0x"), " attempts.seed"),
    "numbers as texts that are numbers": (as_text("attempts", "seed", "12"), " attempts.seed"),
    "fractions": (first("attempts", seed=0.5), " attempts.seed"),
    "no number": (first("embeddings", width=float("inf")), " embeddings.width"),
    "blobs as texts": (first("answers", image=b"\0" * 32), " answers.image"),
    "bytes that are no text": (first("answers", answer=b"\xff\xfe"), "with none of its classes"),
    "a text that is not UTF-8": (
        sql("UPDATE answers SET answer = CAST(x'ff28' AS TEXT)"), "Could not decode to UTF-8",
    ),
    "a huge text": (
        sql("UPDATE texts SET text = hex(zeroblob(20000000)) WHERE id IN (SELECT id FROM texts "
            "LIMIT 1)"), "under a wrong number|does not match its checksum",
    ),
    "another checksum": (sql("UPDATE answers SET answer = 'male'"), "does not match its checksum"),
    "a text under another's number": (first("texts", text="a bribe"), "holds no such image"),
    "a text of no image": (add("texts", {"id": content_id("x"), "text": "x"}), "belong to nothing"),
    "classes that are no list": (question("7"), "with no list of classes"),
    "classes that are not texts": (question("[[]]"), "with no list of classes"),
    "classes that nest deeply": (question("[" * 100_000), "with no list of classes"),
    "an answer about no image": (first("answers", image="x"), "about no image"),
    "an answer of nobody": (first("answers", judge=7), "of no judge"),
    "a negative number of an image": (
        lambda folder: edit_attempts(folder, lambda rows: rows[0].update(number=-1)),
        "holds no such image",
    ),
    "evidence of somebody": (
        add("models", {"id": content_id("judge", "me", "f"), "role": "judge", "name": "me",
                       "fingerprint": "f"}),
        "its evidence is of the judge 'me', which submission.json does not name",
    ),
    "embeddings of nobody": (first("embeddings", model=7), "something else than embeddings"),
    "embeddings of sounds": (first("embeddings", kind="sounds"), "something else than embeddings"),
    "wide embeddings": (first("embeddings", width=10**9), "something else than embeddings"),
    "a negative width": (first("embeddings", width=-21), "something else than embeddings"),
    "numbers of another type": (first("embeddings", dtype="int8"), "something else than"),
    "rows without keys": (first("embeddings", keys=b""), "something else than embeddings"),
    "no rows": (first("embeddings", keys=b"", rows=b"", sums=b""), "something else than"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_database_is_refused(kind: str, submission: Path) -> None:
    change, message = HOSTILE[kind]
    change(submission)
    seal(submission)
    before = (submission / "evidence.db").read_bytes()
    said = refusal(submission)
    assert re.search(message, said) and "Run the original command" not in said
    assert (submission / "evidence.db").read_bytes() == before
    assert not list(submission.glob("evidence.db-*"))


def test_no_journal_beside_it_is_played_back(submission: Path) -> None:
    """Of a writer that was killed: whoever opens the file to write puts the old pages back."""
    file = submission / "evidence.db"
    honest = file.read_bytes()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE answers SET answer = 'x'")
        connection.execute("UPDATE texts SET text = 'x' || text")
        journal = file.with_name("evidence.db-journal").read_bytes()
        connection.execute("ROLLBACK")
    assert len(journal) > 512
    file.write_bytes(honest)
    file.with_name("evidence.db-journal").write_bytes(journal)
    assert "evidence.db-journal' is not a file that a submission may contain" in refusal(submission)
    assert evidence.content_problem(submission) is None  # even if it were let through
    assert file.read_bytes() == honest
    assert file.with_name("evidence.db-journal").read_bytes() == journal


@pytest.mark.parametrize("share", [1.0, 0.9, 0.5, 0.01])
def test_no_write_ahead_log_beside_it_is_read(share: float, submission: Path) -> None:
    """Of a writer that still runs, whole or cut: its pages would replace those checked."""
    file, log = submission / "evidence.db", submission / "evidence.db-wal"
    honest = file.read_bytes()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE answers SET answer = 'x'")
        data, changed = log.read_bytes(), file.read_bytes()
    file.write_bytes(changed)
    log.write_bytes(data[: int(len(data) * share)])
    assert len(data) > 4096
    assert "evidence.db-wal' is not a file that a submission may contain" in refusal(submission)
    assert evidence.content_problem(submission) is None  # even if it were let through
    assert log.read_bytes() == data[: int(len(data) * share)]
    log.unlink()
    seal(submission)
    assert content(submission) is not None
    file.write_bytes(honest)


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE ':memory:' AS other", "ATTACH DATABASE 'file:/etc/passwd?mode=ro' AS x",
        "CREATE TEMP TABLE t(x)", "DELETE FROM answers", "PRAGMA writable_schema = ON; SELECT 1",
        "VACUUM INTO '/tmp/x'", "SELECT * FROM dbstat", "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')", "BEGIN IMMEDIATE",
    ],
)  # fmt: skip
def test_nothing_but_known_tables_is_read(statement: str, submission: Path) -> None:
    database = Database(submission, "evidence.db", trusted=False)
    before = (submission / "evidence.db").read_bytes()
    assert database.read("SELECT count(*) FROM answers")
    with pytest.raises((BrokenDatabaseError, sqlite3.Warning, sqlite3.ProgrammingError)):
        database.read(statement)
    assert (submission / "evidence.db").read_bytes() == before


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


def test_many_rows_are_not_read(submission: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_ROWS", 20)
    assert evidence.look(submission) == "holds more than 20 rows in its table texts"


def test_a_walk_that_never_ends_is_not_begun(submission: Path) -> None:
    """Inner pages that name one child a thousand times: a small tree of 10^18 rows."""
    file = submission / "evidence.db"
    with closing(sqlite3.connect(file)) as connection:
        schema = connection.execute("SELECT name, rootpage FROM sqlite_schema")
        root = dict(schema.fetchall())["texts"]
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    leaf, pages, cells = bytes(data[(root - 1) * size : root * size]), len(data) // size, 1000
    start = size - 5 * cells

    def inner(child: int) -> bytes:
        at = child.to_bytes(4, "big")
        head = b"\5\0\0" + cells.to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0" + at
        places = b"".join((start + 5 * k).to_bytes(2, "big") for k in range(cells))
        return (head + places).ljust(start, b"\0") + (at + b"\1") * cells

    for depth in range(5):
        data += inner(pages + 2 + depth)
    data += leaf
    data[(root - 1) * size : root * size] = inner(pages + 1)
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    file.write_bytes(bytes(data))
    started = Database(submission, "evidence.db", trusted=False)
    rows = started.read("SELECT id FROM texts LIMIT 100000")
    assert len(rows) == 100_000  # SQLite walks
    found = evidence.look(submission)
    assert found and found.startswith("is damaged: ")


@pytest.mark.parametrize("ended", ["timeout", "signal", "no answer"])
def test_what_ends_the_reader_ends_no_check(
    ended: str, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: Any) -> Any:
        import subprocess

        if ended == "timeout":
            raise subprocess.TimeoutExpired(command, 1)
        return subprocess.CompletedProcess(command, -11 if ended == "signal" else 1, b"", b"")

    monkeypatch.setattr("t2ibench.apps.leaderboard.evidence.subprocess.run", run)
    assert "evidence.db" in refusal(submission)
