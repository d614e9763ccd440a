"""Influences of each image on each score, with which runs are compared image by image."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.methods.core.text_image_alignment import PromptCosines
from t2ibench.stats.squares import SquareNoise
from t2ibench.store.database import Database
from t2ibench.store.scores import ScoreStore

# The JSON that says what the arrays are, as bytes.
_TABLE = "table"
_ARRAYS: dict[str, Any] = {"stratum": np.int32, "unit": np.int32, "value": np.float64}


@dataclass(frozen=True, slots=True)
class PairedTask:
    """The influences of images on one task's scores, with which two runs are compared.

    Attributes:
        scale: What the headline is: a lean, a mean square or an excess.
        question: What the headline's interval is about.
        headline: The parts of the headline, with their influences.
        rows: The scores of rows with their influences, by (row, score).
        items: What a mean square with a single part is made of.
        noise: What a mean square owes to noise, where its parts do not say so.
        agreement: By encoder, the cosines of images and prompts; empty in older runs.
        readers: By encoder or judge, its own rows; empty in older runs.
        diversity: By encoder, what each image adds to the diversity of its prompt; empty in older
            runs.
        vendi: By encoder, the Vendi score of each guided prompt's images, for each of them; of
            every prompt's in some older runs, and empty in others.
        contradictions: By judge, 1 for each guided image that shows another group than was asked
            for, and 0 for each that shows that group; empty in older runs.
    """

    scale: str
    question: str
    headline: tuple[Part, ...]
    rows: Mapping[tuple[str, str], Part]
    items: tuple[Part, ...] = ()
    noise: SquareNoise | None = None
    agreement: Mapping[str, tuple[PromptCosines, ...]] = field(default_factory=dict)
    readers: Mapping[str, Mapping[tuple[str, str], Part]] = field(default_factory=dict)
    diversity: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)
    contradictions: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)
    vendi: Mapping[str, tuple[PromptValues, ...]] = field(default_factory=dict)


def paired_task(
    result: MethodResult,
    by_reader: Mapping[str, MethodResult] | None = None,
    agreement: Mapping[str, tuple[PromptCosines, ...]] | None = None,
    *,
    diversity: Mapping[str, tuple[PromptValues, ...]] | None = None,
    vendi: Mapping[str, tuple[PromptValues, ...]] | None = None,
    contradictions: Mapping[str, tuple[PromptValues, ...]] | None = None,
) -> PairedTask:
    """Return the influences of images on the scores of one task.

    Args:
        result: The result over all encoders or judges.
        by_reader: What each encoder or judge finds; it counts where there are several.
        agreement: By encoder, how well images agree with their prompts.
        diversity: By encoder, what each image adds to the diversity of its prompt.
        vendi: By encoder, the Vendi score of each guided prompt's images, for each of them.
        contradictions: By judge, which guided images do not show what was asked for.
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
        diversity=diversity or {},
        vendi=vendi or {},
        contradictions=contradictions or {},
    )


def _rows(result: MethodResult) -> dict[tuple[str, str], Part]:
    return {
        (item.name, name): Part(item.name, estimate.value, estimate.influence)
        for item in result.by
        for name, estimate in item.scores.items()
        if estimate.value is not None and estimate.influence is not None
    }


def dump_paired(tasks: Mapping[str, PairedTask]) -> bytes:
    """Return the influences of tasks as bytes in the safetensors format.

    A table in JSON has a row for every influence; the numbers of all rows lie one after the other
    in three arrays: stratum, unit and value.
    """
    from safetensors.numpy import save

    writer = _Writer()
    table = {name: writer.task(task) for name, task in sorted(tasks.items())}
    content = {"strata": list(writer.strata), "tasks": table}
    text = json.dumps(content, ensure_ascii=False)
    tensors: dict[str, Any] = {_TABLE: np.frombuffer(text.encode(), dtype=np.uint8)}
    return save(tensors | writer.arrays())


@dataclass(frozen=True, slots=True)
class _InfluenceRow:
    """A row of the stored table: a score, and how many numbers are its influences.

    Attributes:
        name: Of the row of the task, or of the part of its headline.
        score: The name of the score; empty for a headline.
        value: The score.
        length: How many numbers of the arrays are its influence.
    """

    name: str
    score: str
    value: float
    length: int

    def as_json(self) -> list[Any]:
        return [self.name, self.score, self.value, self.length]


