"""Presets, tables and pages of papers."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.build import build
from t2ibench.reproduction.paper import read_paper
from t2ibench.reproduction.preset import with_preset, write_tasks
from t2ibench.reproduction.ratings import read_ratings
from t2ibench.reproduction.registry import PAPERS
from t2ibench.reproduction.tables import Line, comparison
from t2ibench.reproduction.write import html
from t2ibench.results.reading import read_results
from t2ibench.tasks.index import build_index
from tests.reproduction.conftest import SMALL, arguments

FLOWERS = "t2iat_flowers_insects"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_lines_by_hand() -> None:
    table = comparison(
        [Line("tulip", "S", 0.25, (0.1,)), Line("tulip", "p", None, ("< 1e-3",), note="no image")],
        ["Model 1"],
    )
    assert list(table.headers) == [
        *("", "score", "published, Model 1", "ours", "difference", "note")
    ]
    assert table.rows == [
        ["tulip", "S", "0.100", "0.250", "+0.150", ""],
        ["tulip", "p", "< 1e-3", "–", "–", "no image"],
    ]
    assert table.records[0]["ours - Model 1"] == pytest.approx(0.15)
    assert Line("x", "y", "male", ("male",)).differences() == (None,)


@pytest.mark.slow
def test_every_paper_is_whole(tmp_path: Path) -> None:
    made: dict[str, str] = {}
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
                assert changed or key.endswith("_per_prompt"), f"{task.name} does not change {key}"
            assert made.setdefault(task.name, task.of) == task.of
        for exhibit in paper.file.exhibits.values():
            assert set(exhibit.published) <= set(exhibit.models)


@pytest.mark.parametrize(
    ("model", "args", "encoder"),
    [
        ("sd21", {"size": "512", "steps": "50", "guidance": "7.5"}, ("open_clip:ViT-L-14/openai",)),
        ("sdxl-turbo", {"size": "512"}, ("open_clip:ViT-L-14/openai",)),
        ("toy", {}, ()),
        ("toyland", {}, ()),
    ],
)
def test_what_a_model_gets_of_a_preset(
    tmp_path: Path, model: str, args: dict[str, str], encoder: tuple[str, ...]
) -> None:
    settings = with_preset(PAPERS.get("t2iat"), {"model": model, "output_dir": str(tmp_path)})
    assert settings.model_args == args
    assert settings.encoder == encoder
    assert settings.n_permutations == 1000
    assert settings.include_path == (str(tmp_path / "presets" / "t2iat"),)


def test_what_is_given_wins(tmp_path: Path) -> None:
    given = {"model_args": "steps=20", "n_permutations": 99, "output_dir": str(tmp_path)}
    settings = with_preset(PAPERS.get("t2iat"), {**given, "tasks": "*flowers*"})
    assert settings.model == "stabilityai/stable-diffusion-2-1"
    assert settings.model_args == {"size": "512", "steps": "20", "guidance": "7.5"}
    assert settings.n_permutations == 99
    assert settings.tasks == ("t2iat_flowers_insects_as_published",)
    with pytest.raises(T2IBenchError, match="has no task 'weat'"):
        with_preset(PAPERS.get("t2iat"), {**given, "tasks": "weat"})


@pytest.mark.slow
def test_the_preset_is_what_runs(run: Path) -> None:
    results = read_results(run).with_earlier()
    task = results.tasks[f"{FLOWERS}_as_published"]
    assert task.conventions["unit"] == "image"
    assert task.conventions["match"] == "concept"
    assert task.settings.n_permutations == 1000
    # 4 stimuli a side, 1 image of 1 + 2 x 2 prompts each.
    assert (task.n_images, task.n_prompts) == (2 * 4 * 5, 2 * 4 * 5)


def test_tables_hold_published_numbers_and_ours(run: Path) -> None:
    results = read_results(run).with_earlier()
    rows = {(row["row"], row["score"]): row for row in rows_of(run / "reproduce/t2iat/table-1.csv")}
    assert len(rows) == 8 * 4
    scores = results.tasks[f"{FLOWERS}_as_published"].scores
    mine = rows["flowers and insects, pleasant and unpleasant", "S"]
    assert float(mine["published: Stable Diffusion 2.1"]) == 0.033
    assert float(mine["ours"]) == scores["S"].value
    assert float(mine["ours - Stable Diffusion 2.1"]) == pytest.approx(scores["S"].value - 0.033)
    p = rows["flowers and insects, pleasant and unpleasant", "p"]
    assert float(p["ours"]) == scores["S"].p
    skin = rows["light and dark skin, pleasant and unpleasant", "d"]
    assert float(skin["published: Stable Diffusion 2.1"]) == -1.237


def test_figures_show_every_image(run: Path) -> None:
    rows = {row["row"]: row for row in rows_of(run / "reproduce/t2iat/figure-3-points.csv")}
    assert len(rows) == 4
    assert {row["images"] for row in rows.values()} == {"10"}
    for row in rows.values():
        assert float(row["q25"]) <= float(row["median"]) <= float(row["q75"])
    arrows = rows_of(run / "reproduce/t2iat/figure-4-points.csv")
    result = read_results(run).with_earlier().tasks["occupations_t2iat_as_published"]
    ours = {row.name: row.scores["asc"].value for row in result.by}
    assert {row["row"]: float(row["head"]) for row in arrows} == ours
    for name in ("figure-3.svg", "figure-3.png", "figure-4.svg"):
        assert (run / "reproduce" / "t2iat" / name).stat().st_size > 1000


@pytest.mark.slow
def test_again_is_the_same_and_makes_nothing(
    output: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def pages() -> dict[str, bytes]:
        found = (run / "reproduce").rglob("*")
        return {str(file): file.read_bytes() for file in found if file.is_file()}

    before, images = pages(), sorted((run / "images").rglob("*.png"))
    assert main(arguments(output, "--table", "1")) == 0
    said = capsys.readouterr().out
    assert "Table 1." in said
    assert "Figure 3." not in said
    assert pages() == before
    assert sorted((run / "images").rglob("*.png")) == images
    assert main(["reproduce", "t2iat", "--run", str(run), "--figure", "4"]) == 0
    assert pages() == before
    assert "Figure 4." in capsys.readouterr().out


@pytest.mark.slow
def test_what_differs_is_said(run: Path) -> None:
    results = read_results(run).with_earlier()
    found = build(PAPERS.get("t2iat"), results, run)
    said = "\n".join(found.differs)
    for part in (
        "Model: toyland here, stabilityai/stable-diffusion-2-1 in the paper.",
        "size: 64 here, 512 in the paper.",
        "Encoder: toyland here, open_clip:ViT-L-14/openai in the paper.",
        "Images: 0.1 times the paper's number",
        "Only the first 4 stimuli",
    ):
        assert part in said
    assert "Permutations" not in said
    # Without a task, its lines have no number, the page says so, and the others stay.
    del results.tasks[f"{FLOWERS}_as_published"]
    found = build(PAPERS.get("t2iat"), results, run)
    lacking = [one.name for one in found.exhibits if not one.complete]
    assert lacking == ["table-1", "table-2"]
    assert f"Not measured here: {FLOWERS}_as_published." in found.differs
    assert len(found.exhibits[0].built.lines) == 7 * 4 + 1


def test_an_alias_is_its_model_and_every_side_counts(run: Path) -> None:
    results = read_results(run).with_earlier()

    def said(name: str, **used: object) -> list[str]:
        model = results.model.model_copy(
            update={"name": name, "effective_settings": used, "settings": {"steps": 50}}
        )
        found = build(PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run)
        return [line for line in found.differs if line.startswith(("Model", "size", "steps", "gu"))]

    assert said("sd21", height=512, width=512, guidance_scale=7.5) == []
    assert said("sdxl", height=512, width=768, num_inference_steps=20) == [
        "Model: sdxl here, stabilityai/stable-diffusion-2-1 in the paper.",
        "size: 512 x 768 here, 512 in the paper.",
        "steps: 20 here, 50 in the paper.",
        "guidance: 7.5 in the paper; not known of this model.",
    ]


def test_a_defect_of_one_exhibit_keeps_the_others(run: Path) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("no images")

    paper = PAPERS.get("t2iat")
    paper = replace(paper, builders={**paper.builders, "table-1": broken})  # type: ignore[dict-item]
    found = build(paper, read_results(run).with_earlier(), run)
    assert [one.name for one in found.exhibits if not one.complete] == ["table-1"]
    assert found.exhibits[0].built.notes == (
        "It could not be built: ZeroDivisionError: no images.",
    )


def test_text_of_others_is_escaped(run: Path) -> None:
    results = read_results(run).with_earlier()
    evil = "<script>alert(1)</script>"
    model = results.model.model_copy(update={"name": evil})
    page = html(build(PAPERS.get("t2iat"), results.model_copy(update={"model": model}), run))
    assert evil not in page
    assert "&lt;script&gt;" in page


def test_ratings(tmp_path: Path, run: Path) -> None:
    positive = {"flowers": "pleasant", "insects": "pleasant"}
    file = tmp_path / "ratings.csv"
    file.write_text("concept,rating\nflowers,1\nflowers,.5\ninsects,0.25\n")
    assert read_ratings(file, positive) == {"flowers": 0.75, "insects": 0.25}
    file.write_text("concept,answer\nflowers,Pleasant\nflowers,unpleasant\n")
    assert read_ratings(file, positive) == {"flowers": 0.5}
    for text, said in (
        ("concept\nflowers\n", "concept and rating"),
        ("concept,rating\nflower,1\n", "Did you mean 'flowers'"),
        ("concept,rating\nflowers,1.5\n", "from 0 to 1"),
        ("concept,rating\nflowers,nan\n", "from 0 to 1"),
        ("concept,answer\nflowers,\n", "ratings.csv:2 has neither a rating nor an answer"),
    ):
        file.write_text(text)
        with pytest.raises(T2IBenchError, match=said):
            read_ratings(file, positive)


def test_kendall_with_peoples_ratings(tmp_path: Path, run: Path) -> None:
    """Ratings in the order of the scores correlate by 1, in the reverse order by -1."""
    paper, results = PAPERS.get("t2iat"), read_results(run).with_earlier()
    table = next(one for one in build(paper, results, run).exhibits if one.name == "table-2")
    asc = {line.row: line.ours for line in table.built.lines if line.score == "asc"}
    order = sorted(asc, key=lambda name: float(asc[name] or 0))
    file = tmp_path / "ratings.csv"
    for sign, names in ((1.0, order), (-1.0, order[::-1])):
        rated = "".join(f"{name},{k / 10}\n" for k, name in enumerate(names))
        file.write_text("concept,rating\n" + rated)
        found = build(paper, results, run, options={"ratings": file})
        lines = {(one.row, one.score): one for one in found.exhibits[2].built.lines}
        assert lines["all concepts", "Kendall's tau"].ours == sign
        assert lines[names[3], "rating"].ours == 0.3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "t2at"], "Did you mean 't2iat'?"),
        (["reproduce", "t2iat", "--table", "9"], "It has: table-1"),
        (["reproduce", "t2iat", "--with", "rating=x.csv"], "Did you mean 'ratings'?"),
        (["reproduce", "t2iat", "--run", "x", "--model", "toy"], "no other setting"),
        (["reproduce", "t2iat", *SMALL, "--engine", "slurm"], "reproduce has to score"),
        (["reproduce", "all", "--table", "1"], "Name the paper."),
        (["run", "--preset", "t2iats", *SMALL], "Unknown paper 't2iats'"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_data_files_are_strict(tmp_path: Path) -> None:
    source = Path(str(read_paper.__code__.co_filename)).parent / "papers" / "t2iat.yaml"
    text = source.read_text(encoding="utf-8")
    builders = PAPERS.get("t2iat").builders
    file = tmp_path / "t2iat.yaml"
    for old, new, said in (
        ("  table-2:", "  table-9:", "disagree about table-2, table-9"),
        ("  figure-4:", "  picture-4:", "neither"),
        ("tasks: [occupations_t2iat]", "tasks: [occupations]", "no task of occupations"),
        ("preset:", "presets:", "preset"),
    ):
        file.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(T2IBenchError, match=said):
            read_paper("t2iat", builders, file=file)


def test_run_with_a_preset_leaves_a_run_to_reproduce(tmp_path: Path) -> None:
    words = ["run", "--preset", "t2iat", *SMALL, "--tasks", FLOWERS, "--scale", ".1"]
    assert main([*words, "--output-dir", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "toyland" / "results.json").read_text())
    assert list(results["tasks"]) == [f"{FLOWERS}_as_published"]
    assert main(["reproduce", "t2iat", "--run", str(tmp_path / "toyland")]) == 3
    page = (tmp_path / "toyland" / "reproduce" / "t2iat.md").read_bytes()
    assert b"occupations_t2iat_as_published" in page.split(b"Not measured here: ")[1]
    # What is asked for changes what is printed, never the page.
    assert main(["reproduce", "t2iat", "--run", str(tmp_path / "toyland"), "--table", "1"]) == 3
    assert (tmp_path / "toyland" / "reproduce" / "t2iat.md").read_bytes() == page
    assert (tmp_path / "toyland" / "reproduce" / "t2iat.html").is_file()
