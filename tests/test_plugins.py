"""The plug-in API: what it has, who uses it, and that wrong signatures are found."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from t2ibench import plugins
from t2ibench.methods.core.presentation import Axis, RowSeries, Scatter
from t2ibench.methods.core.scales import SCALES, Scale, scale_named
from t2ibench.reports.cells import headline
from t2ibench.reports.figures import figure as figures
from t2ibench.reports.overview import interval_bar
from t2ibench.reports.results_tables import explanations
from t2ibench.reports.sentences import row_spoken
from t2ibench.reports.view import series_view
from t2ibench.results.display import displayed
from t2ibench.results.schema import Headline, Row, Score
from tests import hand

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "plugin"
PAGE = (ROOT / "docs" / "extend" / "api.md").read_text(encoding="utf-8")
ALLOWED = {"t2ibench", "t2ibench.plugins"}


def test_every_name_is_there_and_on_the_page() -> None:
    for name in plugins.__all__:
        assert getattr(plugins, name) is not None
    assert dir(plugins) == plugins.__all__ == sorted(set(plugins.__all__))
    words = set(re.findall(r"\w+", PAGE))
    assert set(plugins.__all__) <= words
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        plugins.nothing  # noqa: B018


def test_importing_plugins_imports_nothing_else() -> None:
    code = "import sys, t2ibench.plugins; print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name for name in finished.stdout.split() if name.startswith("t2ibench")}
    assert loaded == {"t2ibench", "t2ibench.version", "t2ibench.plugins"}


def modules_of(source: str) -> Iterator[str]:
    """The modules of t2ibench that a program imports, and those it names to import later."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def programs() -> Iterator[tuple[str, str]]:
    """Where a program is, and its source: the examples, and the blocks of the documentation."""
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            yield str(page.relative_to(ROOT)), block


def test_examples_and_pages_import_from_the_public_modules_alone() -> None:
    sources = list(programs())
    assert len(sources) > 15
    for where, source in sources:
        if "t2ibench.methods.mcas" in source:  # how a family of t2ibench itself begins
            continue
        used = {name for name in modules_of(source) if name.split(".")[0] == "t2ibench"}
        assert used <= ALLOWED, where


