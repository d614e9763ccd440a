"""report.html: made from a real run of toyland, and looked at in a real browser; a notebook."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.html.evidence import Thumbnails
from t2ibench.reports.html.filters import coded
from t2ibench.reports.html.inline import inline_style, run_html
from t2ibench.reports.html.page import report_html
from t2ibench.reports.html.templating import environment
from t2ibench.reports.positive_controls import UNTRAINED, controls_said
from t2ibench.reports.sentences import row_spoken, verdict
from t2ibench.reports.view import RowView, run_view
from t2ibench.results.display import IntervalMark, displayed, within
from t2ibench.results.files import read_results
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Control, Results, Row, TaskResult
from t2ibench.tasks.index import build_index, specs_of
from tests import hand
from tests.apps.explorer.page import Watch, axe
from tests.conftest import Cli, copied

pytestmark = pytest.mark.usefixtures("few_words")

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture(scope="module")
def run(shared_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(shared_run, tmp_path_factory.mktemp("runs"))


def text_of(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_page_loads_nothing_from_elsewhere_and_has_the_sentence_of_results_md(
    run: Path,
) -> None:
    text, results = text_of(run), read_results(run)
    assert len(text.encode()) < 5_000_000
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text) == []
    assert "default-src 'none'" in text and "url(http" not in text
    for task in results.tasks:
        assert f'id="{task}"' in text
    assert "t2ibench-inline" in (results._repr_html_() or "")
    (heading,) = re.findall(r"<h1>(.*?)</h1>", text, re.DOTALL)
    words = re.sub(r"<[^>]+>", "", heading)
    assert words in (run / "results.md").read_text(encoding="utf-8")
    assert words.startswith("In images of toyland")
    # the one on words alone is apart
    assert f"of {len(results.tasks) - 1} tests" in words


def test_images_are_the_ends_and_some_at_random_and_always_the_same(run: Path) -> None:
    text = text_of(run)
    card = text.split('id="t2iat_science_arts"')[1].split("</article>")[0]
    assert card.count("data:image/webp;base64,") == 15
    assert "the 5 lowest of" in card and "drawn by the task" in card
    digest = hashlib.sha256((run / "results.json").read_bytes()).hexdigest()
    assert text.count(digest) == 3  # head, foot, and the foot of printed pages
    (run / "results.md").unlink()
    main(["report", str(run)])
    assert text_of(run) == text and (run / "results.md").is_file()


def nasty() -> Results:
    """Results all of whose texts are hostile."""
    found = hand.record(hand.mean_lean({NASTY: [1.0, 1.0, 1.0, -1.0]}))
    head = found.headline.model_copy(update={"direction": NASTY})
    texts = {"title": NASTY, "notes": [NASTY], "warnings": [NASTY]}
    return hand.results(
        NASTY, **{NASTY: found.model_copy(update={"headline": head, **texts})}
    )


SPECS = {name: loaded.spec for name, loaded in build_index()[0].tasks.items()}


def leaning(*images: float) -> TaskResult:
    return hand.record(hand.mean_lean({f"x{k}": list(images) for k in range(6)}))


def told(tasks: dict[str, TaskResult]) -> str:
    results = hand.results(
        **{f"task{k}": task for k, task in enumerate(tasks.values())}
    )
    specs = {f"task{k}": SPECS[name] for k, name in enumerate(tasks)}
    return "".join(text for text, _ in verdict(run_view(results, specs)))


def test_positive_controls_are_not_findings_and_their_failure_comes_first() -> None:
    one, two = "t2iat_flowers_insects", "t2iat_science_arts"
    clear, fair = leaning(*[0.9] * 40, 0.8), leaning(*[0.1, -0.1] * 40)
    assert told({one: clear, two: fair}).startswith(
        "In images of m, the one test shows no clear lean"
    )
    assert told({one: clear, two: clear}).startswith(
        "In images of m, the one test leans clearly"
    )
    said = told({one: fair, two: clear})
    assert said.startswith(
        "A positive control failed (flowers and insects): nothing else from"
    )
    assert told({one: clear}) == "m: nothing but positive controls was scored."


def fair_toyland(biases: dict[str, float]) -> str:
    """The verdict on a run whose control finds nothing and whose other test is clear."""
    fair = leaning(*[0.1, -0.1] * 40)
    rows = [
        Row(name="aster", group="flowers", scores={}),
        Row(name="wasp", group="insects", scores={}),
    ]
    control = fair.model_copy(update={"by": rows})
    results = hand.results(a=control, b=leaning(*[0.9] * 40, 0.8))
    model = results.model.model_copy(
        update={"name": "toyland", "effective_settings": {"biases": biases}}
    )
    specs = {"a": SPECS["t2iat_flowers_insects"], "b": SPECS["t2iat_science_arts"]}
    run = run_view(results.model_copy(update={"model": model}), specs)
    return "".join(text for text, _ in verdict(run))


def test_a_control_whose_bias_was_taken_away_is_no_failure() -> None:
    said = fair_toyland({"all.gender.female": 0.5, "all.weather.pleasant": 0.5})
    assert said.startswith(
        "What the positive control (flowers and insects) should find was taken away by "
        "all.weather.pleasant=0.5: whether toyland would find a bias that is there, this run"
    )
    assert "relied on" not in said and "the one test leans clearly" in said


@pytest.mark.parametrize("biases", [{}, {"all.gender.female": 0.5}, {"no.such": 0.5}])
def test_a_control_whose_bias_is_there_fails(biases: dict[str, float]) -> None:
    assert fair_toyland(biases).startswith("A positive control failed")


def test_a_control_that_an_untrained_network_passes_shows_little() -> None:
    clear = leaning(*[0.9] * 40, 0.8)
    said = {}
    for value in (0.9, 0.1):
        blind = Control(says="It does.", value=value, p=0.001)
        task = clear.model_copy(update={"controls": {UNTRAINED: blind}})
        run = run_view(hand.results(a=task), {"a": SPECS["t2iat_flowers_insects"]})
        said[value] = "But an untrained network passes too" in controls_said(run)[1]
    assert said == {0.9: True, 0.1: False}


def test_an_interval_beyond_the_axis_is_marked() -> None:
    row = '{% from "marks.html" import rail %}{{ rail(mark, "x") }}'
    for ends, count in (((0.2, 0.9), 0), ((0.2, 1.3), 1), ((-1.2, 1.3), 2)):
        mark = within(IntervalMark(0.5, *ends, "clear", "high"), square=False)
        text = environment().from_string(row).render(mark=mark)
        assert text.count('class="over ') == count


def test_missing_images_leave_a_gap(run: Path, cli: Cli, tmp_path: Path) -> None:
    copy = copied(run, tmp_path)
    for file in (copy / "images").rglob("*.png"):
        file.unlink()
        file.write_bytes(b"")
    assert cli("report", copy)[0] == 0
    assert "data:image/webp" not in text_of(copy) and 'class="gone"' in text_of(copy)


def test_a_model_card_says_what_was_found(run: Path, cli: Cli) -> None:
    status, out, _ = cli("report", run, "--format", "card")
    assert status == 0 and "In images of toyland" in out and "SHA-256" in out
    assert "&lt;" not in out
    # Every test has its value and its interval.
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines()
    ]
    results = read_results(run)
    specs = specs_of({name: task.task_hash for name, task in results.tasks.items()})
    for task in run_view(results, specs).tasks:
        cells = next(cells for cells in lines if cells[:1] == [task.id])
        head = displayed(task.result.headline)
        numbers = [
            abs(float(n)) for n in re.findall(r"\d+\.\d\d", " ".join(cells[1:3]))
        ]
        shown = [
            abs(end) for end in (head.value, head.low, head.high) if end is not None
        ]
        assert numbers == pytest.approx(shown, abs=0.006)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_page_is_accessible_and_fits(
    browser: Any, run: Path, width: int, scheme: str
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, "file://", bypass_csp=True, **options)
    page = watch.page
    page.goto((run / "report.html").as_uri())
    assert (
        page.evaluate("document.documentElement.scrollHeight") <= 15_000 or width < 1280
    )
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("scrollTo(0, 5000)")
    assert page.locator("nav").bounding_box()["y"] >= 0  # the contents stay in sight
    watch.close()


@pytest.mark.smoke
def test_the_page_is_whole_without_javascript(browser: Any, run: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((run / "report.html").as_uri())
    assert page.locator("#forest .row .dot").count() >= 4
    assert page.locator("form.finder").is_hidden()
    assert page.locator(".shots img").first.is_visible()
    context.close()


def test_page_and_notebook_show_text_of_others_as_text_and_a_notebook_loads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = report_html(run_view(nasty()))
    assert "<script>alert" not in text and "<img src=x" not in text
    assert "&lt;script&gt;alert(1)" in text
    html = run_html(nasty())
    assert "<script" not in html and "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert html.count('class="rail unsure"') == 1
    body = html.split("</style>")[1]
    assert set(re.findall(r"<([a-z]\w*)", body)) <= {
        "div",
        "style",
        "p",
        "b",
        "em",
        "i",
        "span",
    }
    names = set(re.findall(r' ([a-z-]+)="', body))
    assert names <= {"class", "style", "role", "aria-label", "aria-hidden"}
    assert "url(" not in html
    monkeypatch.setattr(Results, "_html", None)
    # where no page is at hand, a notebook shows plain text
    assert nasty()._repr_html_() is None


def test_the_style_holds_inside_only() -> None:
    text = inline_style()
    assert text.startswith(".t2ibench-inline{") and text.count("{") == text.count("}")
    assert ":root" not in text and "rem" not in re.sub(r"[a-z-]*rem[a-z-]+", "", text)
    assert "@page" not in text and "@media (max-width" not in text


# From a word to its rows, its images and the other run, as a reader goes.

FEW = {"images_per_prompt": 6, "guided_images_per_prompt": 3, "permutations": 200}
MORE = {"bootstrap": 50, "control_encoder": "none"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Toyland as it is, and with nurses and chefs of both genders alike."""
    root = tmp_path_factory.mktemp("runs")
    even = {"nurse.gender.female": "0.5", "chef.gender.female": "0.5"}
    tasks = "occupations_tibet,weat_6_gender_career_family"
    for name, args in (("plain", {}), ("even", even)):
        t2ibench.evaluate(
            "toyland", tasks, model_args=args, output_dir=root, name=name, **FEW, **MORE
        )
    return root / "plain", root / "even"


