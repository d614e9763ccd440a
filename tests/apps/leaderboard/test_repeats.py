"""Images that a submission says repeat others, and evidence that none of its tests uses."""

from __future__ import annotations

import hashlib
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.identity import content_id
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import PERCEPTUAL_HASH
from tests.apps.leaderboard.forging import (
    Rows,
    edit_attempts,
    edit_table,
    refusal,
)

TASK = "openbias_examples"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    evaluate("toyland", TASK, images_per_prompt=3, output_dir=folder)
    return folder / "toyland"


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "forged"))


def packed_of(run: Path) -> Path:
    return pack(run, run.parent / "submissions", SilentReporter())


def by_prompt(run: Path) -> dict[str, list[str]]:
    """The SHA-256 of the images of each prompt, in the order of their numbers."""
    files: dict[str, list[str]] = defaultdict(list)

    def read(rows: Rows) -> None:
        for row in rows:
            files[row["text"]].append(row["sha256"])

    edit_attempts(run, read)
    return files


def answered(run: Path, answer: str) -> set[str]:
    """The images about which a judge gave an answer."""
    images: set[str] = set()
    edit_table(
        run,
        "answers",
        lambda rows: images.update(r["image"] for r in rows if r["answer"] == answer),
    )
    return images


def forge_looks(run: Path, unwelcome: set[str]) -> int:
    """Give unwelcome images the look of the first image of their prompt."""
    looks_of = {
        sha256: files[0]
        for files in by_prompt(run).values()
        for sha256 in files[1:]
        if sha256 in unwelcome
    }
    database = Database(run)
    store = EvidenceStore(database, *PERCEPTUAL_HASH)
    keys = sorted(store.keys("images"))
    rows = np.stack([store.get("images", looks_of.get(key, key)) for key in keys])
    model = content_id("encoder", *PERCEPTUAL_HASH)
    database.execute("DELETE FROM embeddings WHERE model = ?", model)
    EvidenceStore(database, *PERCEPTUAL_HASH).add("images", keys, rows, "float16")
    database.close()
    return len(looks_of)


def share_files(run: Path, unwelcome: set[str]) -> int:
    """Say that unwelcome images of a prompt are one file."""
    files: dict[str, str] = {}
    for of_prompt in by_prompt(run).values():
        alike = [sha256 for sha256 in of_prompt if sha256 in unwelcome]
        if alike:
            files |= dict.fromkeys(alike[1:], alike[0])

    def rename(rows: Rows) -> None:
        for row in rows:
            row["sha256"] = files.get(row["sha256"], row["sha256"])

    edit_attempts(run, rename)
    edit_table(
        run, "answers", lambda rows: [r for r in rows if r["image"] not in files]
    )
    return len(files)


@pytest.mark.parametrize("with_looks", [True, False])
def test_unwelcome_images_that_are_said_to_repeat_others_are_refused(
    with_looks: bool, copy: Path
) -> None:
    """Otherwise a model that shows men would lose the images of men."""
    before = read_results(copy).tasks[TASK].headline.value
    men = answered(copy, "male")
    assert (forge_looks if with_looks else share_files)(copy, men) >= 2
    folder = packed_of(copy)
    assert read_results(folder).tasks[TASK].headline.value != before
    assert verify(folder).level == "recomputed"
    assert "does not have the look that is stored of it" in refusal(folder, 3)


def test_one_file_for_two_pictures_is_refused_where_no_look_is_stored(
    copy: Path,
) -> None:
    assert share_files(copy, answered(copy, "male")) >= 2
    folder = packed_of(copy)
    looks = content_id("encoder", *PERCEPTUAL_HASH)
    edit_table(
        folder, "embeddings", lambda rows: [r for r in rows if r["model"] != looks]
    )
    said = refusal(folder, 3)
    assert "is said to be the file of image" in said
    assert "generated again, they are different pictures" in said


def repeat_first_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the model give the first image of a prompt twice."""
    honest = ToylandGenerator.generate

    def generate(model: Any, requests: Any) -> list[GeneratedImage]:
        alike = [
            replace(request, seed=len(request.prompt)) if request.index < 2 else request
            for request in requests
        ]
        return list(honest(model, alike))

    monkeypatch.setattr(ToylandGenerator, "generate", generate)


def test_images_that_do_repeat_others_are_reproduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeat_first_image(monkeypatch)
    evaluate("toyland", TASK, images_per_prompt=3, output_dir=tmp_path)
    run = tmp_path / "toyland"
    folder = packed_of(run)
    assert read_results(folder).tasks[TASK].excluded["repeated"] >= 3
    verdict = verify(folder, draw=3)
    assert (verdict.level, verdict.problems) == ("reproduced", [])
    # Three at random, and three pairs.
    assert 6 <= verdict.parts["images"] <= 9

    # Two files of one picture would count as two images.
    other = {
        files[0]: hashlib.sha256(files[0].encode()).hexdigest()
        for files in by_prompt(run).values()
    }

    def invent(rows: Rows) -> None:
        for row in rows:
            if row["number"] == 1:
                row["sha256"] = other[row["sha256"]]

    def answer(rows: Rows) -> Rows:
        about = [row for row in rows if row["image"] in other]
        return rows + [{**row, "image": other[row["image"]]} for row in about]

    edit_attempts(run, invent)
    edit_table(run, "answers", answer)
    folder = packed_of(run)
    assert not read_results(folder).tasks[TASK].excluded.get("repeated")
    assert "generated again, both are the same file" in refusal(folder, 60)


def more_images(rows: Rows) -> Rows:
    """More images of the first prompt."""
    more = [
        {**rows[0], "number": 100 + number, "sha256": f"{number:064x}"}
        for number in range(50)
    ]
    return rows + more


def more_answers(rows: Rows) -> Rows:
    return rows + [{**rows[0], "image": f"{number:064x}"} for number in range(50)]


def test_evidence_that_no_test_uses_is_refused(copy: Path) -> None:
    """It would swell the numbers of images and answers that the board shows."""
    folder = packed_of(copy)
    honest = Path(shutil.copytree(folder, copy.parent / folder.name))
    edit_attempts(folder, more_images)
    said = refusal(folder)
    assert "it holds images that none of its tests uses (50), such as image 100" in said
    edit_table(honest, "answers", more_answers)
    assert "it holds answers of toyland that none of its tests uses (50)" in refusal(
        honest
    )
