"""Tasks that ship without their captions: from the captions' file to a result, whole commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.leaderboard.board import read_board
from t2ibench.leaderboard.submission import pack
from t2ibench.leaderboard.verdicts import Finding
from t2ibench.leaderboard.verify import verify
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.reading import read_results
from t2ibench.results.schema import Results
from tests.leaderboard.forging import seal
from tests.proposals.pool_files import captions, coco, karpathy, token

Cli = Callable[..., tuple[int, str, str]]
SMALL: dict[str, Any] = {"n_permutations": 300, "n_bootstrap": 200, "images_per_prompt": 4}
FEW = ("--permutations", "300", "--bootstrap", "200", "--images-per-prompt", "4")
TASK = "openbias_coco"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coco(tmp_path_factory.mktemp("pool") / "captions_val2017.json", captions())


@pytest.fixture(scope="module")
def planted(pool: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in whose world nine of ten people are men."""
    folder = tmp_path_factory.mktemp("planted")
    args = {"all.gender.female": 0.1, "all.age.old": 0.5, "all.skin.dark": 0.5}
    given = {"coco": pool}
    evaluate("toyland", TASK, model_args=args, captions=given, output_dir=folder, **SMALL)
    (run,) = folder.iterdir()
    return run


def row(results: Results, name: str) -> dict[str, Any]:
    (found,) = [row for row in results.tasks[TASK].by if row.name == name]
    return found.scores


def test_a_planted_lean_is_found(planted: Path) -> None:
    results = read_results(planted)
    lean = row(results, "person gender")["lean"]
    assert lean.ci_low <= -0.8 <= lean.ci_high and lean.p < 1e-3  # male is the second of the two
    headline = results.tasks[TASK].headline
    assert headline.ci_low > 0 and headline.p < 0.01
    # Old or adult people: half the ways that three classes may lean.
    assert results.tasks[TASK].n_prompts == 39  # 36, and those who are a man, or an old woman


def test_a_fair_world_gives_none(pool: Path, tmp_path: Path) -> None:
    args = {"all.gender.female": 0.5, "all.age.old": 0.5, "all.skin.dark": 0.5}
    results = evaluate(
        "toyland", TASK, model_args=args, captions={"coco": pool}, output_dir=tmp_path, **SMALL
    )
    gender = row(results, "person gender")
    assert gender["h"].ci_low <= 0 <= gender["h"].ci_high
    assert gender["lean"].p > 0.05 and abs(gender["lean"].value) < 0.2


def test_what_a_run_records(planted: Path, pool: Path) -> None:
    import hashlib

    drawn = read_results(planted).tasks[TASK].pool
    assert drawn is not None and drawn.drawn is not None
    assert (drawn.name, drawn.drawn.source) == ("coco", "captions_val2017.json")
    assert drawn.drawn.sha256 == hashlib.sha256(pool.read_bytes()).hexdigest()
    record = json.loads((planted / "run.json").read_text(encoding="utf-8"))
    assert record["pools"][TASK] == json.loads(drawn.model_dump_json())


def test_a_run_needs_its_captions_once(pool: Path, cli: Cli, tmp_path: Path) -> None:
    file = Path(shutil.copy(pool, tmp_path / pool.name))
    run = ("run", "--model", "toyland", "--tasks", TASK, "--output-dir", tmp_path / "runs", *FEW)
    status, _, err = cli(*run)
    assert status == 1 and len(err.strip().splitlines()) == 1
    assert f"{TASK} needs captions" in err and "--captions coco=captions_val2017.json" in err
    assert not (tmp_path / "runs").exists()
    assert cli(*run, "--captions", f"coco={file}")[0] == 0
    results = (tmp_path / "runs/toyland/results.json").read_bytes()
    kept = (tmp_path / f"runs/toyland/tasks/{TASK}.yaml").read_bytes()
    file.unlink()
    for again in (run, (*run, "--captions", f"coco={file}"), ("score", tmp_path / "runs/toyland")):
        assert cli(*again)[0] == 0, again
        assert (tmp_path / "runs/toyland/results.json").read_bytes() == results
    moved = tmp_path / "elsewhere"
    (tmp_path / "runs/toyland").rename(moved)
    assert cli("score", moved)[0] == 0 and (moved / "results.json").read_bytes() == results
    assert cli("report", moved)[0] == 0
    # The same captions in another order, from another file: the same task, byte for byte.
    other = karpathy(tmp_path / "dataset_coco.json", [text for text in captions()[::-1]])
    text = other.read_text(encoding="utf-8").replace(' ."', '"')
    other.write_text(text, encoding="utf-8")
    assert cli(*run, "--captions", f"coco={other}", "--workers", "2")[0] == 0
    again_kept = (tmp_path / f"runs/toyland/tasks/{TASK}.yaml").read_bytes()
    assert again_kept.partition(b"pool:")[0] == kept.partition(b"pool:")[0]
    first, second = read_results(moved), read_results(tmp_path / "runs/toyland")
    assert first.tasks[TASK].task_hash == second.tasks[TASK].task_hash
    assert first.tasks[TASK].headline == second.tasks[TASK].headline


def test_other_captions_are_another_task(planted: Path, cli: Cli, tmp_path: Path) -> None:
    run = Path(shutil.copytree(planted, tmp_path / "runs" / planted.name))
    other = coco(tmp_path / "captions_train2017.json", captions(("kite", "map", "ring", "cup",
                                                                 "box", "rope")))  # fmt: skip
    args = "all.age.old=0.5,all.gender.female=0.1,all.skin.dark=0.5"
    command = ("run", "--model", "toyland", "--model-args", args, "--tasks", TASK, *FEW)
    status, _, err = cli(*command, "--output-dir", tmp_path / "runs", "--captions", f"coco={other}")
    assert status == 0 and "had other captions" in err and "captions_train2017.json" in err
    status, out, _ = cli("compare", planted, run)
    assert "other captions: captions_val2017.json, SHA-256" in out
    assert ", and captions_train2017.json, SHA-256" in out
    assert "1 not compared" in out


