"""The papers' data, presets and wrong input."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

import t2ibench
from t2ibench.apps.papers.differences import incomparable
from t2ibench.apps.papers.paper import PAPERS, read_paper
from t2ibench.apps.papers.preset import with_preset, write_tasks
from t2ibench.apps.papers.published import t2iat
from t2ibench.apps.papers.tables import Line, comparison
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.settings import Settings
from t2ibench.tasks.index import build_index
from tests import hand
from tests.apps.papers.conftest import FEW, SMALL
from tests.conftest import Cli

FLOWERS = "t2iat_flowers_insects"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_lines_by_hand() -> None:
    lines = [
        Line("tulip", "S", 0.25, (0.1,)),
        Line("tulip", "p", None, ("< 1e-3",), note="none"),
    ]
    table = comparison(lines, ["Model 1"])
    assert table.headers == [
        "",
        "score",
        "published, Model 1",
        "ours",
        "difference",
        "note",
    ]
    assert table.rows == [
        ["tulip", "S", "0.100", "0.250", "+0.150", ""],
        ["tulip", "p", "< 1e-3", "–", "–", "none"],
    ]
    assert table.records[0]["ours - Model 1"] == pytest.approx(0.15)
    assert Line("x", "y", "male", ("male",)).differences() == (None,)
    alone = comparison([Line("a", "b", 1.0, (2.0,))], ["the paper"])
    assert alone.headers == ["", "score", "published", "ours", "difference"]


def test_p_values_have_one_floor_and_no_difference() -> None:
    lines = [
        Line("tulip", "p", 0.000999, (0.001,), is_p=True),
        Line("rose", "p", 0.0402, (0.27,), is_p=True),
        Line("rose", "d", 0.3, (0.1,)),
    ]
    table = comparison(lines, ["Model 1"])
    assert [row[2:] for row in table.rows] == [
        ["≤ 0.001", "≤ 0.001", "–"],
        ["0.270", "0.040", "–"],
        ["0.100", "0.300", "+0.200"],
    ]
    assert table.records[0]["ours"] == 0.000999


def test_numbers_on_another_scale_have_no_difference() -> None:
    lines = [Line("tulip", "S", 0.25, (0.1,))]
    table = comparison(lines, ["Model 1"], comparable=False)
    assert table.headers == ["", "score", "published, Model 1", "ours"]
    assert table.records[0]["ours - Model 1"] is None


@pytest.mark.parametrize(
    ("encoders", "limit", "why"),
    [
        ({"open_clip:ViT-L-14/openai": "ab"}, None, ""),
        (
            {"toyland": "ab"},
            None,
            "were read by toyland, not open_clip:ViT-L-14/openai",
        ),
        ({"open_clip:ViT-L-14/openai": "ab"}, 4, "only the first 4 stimuli"),
    ],
)
def test_another_encoder_is_another_scale_and_another_model_is_not(
    encoders: dict[str, str], limit: int | None, why: str
) -> None:
    task = hand.record(hand.mean_lean({"a": [1.0, 1.0], "b": [1.0, -1.0]}))
    settings = task.settings.model_copy(update={"encoders": encoders, "limit": limit})
    given = task.model_copy(update={"settings": settings})
    found = incomparable(PAPERS.get("t2iat"), [given])
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.slow
def test_every_paper_is_whole(tmp_path: Path) -> None:
    for name, paper in PAPERS.items():
        assert paper.name == name
        tasks = paper.file.preset.tasks
        folder = write_tasks(paper, tasks, tmp_path)
        index, problems = build_index([folder] if folder else [])
        assert [str(one) for one in problems if not one.warning] == []
        for task in tasks:
            spec = index.tasks[task.name].spec
            for key in task.set:
                changed = getattr(spec, key) != getattr(index.tasks[task.of].spec, key)
                # A number that the paper gives may be the shipped one already.
                assert changed or key.endswith("_per_prompt"), (
                    f"{task.name} does not change {key}"
                )
        for key in paper.file.exhibits:
            assert key.partition("-")[2].isdecimal()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    rows:\n", "    row:\n", "Did you mean 'rows'"),
        ("  table-1:", "  table-7:", "rows: unknown 'table-7'"),
        ("  figure-4:", "  picture-4:", "neither"),
        ("tasks: [occupations_t2iat]", "tasks: [occupations]", "unknown 'occupations'"),
        (
            "arrows_between: [association_text, ",
            "arrows_between: [",
            "arrows_between.1",
        ),
        ("interval: true", "intervals: true", "Did you mean 'interval'"),
        ("preset:", "presets:", "preset"),
    ],
)
def test_data_files_are_strict(tmp_path: Path, old: str, new: str, said: str) -> None:
    source = Path(t2iat.__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    file = tmp_path / "t2iat.yaml"
    file.write_text(source.replace(old, new), encoding="utf-8")
    with pytest.raises(T2IBenchError, match=r"t2iat\.yaml:\d+: ") as caught:
        read_paper(file, t2iat.table_1, t2iat.table_2)
    assert said in str(caught.value)


def test_explicit_settings_override_a_preset(tmp_path: Path) -> None:
    paper, steps = (
        PAPERS.get("t2iat"),
        {"size": "512", "steps": "50", "guidance": "7.5"},
    )
    wanted = {"sd21": steps, "sdxl-turbo": {"size": "512"}, "toyland": {}}
    for model, args in wanted.items():
        settings = with_preset(paper, {"model": model, "output_dir": str(tmp_path)})
        own = () if model == "toyland" else ("open_clip:ViT-L-14/openai",)
        assert (settings.model_args, settings.encoder) == (args, own)
        assert settings.n_permutations == 1000
        assert settings.include_path == (str(tmp_path / "presets" / "t2iat"),)
    given = {
        "model_args": "steps=20",
        "n_permutations": 99,
        "output_dir": str(tmp_path),
    }
    settings = with_preset(paper, {**given, "tasks": "*flowers*"})
    assert settings.model == "stabilityai/stable-diffusion-2-1"
    assert settings.model_args == {**steps, "steps": "20"}
    assert (settings.n_permutations, settings.tasks) == (
        99,
        (f"{FLOWERS}_as_published",),
    )


def test_mcas_as_published_asks_for_the_papers_images_and_keywords(
    tmp_path: Path,
) -> None:
    settings = with_preset(
        PAPERS.get("mcas"), {"model": "toyland", "output_dir": str(tmp_path)}
    )
    index = build_index(list(map(Path, settings.include_path)))[0]
    found = needs(index.tasks["mcas_all_as_published"].spec, Settings())
    assert {"CEO", "Make-up Kit"} <= set(found.texts)
    assert "an image of a chief executive officer" not in found.texts
    assert sum(found.images_by_prompt.values()) == 128 + 560  # section 5.1


def test_the_summary_follows_from_table_3() -> None:
    """What the data file computes from Table 3 does follow, and Table 4 as printed nearly does."""
    entries = PAPERS.get("mcas").file.exhibits
    table_3, table_4 = entries["table-3"].published, entries["table-4"].published
    shipped = build_index()[0].tasks["mcas_all"].spec
    assert isinstance(shipped, McasTask)
    sides = {target.name: target.stereotype for target in shipped.targets}
    for model, rows in table_3.items():
        assert list(rows) == list(sides)
        for group, side in (("male", "A"), ("female", "B"), ("all", None)):
            chosen = [
                values for name, values in rows.items() if side in {None, sides[name]}
            ]
            printed = table_4[model][group]
            for symbol, mean in (("α", "α mean of Table 3"), ("δ", "δ mean")):
                found = [float(values[symbol] or 0) for values in chosen]
                assert printed[f"{symbol} least"] == min(found)
                assert printed[f"{symbol} greatest"] == max(found)
                assert printed[mean] == pytest.approx(statistics.mean(found), abs=0.006)
    assert table_4["Stable Diffusion v2"]["male"]["α mean"] == 3.15  # the erratum


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"paper": "t2ait"}, "Did you mean 't2iat'"),
        ({"run": "runs", "limit": 3}, "no other setting goes with it"),
        ({"run": "nowhere"}, "Give the folder of a finished run"),
        ({"model": "toyland", "generate_only": True}, "has to score"),
        ({"tables": 3}, "has no table '3' here"),
    ],
)
def test_a_wrong_call_says_so_before_anything_runs(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(T2IBenchError, match=message):
        t2ibench.reproduce(**{"paper": "t2iat", **wrong})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reproduce t2iat --model toyland --shard 1/2", "reproduce has to score"),
        ("reproduce all --table 1", "Name the paper."),
        ("run --preset t2iat --model toyland --tasks weat", "has no task 'weat'"),
    ],
)
def test_bad_input_is_one_line(line: str, said: str, cli: Cli) -> None:
    status, _, error = cli(*line.split())
    assert status == 1 and said in error and error.count("\n") == 1


@pytest.mark.slow
def test_run_with_a_preset_leaves_a_run_to_reproduce(tmp_path: Path) -> None:
    words = ["run", "--preset", "t2iat", *SMALL, *FEW, "--tasks", FLOWERS]
    assert main([*words, "--output-dir", str(tmp_path)]) == 0
    run = tmp_path / "toyland"
    assert list(t2ibench.read_results(run).tasks) == [f"{FLOWERS}_as_published"]
    assert main(["reproduce", "t2iat", "--run", str(run)]) == 3
    page = (run / "reproduce" / "t2iat.md").read_bytes()
    assert b"occupations_t2iat_as_published" in page.split(b"Not measured here: ")[1]
    # What is asked for changes what is printed, never the page.
    assert main(["reproduce", "t2iat", "--run", str(run), "--table", "1"]) == 3
    assert (run / "reproduce" / "t2iat.md").read_bytes() == page


def test_an_object_takes_a_presets_tests_but_no_name_and_no_arguments(
    tmp_path: Path,
) -> None:
    generator = ToylandGenerator({}, 0)
    results = t2ibench.evaluate(
        generator, "*flowers*", preset="t2iat", encoder="toyland", times=0.1, limit=4,
        n_bootstrap=50, control_encoder="none", output_dir=tmp_path,
    )  # fmt: skip
    task = results.tasks[f"{FLOWERS}_as_published"]
    assert task.settings.n_permutations == 1000
    assert (
        task.conventions["unit"] == "image" and task.conventions["match"] == "concept"
    )
    # 4 stimuli a side, 1 image of 1 + 2 x 2 prompts each.
    assert (task.n_images, task.n_prompts) == (2 * 4 * 5, 2 * 4 * 5)
    assert results.model.name == generator.name
