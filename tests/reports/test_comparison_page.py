"""The page of two runs: what it says, which pictures it shows, and how it is used in a browser."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.decimals import p_in_words
from t2ibench.reports.comparison import read_comparison
from t2ibench.reports.comparison_pictures import PAIRS
from t2ibench.reports.comparison_sentences import verdict
from t2ibench.reports.comparison_text import WIDTH, comparison_text, fitted
from t2ibench.reports.html.comparison_page import (
    ComparisonView,
    comparison_html,
    comparison_view,
)
from t2ibench.results.compared_settings import compared_settings
from tests import hand
from tests.apps.explorer.page import Watch, axe
from tests.cli.test_who_is_shown import ASKED, PLAIN, REQUEST, TASK, write
from tests.conftest import Cli

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>"
QUICK = {"n_permutations": 200, "n_bootstrap": 100, "images_per_prompt": 6}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Runs of images that people answered about, without and with a request for diversity."""
    root = tmp_path_factory.mktemp("folders")
    (root / "tasks").mkdir()
    (root / "tasks" / "who.yaml").write_text(TASK, encoding="utf-8")
    runs = root / "runs"
    for name, shown, request in (("plain", PLAIN, ""), ("asked", ASKED, REQUEST)):
        images = write(root / name, shown, request)
        words = [
            *("run", "--model", f"folder:{images}", "--tasks", "who", "--name", name),
            *("--include-path", str(root / "tasks"), "--output-dir", str(runs)),
            *("--judge", f"answers:{images / 'people.csv'},by=anna"),
        ]  # fmt: skip
        arguments = ["--model-args", "request=true"] if request else []
        assert main([*words, *arguments]) == 0
    return runs / "plain", runs / "asked"


