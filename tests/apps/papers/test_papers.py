"""The papers' data, presets and wrong input; what needs no run."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench
from t2ibench.apps.papers.call import without_new_run
from t2ibench.apps.papers.exhibits import difference
from t2ibench.apps.papers.figures import Group, Words, grouped_bars, loess
from t2ibench.apps.papers.paper import read_paper
from t2ibench.apps.papers.people import read_people
from t2ibench.apps.papers.pictures import sheet
from t2ibench.apps.papers.preset import with_preset, write_tasks
from t2ibench.apps.papers.published import t2iat
from t2ibench.apps.papers.published.openbias import agreement
from t2ibench.apps.papers.registry import PAPERS
from t2ibench.apps.papers.reproduction import build
from t2ibench.apps.papers.run import Run
from t2ibench.apps.papers.tables import Line, comparison
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.results.schema import GeneratorInfo, Results
from t2ibench.settings import Settings
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__
from tests.apps.papers.conftest import FEW, SMALL, ours, write

FLOWERS = "t2iat_flowers_insects"
Cli = Callable[..., tuple[int, str, str]]


def nothing() -> Results:
    return Results(
        t2ibench=__version__,
        model=GeneratorInfo(name=None),
        command=[],
        environment={},
        limited=False,
        tasks={},
    )


def test_lines_by_hand() -> None:
    lines = [Line("tulip", "S", 0.25, (0.1,)), Line("tulip", "p", None, ("< 1e-3",), note="none")]
    table = comparison(lines, ["Model 1"])
    assert table.headers == ["", "score", "published, Model 1", "ours", "difference", "note"]
    assert table.rows == [
        ["tulip", "S", "0.100", "0.250", "+0.150", ""],
        ["tulip", "p", "< 1e-3", "–", "–", "none"],
    ]
    assert table.records[0]["ours - Model 1"] == pytest.approx(0.15)
    assert Line("x", "y", "male", ("male",)).differences() == (None,)
    alone = comparison([Line("a", "b", 1.0, (2.0,))], ["the paper"])
    assert alone.headers == ["", "score", "published", "ours", "difference"]


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
                assert changed or key.endswith("_per_prompt"), f"{task.name} does not change {key}"
        for key, exhibit in paper.file.exhibits.items():
            assert exhibit.label or key.partition("-")[2].isdecimal()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    kind: rows\n", "    kind: row\n", "kind: unknown 'row'. Did you mean 'rows'"),
        ("  figure-4:", "  picture-4:", "neither"),
        ("tasks: [occupations_t2iat]", "tasks: [occupations]", "unknown 'occupations'"),
        ("files: [ratings]", "files: [rating]", "Did you mean 'ratings'"),
        ("models: [the paper]", "models: [a paper]", "models: unknown 'the paper'"),
        ("arrows_between: [asc_text, asc]", "arrows_between: [asc]", "arrows_between.1"),
        ("interval: true", "intervals: true", "Did you mean 'interval'"),
        ("preset:", "presets:", "preset"),
    ],
)
def test_data_files_are_strict(tmp_path: Path, old: str, new: str, said: str) -> None:
    source = Path(t2iat.__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    assert old in source
    file = tmp_path / "t2iat.yaml"
    file.write_text(source.replace(old, new), encoding="utf-8")
    functions = (t2iat.table_1, t2iat.table_2, t2iat.table_3, t2iat.figure_2)
    with pytest.raises(T2IBenchError, match=r"t2iat\.yaml:\d+: ") as caught:
        read_paper(file, *functions)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("model", "args", "encoder"),
    [
        ("sd21", {"size": "512", "steps": "50", "guidance": "7.5"}, ("open_clip:ViT-L-14/openai",)),
        ("sdxl-turbo", {"size": "512"}, ("open_clip:ViT-L-14/openai",)),
        ("toyland", {}, ()),
    ],
)
def test_what_a_model_gets_of_a_preset(
    tmp_path: Path, model: str, args: dict[str, str], encoder: tuple[str, ...]
) -> None:
    settings = with_preset(PAPERS.get("t2iat"), {"model": model, "output_dir": str(tmp_path)})
    assert (settings.model_args, settings.encoder) == (args, encoder)
    assert settings.n_permutations == 1000
    assert settings.include_path == (str(tmp_path / "presets" / "t2iat"),)


def test_what_is_given_wins(tmp_path: Path) -> None:
    given = {"model_args": "steps=20", "n_permutations": 99, "output_dir": str(tmp_path)}
    settings = with_preset(PAPERS.get("t2iat"), {**given, "tasks": "*flowers*"})
    assert settings.model == "stabilityai/stable-diffusion-2-1"
    assert settings.model_args == {"size": "512", "steps": "20", "guidance": "7.5"}
    assert (settings.n_permutations, settings.tasks) == (99, (f"{FLOWERS}_as_published",))


def test_a_targets_text_may_be_its_keyword(tmp_path: Path) -> None:
    settings = with_preset(PAPERS.get("mcas"), {"model": "toyland", "output_dir": str(tmp_path)})
    index = build_index(list(map(Path, settings.include_path)))[0]
    spec = index.tasks["mcas_all_as_published"].spec
    assert isinstance(spec, McasTask)
    found = needs(spec, Settings())
    assert {"CEO", "Make-up Kit"} <= set(found.texts)
    assert "an image of a chief executive officer" not in found.texts
    assert found.images_by_prompt["an image of a chief executive officer"] == 20
    assert found.images_by_prompt["an image of a teenage boy"] == 16
    assert sum(found.images_by_prompt.values()) == 128 + 560  # section 5.1
    # A task of before this key has the hash that it had.
    assert "text" not in McasTarget(name="CEO", prompt="a CEO").model_dump()


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
            chosen = [values for name, values in rows.items() if side in {None, sides[name]}]
            assert len(chosen) == (28 if side is None else 14)
            printed = table_4[model][group]
            alphas = [float(values["α"] or 0) for values in chosen]
            deltas = [float(values["δ"] or 0) for values in chosen]
            assert printed["α mean of Table 3"] == pytest.approx(statistics.mean(alphas), abs=0.006)
            median = statistics.median(alphas)
            assert printed["α median of Table 3"] == pytest.approx(median, abs=0.0051)
            assert (printed["α least"], printed["α greatest"]) == (min(alphas), max(alphas))
            assert (printed["δ least"], printed["δ greatest"]) == (min(deltas), max(deltas))
            assert printed["δ mean"] == pytest.approx(statistics.mean(deltas), abs=0.0051)
    assert table_4["Stable Diffusion v2"]["male"]["α mean"] == 3.15  # the erratum


def test_table_5_stands_beside_its_prompts() -> None:
    table = PAPERS.get("tibet").file.exhibits["table-5"].published["GPT-3.5"]
    # In print each of these stands beside the prompt before it, or two before.
    for prompt, part in (
        ("Photo of a cat on a table", "breed, cultural"),
        ("female model teenage emo photography plaid skirt band shirt", "emo subculture"),
        ("a dragon eating dimsum and drinking tea", "culinary"),
        ("Capybars getting married in a retreat in Italy", "animal stereotypes"),
    ):
        assert part in str(table[prompt]["axes"])
    assert str(table["camel wearing boots in the desert"]["axes"]).count(";") == 1


def test_agreement_by_hand() -> None:
    """Four of five agree; P = (3, 2) and Q = (2, 3) with half an answer more in each class."""
    first = {("a", k): "x" for k in range(3)} | {("b", k): "y" for k in range(2)}
    theirs = {**first, ("a", 2): "y", ("b", 5): "x", ("b", 1): "Y"}
    found = agreement(first, theirs, ("x", "y"))
    assert (found.n, found.captions) == (5, 2)
    assert found.accuracy.value == pytest.approx(0.8)
    assert found.macro_f1 == pytest.approx((0.8 + 0.8) / 2)
    assert found.kappa == pytest.approx((0.8 - 12 / 25) / (1 - 12 / 25))
    assert found.divergence == pytest.approx(0.0561, abs=1e-4)  # 7/12 ln 7/5 + 5/12 ln 5/7
    none = agreement(first, {}, ("x", "y"))
    assert (none.n, none.macro_f1, none.divergence) == (0, None, None)


def test_the_interval_of_the_accuracy_covers() -> None:
    """Twenty captions like these, whose images a judge gets right in 30 to 100 %."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        truth = rng.integers(2, size=(20, 10))
        right = rng.random((20, 10)) < rng.beta(4.0, 1.0, size=(20, 1))
        theirs = {(f"{c}", i): "ab"[truth[c, i]] for c in range(20) for i in range(10)}
        first = {(c, i): one if right[int(c), i] else "ba"["ab".index(one)]
                 for (c, i), one in theirs.items()}  # fmt: skip
        low, high = agreement(first, theirs, ("a", "b")).accuracy.interval()
        covered += low <= 0.8 <= high
    assert 0.90 <= covered / 200 <= 0.99


