"""Runs with edits in parts: a source image and its edits are made by the same part."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.plan import make_plan, part_of
from t2ibench.results.run import open_images, open_run
from t2ibench.settings import Settings
from t2ibench.store.images import Attempt
from t2ibench.tasks import load_tasks
from tests import hand
from tests.conftest import Cli
from tests.pipeline import editing
from tests.pipeline.editing import Editor, write_task

pytestmark = pytest.mark.usefixtures("few_words")

# Six prompts of source images, so that five parts have some each or none.
GROUPS = {
    f"{who} {when}": f"a photo of a {noun}{when}"
    for who, noun in (("women", "woman"), ("men", "man"))
    for when in ("", " in winter", " at night")
}


def flags(*, model: str = editing.MODEL) -> tuple[str, ...]:
    """The command that runs the task in the folder 'tasks', without scores of chance."""
    return (
        *("run", "--model", model, "--tasks", "edited,vibex_gender"),
        *("--include-path", "tasks", "--images-per-prompt", "2"),
        *("--encoder", "toyland", "--judge", "toyland"),
        *("--permutations", "100", "--bootstrap", "100"),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the run of one machine says."""
    folder = tmp_path_factory.mktemp("whole")
    write_task(folder / "tasks", groups=GROUPS, embeds=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(flags()) == 0
        return hand.outputs(Path("runs/editor"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a task of edits."""
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "tasks", groups=GROUPS, embeds=True)
    return tmp_path


def parts_of(count: int) -> list[Path]:
    """The folders of the parts that were run."""
    return sorted(Path("runs").glob(f"shard-*-of-{count}/editor"))


def attempts_of(run: Path) -> list[Attempt]:
    """The outcomes of a run's images."""
    return list(open_images(run)[1].all_attempts())


def run_parts(command: Sequence[str], count: int, cli: Cli) -> None:
    for number in range(1, count + 1):
        status, _, said = cli(*command, "--shard", f"{number}/{count}")
        assert status == 0, said


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.nightly), 5])
def test_merged_parts_are_the_run_of_one_machine(
    count: int, folder: Path, whole: dict[str, bytes], cli: Cli
) -> None:
    command = flags()
    run_parts(command, count, cli)
    parts = parts_of(count)
    assert len(parts) == count
    for part in parts:
        sources = {attempt.sha256 for attempt in attempts_of(part / "sources")}
        edited_from = {attempt.source for attempt in attempts_of(part)} - {None}
        assert edited_from <= sources
    status, out, err = cli("merge", *parts)
    assert status == 0, out + err
    assert hand.outputs(Path("runs/editor")) == whole
    assert open_run(Path("runs/editor/sources")).record.status == "complete"
    assert cli("merge", *parts)[0] == 0
    assert hand.outputs(Path("runs/editor")) == whole
    status, _, said = cli(*command)
    assert status == 0 and "Nothing to do" in said, said


def test_a_part_without_source_images_is_merged_into_a_run_that_has_some(
    folder: Path, cli: Cli
) -> None:
    run_parts(flags(), 3, cli)
    first, second, third = parts_of(3)
    assert cli("merge", first, third, "--allow-missing")[0] == 3
    before = attempts_of(Path("runs/editor/sources"))
    shutil.rmtree(second / "sources")
    status, out, err = cli("merge", second, "--allow-missing")
    # 3 stands for images that are missing.
    assert status == 3, out + err
    assert attempts_of(Path("runs/editor/sources")) == before


def test_a_dry_run_counts_the_edits_of_its_part(folder: Path, cli: Cli) -> None:
    counted = []
    for number in (1, 2, 3):
        status, out, err = cli(*flags(), "--shard", f"{number}/3", "--dry-run")
        assert status == 0, err
        words = " ".join(out.partition("Edits:")[2].split())
        sources, _, after = words.partition(" source images by")
        edits = after.partition("; ")[2].partition(" images are made")[0]
        counted.append((int(sources), int(edits)))
    assert [sum(numbers) for numbers in zip(*counted, strict=True)] == [12, 24]
    # Each source image has two edits, in the same part.
    assert all(edits == 2 * sources for sources, edits in counted)


class StopsAtEdits(Editor):
    """An editor that a user stops at the first edit."""

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        if requests[0].source is not None:
            raise KeyboardInterrupt
        return super().generate(requests)


class StopsAtSources(Editor):
    """An editor that a user stops at the second batch of source images."""

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        if self.seen:
            raise KeyboardInterrupt
        return super().generate(requests)


@pytest.mark.parametrize(
    ("stops", "what"),
    [
        (
            "StopsAtEdits",
            "Part 1 of 2 is not finished: 16 of its 22 images are missing",
        ),
        ("StopsAtSources", "Part 1 of 2 is missing."),
    ],
)
def test_a_part_that_was_stopped_is_named_and_goes_on(
    stops: str, what: str, folder: Path, whole: dict[str, bytes], cli: Cli
) -> None:
    command = flags()
    run_parts(command, 2, cli)
    first = parts_of(2)[0]
    shutil.rmtree(first)
    status, _, _ = cli(*flags(model=f"{__name__}:{stops}"), "--shard", "1/2")
    assert status != 0
    status, _, err = cli("merge", *parts_of(2))
    assert status == 1 and not Path("runs/editor").exists()
    text = " ".join(err.split())
    assert what in text, text
    assert "missing" in cli("merge", *parts_of(2), "--allow-missing")[1]
    assert cli(*command, "--shard", "1/2")[0] == 0
    assert cli("merge", *parts_of(2))[0] == 0
    assert hand.outputs(Path("runs/editor")) == whole


def test_source_images_of_a_folder_are_divided_too(folder: Path, cli: Cli) -> None:
    editor = Editor()
    for prompt in GROUPS.values():
        (folder / "pictures" / prompt).mkdir(parents=True)
        for index in range(2):
            request = ImageRequest(prompt, index, 100 + index)
            (drawn,) = editor.generate([request])
            assert drawn.image is not None
            drawn.image.save(folder / "pictures" / prompt / f"{index}.png")
    command = (*flags(), "--sources", f"folder:{folder / 'pictures'}")
    run_parts(command, 2, cli)
    parts = parts_of(2)
    for part in parts:
        assert len(hand.stored(part / "sources", "attempts")) < 12
    assert cli("merge", *parts)[0] == 0
    merged = hand.outputs(Path("runs/editor"))
    shutil.rmtree("runs")
    assert cli(*command)[0] == 0
    assert hand.outputs(Path("runs/editor")) == merged


def test_parts_with_source_images_of_other_models_are_not_merged(
    folder: Path, cli: Cli
) -> None:
    command = flags()
    assert cli(*command, "--shard", "1/2")[0] == 0
    other = ("--sources", "toyland", "--sources-args", "all.gender.female=0.9")
    assert cli(*command, *other, "--shard", "2/2")[0] == 0
    status, _, err = cli("merge", *parts_of(2))
    assert status == 1 and "are no parts of one run" in " ".join(err.split())
    assert not Path("runs/editor").exists()


def test_each_edit_is_in_one_part(folder: Path) -> None:
    plan = make_plan(
        load_tasks("edited", [folder / "tasks"]), Settings(images_per_prompt=2)
    )
    parts = [part_of(plan, number, 4) for number in (1, 2, 3, 4)]
    assert sum(part.n_expected_edits for part in parts) == plan.n_expected_edits == 24
