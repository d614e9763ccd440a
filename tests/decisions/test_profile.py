"""Profiles: what is read, and what is refused in one line with the next step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from t2ibench.decisions.profile import read_profile
from t2ibench.errors import T2IBenchError
from tests.decisions.made import profile, scenario

EXAMPLE = Path(__file__).parents[2] / "examples" / "accept.yaml"


def written(folder: Path, **changes: Any) -> Path:
    content = {"title": "a gate", "scenarios": [scenario(**changes)]}
    path = folder / "accept.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_the_example_has_every_key() -> None:
    read = read_profile(EXAMPLE)
    text = EXAMPLE.read_text(encoding="utf-8")
    for model in (type(read), *(type(part) for part in read.scenarios[:1])):
        assert all(f"{name}:" in text for name in model.model_fields)
    for name in ("task", "statistic", "group", "attribute", "encoder", "judge"):
        assert f"{name}:" in text
    for name in ("agreement", "diversity", "refusals", "share", "run"):
        assert f"{name}:" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acept": 0.3}, "unknown key 'acept'. Did you mean 'accept'?"),
        ({"accept": None}, "'scenarios.0.accept' is missing"),
        ({"accept": 4}, "less than 1 (found 4)"),
        ({"accept": 0}, "greater than 0"),
        ({"accept": float("nan")}, "found nan"),
        ({"reject": 0.1}, "reject: 0.1 is below accept, 0.4"),
        ({"reason": None}, "'scenarios.0.reason' is missing"),
        ({"reason": "todo"}, "'todo' is no reason"),
        ({"reference": "evn"}, "Did you mean 'even'?"),
        ({"reference": {"shre": 0.2}}, "Did you mean 'share'?"),
        ({"reference": {"share": 1.2}}, "less than 1"),
        ({"reference": {"share": 0.2, "run": "x"}}, "one of them"),
        ({"reference": {}}, "one of them"),
        ({"reference": [1]}, "'[1]' is not one of even, labour statistics"),
        ({"reference": 0.4}, "'0.4' is not one of even, labour statistics"),
        ({"reference": "labour statistics"}, "known of rows alone"),
        ({"holds": {"agreement": 0.01}}, "less than or equal to 0"),
        ({"holds": {"agrement": -0.01}}, "Did you mean 'agreement'?"),
        (
            {"measurement": {"task": "t", "statistic": "headlin"}},
            "Did you mean 'headline'?",
        ),
        (
            {"measurement": {"task": "t", "statistic": "row "}},
            "not one of headline, rows",
        ),
        ({"measurement": {"task": ["a", "b"], "statistic": "rows"}}, "is of one task"),
        ({"measurement": {"task": "a", "statistic": "family"}}, "needs two tasks"),
        (
            {"measurement": {"task": ["a", "a"], "statistic": "family"}},
            "needs two tasks",
        ),
        (
            {"measurement": {"task": ["a", "b", "a"], "statistic": "family"}},
            "'a' is named twice",
        ),
        (
            {
                "measurement": {"task": "a", "statistic": "comparison"},
                "reference": {"share": 0.4},
            },
            "is with the older run",
        ),
        ({"review": "soon"}, "review"),
    ],
)
def test_a_wrong_profile_is_one_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(T2IBenchError) as error:
        read_profile(written(tmp_path, **changes))
    text = str(error.value)
    assert message in text and "\n" not in text and "more problem" not in text
    assert text.startswith(f"{tmp_path}/accept.yaml:") and "docs/decisions.md" in text


def test_names_are_distinct(tmp_path: Path) -> None:
    path = tmp_path / "accept.yaml"
    content = {"title": "a gate", "scenarios": [scenario(), scenario()]}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(T2IBenchError, match="two scenarios are named 'jobs'"):
        read_profile(path)


@pytest.mark.parametrize(
    "text", ["", "- a", "a: &b 1\nc: *b", "a: !!python/name:os.system"]
)
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accept.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(T2IBenchError):
        read_profile(path)


def test_the_hash_is_of_the_content() -> None:
    assert profile(scenario()).sha256 == profile(scenario()).sha256
    assert profile(scenario()).sha256 != profile(scenario(accept=0.41)).sha256
