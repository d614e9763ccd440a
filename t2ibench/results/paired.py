"""Influences: how each image moves each score, so that runs are compared in pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import Part, Scale
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.text_image_alignment import PromptCosines
from t2ibench.stats.squares import SquareNoise
from t2ibench.store.database import Database
from t2ibench.store.scores import ScoreStore

_TABLE = "table"  # the JSON that says what the arrays are, as bytes
_ARRAYS: dict[str, Any] = {"stratum": np.int32, "unit": np.int32, "value": np.float64}


@dataclass(frozen=True, slots=True)
class PairedTask:
    """What is needed to compare one task of two runs; `rows` is by (row, score).

    `items` are what a mean square with a single part is made of, `noise` what it owes to noise,
    where its parts do not say so. `agreement` has by encoder the cosines of images and prompts,
    `readers` each encoder's or judge's own rows; both are empty in older runs.
    """

    scale: Scale
    question: str
    headline: tuple[Part, ...]
    rows: Mapping[tuple[str, str], Part]
    items: tuple[Part, ...] = ()
    noise: SquareNoise | None = None
    agreement: Mapping[str, tuple[PromptCosines, ...]] = field(default_factory=dict)
    readers: Mapping[str, Mapping[tuple[str, str], Part]] = field(default_factory=dict)


def paired_task(
    result: MethodResult,
    by_reader: Mapping[str, MethodResult] | None = None,
    agreement: Mapping[str, tuple[PromptCosines, ...]] | None = None,
) -> PairedTask:
    """The influences of a task's result.

    Args:
        result: The result over all encoders or judges.
        by_reader: What each encoder or judge finds; it counts where there are several.
        agreement: By encoder, how well images agree with their prompts.
    """
    headline = result.headline
    several = by_reader if by_reader is not None and len(by_reader) > 1 else {}
    defined = headline.value is not None
    return PairedTask(
        scale=headline.scale,
        question=headline.question,
        headline=headline.parts if defined else (),
        rows=_rows(result),
        items=headline.items if defined else (),
        noise=headline.noise if defined else None,
        agreement=agreement or {},
        readers={name: _rows(reader) for name, reader in several.items()},
    )


def _rows(result: MethodResult) -> dict[tuple[str, str], Part]:
    return {
        (item.name, name): Part(item.name, estimate.value, estimate.influence)
        for item in result.by
        for name, estimate in item.scores.items()
        if estimate.value is not None and estimate.influence is not None
    }


def dump_paired(tasks: Mapping[str, PairedTask]) -> bytes:
    """The influences of tasks, as safetensors."""
    from safetensors.numpy import save

    strata: dict[str, int] = {}
    arrays: list[tuple[Any, Any, Any]] = []
    table: dict[str, Any] = {}

    def entry(name: str, score: str, part: Part) -> list[Any]:
        moved = part.influence
        numbers = [strata.setdefault(stratum, len(strata)) for stratum in moved.strata]
        stratum = (
            np.array(numbers, np.int64)[moved.stratum] if numbers else moved.stratum
        )
        arrays.append((stratum, moved.unit, moved.value))
        return [name, score, float(part.value), len(moved.value)]

    def cosines(one: PromptCosines) -> list[Any]:
        number = strata.setdefault(one.prompt, len(strata))
        arrays.append((np.full(len(one.indices), number), one.indices, one.cosines))
        entry = [one.prompt, one.group, one.unit, len(one.indices)]
        return [*entry, one.word] if one.word else entry

    for task_id, task in sorted(tasks.items()):
        table[task_id] = {
            "scale": task.scale,
            "question": task.question,
            "headline": [entry(part.name, "", part) for part in task.headline],
            "rows": [
                entry(row, score, part) for (row, score), part in task.rows.items()
            ],
            "items": [entry(part.name, "", part) for part in task.items],
        }
        if task.noise:
            one = task.noise
            table[task_id]["noise"] = [one.noise, *one.slopes, one.df, one.top]
        if task.agreement:
            table[task_id]["agreement"] = {
                encoder: [cosines(one) for one in found]
                for encoder, found in task.agreement.items()
            }
        if task.readers:
            table[task_id]["readers"] = {
                reader: [entry(row, score, part) for (row, score), part in rows.items()]
                for reader, rows in task.readers.items()
            }
    text = json.dumps({"strata": list(strata), "tasks": table}, ensure_ascii=False)
    tensors: dict[str, Any] = {_TABLE: np.frombuffer(text.encode(), dtype=np.uint8)}
    for k, (name, kind) in enumerate(_ARRAYS.items()):
        parts = [array[k].astype(kind) for array in arrays]
        tensors[name] = np.concatenate([np.zeros(0, kind), *parts])
    return save(tensors)


def load_paired(data: bytes) -> dict[str, PairedTask]:
    """The influences of tasks; ValueError where `dump_paired` did not write them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(data)
        table = json.loads(tensors[_TABLE].tobytes().decode())
        reader = _Reader([tensors[name] for name in _ARRAYS], table["strata"])
        tasks = {name: reader.task(task) for name, task in table["tasks"].items()}
    except (
        SafetensorError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError(str(error)) from None
    if {len(tensors[name]) for name in _ARRAYS} != {reader.at}:
        raise ValueError("its table and its arrays differ in length")
    return tasks


def read_paired(path: Path) -> dict[str, PairedTask]:
    """The influences of the results in a run folder; none where there is no run.db."""
    database = Database(path if path.is_dir() else path.parent)
    found: dict[str, PairedTask] = {}
    for task, score in ScoreStore(database).current().items():
        try:
            found[task] = load_paired(score.influences)[task]
        except (ValueError, KeyError) as error:
            raise T2IBenchError(
                f"{database.path}: the influences of {task} cannot be read: {error}.",
                "`t2ibench score RUN` writes them again from the stored evidence.",
            ) from None
    return found


class _Reader:
    def __init__(self, arrays: Sequence[Any], strata: list[str]) -> None:
        self._arrays, self._strata = arrays, np.array(strata, dtype=object)
        self.at = 0  # what has been read

    def task(self, table: Mapping[str, Any]) -> PairedTask:
        noise = [float(number) for number in table.get("noise") or ()]
        return PairedTask(
            table["scale"],
            table["question"],
            tuple(part for _, part in self._parts(table["headline"])),
            dict(self._parts(table["rows"])),
            tuple(part for _, part in self._parts(table.get("items", []))),
            SquareNoise(noise[0], (noise[1], noise[2]), *noise[3:]) if noise else None,
            {
                encoder: tuple(self._cosines(*entry) for entry in found)
                for encoder, found in table.get("agreement", {}).items()
            },
            {
                reader: dict(self._parts(rows))
                for reader, rows in table.get("readers", {}).items()
            },
        )

    def _parts(self, entries: Iterable[Any]) -> Iterator[tuple[tuple[str, str], Part]]:
        for name, score, value, length in entries:
            stratum, unit, moved = self._next(length)
            numbers, inverse = np.unique(stratum, return_inverse=True)
            strata = tuple(str(stratum) for stratum in self._strata[numbers])
            influence = Influence(
                strata, inverse.astype(np.int64), unit, moved.astype(np.float64)
            )
            yield (name, score), Part(name, float(value), influence)

    def _cosines(
        self, prompt: str, group: str, unit: str, length: int, word: str = ""
    ) -> PromptCosines:
        _, indices, cosines = self._next(length)
        return PromptCosines(prompt, group, unit, indices, cosines, word)

    def _next(self, length: int) -> tuple[Any, Any, Any]:
        stratum, unit, value = (
            array[self.at : self.at + length] for array in self._arrays
        )
        self.at += length
        return stratum, unit.astype(np.int64), value
