"""Forging submissions and runs, as somebody would who knows how they are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from t2ibench.apps.leaderboard.verify import verify


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


def edit_rows(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the rows of a JSON Lines file."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row.pop("crc32", None)  # as older versions wrote them
    rows = change(rows) or rows
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON file."""
    data = json.loads(path.read_text())
    data.pop("checksum", None)
    data = change(data) or data
    path.write_text(json.dumps(data))


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change a JSON or JSON Lines file of a submission and seal it."""
    (edit_rows if name.endswith(".jsonl") else edit_json)(folder / name, change)
    if name != "submission.json":
        seal(folder)


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


def embeddings(folder: Path, kind: str = "images") -> Path:
    """The packed embeddings of a submission with one encoder."""
    (path,) = folder.glob(f"evidence/*/{kind}-packed.safetensors")
    return path


def tensors(folder: Path, change: Callable[[dict[str, Any]], None], kind: str = "images") -> None:
    """Change packed embeddings and seal the submission."""
    path = embeddings(folder, kind)
    data = load_file(path)
    change(data)
    save_file(data, path)
    seal(folder)


def random_embeddings(run: Path, kind: str, encoder: str = "*") -> None:
    """Replace a run's embeddings by random ones of unit length."""
    rng = np.random.default_rng(0)
    for path in run.glob(f"evidence/{encoder}/{kind}-*.safetensors"):
        data = load_file(path)
        rows = rng.normal(size=data["embeddings"].shape)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        save_file({"keys": data["keys"], "embeddings": rows.astype(np.float32)}, path)


def balanced_answers(run: Path) -> None:
    """Replace a judge's answers by ones that name every class equally often."""

    def balance(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["answer"] = row["classes"][number % len(row["classes"])]

    for path in run.glob("evidence/answers-*/*.jsonl"):
        edit_rows(path, balance)


def call_filtered(run: Path, status: str = "filtered") -> None:
    """Hide every fourth image, as if the model had not given it."""

    def hide(rows: list[dict[str, Any]]) -> None:
        for row in rows[::4]:
            del row["file"], row["sha256"]
            row |= {"status": status, "reason": "a safety filter"}

    for path in run.glob("images/*.jsonl"):
        edit_rows(path, hide)


def rename_judge(run: Path, name: str, args: dict[str, str]) -> None:
    """Say that another judge gave a run's answers."""
    (old,) = run.glob("evidence/answers-*")
    old.rename(old.with_name(f"answers-{name.replace(':', '-')}-{'a' * 12}"))

    def rename(record: dict[str, Any]) -> None:
        record["judges"] = {name: "a" * 64}
        record["settings"] |= {"judge": [name], "judge_args": args}

    edit_json(run / "run.json", rename)


def refusal(folder: Path, draw: int = 0) -> str:
    """Why a submission is refused: lines that a terminal can show."""
    verdict = verify(folder, draw)
    assert verdict.level == "refused"
    assert all(len(line) < 600 and "\n" not in line for line in verdict.problems)
    return "\n".join(verdict.problems)
