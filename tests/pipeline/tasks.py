"""A task made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_bias(
    folder: Path, images: int, classes: Sequence[str] = ("male", "female"), **more: Any
) -> Path:
    """Write hand.yaml, a task of OpenBias about one bias; `more` says which prompts. Its folder."""
    bias = {
        "name": "gender",
        "about": "person",
        "classes": classes,
        "question": "Which?",
        **more,
    }
    task = {
        "id": "hand",
        "version": 1,
        "method": "openbias",
        "images_per_prompt": images,
    }
    words = dict.fromkeys(("title", "description", "citation"), "-")
    folder.mkdir(exist_ok=True)
    (folder / "hand.yaml").write_text(json.dumps({**task, **words, "biases": [bias]}))
    return folder
