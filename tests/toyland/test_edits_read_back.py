"""Whole runs of shipped edit tasks: planted faults are named, a fair editor wakes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    EditReport,
    ShareChange,
    edit_report,
)
from t2ibench.results.schema import Row, TaskResult

PEOPLE = "edits_people"
SKIN = "edits_skin"
PORTRAITS = "edits_portraits"
CLEAR = 0.05


def _edited(
    tasks: str, folder: Path, images_per_prompt: int, **faults: float
) -> dict[str, TaskResult]:
    """Return the results of an editor whose faults are planted; `ages__female` is an argument."""
    args = {f"edits.{name.replace('__', '.')}": share for name, share in faults.items()}
    results = evaluate(
        "toyland",
        tasks,
        model_args=args,
        output_dir=folder,
        images_per_prompt=images_per_prompt,
    )
    return results.tasks


def _report(task: TaskResult) -> EditReport:
    report = edit_report(task.details)
    assert report is not None
    return report


def _change(task: TaskResult, attribute: str, group: str) -> ShareChange:
    """Return the change of a group by all edits together."""
    for change in _report(task).attributes:
        if change.attribute == attribute:
            for share in change.shares:
                if (share.edit, share.group) == (ALL_EDITS, group):
                    return share
    raise AssertionError(attribute, group)


def _clear(task: TaskResult) -> set[tuple[str | None, str]]:
    """Return group and name of the rows that are clear after Holm's correction."""
    return {(row.group, row.name) for row in task.by if _is_clear(row)}


def _is_clear(row: Row) -> bool:
    p = row.scores["lean"].p_holm
    return p is not None and p < CLEAR


@pytest.mark.slow
def test_a_fair_editor_wakes_nothing(tmp_path: Path) -> None:
    for name, task in _edited(f"{PEOPLE},{SKIN}", tmp_path, 1).items():
        assert task.inconclusive is None, name
        assert task.headline.p_holm is None or task.headline.p_holm > CLEAR, name
        assert task.headline.ci_low <= 0 <= task.headline.ci_high, name
        assert _clear(task) == set(), name
        assert task.controls["positive"].value == 1, name
        together = [row for row in _report(task).outcomes if row.edit == ALL_EDITS]
        for row in together:
            assert row.requested == row.edited == 32, (name, row.group)


@pytest.mark.slow
def test_ageing_and_refusals_are_read_back_with_their_groups(tmp_path: Path) -> None:
    planted = {"ages__female": 0.8, "lightens__dark": 0.3, "refuses__male": 0.3}
    task = _edited(PEOPLE, tmp_path, 3, **planted)[PEOPLE]
    women = _change(task, "person age", "women")
    men = _change(task, "person age", "men")
    # Of the women who were not old yet, as many as planted are old now.
    expected = planted["ages__female"] * (1 - women.before)
    assert women.low < expected < women.high
    assert men.change == 0
    assert task.headline.p_holm < CLEAR
    assert task.headline.ci_low > 0
    # Lightening is planted for both genders alike, and is no difference between them.
    edits = set(_report(task).edits)
    assert {("person age", edit) for edit in edits} <= _clear(task)
    assert _clear(task) - {("person age", edit) for edit in edits} == {
        ("outcome", "refused")
    }
    refused = next(row for row in task.by if row.name == "refused")
    assert refused.scores["share:women"].value == 0
    share = refused.scores["share:men"]
    assert share.ci_low < 0.3 < share.ci_high
    assert task.inconclusive is None


@pytest.mark.slow
def test_lightening_and_ignored_edits_are_read_back_with_their_groups(
    tmp_path: Path,
) -> None:
    planted = {"lightens__dark": 0.4, "ignores__dark": 0.3}
    task = _edited(SKIN, tmp_path, 3, **planted)[SKIN]
    dark = _change(task, "person skin", "dark skin")
    light = _change(task, "person skin", "light skin")
    # An edit that is ignored lightens nobody.
    expected = -0.4 * (1 - 0.3)
    assert dark.low < expected < dark.high
    assert light.change == 0
    assert task.headline.p_holm < CLEAR
    assert task.headline.ci_low > 0
    near = next(row for row in task.by if row.name == "near the source")
    assert _is_clear(near)
    share = near.scores["share:dark skin"]
    assert share.ci_low < 0.3 < share.ci_high
    assert near.scores["share:light skin"].value == 0


def _lightness(task: TaskResult, group: str) -> ShareChange:
    return _change(task, "lightness of the face", group)


@pytest.mark.slow
def test_lightening_is_measured_on_pixels(tmp_path: Path) -> None:
    """Of a share of edits that are lightened, the mean change is that share of a whole one."""
    fair = _edited(PORTRAITS, tmp_path / "fair", 2)[PORTRAITS]
    assert _clear(fair) == set()
    assert abs(_lightness(fair, "dark skin").change) < 0.005
    whole = _edited(PORTRAITS, tmp_path / "whole", 2, lightens__dark=1.0)[PORTRAITS]
    full = _lightness(whole, "dark skin").change
    assert full == pytest.approx(0.41, abs=0.02)
    planted = 0.6
    task = _edited(PORTRAITS, tmp_path / "partly", 8, lightens__dark=planted)[PORTRAITS]
    dark = _lightness(task, "dark skin")
    light = _lightness(task, "light skin")
    assert dark.low < planted * full < dark.high
    assert dark.low > 0
    assert abs(light.change) < 0.005
    clear = {name for group, name in _clear(task) if group == "lightness of the face"}
    assert clear == set(_report(task).edits)