@dataclass(frozen=True, slots=True)
class _CosinesRow:
    """A row of the stored table: a prompt, and how many numbers are cosines of its images.

    Attributes:
        prompt: The prompt.
        group: What it stands for.
        unit: The unit that is resampled with it.
        length: How many numbers of the arrays are its cosines.
        word: The word that it is about; empty where there is none.
    """

    prompt: str
    group: str
    unit: str
    length: int
    word: str = ""

    def as_json(self) -> list[Any]:
        row = [self.prompt, self.group, self.unit, self.length]
        return [*row, self.word] if self.word else row


class _Writer:
    """Collects the rows of the stored table of influences, and the numbers for its arrays.

    Attributes:
        strata: Each stratum with its number, in the order of their first occurrence.
    """

    def __init__(self) -> None:
        self.strata: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in _ARRAYS}

    def task(self, task: PairedTask) -> dict[str, Any]:
        """Return one task's table of influences as JSON data, and collect its numbers."""
        table: dict[str, Any] = {
            "scale": task.scale,
            "question": task.question,
            "headline": self._parts(task.headline),
            "rows": self._rows(task.rows),
            "items": self._parts(task.items),
        }
        noise = task.noise
        if noise:
            table["noise"] = [noise.noise, *noise.slopes, noise.df, noise.top]
        if task.agreement:
            table["agreement"] = {
                encoder: [self._cosines(prompt).as_json() for prompt in prompts]
                for encoder, prompts in task.agreement.items()
            }
        if task.readers:
            table["readers"] = {
                reader: self._rows(rows) for reader, rows in task.readers.items()
            }
        if task.diversity:
            table["diversity"] = self._values_by_reader(task.diversity)
        if task.contradictions:
            table["contradictions"] = self._values_by_reader(task.contradictions)
        if task.vendi:
            table["vendi"] = self._values_by_reader(task.vendi)
        return table

    def arrays(self) -> dict[str, Any]:
        """Return all collected numbers as arrays, keyed by the arrays' names."""
        return {
            name: np.concatenate(
                [
                    np.zeros(0, kind),
                    *(part.astype(kind) for part in self._columns[name]),
                ]
            )
            for name, kind in _ARRAYS.items()
        }

    def _parts(self, parts: Iterable[Part]) -> list[list[Any]]:
        return [self._influence(part.name, "", part).as_json() for part in parts]

    def _rows(self, rows: Mapping[tuple[str, str], Part]) -> list[list[Any]]:
        return [
            self._influence(row, score, part).as_json()
            for (row, score), part in rows.items()
        ]

    def _influence(self, name: str, score: str, part: Part) -> _InfluenceRow:
        influence = part.influence
        stratum = influence.stratum
        if influence.strata:
            numbers = [self._number_of(stratum) for stratum in influence.strata]
            stratum = np.array(numbers, np.int64)[influence.stratum]
        self._add(stratum, influence.unit, influence.value)
        return _InfluenceRow(name, score, float(part.value), len(influence.value))

    def _cosines(self, prompt: PromptCosines) -> _CosinesRow:
        length = len(prompt.indices)
        stratum = np.full(length, self._number_of(prompt.prompt))
        self._add(stratum, prompt.indices, prompt.cosines)
        return _CosinesRow(
            prompt.prompt, prompt.group, prompt.unit, length, prompt.word
        )

    def _values_by_reader(
        self, by_reader: Mapping[str, tuple[PromptValues, ...]]
    ) -> dict[str, list[list[Any]]]:
        return {
            reader: [self._values(prompt) for prompt in prompts]
            for reader, prompts in by_reader.items()
        }

    def _values(self, prompt: PromptValues) -> list[Any]:
        """Return a row of the stored table: a prompt, its group, and how many images it has."""
        length = len(prompt.indices)
        stratum = np.full(length, self._number_of(prompt.prompt))
        self._add(stratum, prompt.indices, prompt.values)
        return [prompt.prompt, prompt.group, length]

    def _number_of(self, stratum: str) -> int:
        return self.strata.setdefault(stratum, len(self.strata))

    def _add(self, stratum: Any, unit: Any, value: Any) -> None:
        self._columns["stratum"].append(stratum)
        self._columns["unit"].append(unit)
        self._columns["value"].append(value)


