"""Samples, which are the data of each image that a task's scores were computed from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.store.database import NAME, Database
from t2ibench.store.scores import ScoreStore


def dump_samples(samples: Sequence[Mapping[str, Any]]) -> str:
    """Return samples as the text of a JSON list, with one sample on each line."""
    lines = ",\n".join(json.dumps(sample, ensure_ascii=False) for sample in samples)
    return f"[\n{lines}\n]" if lines else "[]"


def image_of(sample: Mapping[str, Any]) -> ImageKey:
    """Return the key of the image that a stored sample is about.

    Edits of several source images have the same prompt and number: their source tells them apart.
    """
    source = sample.get("source_sha256")
    return ImageKey.of(str(sample.get("prompt")), sample.get("index", -1), source)


def read_samples(folder: Path, task: str) -> list[dict[str, Any]]:
    """Return the stored samples of a task; empty if the run has none."""
    stored = ScoreStore(Database(folder)).current(task).get(task)
    lines = stored.samples.split("\n")[1:-1] if stored else []
    try:
        rows = [json.loads(line.removesuffix(",")) for line in lines]
    except (ValueError, RecursionError):
        rows = [None]
    if not all(isinstance(row, dict) for row in rows):
        raise T2IBenchError(
            f"{folder / NAME}: the samples of {task} cannot be read.",
            "`t2ibench score RUN` writes them again from the stored evidence.",
        )
    return rows
