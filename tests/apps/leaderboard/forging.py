"""Forging submissions and runs, as somebody would who knows how they are made."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.leaderboard.verify import verify
from t2ibench.identity import content_id
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import PERCEPTUAL_HASH
from t2ibench.store.schema import blob_checksum, row_checksum
from tests.hand import edit_record

Rows = list[dict[str, Any]]


def seal(folder: Path) -> None:
    """What somebody does who changes a file and knows about the hashes."""
    path = folder / "submission.json"
    manifest = json.loads(path.read_text())
    manifest["files"] = {
        one.relative_to(folder).as_posix(): hashlib.sha256(one.read_bytes()).hexdigest()
        for one in sorted(folder.rglob("*"))
        if one.is_file() and one.name != "submission.json"
    }
    path.write_text(json.dumps(manifest))


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON file."""
    data = json.loads(path.read_text())
    data.pop("checksum", None)
    data = change(data) or data
    path.write_text(json.dumps(data))


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change a JSON file of a submission and seal it."""
    edit_json(folder / name, change)
    if name != "submission.json":
        seal(folder)


def database(folder: Path) -> Path:
    """The database of a submission, or of a run."""
    return next(
        path for name in ("evidence.db", "run.db") if (path := folder / name).exists()
    )


def edit_table(folder: Path, table: str, change: Callable[[Rows], Any]) -> None:
    """Change rows of a database; their checksums, and a submission's hashes, are put right."""
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
        for row in rows:
            row.pop("crc")
        rows = change(rows) or rows
        connection.execute(f"DELETE FROM {table}")
        for row in rows:
            blobs = [value for value in row.values() if isinstance(value, bytes)]
            crc = (
                blob_checksum(*blobs)
                if table == "embeddings"
                else row_checksum(row.values())
            )
            marks = ", ".join("?" * (len(row) + 1))
            names = ", ".join([*row, "crc"])
            values = (*row.values(), crc)
            connection.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", values)
        connection.commit()
    if (folder / "submission.json").exists():
        seal(folder)


def edit_attempts(folder: Path, change: Callable[[Rows], Any]) -> None:
    """Change the rows of images, with their prompts; texts that no row names any more go."""
    texts: dict[int, str] = {}
    prompts: set[str] = set()

    def named(rows: Rows) -> Rows:
        rows = [{**row, "text": texts[row["text"]]} for row in rows]
        rows.sort(key=lambda row: (row["text"], row["number"]))
        rows = change(rows) or rows
        prompts.update(row["text"] for row in rows)
        texts.update({content_id(text): text for text in prompts})
        return [{**row, "text": content_id(row["text"])} for row in rows]

    edit_table(
        folder, "texts", lambda rows: texts.update({r["id"]: r["text"] for r in rows})
    )
    edit_table(folder, "attempts", named)
    used = {content_id(text) for text in prompts}
    edit_table(
        folder,
        "texts",
        lambda _: [{"id": key, "text": texts[key]} for key in sorted(used)],
    )


