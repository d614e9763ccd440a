"""Two runs side by side, and captions for pictures that have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