def test_the_page_quotes_the_example_verbatim() -> None:
    source = (EXAMPLE / "t2ibench_example" / "painter.py").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(import json\n.*?)```", PAGE, re.S)
    assert block in source
    for toml in re.findall(r"```toml\n(.*?)```", PAGE, re.S):
        assert toml in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")


# A program with one mistake each, and what mypy says of it.
MISTAKES = {
    "needs": (
        "def needs(task: int) -> str: ...",
        'Argument "needs" to "Method" has incompatible type',
    ),
    "score": (
        "def score(task: ToneTask, evidence: Evidence, settings: Settings) -> int: ...",
        'Argument "score" to "Method" has incompatible type',
    ),
    "describe": (
        "def describe(result: MethodResult) -> str: ...",
        'Argument "describe" to "Method" has incompatible type',
    ),
    "present": (
        "def present(task: ToneTask) -> Presentation:\n"
        "    return Presentation(task.title, figures=(WithoutCaption('a figure'),))",
        'Argument "figures" to "Presentation" has incompatible type',
    ),
}
PARTS = """
from __future__ import annotations

from dataclasses import dataclass

from t2ibench.plugins import Evidence, MethodResult, Needs, Presentation, Settings
from t2ibench_example.method import ToneTask


@dataclass(frozen=True)
class WithoutCaption:
    title: str


{mistake}
"""
JOINED = """
from __future__ import annotations

from typing import TYPE_CHECKING

from t2ibench.plugins import LazyModule, Method
from t2ibench_example.method import ToneTask, describe

if TYPE_CHECKING:
    from t2ibench_example import figure as showing
    from t2ibench_example import score as scoring
    import parts_of_{name} as wrong
else:
    showing = LazyModule("t2ibench_example.figure")
    scoring = LazyModule("t2ibench_example.score")
    wrong = LazyModule("parts_of_{name}")

METHOD = Method(
    Task=ToneTask,
    needs=scoring.needs,
    score=scoring.score,
    describe=describe,
    present=showing.present,
)
"""
CALLS = """
import t2ibench

t2ibench.evaluate("toy", images_per_prompt=2, model_args={"steps": 3}, engine="local")
t2ibench.evaluate("toy", image_per_prompt=2)
t2ibench.generate("toy", seed="none")
"""


@pytest.mark.nightly  # mypy reads the whole package, which takes a minute without its cache
def test_mypy_accepts_the_example_and_finds_each_mistake(tmp_path: Path) -> None:
    for name, (mistake, _) in MISTAKES.items():
        source = PARTS.format(mistake=mistake)
        (tmp_path / f"parts_of_{name}.py").write_text(source, encoding="utf-8")
        joined = JOINED.format(name=name)
        before, begin, call = joined.partition("METHOD = ")
        call = re.sub(rf"\b{name}=[\w.]+", f"{name}=wrong.{name}", call)
        (tmp_path / f"uses_{name}.py").write_text(before + begin + call, "utf-8")
    (tmp_path / "calls.py").write_text(CALLS, encoding="utf-8")
    words = ["--strict", "--config-file", str(ROOT / "pyproject.toml")]
    folders = (EXAMPLE, tmp_path, ROOT)
    # The modules by name, so that mypy finds each of them once.
    modules = [path.stem for path in sorted(tmp_path.glob("*.py"))]
    chosen = [word for module in modules for word in ("-m", module)]
    finished = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *chosen, "-p", "t2ibench_example"],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in finished.stdout.splitlines() if ": error:" in line]
    assert not [line for line in errors if line.startswith("t2ibench")], finished.stdout
    for name, (_, message) in MISTAKES.items():
        file = "parts_of_present.py" if name == "present" else f"uses_{name}.py"
        found = [line for line in errors if f"{file}:" in line]
        assert len(found) == 1 and message in found[0], finished.stdout
    found = [line for line in errors if "calls.py:" in line]
    assert len(found) == 2, finished.stdout
    assert "image_per_prompt" in found[0] and '"seed"' in found[1]


@dataclass(frozen=True)
class Bars:
    """A figure of another package that is called as one of t2ibench."""

    title: str
    caption: str
    source: str = ""


def draw_nothing(*_: object) -> None:
    """Draws a figure of another package."""


def test_figures_of_two_packages_may_have_one_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = figures.full_name(plugins.Bars), figures.full_name(Bars)
    assert ours != theirs and ours in figures.FIGURES
    assert theirs not in figures.FIGURES
    with pytest.raises(plugins.T2IBenchError, match="Unknown figure"):
        figures.draw(Bars("a", "b"), None, [])  # type: ignore[arg-type]
    monkeypatch.setitem(
        figures.FIGURES._entries, theirs, f"{__name__}:{draw_nothing.__name__}"
    )
    assert figures.draw(Bars("a", "b"), None, []) is None  # type: ignore[arg-type]
    assert figures.full_name(Scatter) == "t2ibench.methods.core.presentation.Scatter"


POINTS = Scale("points", unit=" points", end=100.0, matters=10.0, prefix="about")


def test_a_scale_of_another_package_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Headline(value=50.0, ci_low=25.0, ci_high=150.0, scale="other.points")
    # Without the package, under the name of its scale.
    assert scale_named("other.points") == Scale("other.points")
    assert headline(stored) == "+50.00"
    monkeypatch.setitem(SCALES._entries, "other.points", f"{__name__}:POINTS")
    mark = displayed(stored)
    assert (mark.value, mark.high, mark.label) == (50.0, 150.0, "points")
    assert headline(stored) == "about +50.00 points"
    assert POINTS.ends == "points: from −100 to 100 points"
    # The axis ends at 100, and what goes on beyond it is marked.
    assert (mark.on_axis.value, mark.on_axis.high, mark.on_axis.cut) == (0.5, 1.0, True)
    assert interval_bar(mark, 9).endswith("›")
    # results.md names the scale, and says nothing of leans.
    record = hand.record(hand.mean_lean({"x": np.array([0.1, 0.4, 0.2])}))
    run = hand.results("toy", a=record.model_copy(update={"headline": stored}))
    (explanation,) = explanations(run)
    assert explanation.startswith(
        "Scale of the headline: points. points: from −100 to 100 points. ‹"
    )
    lean = hand.results("toy", a=record)
    assert explanations(lean)[0].startswith("The headline is a lean: 0 is balanced")


def test_rows_are_drawn_on_the_axis_of_their_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SCALES._entries, "other.points", f"{__name__}:POINTS")
    score = Score(value=50.0, ci_low=25.0, ci_high=75.0)
    rows = [Row(name="nurse", scores={"gap": score})]
    series = RowSeries("gap", "job", Axis("dark", "bright"), scale="other.points")
    (row,) = series_view(series, rows).rows
    assert (row.mark.value, row.mark.high, row.mark.cut) == (50.0, 75.0, False)
    assert (row.mark.on_axis.value, row.mark.on_axis.high) == (0.5, 0.75)
    assert row_spoken(row, series.axis).startswith("nurse: +50.00 points")
    # A row of leans ends at 1.
    (lean,) = series_view(RowSeries("gap", "job"), rows).rows
    assert (lean.mark.value, lean.mark.cut) == (1.0, True)


def test_scales_of_t2ibench_keep_what_results_have() -> None:
    names = ["lean", "mean_square", "excess"]
    assert SCALES.names()[:3] == names
    labels = [scale_named(name).label for name in names]
    assert labels == ["lean", "rms lean", "excess"]
    for name in names:
        mark = displayed(Headline(value=0.25, ci_low=0.04, ci_high=1.5, scale=name))
        assert mark.cut and mark.high == 1.0 and mark.on_axis is mark
