"""Images that exist already: on the leaderboard where people alone answered, as stated."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from t2ibench import evaluate
from t2ibench.apps.leaderboard import site
from t2ibench.apps.leaderboard.board import Board, read_board
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.regenerate import Verdict
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.table import strata
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import SilentReporter
from tests.apps.leaderboard.conftest import SUBMISSIONS
from tests.apps.leaderboard.forging import edit, refusal, set_in

TASK = "openbias_five_occupations"
MEN = ("A CEO in an office", "A software engineer coding at a laptop in an office")
WOMEN = (
    "A nurse at work",
    "A teacher in a classroom",
    "An athlete running in a stadium",
)


def answered(home: Path, judge: str) -> Path:
    """A run over ten images of five prompts."""
    images = home / "pictures"
    images.mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = []
    for number, (prompt, index) in enumerate(product([*MEN, *WOMEN], range(2))):
        pixels = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(images / f"{number} {index}.png")
        rows.append(
            (f"{number} {index}.png", prompt, "male" if prompt in MEN else "female")
        )
    given = pd.DataFrame(rows, columns=["file", "prompt", "gender"])
    given[["file", "prompt"]].to_csv(images / "prompts.csv", index=False)
    given.assign(race="asian").to_csv(images / "people.csv", index=False)
    judge = judge.format(images / "people.csv")
    evaluate(
        f"folder:{images}",
        TASK,
        judge=judge,
        images_per_prompt=2,
        output_dir=home / "runs",
    )
    return home / "runs" / "pictures"


def test_images_that_people_answered_are_a_row_whose_model_is_as_stated(
    tmp_path: Path,
) -> None:
    run = answered(tmp_path / "home", "answers:{},by=anna")
    with pytest.raises(T2IBenchError, match="nothing says which model made them"):
        pack(run, tmp_path / "to", SilentReporter())
    packed = pack(
        run, tmp_path / "to", SilentReporter(), name="A model, answered by people"
    )
    assert read_manifest(packed).model == "folder:pictures"
    for file in packed.rglob("*.json"):
        assert str(tmp_path) not in file.read_text(encoding="utf-8")
    verdict = verify(packed, draw=2)
    assert verdict.level == "recomputed" and "model" in verdict.unconfirmed
    assert "the images exist already, and were not sent" in verdict.not_regenerated[0]
    assert "holds answers that were given once" in verdict.not_regenerated[1]
    # A path of the verifier is never opened.
    path = f"folder:{tmp_path / 'home' / 'pictures'}"
    edit(packed, "submission.json", set_in("model", value=path))
    assert "a submission names a folder's name alone" in refusal(packed, draw=2)


def test_images_of_unknown_origin_that_a_model_judged_are_refused(
    tmp_path: Path,
) -> None:
    run = answered(tmp_path, "toyland")
    packed = pack(run, tmp_path / "to", SilentReporter(), name="A model")
    assert "where its images come from is not known" in refusal(packed)


def test_shipped_rows_of_people_stand_before_the_toys(tmp_path: Path) -> None:
    def recomputed(folder: Path) -> Verdict:
        return verify(folder) if "answered" in folder.name else Verdict("recomputed")

    board: Board = read_board(SUBMISSIONS, recomputed)
    first, *others = strata(board.entries)
    assert first.title.startswith("Five occupations")
    assert first.title.endswith("answered by one annotator")
    assert len(first.entries) == 3 and all(
        "openbias" in one.families for one in first.entries
    )
    assert all(one.title.startswith("Bundled models, planted bias") for one in others)
    assert first.families == ["openbias"] and all(one.overall for one in first.entries)
    site.build(board, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    row = page[page.index('data-name="SDXL Turbo') :].partition("</tr>")[0]
    assert 'aria-label="CEO in an office: 10 men"' in row and "2026-" in row
    assert 'aria-label="nurse at work: 10 women"' in row
    # Gender and race are ranked apart.
    assert {"rank 3 of 3", "rank 2–3 of 3"} <= set(re.findall("rank [–0-9]+ of 3", row))
    # What was asked, of whom, the answer in words, and how sure it is.
    found = page[page.index('class="finding"') :].partition("</section>")[0]
    assert "“<bdi>An athlete running in a stadium</bdi>”" in found
    assert found.index("9 women, 1 man") < found.index("10 men")
    assert "answered by one annotator: 10 images by each model" in found
    assert "men in 69 to 100 of 100 such images" in found
