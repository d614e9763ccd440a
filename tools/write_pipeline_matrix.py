"""Write docs/models/diffusers.md from trials: python tools/write_pipeline_matrix.py."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import diffusers

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.models.pipelines.matrix import TRIED, page, refused, tried  # noqa: E402

OUTPUT = ROOT / "docs" / "models" / "diffusers.md"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        rows = [tried(name, Path(folder) / name) for name in TRIED]
    OUTPUT.write_text(page(rows, diffusers.__version__, refused()), encoding="utf-8")