def test_tasks_without_captions_are_left_out(pool: Path, cli: Cli, tmp_path: Path) -> None:
    run = ("run", "--model", "toyland", "--output-dir", tmp_path, "--dry-run")
    status, out, err = cli(*run, "--tasks", "openbias_winobias,extended/openbias")
    assert status == 0 and "openbias_skin_tone" in out and TASK not in out
    (line,) = [line for line in err.splitlines() if "left out" in line]
    assert "openbias_coco, openbias_flickr30k are left out" in line
    assert "--captions coco=captions_val2017.json" in line
    assert "--captions flickr30k=results_20130124.token" in line
    status, out, err = cli(*run, "--tasks", "extended/openbias", "--captions", f"coco={pool}")
    assert status == 0 and TASK in out and "openbias_flickr30k is left out" in err
    assert not list(tmp_path.iterdir())
    for tasks, given, said in (
        (TASK, "cocoa=x.json", "no task takes captions of 'cocoa'. Did you mean 'coco'?"),
        (TASK, f"coco={tmp_path / 'none.json'}", "No such file"),
        ("openbias_flickr*", f"coco={pool}", "openbias_flickr30k needs captions"),
        (f"{TASK},openbias_flickr30k", f"coco={pool}", "openbias_flickr30k needs captions"),
    ):
        status, _, err = cli(*run, "--tasks", tasks, "--captions", given)
        assert status == 1 and said in err, tasks
        assert len(err.strip().splitlines()) == 1
    status, _, err = cli(*run, "--tasks", "openbias_winobias", "--captions", f"coco={pool}")
    assert status == 0 and "--captions coco is not used" in err


def test_what_lists_tasks_needs_no_captions(cli: Cli, tmp_path: Path) -> None:
    status, out, _ = cli("ls", "tasks")
    assert status == 0 and "[--captions coco=captions_val2017.json]" in out
    listed = {one["task"]: one["needs"] for one in json.loads(cli("ls", "tasks", "--json")[1])}
    assert listed["openbias_flickr30k"] == "--captions flickr30k=results_20130124.token"
    assert sum(map(bool, listed.values())) == 2
    assert cli("export-tasks", tmp_path / "set", "--tasks", f"{TASK},openbias_examples")[0] == 0
    assert cli("validate", tmp_path / "set" / "tasks")[1].count("needs") == 0
    text = (tmp_path / f"set/tasks/extended/openbias/{TASK}.yaml").read_text(encoding="utf-8")
    assert "licence: Creative Commons" in text and "biases:" not in text
    status, _, err = cli("power", "--tasks", TASK)
    assert status == 1 and f"How large {TASK} is depends on its captions" in err


def test_a_submission_brings_its_captions(planted: Path, tmp_path: Path) -> None:
    packed = pack(planted, tmp_path / "submissions", SilentReporter())
    verdict = verify(packed)
    assert (verdict.level, verdict.problems, verdict.tasks) == ("recomputed", [], 1)
    assert "captions" in verdict.stated
    assert (
        "captions_val2017.json" in json.loads((packed / "results.json").read_text())["command"][-3]
    )
    # Models may have been given different captions, so that they are not ranked by them.
    board = read_board(tmp_path / "submissions", lambda _: Finding("recomputed"))
    assert not board.entries and "captions of its own alone" in board.refused[0].problem
    file = packed / "tasks" / f"{TASK}.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("support: 30", "support: 3"), encoding="utf-8")
    seal(packed)
    assert "lacks its captions, or they are of another version" in verify(packed).problems[0]
    file.write_text(text.replace("captions: 39", "captions: 40"), encoding="utf-8")
    seal(packed)
    assert "names other captions" in verify(packed).problems[0]
    file.unlink()
    seal(packed)
    assert f"{TASK} lacks its captions" in verify(packed).problems[0]


def test_slurm_jobs_find_the_captions(pool: Path, cli: Cli, tmp_path: Path) -> None:
    file = Path(shutil.copy(pool, tmp_path / pool.name))
    run = ("run", "--model", "toyland", "--tasks", TASK, "--output-dir", tmp_path / "runs", *FEW)
    assert cli(*run, "--captions", f"coco={file}", "--engine", "slurm")[0] == 0
    file.unlink()
    (config,) = (tmp_path / "runs/toyland/slurm").glob("*/run.yaml")
    assert cli("run", "--config", config, "--dry-run")[0] == 0


def test_flickr_beside_coco(pool: Path, cli: Cli, tmp_path: Path) -> None:
    flickr = token(tmp_path / "results_20130124.token", captions(("map",) * 6 + ("kite",)))
    status, _, err = cli("run", "--model", "toyland", "--tasks", "openbias_flickr30k", "--dry-run",
                         "--output-dir", tmp_path, "--captions", f"flickr30k={flickr}")  # fmt: skip
    assert status == 1 and "has 13 of one person" in err and "captions of Flickr30k" in err
    token(flickr, captions())
    status, out, _ = cli(
        *("run", "--model", "toyland", "--tasks", f"{TASK},openbias_flickr30k", "--dry-run"),
        *("--output-dir", tmp_path, "--captions", f"flickr30k={flickr}"),
        *("--captions", f"coco={pool}"),
    )
    assert status == 0 and TASK in out and "openbias_flickr30k" in out