def set_in(*path: Any, value: Any) -> Callable[[Any], None]:
    """A change of one value."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def word(option: str, text: str | None) -> Callable[[Any], None]:
    """A change of one option of the command; None takes it out."""

    def change(results: Any) -> None:
        command = results["command"]
        at = command.index(option)
        command[at : at + 2] = [] if text is None else [option, text]

    return change


def edit_embeddings(
    folder: Path, kind: Any, change: Callable[[list[str], Any], Any], encoder: str = ""
) -> None:
    """Change the keys and the rows of the embeddings of encoders whose names begin so."""
    file = database(folder)
    store_in = Database(folder, file.name)
    dtype = "float16" if file.name == "evidence.db" else "float32"
    for name, fingerprint in store_in.read(
        "SELECT name, fingerprint FROM models WHERE role = 'encoder' ORDER BY name"
    ):
        store = EvidenceStore(store_in, name, fingerprint)
        keys = sorted(store.keys(kind))
        if not keys or not name.startswith(encoder):
            continue
        rows = np.stack([store.get(kind, key) for key in keys])
        rows = np.asarray(change(keys, rows), dtype=np.float32)
        model = content_id("encoder", name, fingerprint)
        store_in.execute(
            "DELETE FROM embeddings WHERE model = ? AND kind = ?", model, kind
        )
        if keys:
            # A new store: the index of the other one is that of the rows that are gone.
            EvidenceStore(store_in, name, fingerprint).add(kind, keys, rows, dtype)
    store_in.close()
    if (folder / "submission.json").exists():
        seal(folder)


def invent_hashes(folder: Path) -> None:
    """Give every image a SHA-256 that no file has, so that none counts as the same file."""
    other: dict[str, str] = {}

    def rename(rows: Rows) -> None:
        for row in rows:
            if row["sha256"]:
                other[row["sha256"]] = hashlib.sha256(
                    row["sha256"].encode()
                ).hexdigest()
                row["sha256"] = other[row["sha256"]]

    def rename_answered(rows: Rows) -> None:
        for row in rows:
            row["image"] = other.get(row["image"], row["image"])

    edit_attempts(folder, rename)
    edit_table(folder, "answers", rename_answered)
    database = Database(folder)
    for name, fingerprint in database.read(
        "SELECT name, fingerprint FROM models WHERE role = 'encoder'"
    ):
        store = EvidenceStore(database, name, fingerprint)
        keys = store.keys("images")
        if keys:
            rows = store.rows("images", keys).astype(np.float32)
            store.add("images", [other.get(key, key) for key in keys], rows)
    database.close()


def random_embeddings(run: Path, kind: str, encoder: str = "") -> None:
    """Replace embeddings by random ones of unit length."""
    rng = np.random.default_rng(0)

    def change(_: list[str], rows: Any) -> Any:
        found = rng.normal(size=rows.shape)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    edit_embeddings(run, kind, change, encoder)


def balanced_answers(run: Path) -> None:
    """Replace a judge's answers by ones that name every class equally often."""
    classes: dict[int, list[str]] = {}

    def balance(rows: Rows) -> None:
        for number, row in enumerate(rows):
            names = classes[row["question"]]
            row["answer"] = names[number % len(names)]

    def read(rows: Rows) -> None:
        classes.update({row["id"]: json.loads(row["classes"]) for row in rows})

    edit_table(run, "questions", read)
    edit_table(run, "answers", balance)


def call(run: Path, which: Callable[[int, str], bool] = lambda n, _: n % 4 == 0) -> int:
    """Hide images, every fourth unless told, as if a filter had stopped them."""
    hidden: Rows = []

    def hide(rows: Rows) -> None:
        hidden.extend(
            row for number, row in enumerate(rows) if which(number, row["text"])
        )
        for row in hidden:
            row |= {
                "status": "filtered",
                "reason": "a filter",
                "file": None,
                "sha256": None,
            }

    edit_attempts(run, hide)
    return len(hidden)


def rename_model(run: Path, role: str, name: str, fingerprint: str) -> None:
    """Say that another encoder, or another judge, made a run's evidence."""
    number = content_id(role, name, fingerprint)

    def rename(rows: Rows) -> None:
        for row in rows:
            if row["role"] == role and row["name"] != PERCEPTUAL_HASH[0]:
                row |= {"id": number, "name": name, "fingerprint": fingerprint}

    edit_table(run, "models", rename)
    table, column = (
        ("embeddings", "model") if role == "encoder" else ("answers", "judge")
    )
    looks = content_id("encoder", *PERCEPTUAL_HASH)

    def reassign(rows: Rows) -> Rows:
        return [
            row if row[column] == looks else {**row, column: number} for row in rows
        ]

    edit_table(run, table, reassign)


def rename_judge(run: Path, name: str, args: dict[str, str]) -> None:
    """Say that another judge gave a run's answers."""
    rename_model(run, "judge", name, "a" * 64)
    record(run, "judges", value={name: "a" * 64})
    record(run, "settings", "judge", value=[name])
    record(run, "settings", "judge_args", value=args)


def record(run: Path, *path: str, value: Any) -> None:
    """Say something else in the record of a run."""
    edit_record(run, set_in(*path, value=value))


def refusal(folder: Path, draw: int = 0) -> str:
    """Why a submission is refused: lines that a terminal can show."""
    verdict = verify(folder, draw)
    assert verdict.level == "refused"
    assert all(len(line) < 600 and line.isprintable() for line in verdict.problems)
    return "\n".join(verdict.problems)
