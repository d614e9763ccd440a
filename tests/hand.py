"""Results made by hand: shares of +1 and -1 images, and what is written of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Headline, Part, lean_headline, square_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.results.builder import adjusted_run, headline_record, rounded_record, score_record
from t2ibench.results.paired import FILE, PairedTask, paired_task, write_paired
from t2ibench.results.schema import GeneratorInfo, Results, Row, TaskResult, TaskSettings
from t2ibench.store.checksums import sealed, unsealed


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a run.json or results.json as its writer would: with the checksum that fits."""
    data = json.loads(file.read_text(encoding="utf-8"))
    assert unsealed(data)
    change(data)
    file.write_text(json.dumps(sealed(data)), encoding="utf-8")


ENCODERS = {"toyland": "f" * 64}


def settings(**changes: Any) -> TaskSettings:
    given = {
        "images_per_prompt": None, "limit": None, "seed": 0, "n_permutations": 100_000,
        "n_bootstrap": 10_000, "level": 0.95, "encoders": ENCODERS,
    }  # fmt: skip
    return TaskSettings(**{**given, **changes})


def leans(images: Mapping[str, npt.ArrayLike]) -> list[Part]:
    """One lean a prompt: the mean of its images, each between -1 and 1."""
    return [
        Part(prompt, float(np.mean(x)), Influence.of_mean(prompt, np.arange(len(x)), x))
        for prompt, x in ((prompt, np.asarray(given)) for prompt, given in images.items())
    ]


def mean_lean(images: Mapping[str, npt.ArrayLike]) -> MethodResult:
    """A signed headline: the mean of the leans, with a row for each."""
    parts = leans(images)
    influence = Influence.combined([(1 / len(parts), part.influence) for part in parts])
    value = float(np.mean([part.value for part in parts]))
    return _result(lean_headline(value, influence, 0.95), parts, images)


def mean_square(images: Mapping[str, npt.ArrayLike]) -> MethodResult:
    """An rms headline: the mean square of the leans."""
    parts = leans(images)
    return _result(square_headline(parts, 0.95), parts, images)


def _result(
    headline: Headline, parts: list[Part], images: Mapping[str, npt.ArrayLike]
) -> MethodResult:
    rows = [
        Item(part.name, {"lean": Estimate.from_influence(part.value, part.influence, 0.95)})
        for part in parts
    ]
    return MethodResult(headline, by=rows, n_images=sum(map(np.size, images.values())))


def record(result: MethodResult, **changes: Any) -> TaskResult:
    """A result as results.json has it."""
    given = {
        "version": 1, "method": "t2iat", "task_hash": "h", "family": "t2iat", "title": "t",
        "headline": headline_record(result.headline),
        "scores": {name: score_record(score, 0.95) for name, score in result.scores.items()},
        "by": [
            Row(name=item.name, group=item.group,
                scores={name: score_record(score, 0.95) for name, score in item.scores.items()})
            for item in result.by
        ],
        "n_images": result.n_images, "n_prompts": 2, "settings": settings(),
        "controls": {name: rounded_record(one) for name, one in result.controls.items()},
        "inconclusive": result.inconclusive,
        "reason": result.reason,
    }  # fmt: skip
    return TaskResult(**{**given, **changes})


def results(name: str = "m", **tasks: TaskResult) -> Results:
    return Results(
        t2ibench="0", model=GeneratorInfo(name=name, fingerprint="a" * 64),
        command=["t2ibench", "run"], environment={},
        limited=any(task.settings.limit for task in tasks.values()), tasks=adjusted_run(tasks),
    )  # fmt: skip


def write_run(folder: Path, name: str, found: Mapping[str, MethodResult], **changes: Any) -> Path:
    """A run folder with results.json and influences.safetensors alone."""
    folder.mkdir(parents=True)
    records = {task: record(result, **changes) for task, result in found.items()}
    (folder / "results.json").write_text(results(name, **records).to_json(), encoding="utf-8")
    write_paired(folder / FILE, pairs(found))
    return folder


def pairs(found: Mapping[str, MethodResult]) -> dict[str, PairedTask]:
    return {task: paired_task(result) for task, result in found.items()}
