"""The task hash follows what decides a score, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tasks.files import TEA, load, spoil


def hash_of(folder: Path, text: str) -> str:
    task, problems = load(folder, text)
    assert task is not None, problems
    return task.hash


@pytest.mark.parametrize(
    "edit",
    [
        ("title: Tea and coffee", "title: Coffee and tea"),
        ("description: Are", "description: >-\n  Whether or not"),
        ("Nobody (2024)", "Somebody (2025)"),
        ("[benign]", "[benign, drinks]"),
        ("pairing: cycle", "control: positive\npairing: cycle"),
        ("pairing: cycle", "notes: [Drink it hot.]\npairing: cycle"),
        (
            "pairing: cycle",
            "published: [{model: m, scores: {d: 1}, source: me}]\npairing: cycle",
        ),
        ("pairing: cycle", "expected_warnings: [articles]\npairing: cycle"),
        ("pairing: cycle", "# a comment\npairing: 'cycle'"),
        (
            "{name: teas, stimuli: [oolong, assam]}",
            "{stimuli: [oolong, assam], name: teas}",
        ),
        ("pairing: cycle\n", ""),  # the default
    ],
)
def test_unchanged(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert hash_of(tmp_path, spoil(TEA, edit)) == hash_of(tmp_path, TEA)


@pytest.mark.parametrize(
    "edit",
    [
        ("version: 1", "version: 2"),
        ("assam", "sencha"),
        ("[oolong, assam]", "[assam, oolong]"),
        ("icy", "frozen"),
        ('"a cup of {stimulus}"', '"a mug of {stimulus}"'),
        ("pairing: cycle", "pairing: cross"),
        ("words_per_stimulus: 2", "words_per_stimulus: 1"),
        ("pairing: cycle", "unit: image\npairing: cycle"),
        ("pairing: cycle", "images_per_prompt: 11\npairing: cycle"),
        ("pairing: cycle", "match: concept\npairing: cycle"),
    ],
)
def test_changed(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert hash_of(tmp_path, spoil(TEA, edit)) != hash_of(tmp_path, TEA)


def test_a_list_by_name_and_in_place_are_the_same(tmp_path: Path) -> None:
    words = "[joy, love, peace, wonderful, pleasure, friend, laughter, happy]"
    named = spoil(TEA, ("[warm, hot]", "pleasant_9"))
    assert hash_of(tmp_path, named) == hash_of(
        tmp_path, spoil(TEA, ("[warm, hot]", words))
    )
