"""Fixtures of the tests of models."""

from __future__ import annotations

import pytest


@pytest.fixture
def settings_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load without trial images, which test_effects.py is about: a third of a loading's time."""
    monkeypatch.setattr(
        "t2ibench.models.generators.diffusers.check_effects", lambda *_: None
    )
