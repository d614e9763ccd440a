"""The models that come with t2ibench: `toy`, `toy-fair` and `toy-clip`."""

from __future__ import annotations

from pathlib import Path


def bundled_model(name: str) -> Path:
    """Return the folder of a bundled model, as its library's save_pretrained wrote it."""
    return Path(__file__).resolve().parents[1] / "bundled" / "models" / name
