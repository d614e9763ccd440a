"""A plan is refused if its runs could not have the readers that its scenarios fix."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from t2ibench.decisions.planned_readers import check_rules
from t2ibench.decisions.readers import are_alike
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.methods.core.evidence import Needs
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.decisions.made import profile, scenario

EMBEDDED, JUDGED = "t2iat_flowers_insects", "occupations_us_judged"
CHECKED, WORDS = "core_occupations_gender", "weat_6_gender_career_family"


@cache
def needs_of_tasks() -> dict[str, Needs]:
    tasks = load_tasks([EMBEDDED, JUDGED, CHECKED, WORDS])
    return {task.id: needs(task.spec, Settings()) for task in tasks}


def why_not(
    *rules: Mapping[str, object], encoders: str = "", judges: str = ""
) -> str | None:
    """Return why no run by a plan with these rules could pass; None if one could."""
    scenarios = [
        scenario(name=f"s{number}", measurement={"statistic": "headline", **rule})
        for number, rule in enumerate(rules)
    ]
    try:
        check_rules(
            profile(*scenarios),
            needs_of_tasks(),
            encoders=encoders.split(),
            judges=judges.split(),
        )
    except T2IBenchError as error:
        return str(error)
    return None


def test_what_a_run_can_have_is_planned() -> None:
    embedded = {"task": EMBEDDED, "encoder": "a:1"}
    assert why_not(embedded) is None
    assert why_not(embedded, {"task": CHECKED}) is None
    # Word vectors embed no images, and a test on words has all encoders.
    assert why_not(embedded, encoders="a:1 vectors:x") is None
    words = {"task": WORDS, "encoder": ["a:1", "vectors:x"]}
    assert why_not(embedded, words, encoders="a:1 vectors:x") is None
    # Of a judged task, at most one encoder reads the images.
    assert why_not({"task": JUDGED, "encoder": "a:1"}, encoders="a:1 b:2") is None
    # The first judge alone checks guided images.
    assert why_not({"task": CHECKED, "judge": "b"}, judges="b c") is None
    assert why_not({"task": JUDGED, "judge": "clip:x"}, judges="clip") is None


@pytest.mark.parametrize(
    ("rule", "encoders", "judges", "message"),
    [
        ({"task": EMBEDDED, "encoder": "a:1"}, "b:2", "", "have the encoder b:2 in"),
        ({"task": EMBEDDED, "encoder": "a:1"}, "a:1 b:2", "", "encoders a:1, b:2 in"),
        ({"task": JUDGED, "encoder": "a:1"}, "b:2", "", "may have other encoders"),
        ({"task": WORDS, "encoder": "a:1"}, "a:1 vectors:x", "", "a:1, vectors:x in"),
        ({"task": JUDGED, "judge": "b"}, "", "c", "would have the judge c in"),
        ({"task": JUDGED, "judge": "b"}, "", "b c", "would have the judges b, c in"),
        ({"task": CHECKED, "judge": "b"}, "", "c b", "would have the judge c in"),
        ({"task": EMBEDDED, "judge": "b"}, "", "b", f"{EMBEDDED} asks no judge"),
    ],
)
def test_what_no_run_can_have_is_refused(
    rule: Mapping[str, object], encoders: str, judges: str, message: str
) -> None:
    said = why_not(rule, encoders=encoders, judges=judges)
    assert said is not None and message in said


def test_scenarios_that_fix_different_readers_are_refused() -> None:
    for kind, first, second in (
        ("encoder", EMBEDDED, CHECKED),
        ("judge", JUDGED, CHECKED),
    ):
        said = why_not({"task": first, kind: "a:1"}, {"task": second, kind: "b:2"})
        assert said is not None and f"may have other {kind}s" in said


def test_names_of_the_same_readers_are_alike() -> None:
    assert are_alike(["qwen3-vl-4b", "a"], ["a", "vlm:Qwen/Qwen3-VL-4B-Instruct"])
    assert are_alike(["clip"], ["clip"]) and are_alike([], [])
    assert not are_alike(["a"], ["a", "b"]) and not are_alike(["a", "b"], ["a"])
