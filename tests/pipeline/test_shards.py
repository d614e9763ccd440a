"""--shard I/N and `merge`: parts of a run that share nothing give one machine's results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from t2ibench.pipeline.plan import LARGEST_SHARD, SMALLEST_SHARD, make_plan, part_of
from t2ibench.results.run import open_run
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests import hand
from tests.conftest import Cli
from tests.pipeline.engines import SMALL_FLAGS

FLAGS = ("--model", "toyland", "--tasks", "t2iat_flowers_insects,openbias_examples", *SMALL_FLAGS)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> list[Path]:
    """Three parts of one run."""
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 3):
        status, _, said = cli(*FLAGS, "--shard", f"{number}/3")
        assert status == 0 and "t2ibench merge runs/shard-*/toyland" in said, said
    return sorted(Path("runs").glob("shard-*/toyland"))


def test_merged_parts_are_one_machines_run(parts: list[Path], cli: Cli) -> None:
    assert not any((part / "results.json").exists() for part in parts)
    assert all(list(part.glob("images/*/*.png")) for part in parts)
    assert cli("merge", *parts)[0] == 0
    run = Path("runs/toyland")
    merged = {name: (run / name).read_bytes() for name in ("results.json", "results.md")}
    assert cli("merge", *parts)[0] == 0  # again: nothing is there twice
    rows = [(row["prompt"], row["index"]) for row in hand.stored(run, "attempts")]
    assert len(rows) == len(set(rows)) == len(list(run.glob("images/*/*.png")))
    assert len(open_run(run).record.history) == 3
    status, _, said = cli(*FLAGS)
    assert status == 0 and "Nothing to do" in said
    shutil.rmtree("runs")
    assert cli(*FLAGS)[0] == 0
    assert merged == {name: (run / name).read_bytes() for name in merged}


def test_a_missing_part_is_made_by_the_command_itself(parts: list[Path], cli: Cli) -> None:
    assert cli("merge", *parts[:2])[0] == 3
    assert cli(*FLAGS)[0] == 0
    results = json.loads(Path("runs/toyland/results.json").read_text())
    assert all(task["reason"] is None for task in results["tasks"].values())


def test_what_does_not_belong_together_is_refused(parts: list[Path], cli: Cli) -> None:
    other = [*FLAGS, "--seed", "1"]
    assert cli(*other, "--shard", "1/3", "--output-dir", "other")[0] == 0
    (seeded,) = Path("other").glob("shard-*/*")
    status, _, said = cli("merge", parts[0], seeded)
    assert status == 1 and "no parts of one run: their model differ" in said
    status, _, said = cli("merge", parts[0], "--output-dir", parts[0].parent)
    assert status == 1 and "is one of the parts" in said


def test_parts_cover_the_plan_and_share_no_prompt() -> None:
    plan = make_plan(load_tasks("t2iat_flowers_insects"), Settings(images_per_prompt=3))
    found = [part_of(plan, number, 4) for number in (1, 2, 3, 4)]
    assert {one for part in found for one in part.requests} == set(plan.requests)
    prompts = [set(part.prompts) for part in found]
    assert sum(map(len, prompts)) == len(plan.prompts) and all(prompts)
    assert sum(len(part.requests) for part in found) == len(plan.requests)


def test_pieces_suit_the_plan() -> None:
    for images in (1, 4, 16, 400):
        plan = make_plan(load_tasks("t2iat_flowers_insects"), Settings(images_per_prompt=images))
        assert plan.shard_size % SMALLEST_SHARD == 0 and plan.shard_size <= LARGEST_SHARD
        assert sum(len(plan.shard(k)) for k in range(plan.n_shards)) == len(plan.requests)
        if len(plan.requests) > 3 * SMALLEST_SHARD:
            assert plan.n_shards >= 4
