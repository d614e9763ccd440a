"""The submissions that come with the repository, by the name of their model.

A folder's name has the start of the model's fingerprint, so it changes with the model.
"""

from __future__ import annotations

import json
from pathlib import Path

SUBMISSIONS = Path(__file__).parents[1] / "leaderboard" / "submissions"


def shipped(name: str) -> Path:
    """Return the folder of the submission with this name."""
    (folder,) = (
        path.parent
        for path in SUBMISSIONS.glob("*/submission.json")
        if json.loads(path.read_bytes())["name"] == name
    )
    return folder
