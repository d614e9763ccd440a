"""Results made by hand: shares of +1 and -1 images, and what is written of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import (
    HeadlineEstimate,
    Part,
    lean_headline,
    square_headline,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.results.builder import (
    adjusted_run,
    headline_record,
    rounded_record,
    score_record,
)
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.paired import PairedTask, dump_paired, paired_task
from t2ibench.results.record import RunRecord
from t2ibench.results.run import open_run
from t2ibench.results.schema import (
    GeneratorInfo,
    Results,
    Row,
    TaskResult,
    TaskSettings,
)
from t2ibench.store.checksums import sealed, unsealed
from t2ibench.store.database import Database
from t2ibench.store.scores import ScoreStore, StoredScore


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a results.json as its writer would: with the checksum that fits."""
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
        for prompt, x in (
            (prompt, np.asarray(given)) for prompt, given in images.items()
        )
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
    headline: HeadlineEstimate, parts: list[Part], images: Mapping[str, npt.ArrayLike]
) -> MethodResult:
    rows = [
        Item(
            part.name,
            {"lean": Estimate.from_influence(part.value, part.influence, 0.95)},
        )
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


def task(method: str = "t2iat", **changes: Any) -> TaskResult:
    """A task of results.json without a score, but for what is given."""
    blank = {
        "method": method,
        "family": method,
        "headline": {},
        "n_prompts": 0,
        "reason": None,
    }
    return record(MethodResult.undefined("nothing"), **{**blank, **changes})


def results(name: str = "m", **tasks: TaskResult) -> Results:
    return Results(
        t2ibench="0", model=GeneratorInfo(name=name, fingerprint="a" * 64),
        command=["t2ibench", "run"], environment={}, further_settings=FurtherSettings(),
        limited=any(task.settings.limit for task in tasks.values()), tasks=adjusted_run(tasks),
    )  # fmt: skip


def write_run(
    folder: Path, name: str, found: Mapping[str, MethodResult], **changes: Any
) -> Path:
    """A run folder with results.json and influences alone."""
    folder.mkdir(parents=True)
    records = {task: record(result, **changes) for task, result in found.items()}
    (folder / "results.json").write_text(
        results(name, **records).to_json(), encoding="utf-8"
    )
    store_pairs(folder, pairs(found))
    return folder


def store_pairs(folder: Path, tasks: Mapping[str, PairedTask]) -> None:
    """Store influences as those of a folder's results.json."""
    scores = ScoreStore(Database(folder))
    for task, one in tasks.items():
        scores.add(task, "by hand", StoredScore("{}", "[]", dump_paired({task: one})))
    scores.publish(dict.fromkeys(tasks, "by hand"), set(tasks))


def edit_record(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the record of a run as its writer would: with the checksums that fit."""
    folder = open_run(run)
    data = folder.record.model_dump(mode="json")
    change(data)
    folder.record = RunRecord.model_validate(data)
    folder.save()
    folder.database.close()


_STORED = {
    "attempts": """SELECT prompts.text AS prompt, number AS "index", try, seed, status, sha256,
        file, reason, revised_prompt
        FROM attempts JOIN texts AS prompts ON prompts.id = attempts.text""",
    "answers": """SELECT models.name AS judge, image, questions.question, classes, answer, raw
        FROM answers JOIN questions ON questions.id = answers.question
        JOIN models ON models.id = answers.judge""",
    "rewrites": """SELECT prompts.text AS prompt, number AS "index", status, rewritten, reason
        FROM rewrites JOIN texts AS prompts ON prompts.id = rewrites.text""",
}


def stored(run: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a run's attempts, answers or rewrites, with their prompts and questions."""
    with closing(sqlite3.connect(run / "run.db")) as connection:
        cursor = connection.execute(_STORED[table])
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


def damage(run: Path, statement: str) -> None:
    """Change rows of a run.db as a bad disk would: their checksums stay."""
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        assert connection.execute(statement).rowcount > 0


def outputs(run: Path) -> dict[str, bytes]:
    """Everything that a run says; times and paths of images are in none of them."""
    found = {name: (run / name).read_bytes() for name in ("results.json", "results.md")}
    for task, score in ScoreStore(Database(run)).current().items():
        found |= {
            f"{task} samples": score.samples.encode(),
            f"{task} pairs": score.influences,
        }
    return found


def pairs(found: Mapping[str, MethodResult]) -> dict[str, PairedTask]:
    return {task: paired_task(result) for task, result in found.items()}
