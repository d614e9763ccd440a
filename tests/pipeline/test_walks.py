"""The walks of CONTRIBUTING.md: each is followed by a real run, and is short."""

from __future__ import annotations

from pathlib import Path

from t2ibench.results.files import read_results
from tests.conftest import Cli
from tests.walks import Recorder, Walk, in_contributing, types_with

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


def test_each_walk_is_followed_by_a_run_and_is_short(tmp_path: Path, cli: Cli) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "walked.yaml").write_text(FILE, encoding="utf-8")
    score, task_file = (
        Walk(in_contributing(name)) for name in ("A score", "A task file")
    )
    backwards = Walk(reversed(score.functions))
    recorder = Recorder(score, task_file, backwards)
    words = ["--model", "toyland", "--include-path", tasks, "--tasks", TASK]
    words += ["--encoder", "toyland", "--permutations", "200", "--bootstrap", "100"]
    words += ["--output-dir", tmp_path / "runs"]
    with recorder.recording():
        status, _, err = cli(*words)
    assert status == 0, err
    assert score.followed == score.functions
    assert task_file.followed == task_file.functions
    assert backwards.followed != backwards.functions
    assert 6 <= len(score.functions) <= MOST and 4 <= len(task_file.functions) <= MOST
    assert recorder.depth(*task_file.functions[0]) <= MOST
    (run,) = (tmp_path / "runs").iterdir()
    headline = read_results(run).tasks[TASK].headline
    assert headline.value is not None
    types = types_with(headline.value, recorder.returned)
    assert {"HeadlineEstimate", "Headline", "IntervalMark"} <= types
    assert len(types) <= MOST, sorted(types)
    assert f"{headline.value:+.2f}" in str(score.steps[-1].returned[-1])

    page = Walk(in_contributing("A page"))
    recorder = Recorder(page)
    with recorder.recording():
        status, _, err = cli("report", run)
    assert status == 0, err
    assert page.followed == page.functions and 4 <= len(page.functions) <= MOST
    depths = {name: recorder.depth(name, file) for name, file in page.functions}
    assert max(depths.values()) <= MOST, depths
