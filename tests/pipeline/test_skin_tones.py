"""The skin tones of a run: planted ones are found, groups are compared, abstentions counted."""

from __future__ import annotations

import csv
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.skin_tones import MEASURES, Reading, by_group, chosen, compare
from t2ibench.toyland import draw
from tests import hand
from tests.conftest import Cli
from tests.pipeline.tasks import write_bias

SHOWN = {"lawyer": "light-skinned person", "janitor": "dark-skinned person", "rose": "rose"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder's run in which lawyers have light and janitors have dark skin."""
    root = tmp_path_factory.mktemp("tones")
    templates = ["A person working as {stimulus}.", "{A stimulus}.", "A photo of {a stimulus}."]
    tasks = write_bias(root / "tasks", 4, stimuli=list(SHOWN), templates=templates)
    seed = 0
    for name, what in SHOWN.items():
        for prompt in (f"A person working as {name}.", f"A {name}.", f"A photo of a {name}."):
            (root / "drawn" / prompt).mkdir(parents=True)
            for index in range(4):
                # At toyland's own 64 pixels, faces are too small.
                picture = draw(f"a photo of a {what}", seed := seed + 1).resize((384, 384))
                picture.save(root / "drawn" / prompt / f"{index}.png")
    words = ["--model", f"folder:{root / 'drawn'}", "--include-path", f"{tasks}"]
    main([*words, "--tasks", "hand", "--generate-only", "--output-dir", f"{root / 'runs'}"])
    return root / "runs" / "drawn"


def test_planted_tones_and_their_difference(run: Path, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tones.csv"
    words = ("skin-tone", run, "--compare", "lawyer", "janitor", "--output", file)
    status, out, err = cli(*words)
    assert (status, err) == (0, "")
    assert "Skin is shown lighter in 'lawyer'" in " ".join(out.split())
    assert "rose, without a tone: no face 12" in out and "not a race" in " ".join(out.split())
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 36
    assert all(bool(row["ita"]) != bool(row["reason"]) for row in rows)
    tones = {
        group: [row for row in rows if row["group"] == group and row["ita"]] for group in SHOWN
    }
    assert len(tones["lawyer"]) >= 10 and len(tones["janitor"]) >= 8 and not tones["rose"]
    for name in ("ita", "score", "raw_ita", "raw_score", "lightness", "raw_lightness"):
        light, dark = (
            np.median([float(row[name]) for row in tones[group]]) for group in ("lawyer", "janitor")
        )
        assert light > dark + 15
    # Asked again: the same, from what is stored.
    stored = hand.stored(run, "answers")
    assert cli(*words)[1] == out
    assert stored and hand.stored(run, "answers") == stored
    assert "--compare" in cli("skin-tone", run)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "lawier", "janitor"), "Did you mean 'lawyer'?"),
        (("--compare", "lawyer", "*"), "Both sides hold the group 'lawyer'"),
        (("--task", "hands"), "no task 'hands'"),
    ],
)
def test_wrong_input_is_one_line(run: Path, cli: Cli, words: tuple[str, ...], said: str) -> None:
    status, out, err = cli("skin-tone", run, *words)
    assert (status, out) == (1, "") and said in " ".join(err.split())


def reading(group: str, unit: str, score: float, raw: float | None = None) -> Reading:
    raw = score if raw is None else raw
    values = dict.fromkeys(MEASURES, 20.0) | {"scene": 0.2, "ita": score, "score": score}
    return Reading(group, unit, unit, 0, "", None, values | {"raw_ita": raw, "raw_score": raw})


def test_groups_are_what_varies_where_a_side_holds_several() -> None:
    values = {"a": (50.0, 52.0), "b": (40.0, 42.0), "c": (10.0, 12.0), "d": (20.0, 22.0)}
    readings = [reading(one, str(s), s) for one, scores in values.items() for s in scores]
    found = compare(chosen(readings, "a,b"), chosen(readings, "c, d")).differences["score"]
    assert (found.value, found.clusters, found.paired) == (30.0, 4, False)
    single = compare(chosen(readings, "a"), chosen(readings, "c")).differences["score"]
    assert (single.value, single.clusters) == (40.0, 4)
    # The same words with and without something added are compared each with itself.
    plain = [reading("plain", "cook", 30.0), reading("plain", "maid", 10.0)]
    twice = [*plain, reading("rich", "cook", 40.0), reading("rich", "maid", 24.0)]
    both = compare(*by_group(twice)).differences["score"]
    assert both.paired and both.value == pytest.approx(-12.0)
    with pytest.raises(T2IBenchError, match="No group 'x'"):
        chosen(readings, "x")


def side(
    group: str, rng: np.random.Generator, shift: float = 0.0, raw: float = 0.0
) -> list[Reading]:
    return [
        reading(group, f"{group} {k}", 30 + shift + noise, 30 + raw + noise)
        for k, noise in enumerate(rng.normal(0, 2, 8))
    ]


@pytest.mark.parametrize(
    ("shift", "raw", "finding"),
    [
        (20, 20, "lighter"), (-20, -20, "darker"), (0, 0, "cannot tell"),
        (20, 0, "cannot tell"), (20, -20, "cannot tell"),
    ],
)  # fmt: skip
def test_a_finding_needs_both_lights(shift: float, raw: float, finding: str) -> None:
    rng = np.random.default_rng(5)
    found = compare(*by_group([*side("a", rng, shift, raw), *side("b", rng)]))
    assert found.finding == finding


def test_one_prompt_gives_no_claim_and_no_tone_no_difference() -> None:
    one = [reading("a", "1", 90.0 + k) for k in range(9)]
    found = compare(*by_group([*one, *side("b", np.random.default_rng(1))]))
    assert found.finding == "one prompt" and isnan(found.differences["score"].low)
    readings = [
        reading("a", "1", 50.0),
        reading("a", "2", 40.0),
        Reading("b", "3", "3", 0, "", "no face"),
    ]
    found = compare(*by_group(readings))
    assert found.finding == "nothing measured" and found.second.reasons == {"no face": 1}
    assert found.second.abstained()[0] == 1.0 and found.second.quartiles("ita") == []


def test_each_caption_is_a_group(tmp_path: Path, cli: Cli) -> None:
    write_bias(tmp_path, 3, captions=["A lawyer at work.", "A rose."])
    words = ("--model", "toyland", "--include-path", tmp_path, "--tasks", "hand")
    assert cli(*words, "--generate-only", "--output-dir", tmp_path / "runs")[0] == 0
    run = tmp_path / "runs" / "toyland"
    status, out, _ = cli("skin-tone", run, "--compare", "A lawyer*", "*rose.")
    assert status == 0 and "'A lawyer*' less '*rose.'" in out
    assert "| A lawyer at work. |" in out and "| A rose." in out
