"""Agreement with the prompts in results.json, in comparisons, in reports and in older runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.plan import Plan
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.text_image_alignment import (
    CHANGED,
    agreement_sentence,
    compare_agreement,
)
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore, text_key
from tests import hand

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_words")]

TASKS = "t2iat_science_arts,mcas_sports,weat_6_gender_career_family"
SMALL: dict[str, Any] = {
    "images_per_prompt": 3, "guided_images_per_prompt": 2, "permutations": 200, "bootstrap": 50,
    "control_encoder": "none", "encoder": "toyland",
}  # fmt: skip


class OffTopic(ToylandGenerator):
    """Every third image of somebody who studies a science shows a tulip."""

    def __init__(self) -> None:
        super().__init__({})
        self.name, self.fingerprint = "off-topic", "1" * 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        asked = [
            replace(one, prompt="a photo of a tulip")
            if "person studying" in one.prompt and one.index % 3 == 0
            else one
            for one in requests
        ]
        return super().generate(asked)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    t2ibench.evaluate("toyland", TASKS, output_dir=root, **SMALL)
    t2ibench.evaluate(OffTopic(), TASKS, output_dir=root, **SMALL)
    return root / "toyland", root / "off-topic"


def test_results_report_alignment_overall_and_by_group(runs: tuple[Path, Path]) -> None:
    results = read_results(runs[0])
    assert results.tasks["weat_6_gender_career_family"].text_image_alignment == {}
    whole, *groups = results.tasks["t2iat_science_arts"].text_image_alignment["toyland"]
    assert whole.group is None and whole.difference is None
    expected = [
        f"{one}{of}" for one in ("science", "arts") for of in ("", ", male", ", female")
    ]
    assert [one.group for one in groups] == expected
    assert whole.n_prompts == sum(one.n_prompts for one in groups)
    assert whole.n_images == results.tasks["t2iat_science_arts"].n_images
    for one in groups:
        assert (
            one.ci_low is not None and one.ci_high is not None and one.value is not None
        )
        assert one.ci_low < one.value < one.ci_high
        assert one.difference is not None and one.difference.p_holm is not None
        assert (
            one.difference.p is not None and one.difference.p_holm >= one.difference.p
        )


def test_alignment_is_the_mean_over_stored_embeddings(runs: tuple[Path, Path]) -> None:
    """The cosine of image and prompt, from the store's own rows."""
    task = read_results(runs[0]).tasks["mcas_sports"]
    store = EvidenceStore(
        Database(runs[0]), "toyland", task.settings.encoders["toyland"]
    )
    found = read_paired(runs[0])["mcas_sports"].agreement["toyland"]
    attempts = hand.stored(runs[0], "attempts")
    sha = {(row["prompt"], row["index"]): row["sha256"] for row in attempts}
    one = found[0]
    text = store.get("texts", text_key(one.prompt)).astype(float)
    images = [
        store.get("images", sha[one.prompt, index]) for index in one.indices.tolist()
    ]
    expected = [float(row.astype(float) @ text) for row in images]
    assert one.cosines.tolist() == pytest.approx(expected)
    assert task.text_image_alignment["toyland"][0].value == pytest.approx(
        np.mean([prompt.cosines.mean() for prompt in found])
    )


def test_comparing_runs_reports_worse_alignment_beside_less_bias(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, runs)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "the images of off-topic agree less with their prompts than those of toyland (−"
        in said
    )
    results, paired = (
        [read_results(run) for run in runs],
        [read_paired(run) for run in runs],
    )
    whole, changed, *others = compare_agreement(*results, *paired)
    assert whole.overall and whole.value > 0 and whole.low is not None and whole.low > 0
    assert changed.group == CHANGED and changed.n_prompts == 17 < whole.n_prompts
    assert changed.value * 17 == pytest.approx(whole.value * whole.n_prompts)
    found = {one.task: one for one in others}
    assert found["mcas_sports"].value == 0 and found["mcas_sports"].p_holm is None
    assert found["t2iat_science_arts"].value > whole.value
    same = compare_agreement(results[0], results[0], paired[0], paired[0])
    assert {(one.value, one.low, one.high, one.p) for one in same} == {(0, 0, 0, 1)}
    assert "do not differ beyond chance" in agreement_sentence(same, ("a", "b"))[0]
    assert main(["compare", *map(str, runs), "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert sum(",text_image_alignment," in row for row in rows) == len(others) + 2


def test_the_report_shows_text_image_alignment(runs: tuple[Path, Path]) -> None:
    page = (runs[0] / "report.html").read_text()
    assert 'id="table"' in page and ">Obeyed<" in page and "science, female" in page


def test_a_run_of_an_older_version_is_read_scored_compared_and_completed(
    runs: tuple[Path, Path],
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its prompts were not embedded, and its files have no such block."""
    with monkeypatch.context() as older:
        older.setattr(Plan, "prompt_texts", ())
        t2ibench.evaluate("toyland", "mcas_sports", output_dir=tmp_path, **SMALL)
    run = tmp_path / "toyland"
    name = "text_image_alignment"
    hand.edit(run / "results.json", lambda data: data["tasks"]["mcas_sports"].pop(name))
    assert main(["compare", str(run), str(runs[0])]) == 0
    captured = capsys.readouterr()
    assert "Agreement with the prompts:" not in captured.out
    assert "Agreement with the prompts cannot be compared" in captured.err
    assert main(["score", str(run)]) == 0
    assert read_results(run).tasks["mcas_sports"].text_image_alignment == {}
    t2ibench.evaluate("toyland", "mcas_sports", output_dir=tmp_path, **SMALL)
    found, known = (
        read_results(one).tasks["mcas_sports"].text_image_alignment["toyland"]
        for one in (run, runs[0])
    )
    assert [one.value for one in found] == [one.value for one in known]
