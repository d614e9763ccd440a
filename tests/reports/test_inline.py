"""What a notebook shows of results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import t2ibench
from t2ibench.reports.html.inline import inline_style, run_html
from t2ibench.results.schema import Results
from tests import hand

NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def test_text_of_others_is_text_and_nothing_is_loaded_or_run() -> None:
    found = hand.record(hand.mean_lean({NASTY: [1.0, 1.0, 1.0, -1.0]}))
    head = found.headline.model_copy(update={"direction": NASTY})
    task = found.model_copy(update={"headline": head, "title": NASTY})
    html = run_html(hand.results(NASTY, **{NASTY: task}))
    assert "<script" not in html and "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert html.count('class="rail unsure"') == 1
    body = html.split("</style>")[1]
    assert set(re.findall(r"<([a-z]\w*)", body)) <= {"div", "style", "p", "b", "em", "i", "span"}
    names = set(re.findall(r' ([a-z-]+)="', body))
    assert names <= {"class", "style", "role", "aria-label", "aria-hidden"}
    assert "url(" not in html


def test_the_style_holds_inside_only() -> None:
    text = inline_style()
    assert text.startswith(".t2ibench-inline{") and text.count("{") == text.count("}")
    assert ":root" not in text and "rem" not in re.sub(r"[a-z-]*rem[a-z-]+", "", text)
    assert "@page" not in text and "@media (max-width" not in text


def test_poles_of_a_task_of_ones_own_come_from_its_file(tmp_path: Path) -> None:
    contributing = Path(__file__).parents[2] / "CONTRIBUTING.md"
    text = re.findall(r"^```yaml\n(.*?)^```$", contributing.read_text("utf-8"), re.M | re.S)[0]
    (tmp_path / "mytasks").mkdir()
    (tmp_path / "mytasks" / "coffee_tea.yaml").write_text(text, encoding="utf-8")
    results = t2ibench.evaluate(
        "toyland", "coffee_tea", include_path=tmp_path / "mytasks", output_dir=tmp_path / "runs",
        control_encoder="none", images_per_prompt=2, n_permutations=100, n_bootstrap=100,
    )  # fmt: skip
    assert "coffees · pleasant words" in (results._repr_html_() or "")
    assert t2ibench.read_results(tmp_path / "runs" / "toyland") == results


def test_without_the_pages_a_notebook_shows_plain_text(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(hand.results().to_json(), encoding="utf-8")
    code = (
        "from t2ibench.results.reading import read_results; import sys\n"
        "print(read_results(sys.argv[1])._repr_html_())"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
    assert Results._html is not None
