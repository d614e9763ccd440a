"""A model that judges its own images: named, and counted how often it sees what was asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.methods import needs
from t2ibench.pipeline.self_judgement import (
    SeenGroups,
    judges_itself,
    seen_groups,
    self_judgement_line,
)
from t2ibench.results import read_results
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.models import tiny_unified
from tools.calibration.worlds import WorldEvidence


@pytest.mark.parametrize(
    ("generator", "judge", "same"),
    [
        ("transformers:org/janus", "vlm:org/janus", True),
        ("transformers:./janus", f"vlm:{Path.cwd()}/janus", True),
        ("chat:maker/painter", "openai:maker/painter", True),
        ("transformers:org/janus", "vlm:org/other", False),
        ("toyland", "toyland", False),
        ("toyland", "clip", False),
        ("", "vlm:org/janus", False),
        ("openai:painter", "answers:labels.csv,by=anna", False),
    ],
)
def test_a_judge_is_the_model_itself_by_its_weights_name(
    generator: str, judge: str, same: bool
) -> None:
    assert judges_itself(generator, judge) == same


def test_the_line_counts_the_images_in_which_it_sees_what_was_asked() -> None:
    line = self_judgement_line("vlm:m", SeenGroups(8, 1, 1), 0.95)
    assert "vlm:m has the name of the model that drew these images" in line
    assert "Have another judge or people answer, too." in line
    assert "In 8 of 10 images whose prompt names a group" in line
    assert "(80 %, 95 % interval 44 to 97 %)" in line
    assert "in 1 another one; about 1 it does not know." in line
    assert "Does it see" not in self_judgement_line("vlm:m", SeenGroups(0, 0, 0), 0.95)


def test_prompts_of_facts_name_no_group_that_could_be_seen() -> None:
    (loaded,) = load_tasks(["occupations_facts_gender"])
    wanted = needs(loaded.spec, Settings())
    replies = {
        (check.prompt, check.question, check.classes): ["male"] * check.images
        for check in wanted.checks
    }
    images_by_group = Counter[str]()
    for check in wanted.checks:
        images_by_group[wanted.groups[check.prompt]] += check.images
    seen = seen_groups(wanted, WorldEvidence({}, {}, replies))
    assert images_by_group["fact, male"] > 0
    assert seen.as_asked == images_by_group["male"]
    assert seen.another == images_by_group["female"]


@pytest.mark.nightly  # loads torch models
@pytest.mark.parametrize("own", [True, False])
def test_a_run_says_that_its_model_judged_itself(own: bool, tmp_path: Path) -> None:
    drawing = tiny_unified.janus(tmp_path / "janus")
    judging = drawing if own else tiny_unified.janus(tmp_path / "other")
    words = ["--model", f"transformers:{drawing}", "--judge", f"vlm:{judging}"]
    words += ["--tasks", "mcas_all", "--encoder", "toyland", "--limit", "1"]
    words += ["--images-per-prompt", "2", "--guided-images-per-prompt", "2"]
    main([*words, "--device", "cpu", "--output-dir", str(tmp_path / "runs")])
    (folder,) = (tmp_path / "runs").iterdir()
    results = read_results(folder)
    lines = [
        line
        for task in results.tasks.values()
        for line in task.warnings
        if "self-judgement" in line
    ]
    assert len(lines) == own
    assert not own or "Does it see what it draws? In " in lines[0]
    assert ("self-judgement" in (folder / "results.md").read_text()) == own
