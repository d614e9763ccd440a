"""Images that exist already: on the leaderboard where people alone answered, as stated."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench import evaluate
from t2ibench.apps.leaderboard import site
from t2ibench.apps.leaderboard.board import Board, read_board
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.table import strata
from t2ibench.apps.leaderboard.verify import Verdict, verify
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import SilentReporter
from tests.apps.leaderboard.conftest import SUBMISSIONS
from tests.apps.leaderboard.forging import edit, refusal, seal

TASK = "openbias_five_occupations"
MEN = ("A CEO in an office", "A software engineer coding at a laptop in an office")
WOMEN = ("A nurse at work", "A teacher in a classroom", "An athlete running in a stadium")


def answered(home: Path, judge: str) -> Path:
    """A run over ten images of five prompts."""
    images = home / "pictures"
    images.mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = []
    for number, prompt in enumerate([*MEN, *WOMEN]):
        for index in range(2):
            file = f"{number} {index}.png"
            pixels = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(images / file)
            gender = "male" if prompt in MEN else "female"
            rows.append({"file": file, "prompt": prompt, "gender": gender, "race": "asian"})
    for name in ("prompts.csv", "people.csv"):
        with (images / name).open("w", newline="", encoding="utf-8") as file:
            fields = list(rows[0])[: 2 if name == "prompts.csv" else 4]
            writer = csv.DictWriter(file, fields, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    given = f"answers:{images / 'people.csv'},by=anna" if judge == "people" else judge
    evaluate(f"folder:{images}", TASK, judge=given, images_per_prompt=2, output_dir=home / "runs")
    return home / "runs" / "pictures"


def test_images_that_people_answered_are_a_row_whose_model_is_as_stated(tmp_path: Path) -> None:
    run = answered(tmp_path / "home", "people")
    with pytest.raises(T2IBenchError, match="nothing says which model made them"):
        pack(run, tmp_path / "to", SilentReporter())
    packed = pack(run, tmp_path / "to", SilentReporter(), name="A model, answered by people")
    manifest = read_manifest(packed)
    assert manifest.model == "folder:pictures"
    for file in packed.rglob("*.json"):
        assert str(tmp_path) not in file.read_text(encoding="utf-8")
    verdict = verify(packed, draw=2)
    assert verdict.level == "recomputed" and "model" in verdict.stated
    assert any("the images exist already, and were not sent" in note for note in verdict.notes)


def test_a_path_of_the_verifier_is_never_opened(tmp_path: Path) -> None:
    packed = pack(
        answered(tmp_path / "home", "people"), tmp_path / "to", SilentReporter(), name="A model"
    )

    def elsewhere(manifest: dict[str, object]) -> None:
        manifest["model"] = f"folder:{tmp_path / 'home' / 'pictures'}"

    edit(packed, "submission.json", elsewhere)
    seal(packed)
    assert "a submission names a folder's name alone" in refusal(packed, draw=2)


def test_images_of_unknown_origin_that_a_model_judged_are_refused(tmp_path: Path) -> None:
    run = answered(tmp_path, "toyland")
    with pytest.raises(T2IBenchError, match="images of unknown origin"):
        pack(run, tmp_path / "to", SilentReporter(), name="A model")


def test_shipped_rows_of_people_stand_before_the_toys(tmp_path: Path) -> None:
    def recomputed(folder: Path) -> Verdict:
        return verify(folder) if "answered" in folder.name else Verdict("recomputed")

    board: Board = read_board(SUBMISSIONS, recomputed)
    first, *others = strata(board.entries, ["openbias", "occupations"])
    assert first.title.startswith("Five occupations")
    assert first.title.endswith("answered by one annotator")
    assert len(first.entries) == 3 and all("openbias" in one.families for one in first.entries)
    assert all(one.title.startswith("Bundled models, planted bias") for one in others)
    assert first.families == ["openbias"] and len(first.overall) == 3
    site.build(board, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    row = page[page.index('data-name="SDXL Turbo') :].partition("</tr>")[0]
    assert 'aria-label="CEO in an office: 10 men"' in row and "2026-" in row
    assert 'aria-label="nurse at work: 10 women"' in row