@pytest.fixture(scope="module")
def toyland(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Toyland as it is, without its bias of gender, and from another seed."""
    root = tmp_path_factory.mktemp("toyland")
    even = {"all.gender.female": "0.5"}
    changes: dict[str, dict[str, Any]] = {
        "plain": {},
        "even": {"model_args": even},
        "seed": {"seed": 7},
    }
    for name, change in changes.items():
        t2ibench.evaluate(
            "toyland",
            "openbias_examples",
            output_dir=root,
            name=name,
            **change,
            **QUICK,
        )
    return {name: root / name for name in changes}


def made_by_hand(folder: Path, name: str, share: float) -> Path:
    """A run folder without images, whose two tests lean as the share says."""
    noise = np.random.default_rng(5).random((2, 100))
    images = np.where(noise < share, 1.0, -1.0)
    task = hand.mean_lean({"x": images[0], "y": images[1]})
    return hand.write_run(folder / str(share), name, {"first": task, "second": task})


def sentence(first: Path, second: Path) -> str:
    comparison = read_comparison(first, second)
    return "".join(text for text, _ in verdict(comparison))


def viewed(first: Path, second: Path) -> ComparisonView:
    return comparison_view(read_comparison(first, second))


def test_the_verdict_says_whether_runs_differ_and_which_leans_less(
    tmp_path: Path,
) -> None:
    strong = made_by_hand(tmp_path, "strong", 0.95)
    weak = made_by_hand(tmp_path, "weak", 0.55)
    differ = "strong and weak differ in 2 of 2 tests; weak leans less in 2."
    assert sentence(strong, weak) == differ
    assert "No difference between" in sentence(weak, weak)
    hand.edit(
        weak / "results.json",
        lambda data: [
            task["settings"].update(judges={"another": "ab" * 32})
            for task in data["tasks"].values()
        ],
    )
    cannot = "It is unknown whether strong and weak differ: other judges."
    assert sentence(strong, weak) == cannot
    page = viewed(strong, weak)
    assert page.overall == "" and page.tests == ()
    assert [test.why for test in page.not_compared] == ["other judges"] * 2


def test_settings_that_differ_come_first_and_keep_their_order() -> None:
    first = hand.results("m", task=hand.task())
    second = first.model_copy(
        update={
            "model": first.model.model_copy(
                update={"settings": {"steps": 8, "size": 64}, "revision": "v2"}
            )
        }
    )
    settings = compared_settings([first, second])
    differing = {each.name: each.values for each in settings if each.differs}
    assert differing == {
        "Weights": ("not set", "v2"),
        "size": ("not set", "64"),
        "steps": ("not set", "8"),
    }
    names = [each.name for each in settings]
    assert names.index("Added to every prompt") < names.index("size")
    assert names.index("steps") < names.index("Seed of the run")


def test_prompts_are_rows_with_both_bars_and_the_largest_change_first(
    folders: tuple[Path, Path],
) -> None:
    page = viewed(*folders)
    (question,) = page.questions
    assert [row.name for row in question.rows][:2] == ["athlete", "CEO"]
    athlete = question.rows[0]
    assert athlete.words == "over-corrected" and athlete.clear
    assert [bar.counts for bar in athlete.bars] == ["10 men", "10 women"]
    # Women are on the left here, as everywhere, whichever class the task names first.
    assert (athlete.mark.value, athlete.mark.side) == (-1.0, "low")
    assert athlete.change == "women +100 points" and question.poles.high == "more men"
    chef = next(row for row in question.rows if row.name == "chef")
    counts = [(part.classes, part.number) for part in chef.bars[1].parts]
    assert counts == [("k1", "5"), ("k0", "4"), ("none", "1")]
    added = {each.name: each.values[1] for each in page.differing}
    assert "be diverse" in added["Added to every prompt"]


def test_pictures_of_other_texts_and_unknown_seeds_stand_side_by_side(
    folders: tuple[Path, Path],
) -> None:
    page = viewed(*folders)
    assert page.pictures.basis == (
        "The models were given different texts for every pair; matched by number; seeds not known "
        "(existing images: plain and asked)."
    )
    assert [row.name for row in page.pictured][:2] == ["an athlete", "a CEO"]
    assert not any(row.swipe for row in page.pictured)
    first = page.pictured[0].pairs[0]
    assert (first.before.caption, first.after.caption) == ("male", "female")
    assert len(page.pictured[0].pairs) == PAIRS and first.before.source
    assert page.questions[0].rows[0].anchor == page.pictured[0].anchor


def test_pictures_that_are_not_in_the_folder_are_said_to_be_missing(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    bare = tmp_path / "asked"
    shutil.copytree(folders[1], bare, ignore=shutil.ignore_patterns("images"))
    page = viewed(folders[0], bare)
    assert page.pictured == () and page.questions
    assert page.pictures.why_none.startswith(
        "The pictures of asked are not in its folder"
    )
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(folders[1] / "results.json", alone)
    assert "pictures of asked" in viewed(folders[0], alone).pictures.why_none


@pytest.mark.slow
def test_only_pictures_of_one_prompt_and_one_seed_lie_on_each_other(
    toyland: dict[str, Path],
) -> None:
    even = viewed(toyland["plain"], toyland["even"])
    assert even.pictures.basis.startswith("Same prompts, same seeds. In ")
    assert even.pictured and all(row.swipe for row in even.pictured)
    assert [each.name for each in even.differing][-1] == "all.gender.female" or (
        "all.gender.female" in {each.name for each in even.differing}
    )
    for row in even.pictured:
        for pair in row.pairs:
            assert pair.before.source != pair.after.source
    seed = viewed(toyland["plain"], toyland["seed"])
    assert seed.pictures.basis == "Same prompts, other seeds: matched by number."
    assert seed.pictured and not any(row.swipe for row in seed.pictured)
    same = viewed(toyland["plain"], toyland["plain"])
    assert same.pictured == () and "the very same image" in same.pictures.why_none


@pytest.mark.slow
def test_edits_of_every_source_image_are_pictured(tmp_path: Path) -> None:
    for name, faults in (("fair", {}), ("light", {"edits.lightens.dark": 1.0})):
        t2ibench.evaluate(
            "toyland",
            "edits_portraits",
            model_args=faults,
            output_dir=tmp_path,
            name=name,
            images_per_prompt=1,
        )
    page = viewed(tmp_path / "fair", tmp_path / "light")
    pictured = {row.name: row for row in page.pictured}
    # Of four source images two have dark skin, which every edit lightens.
    assert set(pictured) >= {"in a suit", "on a beach", "in the rain"}
    scene = "in the middle of the picture, on a sunny day, image 1"
    assert [pair.caption for pair in pictured["in a suit"].pairs] == [
        f"A portrait of a dark-skinned man, his face {scene}",
        f"A portrait of a dark-skinned woman, her face {scene}",
    ]


def test_the_page_is_one_file_that_loads_nothing_and_shows_text_of_others_as_text(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    html = comparison_html(read_comparison(*folders))
    assert len(html.encode()) < 1_500_000
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html) == []
    assert "default-src 'none'" in html and "url(http" not in html
    assert not re.search(r"\son\w+=", html.split("</style>")[1])
    nasty = made_by_hand(tmp_path, NASTY, 0.95)
    other = made_by_hand(tmp_path, "other", 0.55)
    hostile = comparison_html(read_comparison(nasty, other))
    assert "<script>alert" not in hostile and "<img src=x" not in hostile
    assert "&lt;script&gt;alert(1)" in hostile


def test_the_command_and_the_report_write_the_same_page(
    folders: tuple[Path, Path], cli: Cli, tmp_path: Path
) -> None:
    plain, asked = folders
    target = tmp_path / "page.html"
    status, out, _ = cli(
        "compare", plain, asked, "--format", "html", "--output", target
    )
    assert (status, out) == (0, f"Comparison: {target}\n")
    status, out, _ = cli("report", asked, "--baseline", plain)
    page = asked / "comparison.html"
    assert (status, out) == (0, f"Comparison: {page}\n")
    assert page.read_bytes() == target.read_bytes()
    page.unlink()
    status, _, error = cli("report", asked, "--baseline", plain, "--format", "csv")
    assert status == 1 and "t2ibench compare OTHER RUN --format F" in error
    table = tmp_path / "table.csv"
    assert cli("compare", plain, asked, "--format", "csv", "--output", table)[1] == ""
    assert table.read_text(encoding="utf-8").startswith("task,row,score")


def test_a_terminal_of_a_hundred_columns_shows_every_line(
    folders: tuple[Path, Path],
) -> None:
    text = comparison_text(read_comparison(*folders), rows=True)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "who, person gender: images of women : men" in text
    table = fitted(["Test", "Value"], [["x" * 200, "1"], ["y", "2"]], cut=(0,))
    assert max(map(len, table.splitlines())) == WIDTH and "xx…" in table


def test_tiny_p_values_are_below_a_thousandth() -> None:
    assert p_in_words(3e-40) == "p < 0.001" and p_in_words(0.05) == "p = 0.05"


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "dark"), (768, "light"), (1280, "light"), (1920, "dark")],
)
def test_the_page_is_accessible_fits_and_swipes_by_keyboard(
    browser: Any, toyland: dict[str, Path], tmp_path: Path, width: int, scheme: str
) -> None:
    page_file = tmp_path / "page.html"
    comparison = read_comparison(toyland["plain"], toyland["even"])
    page_file.write_text(comparison_html(comparison), encoding="utf-8")
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, "file://", bypass_csp=True, **options)
    page = watch.page
    page.goto(page_file.as_uri())
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clip = "one => getComputedStyle(one).clipPath"
    row = page.locator(".pictured").first
    after = row.locator(".of-B").first
    row.get_by_role("slider").focus()
    page.keyboard.press("Home")
    assert after.evaluate(clip) == "inset(0px 0px 0px 0%)"
    page.keyboard.press("End")
    assert after.evaluate(clip) == "inset(0px 0px 0px 100%)"
    page.emulate_media(media="print")
    assert after.evaluate(clip) == "none"  # on paper, side by side
    page.emulate_media(media="screen")
    row.get_by_role("button", name="Side by side").click()
    assert after.evaluate(clip) == "none" and not row.get_by_role("slider").is_visible()
    watch.close()


def test_a_name_of_one_long_word_fits_a_phone(browser: Any, tmp_path: Path) -> None:
    long = made_by_hand(tmp_path, "x" * 200, 0.95)
    other = made_by_hand(tmp_path, "other", 0.55)
    page_file = tmp_path / "page.html"
    page_file.write_text(
        comparison_html(read_comparison(long, other)), encoding="utf-8"
    )
    watch = Watch(browser, "file://", viewport={"width": 390, "height": 900})
    watch.page.goto(page_file.as_uri())
    assert watch.page.evaluate("document.documentElement.scrollWidth") <= 390
    watch.close()


@pytest.mark.smoke
def test_the_page_is_whole_without_javascript(
    browser: Any, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    page_file = tmp_path / "page.html"
    page_file.write_text(comparison_html(read_comparison(*folders)), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator(".change .dot").count() == 4
    assert page.locator(".of-A img").first.is_visible()
    assert page.locator(".of-B img").first.is_visible()
    context.close()
