"""A submission has no path of the machine that it was made on."""

from __future__ import annotations

import pytest

from t2ibench.apps.leaderboard.packing import _warning_without_paths
from t2ibench.results.schema import LibraryWarning


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("weights of /home/anna/ckpt are odd", "weights of ckpt are odd"),
        ("weights of ~/models/ckpt", "weights of ckpt"),
        ("C:\\Users\\anna\\ckpt is odd", "ckpt is odd"),
        (
            "org/name, see https://hub.org/org/name",
            "org/name, see https://hub.org/org/name",
        ),
    ],
)
def test_warnings_name_files_without_their_folders(text: str, packed: str) -> None:
    warning = LibraryWarning(library="diffusers", about="/home/anna/ckpt", text=text)
    cleaned = _warning_without_paths(warning)
    assert cleaned.text == packed
    assert cleaned.about == "ckpt"
