"""Runs with edits that ended early, whose source images failed or changed, or that people label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from t2ibench import score
from t2ibench.apps.labelling.sample import asked_images
from t2ibench.decisions.obstacles import obstacles
from t2ibench.decisions.profile import MeasurementRule
from t2ibench.errors import T2IBenchError
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import Answer, GeneratedImage, ImageRequest, Query
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.stored_run import prepare_stored
from t2ibench.results.run import open_images, open_run
from t2ibench.store.labels import Label, LabelStore
from tests.pipeline import editing
from tests.pipeline.editing import Editor, write_task
from tests.pipeline.test_edits import OTHER, Paid, edited, files_of, folder_of


def label(run: Path, labeller: str, most: int = 1000) -> None:
    """Store a person's labels of the first images of a run."""
    folder, images = open_images(run)
    asked = list(asked_images(stored_plan(folder), images))[:most]
    LabelStore(folder.database).add(
        Label(item.question, item.classes, item.image, labeller, item.classes[0])
        for item, _ in asked
    )


def test_a_human_label_leaves_the_judge_its_task(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    before = edited(tmp_path)
    run = folder_of(before)
    label(run, "anna", most=1)
    task = score(run).tasks["edited"]
    assert task.n_images == 12 and list(task.settings.judges) == ["toyland"]
    assert task.headline == before.tasks["edited"].headline


class AnswersNothing(ToylandJudge):
    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        return [Answer("unknown") for _ in queries]


def test_source_images_and_edits_can_be_labelled_by_different_people(
    tmp_path: Path,
) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path, judge=AnswersNothing()))
    label(run, "anna")
    label(run / "sources", "ben")
    task = score(run).tasks["edited"]
    assert task.n_images == 12 and list(task.settings.judges) == ["labels by anna"]
    assert task.headline.value == 0


class FailsOnce(Editor):
    """The last source image of women fails."""

    def _outcome(self, request: ImageRequest) -> GeneratedImage:
        is_source = request.source is None and request.prompt == editing.GROUPS["women"]
        if is_source and request.index == 2:
            return GeneratedImage("failed", reason="connection reset")
        return super()._outcome(request)


def test_edits_of_source_images_that_failed_are_still_to_come(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    results = edited(tmp_path, FailsOnce())
    task = results.tasks["edited"]
    assert task.n_images == 10 and task.excluded["failed"] == 2
    assert task.excluded_because == {"failed": {"source image: connection reset": 2}}
    run = folder_of(results)
    assert open_run(run).record.status == "incomplete"
    assert open_run(run / "sources").record.status == "incomplete"
    rule = MeasurementRule.model_construct(task=("edited",), encoder=None, judge=None)
    assert "2 images of edited failed" in " ".join(obstacles(results, rule))
    task = edited(tmp_path, Editor()).tasks["edited"]
    assert task.n_images == 12
    assert open_run(run).record.status == "complete"


def test_what_happened_to_source_images_is_part_of_the_outcome() -> None:
    def outcome(**given: Any) -> Outcome:
        return Outcome(None, Path("run"), Counter(), 0, [], [], **given)

    of_edits = outcome(stopped={"a": "slow"})
    failed = Counter({("failed", "reset"): 3})
    of_edits.add_sources(outcome(not_generated=failed, stopped={"a": "down"}))
    assert of_edits.not_generated == {("failed", "source images: reset"): 3}
    assert of_edits.stopped == {"source images: a": "down", "a": "slow"}


def test_a_budget_buys_every_edit_of_some_source_images(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    editor = Paid()
    with pytest.raises(T2IBenchError, match="4 of 12 edits are there; this") as error:
        edited(tmp_path, editor, max_cost=10)
    assert "prompt" not in str(error.value)
    assert editor.seen["as a doctor"] == editor.seen["stay"] == 2
    (run,) = (tmp_path / "runs").iterdir()
    context, _ = prepare_stored(run, allow_missing=False, call="")
    assert len(context.plan.requests) == len(context.plan.edits.requests) == 4


def test_changed_source_images_that_cost_money_stay(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    run = folder_of(edited(tmp_path, Paid()))
    first, *_ = files_of(run / "sources")
    first.write_bytes(b"changed")
    write_task(tmp_path / "tasks", edits={**editing.EDITS, "suit": "in a suit"})
    editor = Paid()
    with pytest.warns(match="in place of 2 edits that exist"):
        edited(tmp_path, editor)
    assert first.read_bytes() == b"changed"
    assert not any(editor.seen[prompt] for prompt in editing.GROUPS.values())
    assert not editor.seen["as a doctor"]


class EditsAlone(Editor):
    def check_prompts(self) -> None:
        raise T2IBenchError("It needs a source image.", "Give --sources MODEL.")


def test_models_that_make_no_source_images_say_so_first(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    with pytest.raises(T2IBenchError, match=r"source images: It needs .*--sources"):
        edited(tmp_path, EditsAlone())
    assert not list(tmp_path.rglob("images"))
    results = edited(tmp_path, EditsAlone(), sources="toyland")
    assert results.tasks["edited"].n_images == 12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sources": "nonsense:xyz"}, "nonsense"),
        ({"sources_args": {"a": "b"}}, "--sources-args needs --sources"),
    ],
)
def test_source_models_are_checked_without_edits(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    (tmp_path / "tasks").mkdir()
    with pytest.raises(T2IBenchError, match=message):
        edited(tmp_path, tasks=OTHER, **given)