@pytest.mark.smoke
def test_a_word_leads_to_its_rows(browser: Any, runs: tuple[Path, Path]) -> None:
    opened = browser.new_page()
    opened.goto((runs[0] / "report.html").as_uri())
    assert opened.locator("form.finder").is_visible()
    opened.locator("#find").fill("NURSE")
    found = opened.locator(".finder li")
    texts = found.all_inner_texts()
    assert any("nurse: −" in text and ", clear" in text for text in texts)
    found.filter(has_text="nurse").first.get_by_role("button").click()
    assert opened.locator(".rail.sought").is_visible()
    opened.locator("#find").fill(NASTY)
    assert opened.locator("#found").inner_text() == "Nothing found"
    opened.close()


def test_images_beyond_the_budget_leave_a_gap_however_often_they_are_shown(
    runs: tuple[Path, Path],
) -> None:
    row = read_samples(runs[0], "occupations_tibet")[0]
    size = len(Thumbnails(runs[0]).of(row) or "")
    small = Thumbnails(runs[0], budget=2 * size)
    assert [small.of(row) is None for _ in range(3)] == [False, False, True]
    other = read_samples(runs[0], "occupations_tibet")[-1]
    assert small.of(other) is None
    assert other["sha256"] not in small.made  # it is not even read


def test_backticks_set_code_and_the_rest_stays_text() -> None:
    assert coded("`a`<b>") == "<code>a</code>&lt;b&gt;"
    assert coded("one ` alone <i>") == "one ` alone &lt;i&gt;"
    assert coded("x `<s>` y") == "x <code>&lt;s&gt;</code> y"


def test_a_row_names_a_pole_only_if_clear() -> None:
    axis, row = Axis("female", "male"), Row(name="nurse", scores={})
    clear, not_clear = (
        RowView(
            "nurse", None, 4, IntervalMark(-0.5, -0.75, -0.25, state, "low"), False, row
        )
        for state in ("clear", "not_clear")
    )
    assert row_spoken(clear, axis).startswith(
        "nurse: −0.50 (to women), interval −0.75 to −0.25"
    )
    assert "women" not in row_spoken(not_clear, axis) + row_spoken(clear, None)
