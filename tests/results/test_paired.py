"""Influences: what goes in comes out, and damaged ones are one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.results.paired import (
    PairedTask,
    dump_paired,
    load_paired,
    paired_task,
    read_paired,
)
from t2ibench.store.database import Database
from t2ibench.store.scores import ScoreStore, StoredScore
from tests import hand

IMAGES = {"a nurse é": [1.0, -1.0, 1.0], "a chef": [1.0, 1.0, -1.0, -1.0, 0.5]}
WHOLE, HALF = hand.mean_lean(IMAGES), hand.mean_lean({"a chef": IMAGES["a chef"]})
TASKS = {
    "two": paired_task(hand.mean_square(IMAGES)),
    "several": paired_task(WHOLE, {"one": WHOLE, "another": HALF}),
    "one": paired_task(WHOLE),
    "none": paired_task(MethodResult.undefined("there are no images")),
}


def test_paired_samples_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_paired(tmp_path) == {}
    hand.store_pairs(tmp_path, TASKS)
    found = read_paired(tmp_path)
    assert sorted(found) == sorted(TASKS)
    for name, task in TASKS.items():
        read = found[name]
        assert (read.scale, read.question) == (task.scale, task.question)
        assert [part.name for part in read.headline] == [
            part.name for part in task.headline
        ]
        assert read.readers.keys() == task.readers.keys()
        parts = [*zip(read.headline, task.headline, strict=True)]
        for ours, theirs in zip(
            (read.rows, *read.readers.values()),
            (task.rows, *task.readers.values()),
            strict=True,
        ):
            assert ours.keys() == theirs.keys()
            parts += [(ours[key], theirs[key]) for key in ours]
        for part, known in parts:
            assert part.value == known.value and part.influence.same(known.influence)
    assert found["none"].headline == () and found["none"].scale == "lean"
    assert read_paired(tmp_path / "results.json").keys() == found.keys()
    assert paired_task(WHOLE, {"one": WHOLE}).readers == {}
    data = dump_paired(TASKS)  # in any order of tasks
    assert (
        data
        == dump_paired(dict(reversed(TASKS.items())))
        == dump_paired(load_paired(data))
    )


def test_floors_and_unknown_variances_are_kept() -> None:
    floored = Influence.of_mean("a", [0, 1], [1.0, 1.0]).with_floor(0.01)
    single = Influence.of_mean("a", [3], [1.0])
    tasks = {
        name: PairedTask("lean", "fixed_prompts", (Part("", 1.0, influence),), {})
        for name, influence in (("floored", floored), ("single", single))
    }
    found = load_paired(dump_paired(tasks))
    assert found["floored"].headline[0].influence.same(floored)
    assert np.isnan(found["single"].headline[0].influence.variance)


@pytest.mark.parametrize(
    "kind", ["short", "long", "no table", "bad table", "cut", "text"]
)
def test_damaged_paired_samples_are_an_error_of_one_line(
    kind: str, tmp_path: Path
) -> None:
    data = dump_paired(TASKS)
    tensors = dict(load(data))
    if kind == "short":
        tensors["value"] = tensors["value"][:-1].copy()
    elif kind == "long":
        tensors |= {n: np.append(a, a[:1]) for n, a in tensors.items() if n != "table"}
    elif kind == "no table":
        tensors.pop("table")
    elif kind == "bad table":
        tensors["table"] = np.frombuffer(b'{"strata": [], "tasks": [1]}', np.uint8)
    broken = {"cut": data[:-5], "text": b"no tensors"}.get(kind, save(tensors))
    with pytest.raises(ValueError):
        load_paired(broken)
    scores = ScoreStore(Database(tmp_path))
    scores.add("one", "1", StoredScore("{}", "[]", broken))
    scores.publish({"one": "1"}, {"one"})
    with pytest.raises(
        T2IBenchError, match="the influences of one cannot be read"
    ) as caught:
        read_paired(tmp_path)
    assert "\n" not in caught.value.message
