"""`report --reference`: a run beside models that were measured alike, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.apps.leaderboard.reference import (
    ReferenceModel,
    TestReference,
    read_references,
    reference_text,
    references,
)
from t2ibench.results import read_results
from t2ibench.results.schema import Results, TaskResult
from tests import hand
from tests.conftest import Cli
from tests.shipped import SUBMISSIONS, shipped

PEOPLE = "answered by people"
EVEN = [1.0, -1.0] * 20
ONE_SIDED = [1.0] * 38 + [-1.0] * 2


def run(name: str, images: list[float], **changes: object) -> Results:
    """A run of one test about two prompts, by a model of its own."""
    task = hand.record(hand.mean_lean({"a nurse": images, "a chef": images}), **changes)
    results = hand.results(name, test=task)
    results.model.fingerprint = name
    return results


def only(results: Results, *others: Results) -> TestReference:
    models = [ReferenceModel(other.title, other) for other in others]
    (test,) = references(results, models)
    return test


def test_a_model_counts_where_the_difference_is_clear() -> None:
    own = run("own", ONE_SIDED)
    others = [run("even", EVEN), run("level", EVEN[::-1]), run("twin", ONE_SIDED)]
    test = only(own, *others)
    assert (test.more, test.less, test.unclear) == (["even", "level"], [], ["twin"])
    assert test.sentence == (
        "More one-sided than 2 of 3 models measured alike (even; level); "
        "not clearly different from 1 (twin)."
    )
    test = only(others[0], own)
    assert test.sentence == "Less one-sided than 1 of 1 model measured alike (own)."


def test_a_lean_to_the_other_side_is_no_more_one_sided() -> None:
    mirrored = [-value for value in ONE_SIDED]
    test = only(run("own", ONE_SIDED), run("mirrored", mirrored))
    assert test.unclear == ["mirrored"]


def test_a_difference_that_may_be_chance_is_not_counted() -> None:
    few = only(run("own", [1.0, 1.0, 1.0, -1.0]), run("other", [1.0, -1.0, 1.0, -1.0]))
    assert few.sentence.startswith("Not clearly different from 1 of 1 model")


def test_the_correction_is_over_all_comparisons_that_are_shown() -> None:
    def wide(name: str, images: list[float]) -> Results:
        results = run(name, images)
        task = results.tasks["test"]
        tasks = {f"test{number}": task for number in range(60)}
        return results.model_copy(update={"tasks": tasks})

    own, other = [1.0] * 28 + [-1.0] * 12, EVEN
    alone = only(run("own", own), run("other", other))
    assert alone.more == ["other"]
    models = [ReferenceModel("other", wide("other", other))]
    assert not any(test.more for test in references(wide("own", own), models))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"task_hash": "other"}, "with another version of the task"),
        (
            {"settings": hand.settings(encoders={"toyland": "e" * 64})},
            "with another encoder",
        ),
        (
            {"settings": hand.settings(judges={"people": "e" * 64})},
            "with another judge",
        ),
        (
            {"settings": hand.settings(images_per_prompt=7)},
            "with another number of images",
        ),
        ({"n_prompts": 3}, "with another number of images"),
        (
            {"settings": hand.settings(n_bootstrap=77)},
            "with another level or number of draws",
        ),
        ({"inconclusive": "blind"}, "with an inconclusive test"),
    ],
)
def test_a_model_that_was_measured_otherwise_is_no_reference(
    change: dict[str, object], why: str
) -> None:
    test = only(run("own", ONE_SIDED), run("other", EVEN, **change))
    assert not (test.more or test.less or test.unclear)
    assert test.sentence == f"No model was measured alike: 1 {why}."


def test_what_decides_nothing_in_the_run_is_not_compared() -> None:
    other = run("other", EVEN)
    undecided = only(run("own", ONE_SIDED, inconclusive="blind"), other)
    assert undecided.sentence == "Not compared: it is inconclusive in this run."
    limited = run("own", ONE_SIDED, settings=hand.settings(limit=2))
    assert "partial" in only(limited, other).sentence
    control = run("own", ONE_SIDED, positive_control=True)
    assert references(control, [ReferenceModel("other", other)]) == []
    without = hand.results(test=hand.task())
    assert "no headline" in only(without, other).sentence


def test_a_submission_is_never_its_own_reference() -> None:
    results = read_results(shipped("toy"))
    models, problems = read_references(SUBMISSIONS.parent, results)
    assert {model.name for model in models} == {
        "toy-fair",
        "toyland-fair",
        *(f"{name}, {PEOPLE}" for name in ("DALL-E 3", "FLUX.1-dev", "SDXL Turbo")),
    }
    assert problems == ["toy: left out: it is the model of this run"]


def test_the_same_results_of_an_unknown_model_are_no_reference() -> None:
    results = read_results(shipped("toy"))
    results.model.fingerprint = None
    _, problems = read_references(SUBMISSIONS, results)
    assert problems == ["toy: left out: its results are those of this run"]


def with_text(change: Callable[[str], str]) -> Callable[[Path], object]:
    def write(folder: Path) -> object:
        file = folder / "submission.json"
        return file.write_text(change(file.read_text(encoding="utf-8")), "utf-8")

    return write


@pytest.mark.parametrize(
    "damage",
    [
        with_text(lambda text: text[:-20]),
        with_text(lambda text: text.replace('"name": "toy-fair"', '"name": 5')),
        lambda folder: (folder / "results.json").write_text("{}", "utf-8"),
    ],
)
def test_a_damaged_submission_is_left_out_and_named(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    for name in (shipped("toy-fair").name, shipped("toyland-fair").name):
        (tmp_path / name).mkdir()
        for file in ("submission.json", "results.json"):
            content = (SUBMISSIONS / name / file).read_bytes()
            (tmp_path / name / file).write_bytes(content)
    damage(tmp_path / shipped("toy-fair").name)
    results = read_results(shipped("toy"))
    models, problems = read_references(tmp_path, results)
    assert [model.name for model in models] == ["toyland-fair"]
    assert len(problems) == 1 and f"{shipped('toy-fair').name}: left out" in problems[0]


def test_report_prints_sentences(cli: Cli, tmp_path: Path) -> None:
    words = ("report", shipped("toy"), "--reference")
    status, text, errors = cli(*words, SUBMISSIONS)
    assert status == 0, errors
    lines = text.splitlines()
    tested = {line.partition(":")[0] for line in lines[: lines.index("")]}
    tasks: dict[str, TaskResult] = read_results(shipped("toy")).tasks
    assert tested == {
        name
        for name, task in tasks.items()
        if not task.positive_control and not name.startswith("weat")
    }
    assert (
        "openbias_examples: More one-sided than 1 of 2 models measured alike "
        "(toyland-fair); not clearly different from 1 (toy-fair)." in lines
    )
    assert "p below 0.05 after Holm's correction over the 13 comparisons" in text
    status, _, errors = cli(*words, tmp_path)
    assert status == 1 and "holds no submissions" in errors
    status, _, errors = cli(*words, SUBMISSIONS, "--format", "md", "--title", "x")
    assert status == 1 and "Leave --format, --title out" in errors


def test_without_comparisons_nothing_is_said_of_their_p_values() -> None:
    text = reference_text(run("own", ONE_SIDED), [], [])
    assert "there is none" in text and "Holm" not in text
    (line, *_) = reference_text(hand.results(), [], []).splitlines()
    assert line == "No test on images was scored in this run."
