"""A folder that grows is scored at each complete set of prompts, and at nothing less."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import t2ibench
from t2ibench.apps.watching.checkpoints import steps_of
from t2ibench.apps.watching.image_sets import (
    ImageSet,
    Place,
    SetFinder,
    UnfinishedSet,
    places_in,
)
from t2ibench.apps.watching.set_runs import SetRuns
from t2ibench.apps.watching.watch import FolderWatch, ScoredSet
from t2ibench.apps.watching.written_files import WrittenFiles
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.folder import (
    FolderArguments,
    PromptFiles,
    prompt_files,
)
from t2ibench.models.generators.image_folder import ImageFolder
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.settings import read_settings
from tests.processes import MAIN, Process

TASK = "t2iat_flowers_insects"
SMALL: dict[str, Any] = {
    "limit": 2,
    "images_per_prompt": 2,
    "guided_images_per_prompt": 2,
    "n_permutations": 99,
    "n_bootstrap": 99,
    "control_encoder": "none",
}


def picture(colour: int) -> Image.Image:
    return Image.new("RGB", (8, 8), (colour, 20, 20))


def test_a_file_is_written_once_it_stays_and_can_be_read_to_its_end(
    tmp_path: Path,
) -> None:
    whole = tmp_path / "a.png"
    Image.effect_noise((32, 32), 60).save(whole)
    data = whole.read_bytes()
    whole.write_bytes(b"")
    files = WrittenFiles()
    for part in (0, len(data) // 2, len(data) // 2, len(data)):
        whole.write_bytes(data[:part])
        assert not files.look([whole]), part
    assert set(files.look([whole])) == {whole}
    # Half of a file that does not change any more is named with the reason.
    whole.write_bytes(data[: len(data) // 2])
    files.look([whole])
    assert not files.look([whole])
    assert "cannot be read as an image" in files.unreadable[whole]
    assert not files.look([tmp_path / "missing.png"])


def named(root: Path, **arguments: str) -> list[str]:
    return [place.checkpoint for place in places_in(root, FolderArguments(**arguments))]


def test_sub_folders_are_checkpoints_where_they_hold_prompts_of_their_own(
    tmp_path: Path,
) -> None:
    assert named(tmp_path) == [""]
    for name in ("step-1000/a_nurse/0.png", "step-500/a_nurse/0.png", "logs/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        picture(0).save(tmp_path / name, "png")
    assert named(tmp_path) == ["step-500", "step-1000"]
    # A table in the folder itself lists all images of one set.
    row = {"file": "step-500/a_nurse/0.png", "prompt": "a nurse"}
    (tmp_path / "prompts.jsonl").write_text(json.dumps(row))
    assert named(tmp_path) == [""]
    (tmp_path / "prompts.jsonl").unlink()
    pattern = "{checkpoint}/{prompt}/{index}.png"
    assert named(tmp_path, pattern=pattern) == ["logs", "step-500", "step-1000"]
    assert named(tmp_path, pattern="{prompt}/{index}.png") == [""]


def test_one_sub_folder_a_prompt_is_one_set(tmp_path: Path) -> None:
    for name in ("a_nurse/0.png", "a_clerk/0.png"):
        (tmp_path / name).parent.mkdir()
        picture(0).save(tmp_path / name)
    assert named(tmp_path) == [""]
    finder = SetFinder(tmp_path, FolderArguments(), {"a nurse": 2, "a clerk": 1})
    (first,) = finder.look()
    (second,) = finder.look()
    assert isinstance(first, UnfinishedSet) and not first.only_unsettled
    # One image of each prompt is a set, too; it grows later.
    assert isinstance(second, ImageSet)
    assert (second.each, len(second.files)) == (1, 2)


def test_a_checkpoint_counts_once_every_prompt_has_every_image(tmp_path: Path) -> None:
    finder = SetFinder(tmp_path, FolderArguments(), {"a nurse": 2, "a clerk": 1})
    for name in ("s1/a_nurse/0.png", "s1/a_clerk/0.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        picture(0).save(tmp_path / name)
    list(finder.look())
    (unfinished,) = finder.look()
    assert isinstance(unfinished, UnfinishedSet)
    assert unfinished.why == "2 of 3 images are written; 'a nurse' has 1 of 2."
    picture(1).save(tmp_path / "s1/a_nurse/1.png")
    (unsettled,) = finder.look()
    assert isinstance(unsettled, UnfinishedSet) and unsettled.only_unsettled
    (complete,) = finder.look()
    assert isinstance(complete, ImageSet) and len(complete.files) == 3


def test_a_look_lists_the_files_of_a_checkpoint_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("s1/a_nurse/0.png", "s2/a_nurse/0.png"):
        (tmp_path / name).parent.mkdir(parents=True)
        picture(0).save(tmp_path / name)
    listed: list[str] = []

    def counted(folder: ImageFolder, arguments: FolderArguments) -> PromptFiles:
        listed.append(folder.root.name)
        return prompt_files(folder, arguments)

    monkeypatch.setattr("t2ibench.apps.watching.image_sets.prompt_files", counted)
    finder = SetFinder(tmp_path, FolderArguments(), {"a nurse": 1})
    list(finder.look())
    assert listed == ["s1", "s2"]
    # The next look sees what was written since.
    picture(1).save(tmp_path / "s1/a_nurse/1.png")
    both = SetFinder(tmp_path, FolderArguments(), {"a nurse": 2})
    list(both.look())
    first, _ = both.look()
    assert isinstance(first, ImageSet) and first.each == 2


def test_a_half_written_table_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"file": "a.png", "prom')
    finder = SetFinder(tmp_path, FolderArguments(), {"a nurse": 1})
    (unfinished,) = finder.look()
    assert isinstance(unfinished, UnfinishedSet)
    assert "prompts.jsonl:1" in unfinished.why


# With runs


@pytest.fixture(scope="module")
def drawn() -> dict[tuple[str, int], Image.Image]:
    """Images of toyland for every prompt of the small task."""
    generator = create_generator("toyland", {})
    requests = [
        ImageRequest(prompt, index, 1000 * index + number)
        for number, prompt in enumerate(wanted())
        for index in range(4)
    ]
    images = generator.generate(requests)
    made = {}
    for request, image in zip(requests, images, strict=True):
        assert image.image is not None
        made[request.prompt, request.index] = image.image
    return made


def wanted() -> dict[str, int]:
    from t2ibench.pipeline.preparation import plan_of_tasks

    return plan_of_tasks(read_settings({"tasks": TASK, **SMALL})).prompts


def write(folder: Path, drawn: Any, indexes: Sequence[int], shift: int = 0) -> None:
    for (prompt, index), image in drawn.items():
        if index in indexes:
            place = folder / prompt.replace(" ", "_") / f"{index}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            other = drawn[prompt, (index + shift) % 4]
            (other if shift else image).save(place)


def watched(folder: Path, output: Path, **more: Any) -> FolderWatch:
    values = {"tasks": TASK, "encoder": "toyland", **SMALL, **more}
    settings = read_settings(
        {"model": f"folder:{folder}", "output_dir": str(output), **values}
    )
    return FolderWatch(settings, SilentReporter())


def looks(watch: FolderWatch, count: int = 2) -> list[ScoredSet]:
    return [scored for _ in range(count) for scored in watch.look()]


def test_a_set_without_an_earlier_run_is_named_without_reading_its_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.apps.watching.set_runs.create_model", pytest.fail)
    settings = read_settings(
        {"model": f"folder:{tmp_path}", "output_dir": str(tmp_path / "runs")}
    )
    runs = SetRuns(settings, "training")
    place = Place(tmp_path / "step-5", "step-5", FolderArguments(most=2))
    assert runs.version_after(None, place) == 1
    name = runs.name_of(place, version=2, each=2)
    assert name == "training-step-5-version-2"
    given = runs.settings_of(place, name)
    assert given.name == name and given.model == f"folder:{place.folder}"
    assert given.model_args == {"most": "2"}


@pytest.mark.slow
def test_a_growing_set_is_embedded_once_and_scored_as_if_it_were_there_at_once(
    tmp_path: Path, drawn: Any
) -> None:
    folder = tmp_path / "samples"
    watch = watched_after_first(folder, tmp_path, drawn)
    write(folder, drawn, [1])
    assert not list(watch.look())
    (second,) = watch.look()
    assert second.name == "samples-set-1-2-each"
    prompts = len(wanted())
    # The images of the first set are neither embedded again, nor are the texts.
    assert second.outcome.observed == prompts
    assert not looks(watch)
    alone = watched(folder, tmp_path / "alone")
    (at_once,) = looks(alone)
    texts = at_once.outcome.observed - 2 * prompts
    assert texts > 0
    assert second.results.tasks[TASK].headline == at_once.results.tasks[TASK].headline
    # Sizes of one set are no checkpoints.
    assert [checkpoint.name for checkpoint in watch.checkpoints] == ["samples-set-1"]
    assert not watch.trend_page.exists()


def watched_after_first(folder: Path, tmp_path: Path, drawn: Any) -> FolderWatch:
    write(folder, drawn, [0])
    watch = watched(folder, tmp_path / "runs")
    (first,) = looks(watch)
    assert first.name == "samples-set-1-1-each"
    assert first.results.tasks[TASK].n_images == len(wanted())
    return watch


@pytest.mark.slow
def test_a_set_whose_images_are_replaced_waits_until_all_are(
    tmp_path: Path, drawn: Any
) -> None:
    folder = tmp_path / "samples"
    write(folder, drawn, [0, 1])
    watch = watched(folder, tmp_path / "runs")
    (first,) = looks(watch)
    write(folder, drawn, [0], shift=2)
    assert not looks(watch, 3)
    write(folder, drawn, [1], shift=2)
    # The first images of every prompt are a new set, and then it grows.
    smaller, second = looks(watch)
    assert smaller.name == "samples-set-2-1-each"
    assert second.name == "samples-set-2-2-each"
    assert first.outcome.folder != second.outcome.folder
    page = watch.trend_page.read_text(encoding="utf-8")
    assert "samples-set-1" in page and "samples-set-2" in page
    # Another watch of the same folder goes on after the sets of this one.
    again = watched(folder, tmp_path / "runs")
    (third,) = looks(again)
    assert third.name == "samples-set-2-2-each"
    assert third.outcome.folder == second.outcome.folder
    write(folder, drawn, [0, 1])
    other = watched(folder, tmp_path / "runs")
    (fourth,) = looks(other)
    assert fourth.name == "samples-set-3-2-each"
    names = [checkpoint.name for checkpoint in other.checkpoints]
    assert names == ["samples-set-1", "samples-set-2", "samples-set-3"]


@pytest.mark.slow
def test_checkpoints_have_runs_of_their_own_and_a_page(
    tmp_path: Path, drawn: Any
) -> None:
    folder = tmp_path / "val"
    write(folder / "step-500", drawn, [0, 1])
    watch = watched(folder, tmp_path / "runs")
    (first,) = looks(watch)
    assert first.name == "val-step-500" == first.results.name
    write(folder / "step-1000", drawn, [0])
    assert not looks(watch, 3)
    write(folder / "step-1000", drawn, [1])
    write(folder / "step-1500", drawn, [0, 1], shift=1)
    assert [scored.name for scored in looks(watch)] == [
        "val-step-1000",
        "val-step-1500",
    ]
    assert not looks(watch)
    page = watch.trend_page.read_text(encoding="utf-8")
    for text in ("val-step-1500", "Each test over the runs", TASK, "Slope"):
        assert text in page
    shutil.rmtree(folder)
    with pytest.raises(T2IBenchError) as caught:
        looks(watch)
    assert "was deleted while it was watched" in caught.value.message
    assert "3 sets of it are scored" in (caught.value.hint or "")


@pytest.mark.slow
def test_a_training_that_resumes_goes_on_with_its_page(
    tmp_path: Path, drawn: Any
) -> None:
    folder = tmp_path / "val"
    write(folder / "step-500", drawn, [0, 1])
    write(folder / "step-1000", drawn, [0, 1], shift=1)
    assert len(looks(watched(folder, tmp_path / "runs"))) == 2
    # The training keeps its latest checkpoints alone.
    shutil.rmtree(folder / "step-500")
    # A run of another folder under a name like these, and one that was not finished.
    shutil.copytree(tmp_path / "runs/val-step-500", tmp_path / "runs/val-step-700")
    (tmp_path / "runs/val-step-800").mkdir()
    write(folder / "step-1000", drawn, [0, 1], shift=3)
    write(folder / "step-1500", drawn, [0, 1], shift=2)
    resumed = watched(folder, tmp_path / "runs")
    assert [scored.name for scored in looks(resumed)] == [
        "val-step-1000-version-2",
        "val-step-1500",
    ]
    assert [checkpoint.name for checkpoint in resumed.checkpoints] == [
        "val-step-500",
        "val-step-1000",
        "val-step-1000-version-2",
        "val-step-1500",
    ]
    assert len(resumed.scored_here) == 2
    page = resumed.trend_page.read_text(encoding="utf-8")
    assert "val-step-500" in page and "val-step-1500" in page


class Lines(SilentReporter):
    """Collects what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_a_folder_that_stays_unreadable_is_named_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"model": f"folder:{tmp_path}", "tasks": TASK, "encoder": "toyland"}
    reporter = Lines()
    watch = FolderWatch(read_settings({**values, **SMALL}), reporter)

    def refused(finder: SetFinder) -> Any:
        raise PermissionError(13, "Permission denied")

    looks(watch)
    before = list(reporter.lines)
    with monkeypatch.context() as patch:
        patch.setattr(SetFinder, "look", refused)
        looks(watch, 1)  # it may have changed while it was listed
        assert reporter.lines == before
        watch.clock = lambda: 1e9
        looks(watch, 3)
        (line,) = reporter.lines[len(before) :]
    assert line.endswith(": it cannot be listed (Permission denied).")
    looks(watch, 1)


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["step-500", "step-1000"], [500.0, 1000.0]),
        (["v2-step-1.5", "v2-step-2"], [1.5, 2.0]),
        (["epoch-1-loss-0.10", "epoch-2-loss-0.12"], []),
        (["epoch-1-loss-0.10", "epoch-1-loss-0.12"], [0.1, 0.12]),
        (["step-0", "step-0-version-2", "step-500"], []),
        (["step-5", "epoch-6"], []),
        (["step-5", "step-05"], []),
        (["before", "after"], []),
    ],
)
def test_the_step_is_the_one_number_that_differs(
    names: list[str], steps: list[float]
) -> None:
    assert steps_of(names) == steps