def test_figures_by_hand() -> None:
    line = [(float(x), 2.0 * x + 1.0) for x in (0, 3, 1, 2, 5, 4, 7, *range(8, 16))]
    assert loess(line) == [pytest.approx(point) for point in sorted(line)]
    assert loess(line[:14]) == []
    words = Words(title="A title", caption="A caption.", x="share")
    drawn = grouped_bars([Group("a", [("x", 0.25), ("y", 2.0)]), Group("b", [])], words)
    assert drawn is not None and drawn.rows == [("a", "x", 0.25), ("a", "y", 2.0)]
    assert grouped_bars([Group("b", [])], words) is None


@pytest.mark.parametrize(
    ("printed", "there", "said"),
    [
        (["rose", "Tulip"], ["tulip", "rose"], "as printed"),
        (["rose", "tulip"], ["tulip", "iris"], "without rose; with iris"),
        ([*"abcdefgh"], ["a"], "without b, c, d, e, f, g and 1 more"),
    ],
)
def test_what_two_lists_do_not_share(printed: list[str], there: list[str], said: str) -> None:
    assert difference(printed, there) == said


def test_without_a_run_the_published_points_stand(tmp_path: Path) -> None:
    found = build(PAPERS.get("mcas"), nothing(), None)
    assert not any(exhibit.complete for exhibit in found.exhibits)
    figure = found["Figure 2"].built.figure
    assert figure is not None and len(figure.rows) == 56
    for folder in (None, tmp_path / "nowhere"):
        strip = Run(nothing(), folder).strip("a nurse", ["a nurse"])
        assert strip.images == () and sheet([strip]) is None


