"""What was left out, by group of prompts: a generator that refuses one group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import t2ibench
from t2ibench.methods.core.evidence import Needs, PromptNeed
from t2ibench.methods.registry import needs
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.reports.exclusions import TaskExclusions, exclusions
from t2ibench.reports.files import task_files
from t2ibench.reports.view import run_view
from t2ibench.results.files import read_results
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks

TASKS = "occupations_tibet,openbias_examples,t2iat_flowers_insects"
REASON = "<b>policy</b>"
SMALL = {"images_per_prompt": 3, "guided_images_per_prompt": 3, "permutations": 200}
FEW = {"bootstrap": 50, "limit": 4, "control_encoder": "none"}


class Refuser(ToylandGenerator):
    """Refuses two of three images of women, filters those of an aster, rewrites prompts of men."""

    def __init__(self) -> None:
        super().__init__({})
        self.name, self.fingerprint = "refuser", "1" * 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [self._one(request) for request in requests]

    def _one(self, request: ImageRequest) -> GeneratedImage:
        words = request.prompt.split()
        if "female" in words and request.index:
            return GeneratedImage("refused", reason=REASON)
        if "aster" in words:
            return GeneratedImage("filtered", reason="the safety checker")
        image = super().generate([request])[0]
        friendly = ", friendly" if "male" in words else ""
        return replace(image, revised_prompt=f"{request.prompt}{friendly}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    t2ibench.evaluate(
        Refuser(),
        TASKS,
        encoder="toyland",
        judge="toyland",
        output_dir=root,
        **SMALL,
        **FEW,
    )
    return root / "refuser"


@pytest.fixture(scope="module")
def lost(run: Path) -> dict[str, TaskExclusions]:
    results = read_results(run)
    found = exclusions(run_view(results, task_files(results, run)))
    return {one.task.id: one for one in found}


@pytest.mark.slow
def test_the_refused_group_is_found_and_comes_first(
    lost: dict[str, TaskExclusions],
) -> None:
    first, *others = lost["occupations_tibet"].groups
    assert first.name == "female" and first.verdict == "more than the others"
    assert (first.rate.count, first.rate.total) == (
        2 * first.prompts,
        3 * first.prompts,
    )
    assert first.mark.value == pytest.approx(2 / 3)
    assert first.mark.low is not None and 0.4 < first.mark.low < 2 / 3
    assert {one.name for one in others} == {"male", "no group named"}
    assert all(one.rate.count == 0 and one.mark.high is not None for one in others)
    assert lost["occupations_tibet"].differs
    shares = [one.groups[0].mark.value or 0.0 for one in lost.values()]
    assert shares == sorted(shares, reverse=True)


def test_the_counts_are_those_of_the_results(
    run: Path, lost: dict[str, TaskExclusions]
) -> None:
    for name, task in read_results(run).tasks.items():
        groups = lost[name].groups if name in lost else ()
        for what in ("refused", "filtered"):
            count = sum(group.rate.count for group in groups if group.what == what)
            assert count == task.excluded.get(what, 0)


def test_results_say_what_was_refused_and_rewritten_by_group(run: Path) -> None:
    task = read_results(run).tasks["occupations_tibet"]
    whole, *groups = task.prompt_outcomes
    assert whole.revised is not None and 0 < whole.revised.count < whole.revised.total
    by_group = {one.group: one for one in groups}
    assert by_group["female"].refused.count == whole.refused.count > 0
    revised = by_group["male"].revised
    assert (
        revised is not None
        and revised.share == 1
        and revised.count == whole.revised.count
    )
    says = (
        f"rewrote the prompts of {whole.revised.count} of {whole.revised.total} images"
    )
    assert any(says in warning for warning in task.warnings)


def test_the_page_shows_exclusions_and_escapes_reasons(run: Path) -> None:
    text = (run / "report.html").read_text(encoding="utf-8")
    section = text.split('id="left"')[1].split("</section>")[0]
    assert "more than the others" in section and "&lt;b&gt;policy" in section
    assert "<b>policy" not in section
    assert re.search(r"female: 67 % refused, interval \d+ to \d+ %", section)
    card = text.split('id="occupations_tibet"')[1].split("</article>")[0]
    assert "Left out: " in card and 'href="#left"' in card


def test_every_prompt_of_every_task_stands_for_something_and_the_first_group_with_a_name() -> (
    None
):
    for task in load_tasks("all"):
        asked = needs(task.spec, Settings())
        assert set(asked.groups) == set(asked.images_by_prompt), task.id
        assert all(asked.groups.values()), task.id
    asked = Needs(
        (PromptNeed("a", 1), PromptNeed("a", 4, "x"), PromptNeed("a", 2, "y"))
    )
    assert asked.groups == {"a": "x"}
