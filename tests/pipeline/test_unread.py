"""Words that a model does not read: in results, pages and comparisons, whoever generated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from t2ibench.results.files import read_results
from tests.conftest import Cli
from tests.models import tiny

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

TASK = """
id: mine
version: 1
method: openbias
title: Who is shown
description: Two prompts.
citation: None.
images_per_prompt: 2
biases:
  - name: gender
    about: person
    classes: [female, male]
    question: What is the gender of the person?
    captions: [a photo of a chef, a photo of a nurse]
"""
ROOM = "in a large bright room with a red lamp and a blue chair beside the old wooden table"
ENDS = {"plain": " near a window", "asked": " near a window, show a woman"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny pipeline, a task, and rewriters whose requests stand at the end of long prompts."""
    tiny.stable_diffusion(tmp_path / "pipe")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "mine.yaml").write_text(TASK)
    for name, end in ENDS.items():
        rows = [
            {"prompt": prompt, "rewritten": f"{prompt} {ROOM}{end}"}
            for prompt in ("a photo of a chef", "a photo of a nurse")
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def flags(name: str) -> tuple[str, ...]:
    return (
        *("--model", "./pipe", "--device", "cpu", "--model-args", "steps=2,size=32"),
        *("--include-path", "tasks", "--tasks", "mine", "--judge", "clip:toy-clip"),
        *("--name", name, "--rewriter", f"file:{name}.jsonl"),
    )


def test_a_request_that_was_not_read_is_no_difference_that_was_not_found(
    world: Path, cli: Cli
) -> None:
    for name, end in ENDS.items():
        said = cli(*flags(name))[2]
        assert (
            "the end of 2 of 2 prompts was not read (CLIP read the first 77 tokens)"
            in said
        )
        task = read_results(world / "runs" / name).tasks["mine"]
        assert [one.prompt for one in task.unread_prompts] == [
            "a photo of a chef",
            "a photo of a nurse",
        ]
        assert all(one.unread.endswith(end.strip()) for one in task.unread_prompts)
        for page in ("results.md", "report.html"):
            assert "prompts was not read" in (world / "runs" / name / page).read_text()
    status, folded, _ = cli("compare", "runs/plain", "runs/asked")
    out = " ".join(folded.split())
    assert status == 0 and "| no difference |" not in out
    assert out.count("the end of the prompt was not read") == 2
    assert "the end of 2 prompts was not read in the second run" in out
    assert "Not read in asked:" in out and "show a woman'" in out
    # The same words, and the same ones not read: nothing stands in the way of comparing.
    status, folded, _ = cli("compare", "runs/asked", "runs/asked")
    out = " ".join(folded.split())
    assert "| no difference |" in out and "prompts was not read" in out


def test_parts_of_a_run_have_the_results_of_the_whole(world: Path, cli: Cli) -> None:
    for number in (2, 1):
        cli(*flags("asked"), "--shard", f"{number}/2")
    cli("merge", *sorted(map(str, Path("runs").glob("shard-*/asked"))))
    merged = read_results(world / "runs" / "asked")
    assert (
        len(merged.model.unread_prompts)
        == len(merged.tasks["mine"].unread_prompts)
        == 2
    )
    cli(*flags("asked"), "--output-dir", "whole")
    whole = read_results(world / "whole" / "asked")
    assert merged.model.unread_prompts == whole.model.unread_prompts
    assert list(merged.model.unread_prompts) == sorted(merged.model.unread_prompts)
    assert merged.tasks["mine"].unread_prompts == whole.tasks["mine"].unread_prompts


def test_a_run_that_only_generates_says_so_too(world: Path, cli: Cli) -> None:
    status, _, said = cli(*flags("asked"), "--generate-only")
    assert status == 0 and "the end of 2 of 2 prompts was not read" in said
