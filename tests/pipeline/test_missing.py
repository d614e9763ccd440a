"""Prompts without images: refused, or with --allow-missing left out and said to be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from t2ibench import evaluate, generate
from t2ibench.apps.leaderboard.verify import provenance_problems
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import ALL_BLACK, GeneratedImage, ImageRequest
from t2ibench.results.files import read_results
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from t2ibench.toyland import draw
from tests.conftest import Cli

pytestmark = pytest.mark.usefixtures("few_words")

TASK = "t2iat_flowers_insects"
SMALL = {"limit": 4, "images_per_prompt": 2, "n_permutations": 200, "n_bootstrap": 100}
FLAGS = (
    *("--limit", "4", "--images-per-prompt", "2", "--encoder", "toyland"),
    *("--permutations", "200", "--bootstrap", "100"),
)
ASTER, ANT = "a photo of aster", "a photo of ant"


def folder_of(root: Path, task: str = TASK, without: Sequence[str] = ()) -> Path:
    """A folder of toyland's images of a task, one file a request, but for some prompts."""
    (spec,) = (one.spec for one in load_tasks(task))
    counts = needs(spec, Settings(limit=4, images_per_prompt=2)).images_by_prompt
    prompts = [one for one, n in counts.items() if one not in without for _ in range(n)]
    root.mkdir(parents=True)
    with (root / "prompts.jsonl").open("w") as rows:
        for number, prompt in enumerate(prompts):
            draw(prompt, number).save(root / f"{number:03d}.png")
            print(
                json.dumps({"file": f"{number:03d}.png", "prompt": prompt}), file=rows
            )
    return root


def test_a_folder_with_other_prompts_is_refused_with_a_command_that_works(
    tmp_path: Path, cli: Cli
) -> None:
    root = folder_of(tmp_path / "mine")
    flags = (
        "--model",
        f"folder:{root}",
        "--output-dir",
        str(tmp_path / "runs"),
        *FLAGS,
    )
    status, out, err = cli("run", "--tasks", "mcas,weat_7_math_arts", *flags)
    assert status == 1 and not out and "no images for 42 prompts that" in err
    assert f"t2ibench propose openbias --captions folder:{root} --output" in err
    status, out, err = cli("run", "--tasks", f"mcas,{TASK}", *flags)
    assert status == 3 and TASK in out
    warnings = [line for line in err.splitlines() if line.startswith("warning:")]
    assert (
        f"1 of 6 tasks on images have images here: {TASK}; the others have none"
        in warnings[0]
    )
    assert not any("no image" in line for line in warnings)


def test_a_prompt_without_images_is_refused_or_left_out_with_a_message(
    tmp_path: Path, cli: Cli
) -> None:
    root, runs = folder_of(tmp_path / "mine", without=[ASTER]), tmp_path / "runs"
    flags = ("--model", f"folder:{root}", "--output-dir", str(runs), *FLAGS)
    status, out, err = cli("run", "--tasks", TASK, *flags)
    assert status == 1 and not out and "--allow-missing" in err
    assert (
        "no images for 1 prompt that the tasks need, such as 'a photo of aster'" in err
    )
    status, _, err = cli("run", "--tasks", f"{TASK},weat_7_math_arts", *flags)
    assert status == 3
    assert (
        f"{TASK} is excluded: 1 of its 40 prompts have no image (--allow-missing" in err
    )
    shutil.rmtree(runs)
    status, out, err = cli("run", "--tasks", TASK, *flags, "--allow-missing")
    assert status == 0, err
    assert "not a result to report" in out
    page = (runs / "mine" / "results.md").read_text()
    assert (
        "scored without a prompt, which has no image" in page
        and "'a photo of aster'" in page
    )
    assert "2 missing, 1 prompt without images" in page
    assert "--allow-missing" in page.partition("Repeat this run")[2]
    results = read_results(runs / "mine")
    task = results.tasks[TASK]
    assert results.partial and task.missing_prompts == [ASTER]
    assert task.headline.value is not None
    names = {row.name for row in task.by}
    assert "aster" not in names and len(names) == 6  # nor the insect of the same words
    written = (runs / "mine" / "results.json").read_bytes()
    assert cli("score", runs / "mine")[0] == 0
    assert (runs / "mine" / "results.json").read_bytes() == written
    # Nothing is decided between other prompts.
    flags = (
        "--model",
        f"folder:{folder_of(tmp_path / 'all')}",
        "--output-dir",
        runs,
        *FLAGS,
    )
    assert cli("run", "--tasks", TASK, *flags, "--allow-missing")[0] == 0
    assert not read_results(runs / "all").partial
    status, out, err = cli("compare", runs / "all", runs / "mine")
    assert status == 0 and f"{runs / 'all'}:" not in err
    assert f"{runs / 'mine'}: some prompts have no image; not a result to report" in err
    out = " ".join(out.split())
    assert "other prompts have no image" in out and "1 not compared" in out
    assert (
        "some prompts have no image" in cli("compare", runs / "mine", runs / "mine")[1]
    )


