"""The simulations of origins, lengths and Vendi scores: what they plant and print."""

from __future__ import annotations

import numpy as np
import pytest

from tools.calibration import lengths, origins, vendi
from tools.calibration.lengths import LengthWorld
from tools.calibration.origins import Origin, quantities
from tools.calibration.vendi import VendiWorld


def test_a_world_knows_its_truth() -> None:
    """Leans .2 + .5 x without anything beside it, and a rewriter that names men in .4."""
    world = Origin("by hand", 4, mean=0.2, slope=0.5, named=(0.4, 0.0), behind=True)
    words = np.array([-1.0, 0.0, 0.0, 1.0])
    truths = origins._truths(world, words, 0.2 + 0.5 * words)
    assert truths["mean"] == pytest.approx(0.2)
    assert truths["slope"] == pytest.approx(0.5)
    assert truths["following"] == pytest.approx(0.125)
    assert truths["beside"] == pytest.approx(0)
    # Six of ten images keep their lean, the others show men: .4 + .6 · .2 in the mean.
    assert truths["change_of_mean"] == pytest.approx(0.52 - 0.2)
    assert truths["change_of_slope"] == pytest.approx(-0.2)
    assert truths["added_mean"] == pytest.approx(0.12)


def test_a_data_set_has_a_number_for_each_quantity() -> None:
    world = Origin("small", 6, 8, 4, slope=0.6, named=(0.5, 0.5), behind=True)
    judged = origins.simulated(world, seed=0, number=0)
    assert len(judged) == len(quantities(behind=True)) == 11
    truths = [row[4] for row in judged]
    assert truths[quantities(behind=True).index("slope_of_others")] == 0.6
    rows = origins.table_rows(world, np.array([judged, judged]))
    assert [row[1] for row in rows][:11] == quantities(behind=True)
    assert rows[-1][1].startswith("any of: ")


def test_a_row_of_lengths_has_its_rates() -> None:
    """Four sets: one undecided, one of three with p < .05, two of three covered."""
    judged = np.array(
        [
            [0.1, 0.01, 1.0, 0.02, 1.0],
            [0.0, 0.5, 0.0, -0.02, 0.75],
            [0.05, 0.2, 1.0, 0.03, 0.5],
            [np.nan] * 5,
        ]
    )
    name, truth, bias, _, covers, rejects, decided, *of_lengths = lengths.table_row(
        LengthWorld("by hand", slope=0.05), judged
    )
    assert (name, truth, bias, decided) == ("by hand", "+0.05", "+0.0000", "0.75")
    assert of_lengths == ["+0.0100", "0.750"]
    assert covers.startswith("0.667") and rejects.startswith("0.333")


def test_the_simulation_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sets", "2", "--workers", "1", "--cell"]
    assert lengths.main([*arguments, "a mean slope of 0, ± .1"]) == 0
    assert "standard deviation" in capsys.readouterr().out


def test_images_of_a_vendi_world_are_as_alike_as_planted() -> None:
    rows = vendi.drawn(np.random.default_rng(0), 400, 0.8)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(400))
    cosines = (rows @ rows.T)[np.triu_indices(400, 1)]
    assert cosines.mean() == pytest.approx(0.8, abs=0.03)


def test_a_planted_collapse_is_a_smaller_vendi_score() -> None:
    world = VendiWorld(prompts=20, images=10, cosine_after=0.95)
    value, _, p = vendi.simulated(world, truth=0.0, seed=0, number=0)
    assert value < -0.5 and p < 0.01
    unchanged = VendiWorld(prompts=20, images=10)
    row = vendi.table_row(
        unchanged, 0.0, np.array([[0.1, 1.0, 0.5], [-0.1, 0.0, 0.01]])
    )
    assert row[0] == "20 prompts of 10, no change" and row[2] == "+0.0000"
    assert row[3].startswith("0.500") and row[4].startswith("0.500")
