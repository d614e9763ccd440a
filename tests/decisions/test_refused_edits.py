"""What must hold of refusals where images are edited, and plans of edits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from t2ibench.decisions import holds as holding
from t2ibench.decisions.held import Held
from t2ibench.decisions.plan import make_plan
from t2ibench.decisions.runs import MeasuredRun
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.edit_report import EDITS, LEAN, OUTCOME, REFUSED, EditReport
from t2ibench.results.schema import Row, Score
from t2ibench.settings import Measurement
from t2ibench.tasks.index import load_tasks
from tests.conftest import Cli
from tests.decisions.made import TASK, decided, lean_task, profile, results, scenario


def _held(most: float, row: Row | None, n_sources: int = 40) -> Held:
    report = EditReport(
        headline="person age",
        groups=("women", "men"),
        between=("women", "men"),
        edits=("in a suit",),
        sources={"women": n_sources, "men": 40},
    )
    task = lean_task(0.0, details={EDITS: asdict(report)})
    rows = [*task.by, *([] if row is None else [row])]
    task = task.model_copy(update={"by": rows})
    (part,) = profile(scenario(holds={"refusals": most})).scenarios
    (entry,) = holding.holds(part, MeasuredRun(None, results(**{TASK: task}), {}), None)
    return entry


def _row(
    value: float | None, low: float | None, high: float | None, name: str = REFUSED
) -> Row:
    score = Score(value=value, ci_low=low, ci_high=high)
    return Row(name=name, group=OUTCOME, scores={LEAN: score})


@pytest.mark.parametrize(
    ("row", "most", "expected"),
    [
        (_row(0.6, 0.4, 0.8), 0.1, "fail"),
        (_row(-0.6, -0.8, -0.4), 0.1, "fail"),
        (_row(0.02, -0.03, 0.07), 0.1, "pass"),
        (_row(0.1, -0.1, 0.3), 0.2, "undecided"),
    ],
)
def test_the_row_of_refused_edits_decides(row: Row, most: float, expected: str) -> None:
    held = _held(most, row)
    assert held.outcome == expected
    assert "refused edits: women and men differ by" in held.shows


@pytest.mark.parametrize(
    "row", [_row(None, 0.0, 0.0), _row(0.0, None, 0.01), _row(0.0, -0.01, None)]
)
def test_a_row_of_refused_edits_without_an_interval_is_no_pass(row: Row) -> None:
    assert _held(0.1, row).outcome == "undecided"


@pytest.mark.parametrize(
    ("n_sources", "expected"), [(40, "pass"), (5, "undecided"), (0, "undecided")]
)
def test_without_a_refused_edit_the_source_images_say_how_many_there_could_be(
    n_sources: int, expected: str
) -> None:
    # A row of another outcome says nothing of refusals.
    held = _held(0.1, _row(0.9, 0.8, 1.0, name="not edited"), n_sources)
    assert held.outcome == expected
    assert (held.shows == "a group has no source images") == (n_sources == 0)


def test_no_number_of_images_is_promised_for_edits() -> None:
    """With as wide an interval a task without edits is told how many images would decide."""
    task = lean_task(0.35, count=12)
    (of_prompts,) = decided(profile(), {TASK: task}).scenarios
    assert of_prompts.outcome == "undecided"
    assert of_prompts.needed is not None and of_prompts.needed.times is not None
    report = EditReport(
        "person age", ("women", "men"), ("women", "men"), ("in a suit",)
    )
    edited = task.model_copy(update={"details": {EDITS: asdict(report)}})
    (of_edits,) = decided(profile(), {TASK: edited}).scenarios
    assert of_edits.outcome == "undecided"
    assert of_edits.needed is not None and of_edits.needed.times is None
    assert "not forecast for edits" in of_edits.needed.says


def test_a_plan_fixes_source_images_and_one_look() -> None:
    (task,) = load_tasks(["edits_skin"])
    gate = profile(scenario(measurement={"task": task.id, "statistic": "headline"}))
    tasks = {task.id: task}
    small = make_plan(gate, tasks, Measurement(images_per_prompt=2)).tasks[task.id]
    large = make_plan(gate, tasks, Measurement(images_per_prompt=6)).tasks[task.id]
    assert (small.images_per_prompt, large.images_per_prompt) == (2, 6)
    # Source images and edits both are three times as many.
    assert large.images == 3 * small.images > 3 * small.prompts * 2
    with pytest.raises(
        T2IBenchError, match="edits_skin edits images, and the error of"
    ):
        make_plan(gate, tasks, Measurement(), most_images_per_prompt=40)


@pytest.mark.parametrize("with_pilot", [False, True])
def test_a_plan_forecasts_no_chances_of_edits_and_names_power(
    *, with_pilot: bool, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a pilot of edits, scaled to more source images, would be too large."""
    monkeypatch.chdir(tmp_path)
    gate = profile(
        scenario(measurement={"task": "edits_skin", "statistic": "headline"})
    )
    accept = tmp_path / "accept.yaml"
    accept.write_text(gate.model_dump_json(exclude_none=True))
    pilot: tuple[object, ...] = ()
    if with_pilot:
        task = lean_task(0.0).model_copy(update={"task": "edits_skin"})
        saved = tmp_path / "pilot.json"
        saved.write_text(results(edits_skin=task).model_dump_json(by_alias=True))
        pilot = ("--pilot", saved)
    status, out, err = cli("plan", "--accept", accept, *pilot)
    assert status == 0, err
    words = " ".join(out.split())
    assert "about edits, for which this command forecasts no chances" in words
    assert "`t2ibench power PILOT`" in words
    assert "fair passes" not in words
