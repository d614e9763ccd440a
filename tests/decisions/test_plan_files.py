"""Files of plans: edited, damaged, of another version, or written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from t2ibench.decisions.plan import Plan, make_plan, read_plan, write_plan
from t2ibench.errors import T2IBenchError
from t2ibench.settings import Measurement
from t2ibench.tasks.index import load_tasks
from tests.decisions.made import profile, scenario

TASK = "core_occupations_gender"
NESTED = 400


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a plan."""
    (task,) = load_tasks([TASK])
    gate = profile(scenario(measurement={"task": TASK, "statistic": "headline"}))
    chances = {"jobs": {"basis": "20 rows", "beyond": 0.8}}
    plan = make_plan(gate, {TASK: task}, Measurement(), chances=chances)
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_plan(plan, path)
    return path.read_text(encoding="utf-8")


def edited(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})


def resealed(text: str, change: Callable[[dict[str, Any]], object]) -> str:
    """A plan that was changed by hand, with the hash that fits."""
    data = json.loads(text)
    del data["sha256"]
    change(data)
    plan = Plan.model_validate(data)
    return json.dumps({**plan.content, "sha256": plan.sha256})


# What was done to a plan, and what is said of it.
EDITS: dict[str, tuple[Callable[[str], str | bytes], str]] = {
    "a number": (
        lambda text: text.replace('"accept": 0.4', '"accept": 0.5'),
        "changed after it was written",
    ),
    "a byte of a word": (
        lambda text: text.replace("a gate", "a gave"),
        "changed after it was written",
    ),
    "another hash": (
        lambda text: edited(text, sha256="0" * 64),
        "changed after it was written",
    ),
    "a hash that is no text": (
        lambda text: edited(text, sha256=[1]),
        "changed after it was written",
    ),
    "no hash": (
        lambda text: text.replace('"sha256"', '"sha"'),
        "is no plan: it has no 'sha256'",
    ),
    "a further key": (lambda text: edited(text, more=1), "more: Extra inputs"),
    "a key twice": (
        lambda text: text.replace('"accept": 0.4', '"accept": 0.1, "accept": 0.4'),
        "it has the key 'accept' twice",
    ),
    "a future schema": (
        lambda text: edited(text, schema=3, t2ibench="9.0", more=1),
        "is a plan of schema 3, written by t2ibench 9.0; this t2ibench",
    ),
    "a schema that is no number": (
        lambda text: edited(text, schema=["\x1b[31m"]),
        "is a plan of schema ['\\x1b[31m']",
    ),
    "a future key of this schema": (
        lambda text: edited(text, t2ibench="9.0", more=1),
        "and t2ibench 9.0 wrote it: more: Extra inputs",
    ),
    "an older schema": (
        lambda text: edited(text, schema=1),
        "fingerprints is not of schema 1",
    ),
    "no schema": (
        lambda text: text.replace('"schema": 2', '"schemas": 2'),
        "schemas: Extra inputs",
    ),
    "a schema that is nearly one": (
        lambda text: edited(text, schema=True),
        "is a plan of schema True",
    ),
    "no further settings": (
        lambda text: edited(text, further_settings=None),
        "the plan: further_settings is missing",
    ),
    "half of it": (lambda text: text[: len(text) // 2], "is not JSON"),
    "nothing": (lambda _: "", "is not JSON"),
    "a list": (lambda _: "[]", "is no plan"),
    "a deep number": (
        lambda text: text.replace("0.8", "[" * NESTED + "]" * NESTED),
        "chances.jobs.beyond",
    ),
    "a deep file": (lambda _: "[" * 100_000, "is nested too deeply"),
    "half a character": (
        lambda text: edited(text, pilot="\ud800"),
        "changed after it was written",
    ),
    "another encoding": (lambda text: text.encode("utf-16"), "is not UTF-8 text"),
    "too much": (lambda text: text + " " * 9 * 2**20, "is larger than 8 MiB"),
    "no tasks": (
        lambda text: resealed(text, lambda data: data.update(tasks={})),
        f"is no plan: it fixes nothing of {TASK}",
    ),
    "a task without a limit": (
        lambda text: resealed(
            text, lambda data: data["tasks"].update(more=data["tasks"][TASK])
        ),
        "is no plan: it has no limit for more",
    ),
    "a last look before the first": (
        lambda text: resealed(text, lambda data: data.update(most_images_per_prompt=2)),
        "is below the first look, 16 images a prompt",
    ),
    "a last look that no run can take": (
        lambda text: resealed(
            text, lambda data: data.update(most_images_per_prompt=10**9)
        ),
        "a run that begins at 16 images a prompt may have at most 16000",
    ),
    "a number that overflows": (
        lambda text: edited(text, most_images_per_prompt=10**400),
        "most_images_per_prompt: Input should be less",
    ),
    "a negative number": (
        lambda text: edited(text, most_images_per_prompt=-1),
        "most_images_per_prompt: Input should be greater",
    ),
}


@pytest.mark.parametrize("edit", [*EDITS])
def test_an_edited_plan_is_refused_in_a_line(
    edit: str, text: str, tmp_path: Path
) -> None:
    change, message = EDITS[edit]
    path = tmp_path / "plan.json"
    changed = change(text)
    assert changed != text
    path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    with pytest.raises(T2IBenchError) as caught:
        read_plan(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_content_in_another_layout_is_the_same_plan(
    text: str, tmp_path: Path
) -> None:
    """The hash is over what a plan fixes, not over the bytes of its file."""
    path = tmp_path / "plan.json"
    reversed_keys = json.dumps(dict(reversed(json.loads(text).items())))
    for layout in (text, reversed_keys, f"\ufeff{text}\n\n"):
        path.write_text(layout, encoding="utf-8")
        assert read_plan(path).sha256 == json.loads(text)["sha256"]


# A plan as t2ibench 0.1.0 wrote it with schema 1.
OF_SCHEMA_1 = (
    Path(__file__).with_name("plan_of_schema_1.json").read_text(encoding="utf-8")
)


def test_a_plan_of_schema_1_is_read_with_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(OF_SCHEMA_1, encoding="utf-8")
    plan = read_plan(path)
    assert plan.sha256 == json.loads(OF_SCHEMA_1)["sha256"]
    assert "control_encoder" not in plan.settings and "sources" not in plan.settings
    # Written again, it is the same plan.
    write_plan(plan, path)
    assert read_plan(path) == plan
    assert json.loads(path.read_text()) == json.loads(OF_SCHEMA_1)


def test_a_plan_of_schema_1_hides_nothing_of_schema_2(
    text: str, tmp_path: Path
) -> None:
    """Its hash is not over them, so that anything could be written there afterwards."""
    path = tmp_path / "plan.json"
    for key in ("further_settings", "references", "fingerprints"):
        path.write_text(edited(OF_SCHEMA_1, **{key: json.loads(text)[key]}))
        with pytest.raises(T2IBenchError, match=f"{key} is not of schema 1"):
            read_plan(path)