@pytest.mark.slow
def test_watcher_writes_scores_and_watches(tmp_path: Path, drawn: Any) -> None:
    watcher = t2ibench.Watcher(
        tmp_path / "val",
        TASK,
        encoder="toyland",
        output_dir=tmp_path / "runs",
        **SMALL,
    )
    half = len(watcher.requests) // 2
    for request in watcher.requests[:half]:
        watcher.write(drawn[request.prompt, request.index], request, "step-1")
    with pytest.raises(T2IBenchError, match=r"step-1 is not complete: \d+ of \d+ im"):
        watcher.score("step-1")
    for request in watcher.requests[half:]:
        watcher.write(drawn[request.prompt, request.index], request, "step-1")
    results = watcher.score("step-1")
    assert results.name == "val-step-1"
    assert results.folder is not None and (results.folder / "report.html").is_file()
    assert watcher.trend_page is None
    assert watcher.poll() == watcher.poll() == []
    for request in watcher.requests:
        image = drawn[request.prompt, request.index + 2]
        watcher.write(image, request, checkpoint="step-2")
    assert watcher.poll() == []
    (second,) = watcher.poll()
    assert second.name == "val-step-2"
    assert list(watcher.runs) == ["val-step-1", "val-step-2"]
    assert watcher.trend_page is not None and watcher.trend_page.is_file()
    with pytest.raises(T2IBenchError, match="No image 9 of"):
        watcher.write(image, ImageRequest(request.prompt, 9, 1), checkpoint="step-3")
    # A table of other tasks' prompts would give the images a wrong prompt.
    settings: dict[str, Any] = {**SMALL, "images_per_prompt": 1}
    other = t2ibench.Watcher(tmp_path / "val", TASK, encoder="toyland", **settings)
    with pytest.raises(T2IBenchError, match="has images of other prompts"):
        other.write(image, other.requests[0], checkpoint="step-2")
    for name in ("../up", ".hidden", "a/b", ".."):
        with pytest.raises(T2IBenchError, match="cannot be the name"):
            watcher.write(image, request, checkpoint=name)


