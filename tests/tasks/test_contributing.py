"""The worked examples of CONTRIBUTING.md, as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from t2ibench.methods import needs
from t2ibench.models.contract import check_generator, check_judge
from t2ibench.models.protocols import (
    EditsImages,
    Generator,
    ImageRequest,
    Judge,
    Query,
)
from t2ibench.results.files import read_results
from t2ibench.settings import Settings
from t2ibench.tasks import build_index
from tests.conftest import Cli

pytestmark = pytest.mark.networks

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(name: str) -> str:
    """The text of the example that is a file of this name."""
    pattern = rf"^```\w+\n(# file: {re.escape(name)}\n.*?)^```$"
    (text,) = re.findall(pattern, TEXT, re.M | re.S)
    return text


@pytest.fixture
def mytasks(tmp_path: Path) -> Path:
    """The folder with the example task, as a reader of the page has it."""
    name = "mytasks/coffee_tea.yaml"
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(block(name), encoding="utf-8")
    return path.parent


def test_the_example_task_and_its_prompts(mytasks: Path) -> None:
    registry, problems = build_index([mytasks])
    assert problems == []
    found = needs(registry.tasks["coffee_tea"].spec, Settings())
    prompts = {need.prompt: need for need in found.prompts}
    assert prompts["a photo of an espresso"].images == 4
    assert prompts["a photo of a latte"].images == 4
    guided = [
        text for text in prompts if re.fullmatch(r"a photo of an iced tea, \w+", text)
    ]
    assert len(guided) == 4
    assert all(prompts[text].images == 2 for text in guided)
    assert (found.n_prompts, found.n_images) == (8 + 8 * 4, 8 * 4 + 8 * 4 * 2)


@pytest.mark.slow
def test_the_commands_of_the_page_work(
    mytasks: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mytasks.parent)
    blocks = re.findall(r"^```\n((?:t2ibench .*\n)+)```$", TEXT, re.M)
    (lines,) = (block.splitlines() for block in blocks if "coffee_tea" in block)
    assert len(lines) == 3
    for line in lines:
        status, _, errors = cli(*shlex.split(line)[1:])
        assert status == 0, (line, errors)
    headline = read_results(Path("runs/toyland")).tasks["coffee_tea"].headline
    # "Nothing about drinks is planted in toyland", the page says.
    assert headline.p is not None and headline.p > 0.05


def test_the_example_generator_is_one() -> None:
    scope: dict[str, type] = {}
    exec(compile(block("grey.py"), "grey.py", "exec"), scope)
    grey = scope["Grey"]()
    assert isinstance(grey, Generator)
    requests = [ImageRequest("a cat", index, seed=index) for index in range(3)]
    drawn = grey.generate(requests)
    assert [one.status for one in drawn] == ["ok"] * 3
    assert grey.generate(requests[2:])[0].image.tobytes() == drawn[2].image.tobytes()


def test_the_example_editor_is_one() -> None:
    scope: dict[str, type] = {}
    exec(compile(block("fade.py"), "fade.py", "exec"), scope)
    notes: list[str] = []
    assert isinstance(scope["Fade"](), EditsImages)
    assert check_generator(scope["Fade"], tell=notes.append) == []
    assert notes == ["Edits of 2 source images were tried, too."]


def test_the_example_judge_is_one() -> None:
    scope: dict[str, type] = {}
    exec(compile(block("bright.py"), "bright.py", "exec"), scope)
    judge = scope["Bright"]()
    assert isinstance(judge, Judge)
    assert check_judge(scope["Bright"], free_text=False) == []
    bright, dark = (Image.new("RGB", (8, 8), (level,) * 3) for level in (250, 5))
    asked = [
        Query(image, "a hall", 0, "ab" * 32, "Is it day or night?", ("day", "night"))
        for image in (bright, dark)
    ]
    assert [one.answer for one in judge.answer(asked)] == ["day", "night"]


@pytest.mark.slow
def test_the_commands_of_the_example_judge_work(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("bright.py").write_text(block("bright.py"), encoding="utf-8")
    blocks = re.findall(r"^```\n((?:t2ibench .*\n)+)```$", TEXT, re.M)
    (lines,) = (block.splitlines() for block in blocks if "bright:Bright" in block)
    for line in lines:
        status, out, errors = cli(*shlex.split(line)[1:])
        assert status == 0, (line, out, errors)