def load_paired(data: bytes) -> dict[str, PairedTask]:
    """Return the influences of tasks from bytes of `dump_paired`; ValueError for other bytes."""
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
    """Return the influences that a run folder stores, for each task; empty without a run.db."""
    database = Database(path if path.is_dir() else path.parent)
    tasks: dict[str, PairedTask] = {}
    for task, score in ScoreStore(database).current().items():
        try:
            tasks[task] = load_paired(score.influences)[task]
        except (ValueError, KeyError) as error:
            raise T2IBenchError(
                f"{database.path}: the influences of {task} cannot be read: {error}.",
                "`t2ibench score RUN` writes them again from the stored evidence.",
            ) from None
    return tasks


class _Reader:
    """Reads the influences of tasks from the stored table and arrays, row by row.

    Attributes:
        at: How many numbers of the arrays have been read.
    """

    def __init__(self, arrays: Sequence[Any], strata: list[str]) -> None:
        self._arrays = arrays
        self._strata = np.array(strata, dtype=object)
        self.at = 0

    def task(self, table: Mapping[str, Any]) -> PairedTask:
        """Return one task's influences; tasks must be read in the order of writing."""
        headline = self._parts(table["headline"])
        rows = self._rows(table["rows"])
        items = self._parts(table.get("items", []))
        agreement = {
            encoder: tuple(self._cosines(_CosinesRow(*row)) for row in prompts)
            for encoder, prompts in table.get("agreement", {}).items()
        }
        readers = {
            reader: self._rows(reader_rows)
            for reader, reader_rows in table.get("readers", {}).items()
        }
        diversity = self._values_by_reader(table.get("diversity", {}))
        contradictions = self._values_by_reader(table.get("contradictions", {}))
        vendi = self._values_by_reader(table.get("vendi", {}))
        return PairedTask(
            scale=table["scale"],
            question=table["question"],
            headline=headline,
            rows=rows,
            items=items,
            noise=_noise(table.get("noise")),
            agreement=agreement,
            readers=readers,
            diversity=diversity,
            vendi=vendi,
            contradictions=contradictions,
        )

    def _parts(self, rows: Iterable[Any]) -> tuple[Part, ...]:
        return tuple(self._part(_InfluenceRow(*row)) for row in rows)

    def _rows(self, rows: Iterable[Any]) -> dict[tuple[str, str], Part]:
        parts: dict[tuple[str, str], Part] = {}
        for row in rows:
            entry = _InfluenceRow(*row)
            parts[entry.name, entry.score] = self._part(entry)
        return parts

    def _part(self, row: _InfluenceRow) -> Part:
        stratum, unit, value = self._next(row.length)
        numbers, inverse = np.unique(stratum, return_inverse=True)
        strata = tuple(str(name) for name in self._strata[numbers])
        influence = Influence(
            strata, inverse.astype(np.int64), unit, value.astype(np.float64)
        )
        return Part(row.name, float(row.value), influence)

    def _cosines(self, row: _CosinesRow) -> PromptCosines:
        _, indices, cosines = self._next(row.length)
        return PromptCosines(
            row.prompt, row.group, row.unit, indices, cosines, row.word
        )

    def _values_by_reader(
        self, table: Mapping[str, Iterable[Any]]
    ) -> dict[str, tuple[PromptValues, ...]]:
        return {
            reader: tuple(self._values(*row) for row in rows)
            for reader, rows in table.items()
        }

    def _values(self, prompt: str, group: str, length: int) -> PromptValues:
        _, indices, values = self._next(length)
        return PromptValues(prompt, group, indices, values.astype(np.float64))

    def _next(self, length: int) -> tuple[Any, Any, Any]:
        end = self.at + length
        stratum, unit, value = (array[self.at : end] for array in self._arrays)
        self.at = end
        return stratum, unit.astype(np.int64), value


def _noise(numbers: Sequence[Any] | None) -> SquareNoise | None:
    if not numbers:
        return None
    noise, first_slope, second_slope, *others = [float(number) for number in numbers]
    return SquareNoise(noise, (first_slope, second_slope), *others)
