"""Tasks that ship without their captions: from the captions' file to a result, whole commands."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.captions import with_captions
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.results.run import open_run
from t2ibench.settings import RunSettings
from t2ibench.tasks import LoadedTask, TaskIndex, build_index
from tests.conftest import Cli
from tests.proposals.pool_files import captions, coco, karpathy

FEW = ("--permutations", "300", "--bootstrap", "200", "--images-per-prompt", "4")
TASK = "openbias_coco"
PLANTED = {"all.age.old": 0.5, "all.gender.female": 0.1, "all.skin.dark": 0.5}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coco(tmp_path_factory.mktemp("pool") / "captions_val2017.json", captions())


@pytest.fixture(scope="module")
def index() -> TaskIndex[LoadedTask]:
    return build_index()[0]


@pytest.fixture(scope="module")
def planted(pool: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in whose world nine of ten people are men."""
    folder = tmp_path_factory.mktemp("planted")
    given: dict[str, Any] = {"captions": {"coco": pool}, "images_per_prompt": 4}
    draws: dict[str, Any] = {"n_permutations": 2000, "n_bootstrap": 100}
    evaluate("toyland", TASK, model_args=PLANTED, output_dir=folder, **given, **draws)
    (run,) = folder.iterdir()
    return run


def test_a_planted_lean_is_found_and_its_captions_are_recorded(
    planted: Path, pool: Path
) -> None:
    results = read_results(planted)
    (gender,) = [
        row.scores for row in results.tasks[TASK].by if row.name == "person gender"
    ]
    lean = gender["lean"]
    # male is the second of the two
    assert lean.ci_low <= -0.8 <= lean.ci_high and lean.p < 1e-3
    headline = results.tasks[TASK].headline
    assert headline.ci_low > 0 and headline.p < 0.01
    assert results.tasks[TASK].n_prompts == 38  # 36, 'a man' and 'an old woman'
    drawn = results.tasks[TASK].pool
    assert (drawn.name, drawn.drawn.source) == ("coco", "captions_val2017.json")
    assert drawn.drawn.sha256 == hashlib.sha256(pool.read_bytes()).hexdigest()
    assert open_run(planted).record.pools[TASK] == drawn


def test_a_run_needs_its_captions_once(pool: Path, cli: Cli, tmp_path: Path) -> None:
    file = Path(shutil.copy(pool, tmp_path / pool.name))
    run = (
        "run",
        "--model",
        "toyland",
        "--tasks",
        TASK,
        "--output-dir",
        tmp_path / "runs",
        *FEW[:-1],
        "2",
    )
    status, _, err = cli(*run)
    assert status == 1 and len(err.strip().splitlines()) == 1
    assert (
        f"{TASK} needs captions" in err
        and "--captions coco=captions_val2017.json" in err
    )
    assert not (tmp_path / "runs").exists()
    made, moved = tmp_path / "runs/toyland", tmp_path / "elsewhere"
    assert cli(*run, "--captions", f"coco={file}")[0] == 0
    results = (made / "results.json").read_bytes()
    file.unlink()
    for again in (run, (*run, "--captions", f"coco={file}")):
        assert cli(*again)[0] == 0, again
        assert (made / "results.json").read_bytes() == results
    made.rename(moved)
    assert (
        cli("score", moved)[0] == 0 and (moved / "results.json").read_bytes() == results
    )
    # The same captions in another order, from another file: the same task, byte for byte.
    other = karpathy(tmp_path / "dataset_coco.json", captions()[::-1])
    assert cli(*run, "--captions", f"coco={other}")[0] == 0
    first, second = (one / "tasks" / f"{TASK}.yaml" for one in (moved, made))
    assert (
        first.read_bytes().partition(b"pool:")[0]
        == second.read_bytes().partition(b"pool:")[0]
    )
    first, second = (read_results(one).tasks[TASK] for one in (moved, made))
    assert (first.task_hash, first.headline) == (second.task_hash, second.headline)


def test_other_captions_are_another_task(
    planted: Path, cli: Cli, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(planted, tmp_path / "runs" / planted.name))
    things = ("kite", "map", "ring", "cup", "box", "rope")
    other = coco(tmp_path / "captions_train2017.json", captions(things))
    args = ",".join(f"{key}={value}" for key, value in PLANTED.items())
    command = (
        "run",
        "--model",
        "toyland",
        "--model-args",
        args,
        "--tasks",
        TASK,
        *FEW,
    )
    status, _, err = cli(
        *command, "--output-dir", tmp_path / "runs", "--captions", f"coco={other}"
    )
    assert status == 0 and f"{TASK} is measured again, with other captions" in err
    status, folded, _ = cli("compare", planted, run)
    out = " ".join(folded.split())
    assert "other captions: captions_val2017.json, SHA-256" in out
    assert ", and captions_train2017.json, SHA-256" in out
    assert "1 not compared" in out


def test_tasks_without_captions_are_left_out(
    pool: Path, cli: Cli, tmp_path: Path
) -> None:
    run = ("run", "--model", "toyland", "--output-dir", tmp_path, "--dry-run")
    status, out, err = cli(*run, "--tasks", "openbias_winobias,extended/openbias")
    assert status == 0 and "openbias_skin_tone" in out and TASK not in out
    (line,) = [line for line in err.splitlines() if "left out" in line]
    assert "openbias_coco, openbias_flickr30k are left out" in line
    assert "--captions coco=captions_val2017.json" in line
    assert "--captions flickr30k=results_20130124.token" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("tasks", "given", "said"),
    [
        (TASK, {"cocoa": "x.json"}, "takes captions of 'cocoa'. Did you mean 'coco'?"),
        (TASK, {"coco": "none.json"}, "No such file: 'none.json'"),
        (
            "openbias_flickr*",
            {"coco": "POOL"},
            "no task of this run takes captions of 'coco'",
        ),
        (
            f"{TASK},openbias_flickr30k",
            {"coco": "POOL"},
            "openbias_flickr30k needs captions",
        ),
        (
            f"{TASK},openbias_flickr30k",
            {},
            "openbias_coco (and 1 more task) needs captions",
        ),
    ],
)
def test_invalid_captions_are_refused_with_the_reason(
    tasks: str,
    given: dict[str, str],
    said: str,
    index: TaskIndex[LoadedTask],
    pool: Path,
    tmp_path: Path,
) -> None:
    captions = {name: place.replace("POOL", str(pool)) for name, place in given.items()}
    settings = RunSettings(tasks=tasks, captions=captions)
    with pytest.raises(T2IBenchError) as caught:
        with_captions(index.select(settings.tasks), settings, tmp_path)
    assert said in caught.value.message


def test_ls_lists_tasks_that_wait_for_captions(cli: Cli) -> None:
    status, out, _ = cli("ls", "tasks")
    assert status == 0
    assert "[needs --captions]" in " ".join(out.split())
    assert "it needs --captions coco=captions_val2017.json" in " ".join(
        cli("ls", "openbias_coco")[1].split()
    )
    listed = {
        one["task"]: one["needs"] for one in json.loads(cli("ls", "tasks", "--json")[1])
    }
    assert listed["openbias_flickr30k"] == "--captions flickr30k=results_20130124.token"
    assert sum(map(bool, listed.values())) == 2


def test_own_captions_are_no_submission(planted: Path, tmp_path: Path) -> None:
    """Models may have been given different captions, so that they are not ranked by them."""
    with pytest.raises(T2IBenchError, match="captions of your own alone"):
        pack(planted, tmp_path / "submissions", SilentReporter())
