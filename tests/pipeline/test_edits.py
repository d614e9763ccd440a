"""Runs with edits: source images are made first, and edited in the same command."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate, score
from t2ibench.apps.explorer.album import open_album
from t2ibench.apps.labelling.sample import asked_images
from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import Answer, GeneratedImage, ImageRequest, Query
from t2ibench.pipeline.executors.processes import Processes
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.power.pilots import run_pilots
from t2ibench.results.run import open_images, open_run
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results
from t2ibench.store.images import ImageStore, image_seed
from tests import hand
from tests.conftest import Cli
from tests.pipeline import editing
from tests.pipeline.editing import Editor, NoEditor, write_task
from tests.processes import forked_worker

pytestmark = pytest.mark.usefixtures("few_words")

MODELS: dict[str, Any] = {"encoder": "toyland", "judge": "toyland"}
FEW: dict[str, Any] = {"n_permutations": 100, "n_bootstrap": 100}
OTHER = "vibex_gender"


class CountingJudge(ToylandJudge):
    """Toyland's judge, which counts what it is asked about each file."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[str, str]] = Counter()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        self.asked.update((query.sha256, query.question) for query in queries)
        return super().answer(queries)


def edited(folder: Path, model: Any = editing.MODEL, **settings: Any) -> Results:
    """The results of a run of the task in folder/tasks."""
    given = {"tasks": "edited", **MODELS, **FEW, **settings}
    given.setdefault("output_dir", folder / "runs")
    return evaluate(model, include_path=[folder / "tasks"], **given)


def folder_of(results: Results) -> Path:
    assert results.folder is not None
    return results.folder


def files_of(run: Path) -> list[Path]:
    return sorted((run / "images").rglob("*.png"))


