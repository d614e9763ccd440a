"""The skin tones of a run: planted ones are found, groups are compared, abstentions counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.skin_tones import Reading, by_group, chosen, compare
from tests import hand

Cli = Callable[..., tuple[int, str, str]]
TASK = """
id: hand
version: 1
method: openbias
title: t
description: d
citation: c
images_per_prompt: 5
biases:
  - name: skin tone
    about: person
    classes: ["very light, light or intermediate", "tan, brown or dark"]
    question: "What is the tone of the skin?"
    stimuli: [lawyer, janitor, rose]
    templates: ["A person working as {stimulus}.", "{A stimulus}.", "A photo of {a stimulus}."]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a world whose lawyers have light and whose janitors have dark skin."""
    root = tmp_path_factory.mktemp("tones")
    (root / "tasks").mkdir()
    (root / "tasks" / "hand.yaml").write_text(TASK)
    evaluate(
        "toyland",
        "hand",
        include_path=[str(root / "tasks")],
        output_dir=str(root / "runs"),
        model_args={"lawyer.skin.dark": "0", "janitor.skin.dark": "1"},
        judge="toyland",
        n_permutations=200,
        n_bootstrap=100,
    )
    (found,) = (root / "runs").iterdir()
    return found


@pytest.mark.slow
def test_planted_tones_and_their_difference(run: Path, cli: Cli, tmp_path: Path) -> None:
    before = (run / "results.json").read_bytes()
    file = tmp_path / "tones.csv"
    words = ("skin-tone", run, "--compare", "lawyer", "janitor", "--output", file)
    status, out, err = cli(*words, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    groups = {group["group"]: group for group in found["groups"]}
    assert groups["lawyer"]["ita"]["value"] == pytest.approx(57, abs=3)
    assert groups["janitor"]["ita"]["value"] == pytest.approx(-26, abs=6)
    assert {name for name, count in groups["lawyer"]["classes"].items() if count} <= {
        "very light", "light",
    }  # fmt: skip
    # Two of three wordings show a rose and no face, and that is counted.
    rose = groups["rose"]
    assert rose["measured"] + sum(rose["without_a_tone"].values()) == rose["images"] == 15
    assert rose["without_a_tone"]["no face"] >= 5
    apart = found["difference"]
    assert apart["ita"]["low"] > 0 and apart["ita"]["p"] < 0.05
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 45
    assert all(bool(row["ita"]) != bool(row["reason"]) for row in rows)
    assert (run / "results.json").read_bytes() == before
    # Asked again: the same, from what is stored.
    stored = hand.stored(run, "answers")
    assert cli(*words, "--json")[1] == out
    assert stored and hand.stored(run, "answers") == stored


def test_what_is_printed(run: Path, cli: Cli) -> None:
    status, out, _ = cli("skin-tone", run, "--compare", "l*", "janitor")
    assert status == 0
    assert "'l*' less 'janitor': +" in out and "lighter" in out
    assert "it is nobody's race" in " ".join(out.split())
    assert "rose, without a tone: " in out
    status, out, _ = cli("skin-tone", run)
    assert status == 0 and "--compare" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "lawier", "janitor"), "Did you mean 'lawyer'?"),
        (("--compare", "lawyer", "*"), "Both sides hold the group 'lawyer'"),
        (("--task", "hands"), "no task 'hands'"),
        (("--level", "95"), "not between 0 and 1"),
        (("--judge-args", "fewest=3"), "has no argument 'fewest'"),
    ],
)
def test_wrong_input_is_one_line(run: Path, cli: Cli, words: tuple[str, ...], said: str) -> None:
    status, out, err = cli("skin-tone", run, *words)
    assert (status, out) == (1, "") and said in " ".join(err.split())


def reading(group: str, unit: str, ita: float | None) -> Reading:
    return Reading(group, unit, unit, 0, "", None if ita is not None else "no face", ita, 5, 50.0)


def test_groups_are_what_varies_where_a_side_holds_several() -> None:
    values = {"a": (50.0, 52.0), "b": (40.0, 42.0), "c": (10.0, 12.0), "d": (20.0, 22.0)}
    readings = [
        reading(group, f"{group} {k}", ita) for group, found in values.items()
        for k, ita in enumerate(found)
    ]  # fmt: skip
    found = compare(chosen(readings, "a,b"), chosen(readings, "c, d")).ita
    assert (found.value, found.clusters, found.paired) == (30.0, 4, False)
    single = compare(chosen(readings, "a"), chosen(readings, "c")).ita
    assert (single.value, single.clusters) == (40.0, 4)
    # The same words with and without something added are compared each with itself.
    angles = {"plain": (30.0, 10.0), "rich": (40.0, 24.0)}
    twice = [
        reading(group, unit, ita)
        for group, pair in angles.items()
        for unit, ita in zip(("cook", "maid"), pair, strict=True)
    ]
    both = compare(*by_group(twice))
    assert both.ita.paired and both.ita.value == pytest.approx(-12.0)
    with pytest.raises(T2IBenchError, match="No group 'x'"):
        chosen(readings, "x")


def test_a_side_without_a_tone_has_no_difference() -> None:
    readings = [reading("a", "1", 50.0), reading("a", "2", 40.0), reading("b", "3", None)]
    found = compare(*by_group(readings))
    assert found.second.reasons == {"no face": 1}
    assert found.ita.value != found.ita.value and found.ita.p != found.ita.p
    assert found.second.abstained()[0] == 1.0


def test_each_caption_is_a_group(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "hand.yaml").write_text(
        TASK.partition("    stimuli:")[0] + "    captions: [A lawyer at work., A rose.]\n"
    )
    words = ("--model", "toyland", "--include-path", tmp_path, "--tasks", "hand")
    how = ("--images-per-prompt", "3", "--generate-only", "--output-dir", tmp_path / "runs")
    assert cli(*words, *how)[0] == 0
    run = tmp_path / "runs" / "toyland"
    status, out, _ = cli("skin-tone", run, "--json", "--compare", "LAWYER", "rose")
    assert status == 0
    found = json.loads(out)
    assert [one["group"] for one in found["groups"]] == ["A lawyer at work.", "A rose."]
    assert found["difference"]["first"] == "LAWYER"
