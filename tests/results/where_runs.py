"""Runs of eight occupations made by hand, for tests of where their leans come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from t2ibench.models.rewriter_info import RewriterInfo
from t2ibench.results.paired import paired_task
from t2ibench.results.schema import GeneratorInfo, Row, Score
from t2ibench.results.task_across_runs import ComparedRun
from tests import hand

N = 24
JOBS = ("nurse", "clerk", "cook", "judge", "chef", "pilot", "guard", "smith")
WORDS = dict(zip(JOBS, (-0.8, -0.5, -0.2, -0.1, 0.1, 0.2, 0.5, 0.8), strict=True))
GROUPS = ("male", "female")


def run(
    name: str,
    men: Sequence[int],
    words: Mapping[str, float] = WORDS,
    shift: int = 0,
) -> ComparedRun:
    """A run of eight occupations, of whose 24 images so many show men."""
    images = {
        job: np.roll([1.0] * count + [-1.0] * (N - count), shift)
        for job, count in zip(JOBS, men, strict=True)
    }
    result = hand.mean_square(images)
    rows = [
        Row(
            name=item.name,
            scores={
                "lean": Score(value=item.scores["lean"].value),
                "lean_text": Score(value=words.get(item.name)),
            },
        )
        for item in result.by
    ]
    scores = {f"obedience:{group}": Score(value=1.0) for group in GROUPS}
    record = hand.record(result, by=rows, scores=scores, title="Jobs")
    return ComparedRun(
        name, hand.results(name, jobs=record), {"jobs": paired_task(result)}
    )


FAIR = (12,) * 8
LIKE_WORDS = (3, 6, 10, 11, 13, 14, 18, 21)
BESIDE = (4, 20, 4, 20, 20, 4, 20, 4)


def rewritten(men: Sequence[int], women: Sequence[int]) -> list[dict[str, object]]:
    """A row for each image: of each job so many rewritten prompts name men, so many women."""
    rows = []
    for job, first, second in zip(JOBS, men, women, strict=True):
        texts = [f"a male {job}"] * first + [f"a {job} at night"] * (N - first - second)
        texts += [f"a woman, a {job}"] * second
        rows += [
            {"stimulus": job, "prompt": job, "index": index, "revised_prompt": text}
            for index, text in enumerate(texts)
        ]
    return rows


def with_task(made: ComparedRun, **changes: Any) -> ComparedRun:
    """The run with other fields of its test."""
    task = made.results.tasks["jobs"].model_copy(update=changes)
    results = made.results.model_copy(update={"tasks": {"jobs": task}})
    return replace(made, results=results)


def with_rewriter(made: ComparedRun, name: str) -> ComparedRun:
    """The run behind a rewriter."""
    rewriter = RewriterInfo(
        name=name, fingerprint=f"{len(name):064d}", generator="a" * 64
    )
    info = GeneratorInfo(name="m", fingerprint="b" * 64, rewriter=rewriter)
    return replace(made, results=made.results.model_copy(update={"model": info}))
