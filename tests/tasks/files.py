"""A small good task file; the tests spoil it one line at a time."""

from __future__ import annotations

from pathlib import Path

from t2ibench.tasks.loader import LoadedTask, library_for, load_file
from t2ibench.tasks.source import Problem

TEA = """\
id: tea_coffee
version: 1
method: t2iat
title: Tea and coffee
description: Are teas nearer to warmth than coffees?
citation: Nobody (2024). A test of nothing.
tags: [benign]
concepts:
  X: {name: teas, stimuli: [oolong, assam]}
  Y: {name: coffees, stimuli: [mocha, latte]}
attributes:
  A: {name: warm, words: [warm, hot]}
  B: {name: cold, words: [cold, icy]}
prompts:
  neutral: "a cup of {stimulus}"
  guided: "a cup of {stimulus}, {attribute}"
pairing: cycle
words_per_stimulus: 2
"""

JOBS = """\
id: jobs
version: 1
method: occupations
title: Jobs
description: Whom does a picture of somebody at work show?
citation: Nobody (2024). A test of nothing.
concept: {name: jobs, stimuli: [engineer, nurse]}
groups:
  - {name: male, words: [male]}
  - {name: female, words: [female]}
prompts:
  neutral: "A photo of {a stimulus}"
  guided: "A photo of a {attribute} {stimulus}"
reference:
  name: share of women
  group: female
  shares: {engineer: 0.1, nurse: 0.9}
  source: invented
"""


def spoil(text: str, *edits: tuple[str, str]) -> str:
    """Replace each old text, which must stand there once, by the new one."""
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def load(
    folder: Path, text: str | bytes, name: str = "task.yaml"
) -> tuple[LoadedTask | None, list[Problem]]:
    """Write a task file and load it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_file(path, folder, library_for([folder]))