def test_what_cannot_be_watched_is_said_before_anything_is_awaited(
    tmp_path: Path,
) -> None:
    with pytest.raises(T2IBenchError, match="looks at a folder"):
        FolderWatch(
            read_settings({"model": "toyland", "tasks": TASK}), SilentReporter()
        )
    with pytest.raises(T2IBenchError, match="No such folder"):
        watched(tmp_path / "none", tmp_path)
    with pytest.raises(T2IBenchError, match="need no images"):
        watched(tmp_path, tmp_path, tasks="weat*")
    with pytest.raises(T2IBenchError, match="Unknown encoder 'cilp'"):
        watched(tmp_path, tmp_path, encoder="cilp")
    with pytest.raises(T2IBenchError, match="has to score"):
        watched(tmp_path, tmp_path, generate_only=True)


def command(folder: Path, *more: str) -> list[str]:
    words = ["--model", f"folder:{folder}", "--tasks", TASK, "--encoder", "toyland"]
    words += ["--limit", "2", "--images-per-prompt", "2", "--permutations", "99"]
    words += ["--guided-images-per-prompt", "2", "--bootstrap", "99"]
    return [*words, "--control-encoder", "none", "--watch", "0.2", *more]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_command_scores_what_is_written_beside_it_until_interrupted(
    tmp_path: Path, drawn: Any
) -> None:
    folder = tmp_path / "val"
    folder.mkdir()
    errors = tmp_path / "errors.txt"
    process = Process(MAIN, command(folder), tmp_path, errors)
    writer = threading.Thread(target=write_slowly, args=(folder / "step-1", drawn))
    writer.start()
    run = tmp_path / "runs/val-step-1"
    wait_until((run / "report.html").is_file, process)
    writer.join()
    wait_until(lambda: "Read now" in errors.read_text(), process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0, errors.read_text()
    said = errors.read_text()
    assert said.count("images are complete") == 1
    assert "Ended; 1 set scored, the last of them val-step-1 in " in said
    assert read_results(run).tasks[TASK].headline is not None


def write_slowly(folder: Path, drawn: Any) -> None:
    """Write each image in two parts, as over a slow network."""
    for prompt in wanted():
        for index in range(2):
            place = folder / prompt.replace(" ", "_") / f"{index}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            whole = folder.parent.parent / "whole.png"
            drawn[prompt, index].save(whole)
            data = whole.read_bytes()
            place.write_bytes(data[: len(data) // 2])
            time.sleep(0.05)
            place.write_bytes(data)


def wait_until(holds: Callable[[], bool], process: Process) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, "the command has ended"
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_command_waits_without_work_and_says_that_nothing_was_complete(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    folder = tmp_path / "val"
    folder.mkdir()
    errors = tmp_path / "errors.txt"
    process = Process(MAIN, command(folder), tmp_path, errors)
    wait_until(lambda: "Watching" in errors.read_text(), process)
    time.sleep(0.5)
    before = processor_seconds(process.pid)
    time.sleep(2.0)
    assert processor_seconds(process.pid) - before < 0.5
    process.send_signal(number)
    assert process.wait() == status
    assert "No set was complete." in errors.read_text()


def processor_seconds(pid: int) -> float:
    """Seconds of processor that a process has used."""
    # What stands after the name of the program, which may hold anything.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_command_ends_in_one_line_where_the_folder_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "val"
    folder.mkdir()
    errors = tmp_path / "errors.txt"
    process = Process(MAIN, command(folder), tmp_path, errors)
    wait_until(lambda: "Watching" in errors.read_text(), process)
    folder.rmdir()
    assert process.wait() == 1
    last = errors.read_text().splitlines()[-1]
    assert "was deleted while it was watched" in last
    assert "Traceback" not in errors.read_text()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--watch", "0"], "is not a number of seconds"),
        (["--watch", "700000"], "is not a number of seconds from 0.1 to 604,800"),
        (["--until-precise", ".3"], "Leave --until-precise out"),
    ],
)
def test_flags_that_contradict_a_watch_are_refused(
    more: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        assert main(command(tmp_path, *more)) == 1
    assert text in capsys.readouterr().err


def test_limits_that_compare_two_runs_are_refused_before_anything_is_awaited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = tmp_path / "accept.yaml"
    limits.write_text(
        "title: no worse\nowner: nobody\nscenarios:\n  - name: lean\n    at_risk: people\n"
        "    hazard: images of one kind\n    accept: 0.1\n"
        "    reason: a test needs some limit, and this is one\n"
        f"    measurement: {{task: {TASK}, statistic: comparison}}\n"
    )
    assert main(command(tmp_path, "--accept", str(limits))) == 1
    assert "each run is decided alone here" in capsys.readouterr().err


def test_limits_need_a_watch(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "toyland", "--tasks", TASK, "--accept", "accept.yaml"]
    assert main(words) == 1
    assert "--accept needs --watch" in capsys.readouterr().err
