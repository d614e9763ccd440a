"""The walks of CONTRIBUTING.md: each is followed by a real run, and is short."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import ClassVar

import pytest

from t2ibench.cli import main
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.results.files import read_results
from tests.walks import Recorder, Walk, in_contributing, types_with

pytestmark = pytest.mark.networks

TASK = "walked"
FILE = """
id: walked
version: 1
method: t2iat
title: Flowers and insects, pleasant and unpleasant
description: Do images of flowers look pleasant?
citation: None.
tags: [benign]
concepts:
  X: {name: flowers, stimuli: [rose, tulip, daisy]}
  Y: {name: insects, stimuli: [ant, wasp, flea]}
attributes:
  A: {name: pleasant words, words: pleasant_5}
  B: {name: unpleasant words, words: unpleasant_5b}
prompts:
  neutral: "a photo of {a stimulus}"
  guided: "a photo of {a stimulus}, {attribute}"
words_per_stimulus: 2
images_per_prompt: 4
guided_images_per_prompt: 2
"""
MOST = 10


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task of its own, so that nothing has been read before."""
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "walked.yaml").write_text(FILE, encoding="utf-8")
    return folder


def call(*words: str | Path) -> None:
    """Run a command of t2ibench in this thread."""
    with redirect_stdout(StringIO()):
        assert main([str(word) for word in words]) == 0


@pytest.fixture(scope="module")
def scored(
    tasks: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recorder, Path]:
    """What a whole run does with the walk of a score, and the folder of the run."""
    score = Walk(in_contributing("A score"))
    backwards = Walk(reversed(score.functions))
    recorder = Recorder(score, backwards)
    runs = tmp_path_factory.mktemp("runs")
    words = ["--model", "toyland", "--include-path", tasks, "--tasks", TASK]
    words += ["--encoder", "toyland", "--permutations", "200", "--bootstrap", "100"]
    with recorder.recording():
        call(*words, "--output-dir", runs)
    (run,) = runs.iterdir()
    return recorder, run


class Walked(ToylandGenerator):
    """Notes the functions between the command line and itself."""

    ways: ClassVar[list[list[str]]] = []

    def __init__(self) -> None:
        super().__init__({})

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        names = [frame.function for frame in inspect.stack()]
        self.ways.append(names[: names.index("main") + 1])
        return super().generate(requests)


def test_an_image_is_at_most_ten_functions_from_the_command_line(
    tasks: Path, tmp_path: Path
) -> None:
    words = ["--model", f"{__name__}:Walked", "--include-path", tasks, "--tasks", TASK]
    words += ["--encoder", "toyland", "--permutations", "200", "--bootstrap", "100"]
    call(*words, "--images-per-prompt", "1", "--output-dir", tmp_path)
    table = [function.split(".")[-1] for function, _ in in_contributing("An image")]
    assert Walked.ways
    for walk in Walked.ways:
        assert walk[::-1] == [*table, "generate"]
        assert len(walk) <= MOST, " < ".join(walk)


def test_a_score_takes_at_most_ten_forms(scored: tuple[Recorder, Path]) -> None:
    """The types that hold the number are those of the run, whatever the table says."""
    recorder, run = scored
    score, backwards = recorder.walks
    assert score.followed == score.functions
    assert backwards.followed != backwards.functions
    assert len(score.functions) <= MOST
    headline = read_results(run).tasks[TASK].headline
    assert headline.value is not None
    types = types_with(headline.value, recorder.returned)
    assert {"HeadlineEstimate", "Headline", "IntervalMark"} <= types
    assert len(types) <= MOST, sorted(types)
    assert f"{headline.value:+.2f}" in str(score.steps[-1].returned[-1])


def test_a_task_file_becomes_a_plan_in_ten_steps(tasks: Path, tmp_path: Path) -> None:
    task_file = Walk(in_contributing("A task file"))
    recorder = Recorder(task_file)
    words = ["--model", "toyland", "--include-path", tasks, "--tasks", TASK]
    with recorder.recording():
        call(*words, "--encoder", "toyland", "--output-dir", tmp_path, "--dry-run")
    assert task_file.followed == task_file.functions
    assert len(task_file.functions) <= MOST
    assert recorder.deepest() <= MOST, recorder.depths


def test_results_become_a_page_in_ten_steps(scored: tuple[Recorder, Path]) -> None:
    page = Walk(in_contributing("A page"))
    recorder = Recorder(page)
    with recorder.recording():
        call("report", scored[1])
    assert page.followed == page.functions
    assert len(page.functions) <= MOST
    assert recorder.deepest() <= MOST, recorder.depths
