"""The simulation of grammatical forms: what it plants, and the table that it prints."""

from __future__ import annotations

import numpy as np
import pytest

from tools.calibration.forms import (
    CONTRASTS,
    FormWorld,
    designs,
    forms_task,
    main,
    table_rows,
)


def test_a_world_has_its_planted_contrasts() -> None:
    world = FormWorld(forms_task(4, 3, 2), (0.4, -0.1), varying=0.2, spread=0.0)
    assert world.truth == pytest.approx(
        dict(zip(CONTRASTS, (0.5, 0.4, -0.1), strict=True))
    )
    leans = [world._leans(np.random.default_rng(seed)) for seed in range(400)]
    masculine = np.array([lean["masculine"] - lean["neutral"] for lean in leans])
    assert masculine.mean() == pytest.approx(0.4, abs=0.02)
    assert 0.15 < np.ptp(masculine) / 2 < 0.2


def test_the_rates_of_a_table() -> None:
    """Two data sets: one rejects a contrast of 0, one has an interval beside the truth."""
    design = next(design for design in designs() if "feminine 0" in design.name)
    null = CONTRASTS.index(("feminine", "neutral"))
    judged = np.full((2, 3, 5), 1.0)
    judged[:, :, 0] = [design.world.truth[pair] for pair in CONTRASTS]
    judged[0, null, 1:3] = 0.01
    judged[1, null, 4] = 0.0
    ((name, rejects, any_holm, flipped, covers, power, bias, decided),) = table_rows(
        design, judged
    )
    assert (
        name == design.name
        and rejects.startswith("0.500")
        and any_holm.startswith("0.500")
    )
    assert (
        flipped.startswith("0.000")
        and covers.startswith("0.833")
        and power.startswith("0.000")
    )
    assert (bias, decided) == ("+0.000", "1.00")


def test_the_command_prints_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    cell = "all forms alike; 8 occupations, 10"
    assert main(["--sets", "2", "--workers", "1", "--cell", cell]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and cell in lines[2]