def test_what_needs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = t2ibench.reproduce("tibet", tables=5, figures=1)
    assert found.page is None and found.complete
    rows = found["Table 5"].rows
    assert len(rows) == 98 and all(row["ours"] for row in rows)
    assert rows[1]["published: GPT-3.5"] == "gender, age, ethnicity, access resources, geographic"
    assert rows[1]["ours"] == "gender, age, ethnicity"
    words = ours(t2ibench.reproduce("t2iat", tables=3)["table-3"], "words")
    other = {row: said for row, said in words.items() if said != "as printed"}
    assert len(words) == 20
    assert set(other) == {"European American names", "African American names"}
    assert str(other["African American names"]).endswith("with Tyree")  # printed 'Tvree'
    vibex = t2ibench.reproduce("vibex", tables=1, figures=2)
    assert all(line.ours == line.published[0] for line in vibex["figure-2"].built.lines)
    assert list(tmp_path.iterdir()) == []
    paper = PAPERS.get("vibex")
    for chosen in (["table-1", "figure-4"], None):
        assert without_new_run(paper, chosen, {}, None, []) is None
    with pytest.raises(T2IBenchError, match="no setting of one"):
        t2ibench.reproduce("vibex", tables=1, model="toyland")


def test_studies_are_counted_from_their_files(cli: Cli, tmp_path: Path) -> None:
    rows = ["a,correct,no"] * 3 + ["a,relation problem,no", "b,concept problem,yes"]
    trees = write(tmp_path / "trees.csv", "participant,code,outlier", *rows)
    found = t2ibench.reproduce("vibex", tables="pilot", with_={"trees": trees})
    pilot = ours(found["table-pilot"])
    assert pilot["all participants: problems"] == 2.0
    assert pilot["without outliers: correct"] == 0.75
    assert pilot["without outliers: concept problem"] == 0.0
    status, said, _ = cli("reproduce", "vibex", "--table", "pilot", "--with", f"trees={trees}")
    assert status == 0 and "| problems" in said and "Pages:" not in said
    axes = tmp_path / "axes.yaml"
    axes.write_text(
        "id: axes\nversion: 1\nmethod: tibet\ntitle: Axes\ndescription: Axes of a prompt.\n"
        "citation: Nobody (2025).\ntags: [proposed]\nprompts:\n"
        "  - prompt: picture that shows a woman\n    axes:\n      - name: gender\n"
        "        counterfactuals: [{name: man, prompt: picture that shows a man}]\n",
        encoding="utf-8",
    )
    found = t2ibench.reproduce("vibex", tables=3, with_={"axes": axes})
    proposed = ours(found["Table 3"], "questions")
    assert "gender" in str(proposed["picture that shows a woman"])
    assert proposed["picture that shows a man"] is None
    seen = write(
        tmp_path / "axes.csv", "prompt,axis,societal,incidental",
        "a philosopher,gender,yes,", "a philosopher,gender,no,yes", "a philosopher,age,no,no",
        "a philosopher,weather,no,yes", "A PHILOSOPHER,racial,yes,no",
    )  # fmt: skip
    concepts = write(
        tmp_path / "concepts.csv", "images,concept,predicted,selected",
        "1,man,yes,yes", "1,hat,yes,yes", "1,cat,no,yes", "1,car,no,no",
    )  # fmt: skip
    files = {"axes": seen, "concepts": concepts}
    studies = t2ibench.reproduce("tibet", tables=[2, "study-3"], with_=files)
    # Proposed are gender, age and racial; people see gender, weather and racial.
    first, third = ours(studies["Table 2"]), ours(studies["table-study-3"])
    assert first["overall: precision"] == first["overall: recall"] == pytest.approx(2 / 3)
    assert first["societal: recall"] == 1.0
    assert third["concepts that people select: also the judge's"] == pytest.approx(2 / 3)
    assert third["other concepts: selected by people"] == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("promt,seen\nx,y\n", "no column 'prompt'. Did you mean 'promt'"),
        ("prompt,seen\n", "has no rows"),
        ("prompt,seen\nx,maybe\n", "a.csv:2: seen: expected yes or no, found 'maybe'"),
        ("prompt,seen,n\nx,yes,nan\n", "a.csv:2: n: expected a number from 0 to 1, found 'nan'"),
        ("prompt,seen,n\nroses,yes,1\n", "unknown prompt 'roses'. Did you mean 'rose'"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(T2IBenchError) as caught:
        for row in read_people(file, ("prompt", "seen"), ("n",)):
            row.yes("seen"), row.number("n", 0, 1), row.one_of("prompt", ["rose"])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"paper": "t2ait"}, "Did you mean 't2iat'"),
        ({"paper": "all"}, "about one paper"),
        ({"figures": 9}, "no figure '9'"),
        ({"with_": {"rating": "x"}}, "Did you mean 'ratings'"),
        ({"run": "runs", "limit": 3}, "no other setting goes with it"),
        ({"run": "nowhere"}, "Give the folder of a finished run"),
        ({"model": "toyland", "generate_only": True}, "has to score"),
        ({"model": "toyland", "permutation": 9}, "Did you mean 'n_permutations'"),
    ],
)
def test_a_wrong_call_says_so_before_anything_runs(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        t2ibench.reproduce(**{"paper": "t2iat", **wrong})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "t2iat", "--table", "9"], "It has: table-1"),
        (["reproduce", "t2iat", "--run", "x", "--model", "toy"], "Leave out --model"),
        (["reproduce", "t2iat", *SMALL, "--engine", "slurm"], "reproduce has to score"),
        (["reproduce", "all", "--table", "1"], "Name the paper."),
        (["run", "--preset", "t2iats", *SMALL], "Unknown paper 't2iats'"),
        (["run", "--preset", "t2iat", *SMALL, "--tasks", "weat"], "has no task 'weat'"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, error = cli(*words)
    assert status == 1 and said in error and error.count("\n") == 1


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


def test_an_object_takes_a_presets_tests_but_no_name_and_no_arguments(tmp_path: Path) -> None:
    generator = ToylandGenerator({}, 0)
    results = t2ibench.evaluate(
        generator, "*flowers*", preset="t2iat", encoder="toyland", times=0.1, limit=4,
        n_bootstrap=50, control_encoder="none", output_dir=tmp_path,
    )  # fmt: skip
    task = results.tasks[f"{FLOWERS}_as_published"]
    assert task.settings.n_permutations == 1000
    assert task.conventions["unit"] == "image" and task.conventions["match"] == "concept"
    # 4 stimuli a side, 1 image of 1 + 2 x 2 prompts each.
    assert (task.n_images, task.n_prompts) == (2 * 4 * 5, 2 * 4 * 5)
    assert results.model.name == generator.name
