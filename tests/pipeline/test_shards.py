"""--shard I/N and `merge`: parts of a run that share nothing give one machine's results."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.identity import ImageKey, content_id
from t2ibench.pipeline import merging
from t2ibench.pipeline.plan import LARGEST_SHARD, SMALLEST_SHARD, make_plan, part_of
from t2ibench.results.record import MergedParts
from t2ibench.results.run import RunFolder, open_run
from t2ibench.settings import Settings
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import COPY, Label, LabelStore
from t2ibench.tasks import load_tasks
from tests import hand
from tests.conftest import Cli
from tests.pipeline.engines import SMALL_FLAGS
from tests.system import files_up_to

FLAGS = (
    "--model",
    "toyland",
    "--tasks",
    "t2iat_flowers_insects,openbias_examples",
    *SMALL_FLAGS,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three parts of one run, in a folder 'runs'."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for number in (1, 2, 3):
            assert main([*FLAGS, "--shard", f"{number}/3"]) == 0
    return folder


@pytest.fixture
def parts(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A copy of the parts, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made / "runs", "runs")
    return sorted(Path("runs").glob("shard-*/toyland"))


def test_a_part_says_what_merges_it(parts: list[Path], cli: Cli) -> None:
    status, _, said = cli(*FLAGS, "--shard", "3/3")
    assert status == 0 and "t2ibench merge runs/shard-*/toyland" in said, said


def test_merged_parts_are_one_machines_run(parts: list[Path], cli: Cli) -> None:
    assert not any((part / "results.json").exists() for part in parts)
    assert all(list(part.glob("images/*/*.png")) for part in parts)
    assert cli("merge", *parts)[0] == 0
    run = Path("runs/toyland")
    merged = {
        name: (run / name).read_bytes() for name in ("results.json", "results.md")
    }
    assert cli("merge", *parts)[0] == 0  # again: nothing is there twice
    rows = [(row["prompt"], row["index"]) for row in hand.stored(run, "attempts")]
    assert len(rows) == len(set(rows)) == len(list(run.glob("images/*/*.png")))
    assert len(open_run(run).record.history) == 3
    status, _, said = cli(*FLAGS)
    assert status == 0 and "Nothing to do" in said
    shutil.rmtree("runs")
    assert cli(*FLAGS)[0] == 0
    assert merged == {name: (run / name).read_bytes() for name in merged}


@pytest.mark.parametrize("fills_up", ["run.db", "images"])
def test_a_merge_that_finds_no_room_goes_on_later(
    fills_up: str, parts: list[Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path("runs/toyland")
    if fills_up == "run.db":
        with files_up_to(220_000):
            status, _, err = cli("merge", *parts)
    else:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "write_bytes", _written_by_half)
            status, _, err = cli("merge", *parts)
        assert "The disk is full" in err
    assert status == 1 and err.count("t2ibench: ") == 1, err
    assert (run / "run.db").exists() and not (run / "results.json").exists()
    assert cli("merge", *parts)[0] == 0
    assert cli("merge", *parts, "--output-dir", "at-once")[0] == 0
    for name in ("results.json", "results.md"):
        whole = Path("at-once/toyland", name).read_bytes()
        assert (run / name).read_bytes() == whole, name
    for image in Path("at-once/toyland/images").rglob("*.png"):
        copied = run / image.relative_to("at-once/toyland")
        assert copied.read_bytes() == image.read_bytes()


def test_labels_are_merged_with_their_copy_though_images_are_gone(
    parts: list[Path], cli: Cli
) -> None:
    label = Label("Which?", ("a", "b"), "f" * 64, "anna", "a")
    LabelStore(Database(parts[0])).add([label])
    next((parts[0] / "images").rglob("*.png")).unlink()
    assert cli("merge", *parts, "--allow-missing")[0] in {0, 3}
    run = Path("runs/toyland")
    assert LabelStore(Database(run)).all() == [label]
    assert (run / COPY).read_bytes() == (parts[0] / COPY).read_bytes()


def _written_by_half(path: Path, data: bytes) -> int:
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


@pytest.mark.parametrize("gone", ["the part", "its images", "one folder of images"])
def test_a_merge_whose_part_goes_away_ends_in_a_line_and_goes_on_later(
    gone: str, parts: list[Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = parts[1]
    place = {
        "the part": part,
        "its images": part / "images",
        "one folder of images": min((part / "images").iterdir()),
    }[gone]
    copy_rewrites = merging._copy_rewrites

    def copy_and_move(source: RunFolder, target: RunFolder) -> None:
        copy_rewrites(source, target)
        if source.path == part:
            place.rename("gone")

    with monkeypatch.context() as patched:
        patched.setattr(merging, "_copy_rewrites", copy_and_move)
        status, _, err = cli("merge", *parts)
    assert status == 1 and err.count("t2ibench: ") == 1, err
    assert str(part) in err and "removed" in err and "fault of t2ibench" not in err
    assert not Path("runs/toyland/results.json").exists()
    Path("gone").rename(place)
    assert cli("merge", *parts)[0] == 0
    assert cli("merge", *parts, "--output-dir", "at-once")[0] == 0
    whole = Path("at-once/toyland/results.json").read_bytes()
    assert Path("runs/toyland/results.json").read_bytes() == whole


def test_of_a_part_only_what_its_rows_name_is_merged(
    parts: list[Path], cli: Cli, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.txt").write_text("private")
    images = parts[0] / "images"
    (images / "everything").symlink_to(private)
    (images / "circle").symlink_to(".")
    (parts[0] / "tasks").mkdir()
    (parts[0] / "tasks" / "diary.yaml").symlink_to(private / "diary.txt")
    diary, moved, *_ = sorted(images.glob("??/*.png"))
    data = moved.read_bytes()
    for image, target in ((diary, "diary.txt"), (moved, "image.png")):
        image.unlink()
        image.symlink_to(private / target)
    (private / "image.png").write_bytes(data)
    assert cli("merge", *parts)[0] == 0
    merged = Path("runs/toyland")
    assert (merged / moved.relative_to(parts[0])).read_bytes() == data
    assert not (merged / diary.relative_to(parts[0])).exists()
    assert {len(path.name) for path in (merged / "images").iterdir()} == {2}
    assert not (merged / "tasks").exists()


def test_a_missing_part_is_named_with_its_command_and_nothing_is_scored(
    parts: list[Path], cli: Cli
) -> None:
    status, _, err = cli("merge", parts[0], parts[2])
    assert status == 1 and not Path("runs/toyland").exists()
    assert "Part 2 of 3 is missing. Nothing was merged." in err
    command = shlex.split(err.partition("Run it: ")[2].partition("; then")[0])
    assert command[-2:] == ["--shard", "2/3"]
    shutil.rmtree(parts[1])
    assert cli(*command[1:])[0] == 0
    assert cli("merge", *parts)[0] == 0
    status, _, err = cli("merge", parts[1], "--output-dir", "further")
    assert (
        status == 1
        and "Parts 1 and 3 of 3 are missing" in err
        and "(and so for 3)" in err
    )


def test_a_late_part_completes_a_merged_run(parts: list[Path], cli: Cli) -> None:
    run = Path("runs/toyland")
    status, out, _ = cli("merge", parts[0], parts[2], "--allow-missing")
    assert (
        status == 3
        and "Part 2 of 3 of the run is missing; not a result to report." in out
    )
    results = json.loads((run / "results.json").read_text())
    assert results["missing_parts"] == ["2 of 3"] and results["command"] == []
    for name in ("results.md", "report.html"):
        assert "Part 2 of 3 of the run is missing" in (run / name).read_text(), name
    assert "Part 2 of 3 of the run is missing" in cli("score", run)[1]
    assert "part 2 of 3 of the run is missing" in cli("compare", run, run)[2]
    status, out, _ = cli("merge", run, parts[1])  # the folder itself may be among them
    assert status == 0 and "is missing" not in out
    late = (run / "results.json").read_bytes()
    assert open_run(run).record.merged == MergedParts(
        count=3, costs={1: None, 2: None, 3: None}
    )
    assert cli("merge", *parts, "--output-dir", "at-once")[0] == 0
    assert late == Path("at-once/toyland/results.json").read_bytes()


def test_a_part_that_is_not_finished_is_named(parts: list[Path], cli: Cli) -> None:
    images = hand.stored(parts[1], "attempts")
    lost = images[: len(images) // 2]
    database = Database(parts[1])
    generator = open_run(parts[1]).record.generator
    assert generator is not None
    store = ImageStore(database, generator.fingerprint)
    for row in lost:
        attempt = store.get(ImageKey.of(row["prompt"], row["index"]))
        assert attempt is not None
        database.execute(
            "DELETE FROM attempts WHERE text = ? AND number = ?",
            content_id(attempt.prompt), attempt.index,
        )  # fmt: skip
    database.close()
    status, _, err = cli("merge", *parts)
    assert status == 1 and not Path("runs/toyland").exists()
    of = f"Part 2 of 3 is not finished: {len(lost)} of its {len(images)} images are missing."
    assert of in err and "--shard 2/3" in err
    assert cli("merge", *parts, "--allow-missing")[0] == 3
    assert cli(*FLAGS, "--shard", "2/3")[0] == 0
    assert cli("merge", *parts)[0] == 0
    whole = Path("runs/toyland/results.json").read_bytes()
    assert cli("merge", *parts, "--output-dir", "at-once")[0] == 0
    assert whole == Path("at-once/toyland/results.json").read_bytes()


def test_an_image_replaces_a_failure_of_an_earlier_merge(
    parts: list[Path], cli: Cli
) -> None:
    before = Path("runs-before")
    shutil.copytree("runs", before)
    database = Database(parts[1])
    failed = "UPDATE attempts SET status = 'failed', sha256 = NULL, file = NULL, reason = 'away'"
    database.execute(failed)
    rows = database.read("SELECT * FROM attempts")
    database.write("attempts", [row[:-1] for row in rows])  # with their checksums
    database.close()
    assert "is not finished" in cli("merge", *parts)[2]
    assert cli("merge", *parts, "--allow-missing")[0] == 3
    shutil.rmtree(parts[1])  # the job was started again on another machine
    shutil.copytree(before / parts[1].relative_to("runs"), parts[1])
    assert cli("merge", *parts)[0] == 0
    assert cli("merge", *parts, "--output-dir", "at-once")[0] == 0
    results = [
        Path(root, "toyland/results.json").read_bytes() for root in ("runs", "at-once")
    ]
    assert results[0] == results[1]


def test_a_part_killed_during_embedding_is_unfinished(
    parts: list[Path], cli: Cli
) -> None:
    open_run(parts[2]).update(status="running")
    status, _, err = cli("merge", *parts)
    assert (
        status == 1
        and "Part 3 of 3 is not finished: some of its images are not embedd" in err
    )
    assert cli(*FLAGS, "--shard", "3/3")[0] == 0
    assert cli("merge", *parts)[0] == 0


def test_parts_that_do_not_fit_each_other(parts: list[Path], cli: Cli) -> None:
    shutil.copytree(parts[0], "copy/toyland")
    status, _, err = cli("merge", *parts, "copy/toyland")
    assert (
        status == 1 and "Part 1 of 3 is there twice: " in err and "copy/toyland" in err
    )
    assert cli(*FLAGS, "--shard", "2/4")[0] == 0
    status, _, err = cli("merge", parts[0], "runs/shard-2-of-4/toyland")
    assert (
        status == 1
        and "different splits: runs/shard-1-of-3/toyland of 3 parts, " in err
    )


def test_a_cost_counts_once_however_often_a_part_is_merged(
    parts: list[Path], cli: Cli
) -> None:
    for number, part in enumerate(parts, start=1):
        folder = open_run(part)
        assert folder.record.generator is not None
        priced = folder.record.generator.model_copy(update={"cost": float(number)})
        folder.update(generator=priced)
    assert cli("merge", parts[0], parts[2], "--allow-missing")[0] == 3
    for again in (parts[1:], parts, parts[1:2]):
        assert cli("merge", *again)[0] == 0
        generator = open_run(Path("runs/toyland")).record.generator
        assert generator is not None and generator.cost == 6.0


def test_a_missing_part_is_made_by_the_command_itself(
    parts: list[Path], cli: Cli
) -> None:
    assert cli("merge", *parts[:2], "--allow-missing")[0] == 3
    assert cli(*FLAGS)[0] == 0
    assert (
        json.loads(Path("runs/toyland/results.json").read_text())["missing_parts"] == []
    )
    results = json.loads(Path("runs/toyland/results.json").read_text())
    assert all(task["reason"] is None for task in results["tasks"].values())


def test_parts_of_different_runs_are_not_merged(parts: list[Path], cli: Cli) -> None:
    other = [*FLAGS, "--seed", "1"]
    assert cli(*other, "--shard", "1/3", "--output-dir", "other")[0] == 0
    (seeded,) = Path("other").glob("shard-*/*")
    status, _, said = cli("merge", parts[0], seeded)
    assert (
        status == 1
        and "no parts of one run: seed: 0 in runs/shard-1-of-3/toyland, 1 in" in said
    )
    assert (
        cli(*FLAGS, "--level", "0.9", "--shard", "2/3", "--output-dir", "other")[0] == 0
    )
    status, _, said = cli("merge", parts[0], "other/shard-2-of-3/toyland")
    assert (
        status == 1
        and "level: 0.95 in runs/shard-1-of-3/toyland, 0.9 in other/" in said
    )
    # Nor into one of them, which would no longer be the part that its record says.
    for sources in (parts[:1], parts):
        status, _, said = cli("merge", *sources, "--output-dir", parts[0].parent)
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
        plan = make_plan(
            load_tasks("t2iat_flowers_insects"), Settings(images_per_prompt=images)
        )
        assert (
            plan.shard_size % SMALLEST_SHARD == 0 and plan.shard_size <= LARGEST_SHARD
        )
        assert sum(len(plan.shard(k)) for k in range(plan.n_shards)) == len(
            plan.requests
        )
        if len(plan.requests) > 3 * SMALLEST_SHARD:
            assert plan.n_shards >= 4
