"""Forecasts of edits: larger runs are drawn from a pilot's answers, with a planted difference."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    EDITS,
    REFUSED,
    EditOutcomes,
    EditReport,
)
from t2ibench.methods.core.redrawn_runs import HEADLINE, PilotScores, RedrawnRuns
from t2ibench.methods.edits.larger_runs import RedrawnEdits
from t2ibench.methods.edits.outcomes import NOT_EDITED
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.power.redrawn import Redrawn
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.conftest import Cli

_CLASSES = {"dark skin": "dark skin", "light skin": "light skin"}


def _task() -> EditsTask:
    (loaded,) = load_tasks(["edits_portraits"])
    task = loaded.spec
    assert isinstance(task, EditsTask)
    return task


def _samples(lost: dict[str, int], n_sources: int = 10) -> list[dict[str, Any]]:
    """Answers about edits of each group, of which every edit loses the first source images."""
    task = _task()
    other = {"dark skin": "light skin", "light skin": "dark skin"}
    return [
        {
            "attribute": task.headline_attribute.full_name,
            "edit": edit.name,
            "group": group,
            "source_prompt": group,
            "source_index": number,
            "index": 0,
            "before": _CLASSES[group],
            "answer": other[group] if number < lost[group] else _CLASSES[group],
        }
        for group in task.compared_groups
        for edit in task.edits
        for number in range(n_sources)
    ]


def _report(refused: tuple[int, int], n_sources: int = 10) -> dict[str, Any]:
    task = _task()
    first, second = task.compared_groups
    rows = [
        EditOutcomes(ALL_EDITS, group, requested=40, excluded={"refused": count})
        for group, count in zip((first, second), refused, strict=True)
    ]
    report = EditReport(
        headline=task.headline_attribute.full_name,
        groups=(first, second),
        between=(first, second),
        edits=tuple(edit.name for edit in task.edits),
        outcomes=tuple(rows),
        sources={first: n_sources, second: n_sources},
    )
    return {EDITS: asdict(report)}


def _redraws(
    lost: dict[str, int], refused: tuple[int, int] = (0, 0)
) -> dict[str, RedrawnRuns]:
    redraws = METHODS.get("edits").redraws
    assert redraws is not None
    pilot = PilotScores(_samples(lost), _report(refused), {})
    return dict(redraws(_task(), pilot, Settings()))


def _power(runs: RedrawnRuns, effect: float, times: float) -> float:
    return Redrawn(runs, 0.95).power(effect, times, 1.0)


def test_power_grows_with_source_images_and_with_the_effect() -> None:
    runs = _redraws({"dark skin": 4, "light skin": 2})[HEADLINE]
    assert runs.smallest_group == 10
    forecaster = Redrawn(runs, 0.95)
    powers = [forecaster.power(0.2, times, 1.0) for times in (1, 4, 16, 100)]
    assert powers == sorted(powers) and powers[0] < 0.4 and powers[-1] > 0.99
    assert forecaster.power(0.4, 4, 1.0) > powers[1]
    widths = [forecaster.width(0.2, times, 1.0) for times in (1, 4, 16, 100)]
    assert widths == sorted(widths, reverse=True)
    # Ten edits of one source image are not ten: every edit of these loses the same ones.
    assert widths[1] == pytest.approx(4 * 0.45 / 40**0.5 * 2**0.5, rel=0.2)


def test_without_a_difference_drawn_runs_reject_as_seldom_as_the_level_says() -> None:
    for lost in ({"dark skin": 5, "light skin": 5}, {"dark skin": 4, "light skin": 1}):
        assert _power(_redraws(lost)[HEADLINE], 0.0, 4) <= 0.08


def test_a_pilot_that_saw_no_change_forecasts_too() -> None:
    runs = _redraws({"dark skin": 0, "light skin": 0})
    for name in (HEADLINE, REFUSED):
        assert _power(runs[name], 0.3, 1) < 0.5 < _power(runs[name], 0.3, 4)


def test_an_effect_that_is_not_possible_is_refused() -> None:
    runs = _redraws({"dark skin": 0, "light skin": 0})[HEADLINE]
    assert _power(runs, 1.0, 4) == 1.0
    with pytest.raises(T2IBenchError, match=r"difference of 1\.5 is not possible"):
        runs.draw(1.5, 1, 1)


def test_too_few_source_images_forecast_nothing() -> None:
    redraws = METHODS.get("edits").redraws
    assert redraws is not None
    samples = _samples({"dark skin": 0, "light skin": 0}, n_sources=1)
    with pytest.raises(T2IBenchError, match="fewer than two source images"):
        redraws(_task(), PilotScores(samples, {}, {}), Settings())


def test_edits_not_made_are_forecast_of_edits_with_a_question() -> None:
    """The other edit counts as not made by its distance, and is not in the test."""
    task = _task()
    silent = task.edits[0].model_copy(update={"question": None})
    question = "Is the person a doctor?"
    asked = task.edits[1].model_copy(update={"question": question})
    task = task.model_copy(update={"edits": (asked, silent)})
    rows = []
    for group, not_edited in zip(task.compared_groups, (8, 4), strict=True):
        made = 20 - not_edited
        rows += [
            EditOutcomes(ALL_EDITS, group, 40, edited=made, not_edited=20),
            EditOutcomes(asked.name, group, 20, edited=made, not_edited=not_edited),
            EditOutcomes(silent.name, group, 20, not_edited=made),
        ]
    report = EditReport(
        headline=task.headline_attribute.full_name,
        groups=task.compared_groups,
        between=task.compared_groups,
        edits=(asked.name, silent.name),
        outcomes=tuple(rows),
        sources=dict.fromkeys(task.compared_groups, 20),
    )
    redraws = METHODS.get("edits").redraws
    assert redraws is not None
    samples = _samples({"dark skin": 4, "light skin": 2}, n_sources=20)
    intervals = {NOT_EDITED: (0.2, -0.09, 0.49)}
    pilot = PilotScores(samples, {EDITS: asdict(report)}, intervals)
    runs = redraws(task, pilot, Settings())[NOT_EDITED]
    assert isinstance(runs, RedrawnEdits)
    shares = [group.share_after for group in runs.groups]
    assert shares == pytest.approx([0.4, 0.2], abs=0.01)
    assert [group.after.shape[1] for group in runs.groups] == [1, 1]
    powers = [_power(runs, effect, 4) for effect in (0.0, 0.2, 0.4)]
    assert powers[0] <= 0.1 < 0.4 < powers[1] < powers[2]


@pytest.mark.slow
def test_power_of_a_run_of_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    # Of fewer drawn runs, since nothing here depends on how exact a forecast is.
    monkeypatch.setattr("t2ibench.power.redrawn._DRAWS", 40)
    flags = ("--images-per-prompt", "3", "--permutations", "100", "--bootstrap", "100")
    command = ("run", "--model", "toyland", "--tasks", "edits_portraits", *flags)
    assert cli(*command)[0] == 0
    status, out, err = cli("power", "runs/toyland", "--effect", "0.4")
    assert status == 0, err
    assert "source images a prompt" in out and "edits refused" in out
    assert "clear in 0.8 of runs at 0.4" in out
    question = ("--question", "prompt_population")
    status, out, err = cli("power", "runs/toyland", *question)
    assert status == 1 and not err
    assert "these prompts and edits alone" in " ".join(out.split())
