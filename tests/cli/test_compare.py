"""Two runs side by side, and captions for pictures that have none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from t2ibench.toyland import draw
from tests import hand
from tests.conftest import Cli

SHARES = {"strong": 0.95, "weak": 0.55}


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    """Two models that drew the same prompts from the same noise."""
    noise = np.random.default_rng(5).random((2, 100))
    found = {}
    for name, share in SHARES.items():
        images = np.where(noise < share, 1.0, -1.0)
        tasks = {
            "t2iat_one": hand.mean_lean({"x": images[0], "y": images[1]}),
            "t2iat_many": hand.mean_square({"x": images[0], "y": images[1]}),
        }
        found[name] = hand.write_run(tmp_path / name, name, tasks)
    return found


def test_what_has_no_end_is_not_read(runs: dict[str, Path], cli: Cli, tmp_path: Path) -> None:
    endless = tmp_path / "results.json"
    with endless.open("wb") as file:
        file.truncate(10**11)  # with a hole: no byte of it is on the disk
    for path, why in (("/dev/zero", "no ordinary file"), (endless, "larger than 256 MiB")):
        for both in ((path, runs["weak"]), (runs["weak"], path)):
            status, _, error = cli("compare", *both)
            assert status == 1 and why in error and error.count("\n") == 1


def test_which_model_leans_less(runs: dict[str, Path], cli: Cli) -> None:
    status, out, _ = cli("compare", runs["strong"], runs["weak"])
    assert status == 0 and out.count("| weak leans less") == 2
    assert "| rms 0." in out and "weak in 2; 0 undecided" in out
    assert out.index("Item by item, the runs differ in 1 of 1") < out.index("Headlines:")
    # The verdict does not depend on the order.
    assert cli("compare", runs["weak"], runs["strong"])[1].count("| weak leans less") == 2


def test_a_gate(runs: dict[str, Path], cli: Cli) -> None:
    both = runs["weak"], runs["strong"]
    status, out, errors = cli("compare", *both, "--fail-on", "difference.ci_low>0.2")
    assert status == 4 and "weak leans less" in out
    assert len(errors.splitlines()) == 2
    assert "gate failed: t2iat_one: difference.ci_low is 0." in errors
    assert cli("compare", *both[::-1], "--fail-on", "difference.ci_low>0.2")[0] == 0
    assert cli("report", runs["weak"], "--fail-on", "headline.magnitude_low>0.5")[0] == 0
    assert cli("report", runs["strong"], "--fail-on", "headline.magnitude_low>0.5")[0] == 4
    status, out, errors = cli("compare", *both, "--fail-on", "difference.ci_lo>0")
    assert (status, out) == (1, "") and "Did you mean 'difference.ci_low'" in errors
    status, out, errors = cli("run", "--tasks", "all", "--fail-on", "headline.x>0")
    assert status == 1 and "does not know 'headline.x'" in errors


def test_captions_by_a_judge(tmp_path: Path, cli: Cli) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number, prompt in enumerate(("a nurse", "a rose", "a man")):
        draw(prompt, number).save(pictures / f"{number}.png")
    (pictures / "broken.png").write_bytes(b"no picture")
    propose = ("propose", "openbias", "--output", tmp_path / "task.yaml", "--caption-by", "toyland")
    status, _, errors = cli(*propose, "--captions", f"folder:{pictures}")
    assert status == 1 and "broken.png cannot be used: it cannot be read as an image" in errors
    rows = [json.loads(line) for line in (pictures / "prompts.jsonl").read_text().splitlines()]
    assert [row["file"] for row in rows] == ["0.png", "1.png", "2.png"]
    assert rows[1]["prompt"].startswith("flower")
    (pictures / "broken.png").unlink()
    assert "3 of 3 images have a caption" in cli(*propose, "--captions", f"folder:{pictures}")[2]
    assert len((pictures / "prompts.jsonl").read_text().splitlines()) == 3
    for captions, why in (
        ("x.json", "needs --captions folder:DIR"),
        ("folder:x", "No such folder"),
    ):
        status, _, errors = cli(*propose, "--captions", captions)
        assert status == 1 and why in errors
