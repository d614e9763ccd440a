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
    all_count = np.ones(4, dtype=np.bool_)
    truths = origins._truths(world, words, 0.2 + 0.5 * words, all_count)
    assert truths["mean"] == pytest.approx(0.2)
    assert truths["slope"] == pytest.approx(0.5)
    assert truths["following"] == pytest.approx(0.125)
    assert truths["beside"] == pytest.approx(0)
    # Six of ten images keep their lean, the others show men: .4 + .6 · .2 in the mean.
    assert truths["change_of_mean"] == pytest.approx(0.52 - 0.2)
    assert truths["change_of_slope"] == pytest.approx(-0.2)
    assert truths["added_mean"] == pytest.approx(0.12)
    # Of the last stimulus alone, with the lean .7.
    last = np.array([False, False, False, True])
    of_last = origins._truths(world, words, 0.2 + 0.5 * words, last)
    assert of_last["added_mean"] == pytest.approx(0.6 * 0.7)
    # A rewriter that names men in .4 for every other stimulus: for the first and the third.
    half = Origin("half", 4, named=(0.4, 0.0), named_every=2, behind=True)
    truths = origins._truths(half, words, np.zeros(4), all_count)
    assert truths["mean_behind"] == pytest.approx(0.2)
    assert truths["change_of_beside"] > 0 and truths["added"] == 0


def test_a_data_set_has_a_number_for_each_quantity() -> None:
    world = Origin("small", 6, 8, 4, slope=0.6, named=(0.5, 0.5), behind=True)
    judged = origins.simulated(world, seed=0, number=0)
    assert len(judged) == len(quantities(behind=True)) == 14
    truths = [row[4] for row in judged]
    assert truths[quantities(behind=True).index("slope_of_others")] == 0.6
    rows = origins.table_rows(world, np.array([judged, judged]))
    assert [row[1] for row in rows][:14] == quantities(behind=True)
    assert rows[-1][1].startswith("any of: ")


def test_a_refused_data_set_is_counted_and_left_out() -> None:
    world = Origin("small", 6, 8, 4)
    judged = np.array(origins.simulated(world, seed=0, number=0))
    refused = np.full_like(judged, np.nan)
    rows = origins.table_rows(world, np.array([judged, judged, refused]))
    assert rows[0][0] == "small (1 refused)"
    alone = origins.table_rows(world, np.array([judged, judged]))
    assert [row[1:] for row in rows] == [row[1:] for row in alone]


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


def test_a_planted_collapse_is_a_smaller_diversity() -> None:
    world = VendiWorld(prompts=20, images=10, cosine_after=0.95)
    scores, changes, levels = vendi.simulated(world, (0.0, 0.0, 0.25), 0, 0)
    assert scores[0] < -0.5 and scores[2] < 0.01
    assert changes[0] < -0.1 and changes[2] < 0.01
    assert levels[0] == pytest.approx(0.25, abs=0.02)


def test_a_row_of_diversity_has_its_rates() -> None:
    unchanged = VendiWorld(prompts=20, images=10)
    judged = [
        [[0.1, 1.0, 0.5], [0.2, 1.0, 0.5], [0.3, 1.0, np.nan]],
        [[-0.1, 0.0, 0.01], [0.0, 1.0, 0.5], [0.3, 1.0, np.nan]],
    ]
    rows = vendi.table_rows(unchanged, (0.0, 0.1, 0.3), np.array(judged))
    assert rows[0][:2] == ["20 prompts of 10, no change", "Vendi score, change"]
    assert rows[0][3] == "+0.0000"
    assert rows[0][4].startswith("0.500") and rows[0][5].startswith("0.500")
    assert rows[1][4].startswith("1.000") and rows[2][5] == "–"