def test_a_concept_without_any_image_is_a_reason_and_no_number(tmp_path: Path) -> None:
    (spec,) = (one.spec for one in load_tasks(TASK))
    insects = spec.concepts.Y.stimuli[:4]
    prompts = needs(spec, Settings(limit=4)).images_by_prompt
    gone = [
        prompt for prompt in prompts if any(f" {name}" in prompt for name in insects)
    ]
    root = folder_of(tmp_path / "mine", without=gone)
    given: dict[str, Any] = {"encoder": "toyland", "allow_missing": True, **SMALL}
    task = evaluate(f"folder:{root}", TASK, output_dir=tmp_path, **given).tasks[TASK]
    assert task.headline.value is None
    assert task.reason == "no stimulus of Y (insects) has all of its images"
    assert task.missing_prompts == sorted(gone)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    plain = ToylandGenerator.generate

    def fail(
        *prompts: str, status: Any = "failed", reason: str = "the server\nsays 500"
    ) -> None:
        def drawn(
            self: ToylandGenerator, requests: Sequence[ImageRequest]
        ) -> list[GeneratedImage]:
            lost = GeneratedImage(status, reason=reason)
            return [
                lost if r.prompt in prompts else plain(self, [r])[0] for r in requests
            ]

        monkeypatch.setattr(ToylandGenerator, "generate", drawn)

    return fail


def test_a_prompt_that_fails_for_good(
    tmp_path: Path, cli: Cli, failing: Callable[..., None]
) -> None:
    failing(ANT)
    flags = ("--model", "toyland", "--tasks", TASK, "--output-dir", tmp_path)
    flags += ("--images-per-prompt", "1", "--permutations", "10", "--bootstrap", "10")
    for further, expected in (((), 3), (("--allow-missing",), 0)):
        status, _, err = cli("run", *flags, *further)
        assert status == expected, err
        assert "1 image failed: the server says 500" in " ".join(err.split())
        page = (tmp_path / "toyland" / "results.md").read_text()
        assert "1 image failed: the server says 500" in page
        task = read_results(tmp_path / "toyland").tasks[TASK]
        assert task.missing_prompts == [ANT]
        assert task.excluded_because == {"failed": {"the server says 500": 1}}
        assert task.excluded["failed"] == 1
    run, board = tmp_path / "toyland", tmp_path / "board"
    status, _, err = cli("leaderboard", "add", run, "--to", board)
    assert status == 1 and "Images are missing, for example of 'a photo of ant'" in err
    results = read_results(run)
    manifest = SimpleNamespace(
        **{"name": "toyland", "model": "toyland", "model_args": {}, "judges": {}},
        fingerprint=results.model.fingerprint, revision=results.model.revision,
        t2ibench=results.t2ibench, encoders=task.settings.encoders,
    )  # fmt: skip
    found = provenance_problems(manifest, results)  # one that was packed by other means
    (problem,) = (one for one in found if "prompts" in one)
    assert (
        "was scored without 1 of its prompts" in problem and "not accepted" in problem
    )


def test_a_prompt_that_the_model_refuses_is_no_missing_one(
    tmp_path: Path, failing: Callable[..., None]
) -> None:
    """That it refuses is a property of the model, and was counted."""
    failing(ANT, status="refused", reason="policy")
    results = evaluate("toyland", TASK, output_dir=tmp_path, **SMALL)
    assert not results.partial
    assert results.tasks[TASK].excluded_because == {"refused": {"policy": 2}}


def test_failures_from_the_start_stop_a_run_that_does_not_allow_them(
    tmp_path: Path, failing: Callable[..., None]
) -> None:
    (spec,) = (one.spec for one in load_tasks(TASK))
    first = sorted(needs(spec, Settings(limit=4)).images_by_prompt)[:32]
    failing(*first)
    options = {"output_dir": tmp_path, "batch_size": 4, **SMALL}
    with pytest.raises(T2IBenchError, match="The first 8 images all failed"):
        generate("toyland", TASK, **options)
    assert (
        generate("toyland", TASK, allow_missing=True, **options) == tmp_path / "toyland"
    )


def test_images_that_are_all_black_stop_a_run_unless_they_are_of_one_prompt(
    tmp_path: Path, failing: Callable[..., None]
) -> None:
    (spec,) = (one.spec for one in load_tasks(TASK))
    counts = needs(spec, Settings(limit=4)).images_by_prompt
    options = {"batch_size": 4, **SMALL}
    failing(*counts, status="filtered", reason=ALL_BLACK)
    with pytest.raises(
        T2IBenchError, match="The first 8 images are all black"
    ) as error:
        generate("toyland", TASK, output_dir=tmp_path / "black", **options)
    assert "--dtype float32 or bfloat16" in (error.value.hint or "")


def test_a_run_that_generates_nothing_is_not_complete(
    tmp_path: Path, failing: Callable[..., None], cli: Cli
) -> None:
    (spec,) = (one.spec for one in load_tasks(TASK))
    failing(
        *needs(spec, Settings(limit=4)).images_by_prompt,
        status="filtered",
        reason="policy",
    )
    flags = ("--model", "toyland", "--tasks", TASK, "--limit", "1", "--generate-only")
    for further in ((), ("--allow-missing",)):
        status, _, _ = cli("run", *flags, *further, "--output-dir", tmp_path)
        assert status == 3


def test_unreadable_files_stop_no_run_and_differ_from_missing_ones(
    tmp_path: Path, cli: Cli
) -> None:
    root = folder_of(tmp_path / "mine")
    rows = [json.loads(line) for line in (root / "prompts.jsonl").open()]
    bad = [row["file"] for row in sorted(rows, key=lambda row: row["prompt"])[:20]]
    for file in bad:  # the first in the order of the run
        (root / file).write_text("no image")
    flags = ("--model", f"folder:{root}", "--output-dir", tmp_path / "runs", *FLAGS)
    status, _, err = cli("run", "--tasks", TASK, *flags, "--images-per-prompt", "3")
    assert status == 3 and "Read now: 60 ok, 20 failed (of 80 images)" in err
    assert "40 prompts have fewer images than the tasks ask for" in err
    assert all(f"{file}: it cannot be read" in err for file in bad)
    page = (tmp_path / "runs" / "mine" / "results.md").read_text()
    assert "20 failed, 40 missing" in page
