"""influences.safetensors: what goes in comes out, and a damaged file is one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.influence import Influence
from t2ibench.results.paired import FILE, paired_task, read_paired, read_paired_run, write_paired
from tests import hand

IMAGES = {"a nurse é": [1.0, -1.0, 1.0], "a chef": [1.0, 1.0, -1.0, -1.0, 0.5]}
TASKS = {
    "two": paired_task(hand.mean_square(IMAGES)),
    "one": paired_task(hand.mean_lean(IMAGES)),
    "none": paired_task(MethodResult.undefined("there are no images")),
}


def test_it_round_trips(tmp_path: Path) -> None:
    file = tmp_path / FILE
    write_paired(file, TASKS)
    found = read_paired(file)
    assert sorted(found) == sorted(TASKS)
    for name, task in TASKS.items():
        read = found[name]
        assert (read.scale, read.question) == (task.scale, task.question)
        assert [part.name for part in read.headline] == [part.name for part in task.headline]
        assert read.rows.keys() == task.rows.keys()
        parts = [*zip(read.headline, task.headline, strict=True)]
        parts += [(read.rows[key], task.rows[key]) for key in task.rows]
        for ours, theirs in parts:
            assert ours.value == theirs.value
            assert ours.influence.variance == pytest.approx(theirs.influence.variance, rel=1e-12)
            assert ours.influence.covariance(theirs.influence) == ours.influence.variance
    assert found["one"].headline[0].influence.df == TASKS["one"].headline[0].influence.df
    assert found["none"].headline == () and found["none"].scale == "lean"
    assert read_paired_run(tmp_path).keys() == found.keys()
    assert read_paired_run(tmp_path / "results.json").keys() == found.keys()


def test_floors_and_unknown_variances_are_kept(tmp_path: Path) -> None:
    floored = Influence.of_mean("a", [0, 1], [1.0, 1.0]).with_floor(0.01)
    single = Influence.of_mean("a", [3], [1.0])
    part = TASKS["one"].headline[0]
    tasks = {
        name: paired_task(hand.mean_lean(IMAGES)).__class__(
            "lean", "fixed_prompts", (type(part)("", 1.0, influence),), {}
        )
        for name, influence in (("floored", floored), ("single", single))
    }
    write_paired(tmp_path / FILE, tasks)
    found = read_paired(tmp_path / FILE)
    assert found["floored"].headline[0].influence.same(floored)
    assert np.isnan(found["single"].headline[0].influence.variance)


def test_the_bytes_do_not_depend_on_the_order_of_tasks(tmp_path: Path) -> None:
    write_paired(tmp_path / "a", TASKS)
    write_paired(tmp_path / "b", dict(reversed(TASKS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    write_paired(tmp_path / "c", read_paired(tmp_path / "a"))
    assert (tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()


def test_without_a_file_there_are_no_influences(tmp_path: Path) -> None:
    assert read_paired(tmp_path / FILE) == {}


@pytest.mark.parametrize("kind", ["short", "long", "no table", "bad table", "cut", "text"])
def test_a_damaged_file_is_one_line(kind: str, tmp_path: Path) -> None:
    file = tmp_path / FILE
    write_paired(file, TASKS)
    tensors = {name: array.copy() for name, array in load_file(file).items()}
    if kind == "short":
        tensors["value"] = tensors["value"][:-1].copy()
    elif kind == "long":
        tensors = {n: np.append(a, a[:1]) if n != "table" else a for n, a in tensors.items()}
    elif kind == "no table":
        tensors.pop("table")
    elif kind == "bad table":
        tensors["table"] = np.frombuffer(b'{"strata": [], "tasks": [1]}', np.uint8)
    save_file(tensors, file)
    if kind == "cut":
        file.write_bytes(file.read_bytes()[:-5])
    elif kind == "text":
        file.write_text("no tensors")
    with pytest.raises(T2IBenchError, match=r"influences\.safetensors cannot be read") as caught:
        read_paired(file)
    assert "\n" not in caught.value.message
