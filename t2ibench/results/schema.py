"""The schema of results.json: one typed, documented record of a run's results.

Nothing in it is a time or depends on batch size, worker count or the order of tasks, so the same
inputs give the same file, byte for byte.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.settings import Measurement

SCHEMA_VERSION = 2


class Record(BaseModel):
    """Base of every part of results.json; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Score(Record):
    """One score.

    Attributes:
        value: The score; null with a reason if it has none.
        ci_low: Lower end of the confidence interval.
        ci_high: Upper end.
        p: p-value, where a null is defined. Never 0.
        p_holm: Adjusted over all tasks of the run that have a p-value of this name (Holm). For
            rows of `by`, over the rows of the task.
        p_bh: The same after Benjamini and Hochberg.
        test: 'exact' (all partitions), 'monte_carlo' or 'binomial'.
        n_draws: Partitions looked at.
        reason: Why the value is None.
    """

    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    p_bh: float | None = None
    test: Literal["exact", "monte_carlo", "binomial"] | None = None
    n_draws: int | None = None
    reason: str | None = None


class Headline(Score):
    """The magnitude of a task's bias: 0 is indistinguishable from none, 1 is complete.

    Attributes:
        null: Its expected value without bias at the same size of sample.
        debiased: max(0, (value - null) / (1 - null)).
        direction: The result as a plain sentence with its direction.
    """

    null: float | None = None
    debiased: float | None = None
    direction: str | None = None


class Row(Record):
    """One stimulus, word or target.

    Attributes:
        name: What it is.
        group: The concept or side it belongs to.
        n_images: Number of images it is based on.
        scores: Name to score.
    """

    name: str
    group: str | None = None
    n_images: int | None = None
    scores: dict[str, Score]


class EncoderScores(Record):
    """The scores from one of several encoders.

    Attributes:
        headline: As for the task.
        scores: As for the task.
        by: As for the task.
        reason: Why this encoder has no score.
    """

    headline: Headline
    scores: dict[str, Score] = Field(default_factory=dict)
    by: list[Row] = Field(default_factory=list)
    reason: str | None = None


class TaskSettings(Measurement):
    """How a task was measured, and what read the images.

    Attributes:
        encoders: Name to fingerprint.
        judges: Name to fingerprint.
    """

    encoders: dict[str, str]
    judges: dict[str, str] = Field(default_factory=dict)


class TaskResult(Record):
    """The result of one task.

    Attributes:
        version: Version of the task file.
        method: How it was measured.
        task_hash: SHA-256 over everything in the task file that decides a score.
        family: Headlines may be averaged within a family, never across families.
        title: One line.
        headline: The magnitude.
        scores: Name to score, the mean over encoders if the run has several.
        by: One row a stimulus, word or target.
        by_encoder: Each encoder's (or judge's) own scores, if the run has several.
        signs_agree: Whether all encoders give the association one sign.
        n_images: Images that count.
        n_prompts: Distinct prompts (for text-only tasks: texts).
        excluded: Number of images excluded, by reason.
        settings: How it was measured.
        conventions: Choices that decide the numbers.
        warnings: What a reader must know of this result.
        notes: What a reader must know of this task.
        published: Published values of other models, for comparison.
        details: Further values of the method.
        reason: Why the task as a whole has no score.
    """

    version: int
    method: str
    task_hash: str
    family: str
    title: str
    headline: Headline
    scores: dict[str, Score] = Field(default_factory=dict)
    by: list[Row] = Field(default_factory=list)
    by_encoder: dict[str, EncoderScores] = Field(default_factory=dict)
    signs_agree: bool | None = None
    n_images: int = 0
    n_prompts: int = 0
    excluded: dict[str, int] = Field(default_factory=dict)
    settings: TaskSettings
    conventions: dict[str, Any] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    published: list[dict[str, Any]] = Field(default_factory=list)
    details: dict[str, Any] = Field(default_factory=dict)
    reason: str | None = None


class GeneratorInfo(Record):
    """The generator under test.

    Attributes:
        name: As the user named it; null where only texts were scored.
        revision: Version of the weights.
        fingerprint: SHA-256 over everything that decides an image besides prompt and index.
        settings: Generation settings as asked for.
        effective_settings: Settings as the model really used them, with its own defaults.
    """

    name: str | None
    revision: str | None = None
    fingerprint: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    effective_settings: dict[str, Any] = Field(default_factory=dict)


class Results(Record):
    """results.json.

    Attributes:
        schema_version: Version of this schema ('schema' in the file).
        t2ibench: Version of the program.
        model: The generator.
        command: A command that gives these results again; empty if a Python object was measured.
        environment: Versions of Python and of the libraries that decide numbers.
        limited: True if any task ran under --limit; such results are for a try only.
        tasks: Task id to result, sorted.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, alias="schema")
    t2ibench: str
    model: GeneratorInfo
    command: list[str]
    environment: dict[str, str]
    limited: bool
    tasks: dict[str, TaskResult]

    def to_json(self) -> str:
        """The text of results.json.

        Returns:
            JSON with a final newline; tasks are sorted.
        """
        data = self.model_dump(mode="json", by_alias=True)
        data["tasks"] = dict(sorted(data["tasks"].items()))
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class BrokenResultsError(T2IBenchError):
    """results.json exists but cannot be read: not JSON, or not of its own schema."""


def read_results(path: str | Path) -> Results:
    """Read and check a results.json, or the one in a run folder.

    Args:
        path: The file, or a folder that holds one.

    Returns:
        The results; files of older schemas are migrated.

    Raises:
        BrokenResultsError: it does not fit the schema.
        T2IBenchError: it does not exist, or a newer t2ibench wrote it.
    """
    path = Path(path)
    file = path / "results.json" if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise T2IBenchError(
            f"{file} cannot be read: {error.strerror}.", "Give the folder of a finished run."
        ) from None
    except UnicodeDecodeError:
        raise _broken(file, "it is not UTF-8 text") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise _broken(file, "it is not JSON") from None
    if not isinstance(data, dict) or type(data.get("schema")) is not int:
        raise _broken(file, "it names no schema")
    if not 1 <= data["schema"] <= SCHEMA_VERSION:
        raise T2IBenchError(
            f"{file} is of schema {data['schema']}; this t2ibench reads 1 to {SCHEMA_VERSION}.",
            "Upgrade t2ibench.",
        )
    # Schema 2 only added fields that may be absent.
    data["schema"] = SCHEMA_VERSION
    try:
        return Results.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _broken(file, f"{where}: {first['msg']}") from None


def _broken(file: Path, why: str) -> BrokenResultsError:
    return BrokenResultsError(
        f"{file} is not a results file of schema {SCHEMA_VERSION}: {why}.",
        "`t2ibench score RUN` rebuilds it from the stored evidence.",
    )
