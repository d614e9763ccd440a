"""`t2ibench ls`: tasks by suite, group, tag and pattern, and one task in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from t2ibench.methods import needs
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests.conftest import Cli


def listed(cli: Cli, *words: str) -> list[str]:
    status, out, err = cli("ls", *words, "--json")
    assert status == 0, err
    return [row["task"] for row in json.loads(out)]


@pytest.mark.parametrize(
    "pattern", ["core", "all", "extended", "mcas", "tag:gender", "t2iat_*", "core,weat"]
)
def test_ls_selects_the_same_tasks_as_the_flag_tasks(pattern: str, cli: Cli) -> None:
    names = listed(cli, pattern)
    assert names
    assert names == [task.id for task in load_tasks(pattern)]


def test_the_table_of_tasks_fits_a_hundred_columns_and_counts_images(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    status, out, _ = cli("ls")
    lines = out.splitlines()
    assert status == 0
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["task", "suite", "images", "title"]
    (row,) = [line for line in lines if line.startswith("core_science_arts ")]
    (task,) = load_tasks("core_science_arts")
    images = needs(task.spec, Settings()).n_images
    assert row.split()[:3] == ["core_science_arts", "core", f"{images:,}"]
    (row,) = [line for line in lines if line.startswith("weat_1_flowers_insects ")]
    assert row.split()[:3] == ["weat_1_flowers_insects", "all", "0"]
    # 8 edits of each of 80 source images.
    (row,) = [line for line in lines if line.startswith("edits_people ")]
    assert row.split()[:3] == ["edits_people", "extended", "720"]


def test_a_task_is_printed_in_full(cli: Cli) -> None:
    status, out, _ = cli("ls", "t2iat_flowers_insects")
    assert status == 0
    (task,) = load_tasks("t2iat_flowers_insects")
    text = " ".join(out.split())
    for part in (
        task.spec.title,
        " ".join(task.spec.description.split()),
        " ".join(task.spec.citation.split()),
        *(" ".join(note.split()) for note in task.spec.notes),
        "Suite all; group t2iat; tag:benign, tag:valence; a positive control",
        "attributes.A: pleasant words (",
        "Stable Diffusion 2.1: effect_size 1.492 (Wang et al. (2023), Table 1)",
        f"Version {task.spec.version}, SHA-256 {task.hash[:16]}",
        f"File {task.path}",
    ):
        assert part in text, part
    asked = needs(task.spec, Settings())
    assert f"Images {asked.n_images:,} of {len(asked.images_by_prompt)} prompts" in text
    first, *_, last = asked.images_by_prompt
    assert first in out
    assert last not in out
    assert "more prompts (--verbose)" in out
    every = " ".join(cli("ls", "t2iat_flowers_insects", "--verbose")[1].split())
    assert all(prompt in every for prompt in asked.images_by_prompt)
    assert "--verbose" not in every


@pytest.mark.slow
def test_every_shipped_task_has_a_page_that_fits(cli: Cli) -> None:
    for task in load_tasks("all,extended"):
        status, out, err = cli("ls", task.id)
        assert status == 0, err
        widest = max(out.splitlines(), key=len)
        assert len(widest) <= 100 or str(task.path) in widest


def test_a_task_of_every_method_has_a_record(cli: Cli) -> None:
    of_method = {task.spec.method: task for task in load_tasks("all,extended")}
    for task in of_method.values():
        record = json.loads(cli("ls", task.id, "--json")[1])
        assert record["citation"] == task.spec.citation
        assert record["sets"] or task.spec.awaits


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("modles", "models"),
        ("t2iat_flowers_insect", "t2iat_flowers_insects"),
        ("tag:gendr", "tag:gender"),
        ("extendd", "extended"),
        ("occupation", "occupations"),
    ],
)
def test_an_unknown_word_names_the_nearest(word: str, nearest: str, cli: Cli) -> None:
    status, out, err = cli("ls", word)
    assert status == 1
    assert out == ""
    assert f"Nothing is called '{word}'. Did you mean '{nearest}'?" in err
    assert len(err.splitlines()) == 1


def test_a_users_task_is_printed_and_a_broken_one_names_the_line(
    cli: Cli, tmp_path: Path
) -> None:
    (shipped,) = load_tasks("weat_7_math_arts")
    text = shipped.path.read_text(encoding="utf-8").replace("weat_7_math_arts", "mine")
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    status, out, _ = cli("ls", "mine", "--include-path", tmp_path)
    assert status == 0
    assert str(tmp_path / "mine.yaml") in "".join(out.split())
    assert "targets.X: mathematics (math, algebra" in out
    (tmp_path / "mine.yaml").write_text(text.replace("version: 1", "version: one"))
    status, _, err = cli("ls", "mine", "--include-path", tmp_path)
    assert status == 1
    assert "mine.yaml:2: version" in err


def test_help_says_every_word(cli: Cli) -> None:
    out = " ".join(cli("ls", "--help")[1].split())
    for word in (
        "core, all or extended",
        "tag:gender",
        "groups",
        "judges",
        "rewriters",
        "writers",
    ):
        assert word in out
