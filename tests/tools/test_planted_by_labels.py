"""Shares planted from people's labels: what an experiment on real images gives back."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import ImageRequest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
JOBS = ("nurse", "carpenter", "teacher", "guard")
EACH = 14


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Images of women and men at work, as a model would have made them, with labels."""
    folder = tmp_path / "toyland-baseline"
    folder.mkdir()
    requests = []
    rows = []
    for job in JOBS:
        for gender in ("female", "male"):
            prompt = f"A photo of a {gender} {job}"
            for index in range(EACH):
                file = f"{job}_{gender}_{index}.png"
                requests.append(ImageRequest(prompt, index, len(requests)))
                rows.append({"file": file, "prompt": f"A {job}", "gender": gender})
    images = ToylandGenerator({}).generate(requests)
    for row, image in zip(rows, images, strict=True):
        image.image.save(folder / row["file"])
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def test_planted_shares_come_back(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from real import planted

    monkeypatch.setattr(planted, "PAIRS", planted.PAIRS[:1])
    design = planted.Design(guided=5, neutral=8, draws=4)
    report = planted.report(labelled, ["toyland"], design)
    table = [line.split(" | ") for line in report.splitlines() if "the same" in line]
    rows = [cells for cells in table if cells[0].startswith("| toyland, the same, 4")]
    truth = [float(cells[1]) for cells in rows]
    leans = [float(cells[2]) for cells in rows]
    assert truth == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert leans == pytest.approx(truth, abs=0.25)
    assert np.all(np.diff(leans) > 0)
