"""COCO's and Flickr30k's captions, from the files and folders in which they come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.proposals.captions import read_captions, usable
from t2ibench.proposals.pools import Source, fill, task_text
from t2ibench.tasks.index import build_index
from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.run_tasks import stored_file, stored_task
from tests.proposals.pool_files import captions, coco, karpathy, parquet, token

pytestmark = pytest.mark.networks

TEXTS = captions()
DOTTED = [f"{text} ." for text in TEXTS]


@pytest.fixture(scope="module")
def task() -> LoadedTask:
    return build_index()[0].tasks["openbias_flickr30k"]


def filled(task: LoadedTask, source: Source, folder: Path) -> LoadedTask:
    assert task.spec.awaits is not None
    return fill(task, task.spec.awaits, source, stored_file(folder, task.id))


def asked_about(task: LoadedTask) -> dict[str, set[str]]:
    """Bias to its captions."""
    assert isinstance(task.spec, OpenBiasTask)
    return {one.name: set(one.captions or ()) for one in task.spec.biases}


def test_every_format_gives_the_same_captions(tmp_path: Path) -> None:
    assert (
        read_captions(str(coco(tmp_path / "captions_val2017.json", DOTTED))) == DOTTED
    )
    assert (
        read_captions(str(token(tmp_path / "results_20130124.token", TEXTS))) == DOTTED
    )
    file = karpathy(
        tmp_path / "dataset_flickr30k.json", DOTTED, ("train", "val", "test")
    )
    assert read_captions(str(file)) == DOTTED


@pytest.mark.slow
def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    folder = str(parquet(tmp_path / "flickr30k", DOTTED))
    assert read_captions(folder) == DOTTED  # its only split
    parquet(tmp_path / "flickr30k_val", DOTTED[:5], "val")
    (tmp_path / "flickr30k_val" / "data").rename(tmp_path / "moved")
    for file in (tmp_path / "moved").iterdir():
        file.rename(tmp_path / "flickr30k" / "data" / file.name)
    assert read_captions(folder, split="validation") == DOTTED[:5]
    with pytest.raises(T2IBenchError, match=r"no split 'train'.*: test, val\."):
        read_captions(folder)
    with pytest.raises(
        T2IBenchError, match=r"no column 'text'.*image, caption, filename"
    ):
        read_captions(folder, split="test", column="text")


def test_the_file_decides_nothing_but_the_record(
    task: LoadedTask, tmp_path: Path
) -> None:
    first = filled(task, Source(str(token(tmp_path / "a.token", TEXTS))), tmp_path)
    other = filled(
        task, Source(str(karpathy(tmp_path / "b.json", DOTTED[::-1]))), tmp_path
    )
    assert other.hash == first.hash and other.spec != first.spec
    fewer = filled(task, Source(str(token(tmp_path / "c.token", TEXTS[:33]))), tmp_path)
    assert fewer.hash != first.hash
    asked = asked_about(first)
    assert asked["gender"] == set(DOTTED[:36])
    assert asked["age"] - asked["gender"] == {"A man with a dog ."}  # it names a gender
    assert asked["race"] - asked["age"] == {"An old woman reads ."}


def test_a_run_stores_the_same_filled_task(task: LoadedTask, tmp_path: Path) -> None:
    made = filled(task, Source(str(token(tmp_path / "a.token", TEXTS))), tmp_path)
    made.path.parent.mkdir()
    made.path.write_text(task_text(made.spec), encoding="utf-8")
    assert str(tmp_path) not in task_text(made.spec)
    assert (
        json.loads(made.spec.model_dump_json())["pool"]["drawn"]["source"] == "a.token"
    )
    kept = stored_task(task, tmp_path)
    assert kept is not None and kept.spec == made.spec
    assert (kept.hash, kept.group) == (made.hash, task.group)
    assert task_text(kept.spec) == task_text(made.spec)
    made.path.write_text(task.path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(
        T2IBenchError, match="is not the task openbias_flickr30k with its captions"
    ):
        stored_task(task, tmp_path)


def test_captions_are_chosen_by_seed(task: LoadedTask, tmp_path: Path) -> None:
    pool = task.spec.awaits
    assert pool is not None
    source = Source(str(token(tmp_path / "a.token", TEXTS)))
    chosen = []
    for seed in (0, 0, 1):
        settings = {**pool.settings, "per_bias": 30, "seed": seed}
        other = pool.model_copy(update={"settings": settings})
        spec = task.spec.model_copy(update={"pool": other})
        made = fill(
            LoadedTask(spec, task.path, task.group, ""),
            other,
            source,
            tmp_path / "x.yaml",
        )
        chosen.append(asked_about(made))
    assert chosen[0] == chosen[1] != chosen[2]
    assert all(len(texts) == 30 for texts in chosen[2].values())


def test_captions_are_untrusted(task: LoadedTask, tmp_path: Path) -> None:
    bad = [
        "A person \u202e x",
        "A person \x1b[2J",
        "A person " + "far " * 60,
        "A person \u200bx",
    ]
    assert usable([*bad, "A person"]) == ["A person"]
    quoted = [
        'A person says "no"',
        "A person {stimulus}",
        "A person: <b>bold</b> & - # 'x'",
    ]
    texts = [*TEXTS, *bad, *quoted]
    made = filled(task, Source(str(coco(tmp_path / "a.json", texts))), tmp_path)
    assert asked_about(made)["gender"] == {*TEXTS[:36], *quoted}
    drawn = made.spec.drawn_from and made.spec.drawn_from.drawn
    assert drawn is not None
    assert (
        drawn.dropped["captions of more than 200 characters, or with invisible ones"]
        == 4
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"annotations": [{"image_id": 1, "bbox": []}]}',
            "its annotations are no captions",
        ),
        ('{"images": [{"split": "val"}]}', "row 1 has no column 'caption'"),
        ('{"categories": []}', "expected COCO's captions"),
        ("[[1]]", "row 1 is not a record"),
        ('["A dog on a bench"]', "has no captions of one person"),
        (
            '["A person with a hat", "A person on a horse"]',
            "has 2 of one person.*30 that it needs",
        ),
        ("{", "cannot be read"),
    ],
)
def test_wrong_files(text: str, said: str, task: LoadedTask, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(T2IBenchError, match=said):
        filled(task, Source(str(file)), tmp_path)


@pytest.mark.slow
def test_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        T2IBenchError, match="could not load 'nobody/captions'"
    ) as caught:
        read_captions("nobody/captions")
    assert "\n" not in str(caught.value)