def test_sources_are_made_first_and_nothing_is_made_or_asked_twice(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks", embeds=True)
    editor, judge = Editor(), CountingJudge()
    results = edited(tmp_path, editor, judge=judge)
    task = results.tasks["edited"]
    assert task.reason is None and task.n_images == 12
    run = folder_of(results)
    assert len(files_of(run / "sources")) == 6
    assert set(editor.seen.values()) == {3, 6}  # each prompt, and each instruction
    # 'stay' gives the source file back: it has the answers of the source image
    assert set(judge.asked.values()) == {1}
    samples = read_samples(run, "edited")
    unchanged = [row for row in samples if row["sha256"] == row["source_sha256"]]
    assert {row["prompt"] for row in unchanged} == {"stay"} and len(unchanged) == 6
    assert all((run / row["source_file"]).is_file() for row in samples)
    assert open_run(run).record.status == "complete"
    before = hand.outputs(run)
    again, asked = Editor(), CountingJudge()
    edited(tmp_path, again, judge=asked)
    assert not again.seen and not asked.asked
    assert hand.outputs(run) == before
    score(run)
    assert hand.outputs(run) == before


def test_refusals_are_counted_by_group(tmp_path: Path) -> None:
    edits = {"doctor": "as a doctor", "suit": "refuse women"}
    write_task(tmp_path / "tasks", edits=edits)
    task = edited(tmp_path).tasks["edited"]
    by_group = {"women": {"ok": 3, "refused": 3}, "men": {"ok": 6}}
    assert task.details["edit_outcomes"] == by_group
    assert task.excluded["refused"] == 3 and not task.prompt_outcomes
    assert task.excluded_because == {"refused": {"no women, please": 3}}


class RefusesSources(Editor):
    def _outcome(self, request: ImageRequest) -> GeneratedImage:
        if request.source is None and "photo of a woman" in request.prompt:
            return GeneratedImage("refused", reason="no people")
        return super()._outcome(request)


def test_without_source_images_other_tasks_lose_nothing(tmp_path: Path) -> None:
    groups = {"women": editing.GROUPS["women"]}
    write_task(tmp_path / "tasks", groups=groups)
    results = edited(
        tmp_path, RefusesSources(), tasks=["edited", OTHER], images_per_prompt=2
    )
    task = results.tasks["edited"]
    assert task.reason and results.tasks[OTHER].reason is None
    assert task.excluded_because == {"source": {"refused: no people": 4}}
    assert task.details["edit_outcomes"] == {"women": {"source": 4}}
    assert open_run(folder_of(results)).record.status == "incomplete"


class FailsSources(Editor):
    def _outcome(self, request: ImageRequest) -> GeneratedImage:
        if request.source is None and "photo of" in request.prompt:
            raise RuntimeError("the server is down")
        return super()._outcome(request)


def test_source_images_that_fail_stop_only_a_run_of_edits_alone(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    with pytest.warns(match="the server is down"):
        results = edited(
            tmp_path, FailsSources(), tasks=["edited", OTHER], images_per_prompt=2
        )
    assert results.tasks["edited"].reason and not results.tasks[OTHER].reason
    with pytest.raises(T2IBenchError, match="the server is down"):
        edited(tmp_path, FailsSources())
    # the same command goes on where the source images could not be made
    assert edited(tmp_path, Editor()).tasks["edited"].n_images == 12


def test_edits_that_fail_stop_no_other_task(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks", edits={"broken": "fail"}, sources=5)
    results = edited(tmp_path, tasks=["edited", OTHER], images_per_prompt=5)
    assert results.tasks["edited"].excluded["failed"] == 10
    assert results.tasks[OTHER].reason is None
    # now nothing but edits is left to be made, and all fail again
    results = edited(tmp_path, tasks=["edited", OTHER], images_per_prompt=5)
    assert results.tasks[OTHER].reason is None


def test_models_that_cannot_edit_say_so_before_anything_is_made(
    tmp_path: Path, cli: Cli
) -> None:
    write_task(tmp_path / "tasks")
    with pytest.raises(T2IBenchError, match=r"source image\..*Take others"):
        edited(tmp_path, NoEditor())
    flags = ("--include-path", str(tmp_path / "tasks"), "--output-dir", str(tmp_path))
    model = "tests.pipeline.editing:PromptsAlone"
    status, _, err = cli("run", "--model", model, "--tasks", "edited", *flags)
    assert status == 1 and not list(tmp_path.rglob("images"))
    line = "edited cannot be run: it edits images, and prompts-alone makes images from"
    assert line in " ".join(err.split())


def test_a_prompt_that_equals_an_instruction_is_another_image(tmp_path: Path) -> None:
    tasks = write_task(tmp_path / "tasks", "first", edits={"doctor": "as a doctor"})
    groups = {"doctors": "as a doctor", "men": "a photo of a man"}
    write_task(tasks, "second", groups=groups, edits={"doctor": "as a doctor"})
    both = edited(tmp_path, tasks=["first", "second"])
    images = ImageStore(
        open_run(folder_of(both)).database,
        open_run(folder_of(both)).record.generator.fingerprint,  # type: ignore[union-attr]
    )
    assert len(images) == 9  # those of men are shared
    alone = edited(tmp_path, tasks=["second"], name="alone")
    assert both.tasks["second"].headline == alone.tasks["second"].headline


def test_repeated_source_images_are_edited_once(tmp_path: Path) -> None:
    class Repeats(Editor):
        def _outcome(self, request: ImageRequest) -> GeneratedImage:
            if request.source is None:
                request = ImageRequest(request.prompt, 0, 7)
            return super()._outcome(request)

    write_task(tmp_path / "tasks")
    editor = Repeats()
    task = edited(tmp_path, editor).tasks["edited"]
    assert editor.seen["as a doctor"] == 2
    assert (task.n_images, task.excluded["repeated"]) == (4, 8)


def test_killed_runs_resume_to_the_same_results(tmp_path: Path) -> None:
    class Stops(Editor):
        def __init__(self, batches: int) -> None:
            super().__init__()
            self.left = batches

        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().generate(requests)

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_task(folder / "tasks")
    outputs = hand.outputs(folder_of(edited(whole, Editor())))
    for batches in (1, 2, 1):
        with pytest.raises(KeyboardInterrupt):
            edited(killed, Stops(batches))
    editor = Editor()
    assert hand.outputs(folder_of(edited(killed, editor))) == outputs
    assert 0 < editor.seen.total() < 18


def test_changed_and_deleted_source_files_are_made_again_where_needed(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path, Editor()))
    before = hand.outputs(run)
    first, second, *_ = files_of(run / "sources")
    first.write_bytes(b"changed")
    second.unlink()
    editor = Editor()
    edited(tmp_path, editor)
    assert not editor.seen and hand.outputs(run) == before
    # an edit more needs all source images
    write_task(tmp_path / "tasks", edits={**editing.EDITS, "suit": "in a suit"})
    edited(tmp_path, editor)
    assert editor.seen["in a suit"] == 6
    assert sum(editor.seen[prompt] for prompt in editing.GROUPS.values()) == 2
    assert not editor.seen["as a doctor"]


def test_source_images_of_a_folder(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    editor = Editor()
    for prompt in editing.GROUPS.values():
        (pictures / prompt).mkdir(parents=True)
        for index in range(2):
            request = ImageRequest(prompt, index, 100 + index)
            (drawn,) = editor.generate([request])
            assert drawn.image is not None
            drawn.image.save(pictures / prompt / f"{index}.png")
    write_task(tmp_path / "tasks", sources=2)
    sources = f"folder:{pictures}"
    results = edited(tmp_path, sources=sources)
    run = folder_of(results)
    assert results.tasks["edited"].n_images == 8
    assert open_run(run).record.settings.sources == sources
    # resumed without being named again, and not with others
    write_task(tmp_path / "tasks", sources=2, edits={"suit": "in a suit"})
    assert edited(tmp_path).tasks["edited"].n_images == 4
    assert open_run(run).record.settings.sources == sources
    with pytest.raises(T2IBenchError, match="holds source images of folder:"):
        edited(tmp_path, sources="toyland")
    # what they were read from is gone: those of the run are there
    pictures.rename(tmp_path / "moved")
    assert edited(tmp_path).tasks["edited"].n_images == 4
    # but no more of them, and none with other arguments
    with pytest.raises(T2IBenchError, match="pictures"):
        edited(tmp_path, sources=sources, sources_args={"pattern": "{prompt}/*"})
    write_task(tmp_path / "tasks", sources=3)
    with pytest.raises(T2IBenchError, match="pictures"):
        edited(tmp_path)
    write_task(tmp_path / "tasks", sources=2, edits={"suit": "in a suit"})
    (tmp_path / "moved").rename(pictures)
    men = editing.GROUPS["men"]
    shutil.copytree(pictures / men, tmp_path / "few" / men)
    with pytest.raises(T2IBenchError, match="source images: 1 of its 2 prompts"):
        edited(tmp_path, sources=f"folder:{tmp_path / 'few'}", name="few")


def test_dry_runs_and_listings_count_edits(tmp_path: Path, cli: Cli) -> None:
    tasks = write_task(tmp_path / "tasks")
    include = ("--include-path", str(tasks))
    flags = (
        *("run", "--model", editing.MODEL, "--tasks", "edited", *include),
        *("--output-dir", str(tmp_path / "runs"), "--judge", "toyland"),
        *("--encoder", "toyland", "--permutations", "100", "--bootstrap", "100"),
    )
    status, out, _ = cli(*flags, "--dry-run")
    text = " ".join(out.split())
    assert status == 0 and not (tmp_path / "runs").exists()
    assert "edited 1 0 12 12 18" in text and "0 prompts, 12 images" in text
    assert "6 source images" in text and "of which 0 are stored" in text
    assert "12 images are made from them, with 6 and 18 answers of each judge" in text
    assert "18 answers of each judge. Edits:" in " ".join(text.split())
    status, out, _ = cli("ls", "edited", *include)
    assert "12 edits of 6 source images" in out and "as a doctor" in out
    assert cli(*flags)[0] == 0
    status, out, _ = cli(*flags, "--dry-run")
    text = " ".join(out.split())
    assert "of which 6 are stored" in text and "edited 1 0 12 0 18" in text
    assert "Nothing has to be generated" in out
    run = next((tmp_path / "runs").glob("editor*"))
    assert cli("score", str(run))[0] == 0
    assert cli("report", str(run))[0] == 0
    status, _, err = cli("score", str(run / "sources"))
    assert status == 1 and "source images of the run in" in err


def test_a_dry_run_budgets_both_paid_models(tmp_path: Path, cli: Cli) -> None:
    """Source images and edits are paid for from the same --max-cost."""
    tasks = write_task(tmp_path / "tasks")
    flags = (
        *("run", "--model", "openai:editor", "--model-args", "price_per_image=0.1"),
        *("--sources", "openai:painter", "--sources-args", "price_per_image=0.5"),
        *("--tasks", "edited", "--include-path", str(tasks), "--encoder", "toyland"),
        *("--output-dir", str(tmp_path / "runs"), "--judge", "toyland", "--dry-run"),
    )

    def planned(*more: str) -> str:
        status, out, err = cli(*flags, *more)
        assert status == 0, err
        return " ".join(out.split())

    text = planned("--max-cost", "4.2")
    assert "6 requests to" in text and "3.00 at 0.5 an image." in text
    assert "12 requests to" in text and "1.20 at 0.1 an image." in text
    assert "--max-cost 4.2 suffices: the run costs 4.20 at most." in text
    assert (
        "include the edits, not the source images; price and time include both." in text
    )
    # All source images, and then two edits.
    short = (
        "does not suffice: the run costs 4.20 and would end after 8 of these 18 images."
    )
    assert f"--max-cost 3.2 {short}" in planned("--max-cost", "3.2")
    assert "would end after 3 of these 18" in planned("--max-cost", "1.9")


def test_workers_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "_spawned", forked_worker)
    write_task(tmp_path / "tasks", edits={"doctor": "as a doctor"})
    alone = edited(tmp_path).tasks["edited"]
    shared = edited(tmp_path, workers=2, output_dir=str(tmp_path / "two"))
    assert shared.tasks["edited"] == alone


class Paid(Editor):
    """An editor whose images cost 1 each."""

    def __init__(self) -> None:
        super().__init__()
        self.batch_size = 1
        self.cost: float | None = 0.0
        self.left = math.inf

    def limit_cost(self, most: float, before: float = 0.0) -> None:
        self.left = most - before

    def forecast(self, requests: Sequence[ImageRequest]) -> str:
        return f"{len(requests)} images for {len(requests)}."

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        assert self.cost is not None
        if self.cost + len(requests) > self.left:
            raise CostLimitError("No money is left.")
        self.cost += len(requests)
        return super().generate(requests)


def test_one_limit_of_cost_covers_source_images_and_edits(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    for most, made in ((4, 4), (10, 6)):
        editor = Paid()
        with pytest.raises(T2IBenchError, match="No money is left"):
            edited(tmp_path, editor, max_cost=most)
        assert editor.seen.total() == made
    editor = Paid()
    run = folder_of(edited(tmp_path, editor, max_cost=18))
    assert editor.seen.total() == 8
    costs = [open_run(path).record.generator for path in (run / "sources", run)]
    assert [record and record.cost for record in costs] == [6.0, 12.0]


def test_people_and_pages_see_edits(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path))
    reporter = SilentReporter()
    album = open_album([run], reporter)
    assert len(album.source(0).entries) == 12
    folder, images = open_images(run)
    asked = list(asked_images(stored_plan(folder), images))
    assert {prompt for _, prompt in asked} == set(editing.EDITS.values())
    nested, of_sources = open_images(run / "sources")
    about_sources = list(asked_images(stored_plan(nested), of_sources))
    assert len(about_sources) == 6


def test_answers_of_people_are_counted_on_source_images_and_edits(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path))
    answers = []
    for folder in (run, run / "sources"):
        record, images = open_images(folder)
        items = asked_images(stored_plan(record), images)
        answers += [(item.image, item.question, item.classes[0]) for item, _ in items]
    assert len(answers) == 24
    judges = []
    # Ben leaves out a source image, and the edit of it that stays the same file.
    left_out = {"anna": "", "ben": answers[-1][0]}
    for name, sha256 in left_out.items():
        path = tmp_path / f"{name}.csv"
        lines = [",".join(row) for row in answers if row[0] != sha256]
        path.write_text("\n".join(["sha256,question,answer", *lines]))
        judges.append(f"answers:{path},by={name}")
    task = edited(tmp_path, judge=tuple(judges), name="people").tasks["edited"]
    gender, weather = task.questions
    assert (gender.about, gender.images, gender.answered) == ("gender", 18, 18)
    assert gender.by == {"anna": 18, "ben": 16}
    # It is asked about one edit alone, and never about source images.
    assert (weather.images, weather.by) == (6, {"anna": 6, "ben": 6})
    assert [agreement.images for agreement in task.people] == [16, 6]


def test_runs_of_edits_without_draws_are_not_forecast(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path))
    with pytest.raises(T2IBenchError, match="edited: edits of this method are not"):
        run_pilots(run, [])


def test_seeds_differ_by_source_image() -> None:
    seeds = {image_seed(0, "as a doctor", 0, source) for source in (None, "a", "b")}
    assert len(seeds) == 3
