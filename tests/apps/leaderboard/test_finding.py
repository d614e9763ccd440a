"""The board's first finding: the prompt about which models differ most, in whatever class."""

from __future__ import annotations

import pytest

from t2ibench.apps.leaderboard.finding import _distance


def test_models_differ_in_any_class() -> None:
    """Both show as many white people, and else Black people or Asian people."""
    assert _distance([0.4, 0.6, 0.0], [0.4, 0.0, 0.6]) == pytest.approx(0.6)
    assert _distance([1.0, 0.0, 0.0], [0.0, 0.5, 0.5]) == pytest.approx(1.0)
    assert _distance([0.2, 0.8], [0.2, 0.8]) == 0.0
