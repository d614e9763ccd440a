"""The tables of run.db, with their identifiers and row checksums.

Identifiers are made of content, so that runs made apart can be joined and a damaged row loses
nothing but itself. Every row has a checksum: SQLite's own checks look at structure, never content.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from typing import Any

APPLICATION = 0x54324942
VERSION = 1
# An untrusted database must have exactly these tables.
_SQL = """\
CREATE TABLE run(  -- what the run was made with: a field and its value as JSON
  key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID
CREATE TABLE texts(  -- id: the first 63 bits of the text's SHA-256
  id INTEGER PRIMARY KEY, text TEXT NOT NULL, crc INTEGER NOT NULL)
CREATE TABLE models(  -- role: generator, encoder, judge or rewriter
  id INTEGER PRIMARY KEY, role TEXT NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL,
  crc INTEGER NOT NULL)
CREATE TABLE questions(  -- classes: a JSON list; empty for free text
  id INTEGER PRIMARY KEY, question TEXT NOT NULL, classes TEXT NOT NULL, crc INTEGER NOT NULL)
CREATE TABLE attempts(  -- one row for every attempt at an image; number: of the prompt's
  generator INTEGER NOT NULL, text INTEGER NOT NULL, number INTEGER NOT NULL, try INTEGER NOT NULL,
  seed INTEGER NOT NULL, status TEXT NOT NULL, sha256 TEXT, file TEXT, reason TEXT,
  revised_prompt TEXT, crc INTEGER NOT NULL,
  PRIMARY KEY(generator, text, number, try)) WITHOUT ROWID
CREATE TABLE embeddings(  -- one row a batch; keys: n SHA-256, rows: n little-endian rows
  part INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind TEXT NOT NULL, width INTEGER NOT NULL,
  dtype TEXT NOT NULL, keys BLOB NOT NULL, rows BLOB NOT NULL, sums BLOB NOT NULL,
  crc INTEGER NOT NULL)
CREATE TABLE answers(  -- image: SHA-256 of its file
  judge INTEGER NOT NULL, question INTEGER NOT NULL, image TEXT NOT NULL, answer TEXT NOT NULL,
  raw TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(judge, question, image)) WITHOUT ROWID
CREATE TABLE labels(  -- what people answered
  question INTEGER NOT NULL, image TEXT NOT NULL, labeller TEXT NOT NULL, answer TEXT NOT NULL,
  crc INTEGER NOT NULL, PRIMARY KEY(question, image, labeller)) WITHOUT ROWID
CREATE TABLE rewrites(  -- number: of the image it is for; -1 for all of the prompt
  rewriter INTEGER NOT NULL, text INTEGER NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL,
  rewritten TEXT, reason TEXT, crc INTEGER NOT NULL,
  PRIMARY KEY(rewriter, text, number)) WITHOUT ROWID
CREATE TABLE scores(  -- inputs: what they were computed from; current: in results.json
  task TEXT NOT NULL, inputs TEXT NOT NULL, current INTEGER NOT NULL, result TEXT NOT NULL,
  samples TEXT NOT NULL, influences BLOB NOT NULL, crc INTEGER NOT NULL,
  PRIMARY KEY(task, inputs)) WITHOUT ROWID"""
TABLES = {
    sql.partition("(")[0].removeprefix("CREATE TABLE "): sql
    for sql in re.split(r"\n(?=CREATE)", _SQL)
}


@cache
def declared(table: str) -> tuple[tuple[str, str, bool, int], ...]:
    """Return name, SQL type, nullability and key position (or 0) of each column of a table."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLES[table])
        rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return tuple(
        (name, kind, not (needed or key), key) for _, name, kind, needed, _, key in rows
    )


@cache
def columns(table: str) -> tuple[str, ...]:
    """Return the column names of a table in order, without the checksum."""
    return tuple(name for name, *_ in declared(table) if name != "crc")


@cache
def key_columns(table: str) -> tuple[str, ...]:
    """Return the names of a table's key columns."""
    numbered = [(place, name) for name, _, _, place in declared(table) if place]
    return tuple(name for _, name in sorted(numbered))


@cache
def is_typed(table: str) -> str:
    """Return an SQL condition that a row's values have the types declared for their columns."""
    # A text that holds half a surrogate pair is stored as bytes.
    kinds = {"INTEGER": "'integer'", "TEXT": "'text', 'blob'", "BLOB": "'blob'"}
    null = {True: ", 'null'", False: ""}
    return " AND ".join(
        f"typeof({name}) IN ({kinds[kind]}{null[nullable]})"
        for name, kind, nullable, _ in declared(table)
        if name != "crc"
    )


def row_checksum(values: Iterable[Any]) -> int:
    """Return the CRC-32 of a database row, whose values are texts, integers or None."""
    return zlib.crc32("\x1f".join(map(str, values)).encode("utf-8", "surrogatepass"))


def blob_checksum(*blobs: bytes) -> int:
    """Return the CRC-32 of several blobs of bytes, taken as one."""
    checksum = 0
    for blob in blobs:
        checksum = zlib.crc32(blob, checksum)
    return checksum


def to_text(value: str | None) -> str | bytes | None:
    """Return a text in the form that SQLite accepts; lone surrogates require bytes."""
    if value is None:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def of_text(value: str | bytes) -> str:
    """Return the text from which `to_text` made a value of the database."""
    if isinstance(value, str):
        return value
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # another program wrote it
        return value.decode("utf-8", "replace")
