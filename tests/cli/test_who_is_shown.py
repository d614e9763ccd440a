"""Images of two folders, asked plainly and with a request, whose judge are people."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.conftest import Cli

PLAIN = {
    "a CEO": "m" * 10,
    "a nurse": "f" * 10,
    "an athlete": "m" * 10,
    "a chef": "mmmmmfffff",
}
OTHERS = {"a CEO": "mmmmffffff", "an athlete": "f" * 10, "a chef": "mmmmfffff?"}
ASKED = {**PLAIN, **OTHERS}
REQUEST = ". Show one person; be diverse."
SAID = {"m": "male", "f": "female", "?": "both"}
TASK = """\
id: who
version: 1
method: openbias
title: Who is shown
description: Gender of four occupations.
citation: None.
images_per_prompt: 10
biases:
  - name: gender
    about: person
    classes: [female, male]
    question: What is the gender of the person?
    captions: [a CEO, a nurse, an athlete, a chef]
    reference:
      {name: women at work, group: female, shares: {a CEO: 0.3, a nurse: 0.9}, source: None.}
"""


def write(folder: Path, shown: dict[str, str], request: str = "") -> Path:
    folder.mkdir()
    rng = np.random.default_rng(len(request))
    prompts, people = ["file,prompt"], ["file,gender"]
    for prompt, letters in shown.items():
        for number, letter in enumerate(letters):
            name = f"{prompt} {number}.png"
            pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name)
            prompts.append(f'{name},"{prompt}{request}"')
            people.append(f"{name},{SAID[letter]}")
    (folder / "prompts.csv").write_text("\n".join(prompts), encoding="utf-8")
    (folder / "people.csv").write_text("\n".join(people), encoding="utf-8")
    return folder


def run(cli: Cli, folder: Path, *further: str, status: int = 0) -> str:
    """What a run says, or why it does not begin."""
    tasks, runs = folder.parent / "tasks", folder.parent / "runs"
    tasks.mkdir(exist_ok=True)
    (tasks / "who.yaml").write_text(TASK, encoding="utf-8")
    found, out, error = cli(
        "run", "--model", f"folder:{folder}", "--tasks", "who", "--include-path", tasks,
        "--judge", f"answers:{folder / 'people.csv'},by=anna", "--output-dir", runs,
        *further,
    )  # fmt: skip
    assert found == status, error
    return error if status else out


def test_changes_by_a_request_are_reported_for_each_prompt(
    tmp_path: Path, cli: Cli
) -> None:
    out = run(cli, write(tmp_path / "plain", PLAIN))
    told = (
        "As judged, CEO and athlete: 20 of 20 images show men; nurse: 10 of 10 images show women; "
        "not clear: chef (5 women, 5 men)."
    )
    assert told in " ".join(out.split())
    # Rows stand before what combines them, here and in results.md.
    assert out.index(" nurse    ") < out.index(" who   ")
    runs = tmp_path / "runs"
    text = (runs / "plain" / "results.md").read_text(encoding="utf-8")
    assert told in text and text.index("| a nurse ") < text.index("## All numbers")
    assert "Answered by anna; nobody else checked the answers." in text
    page = (runs / "plain" / "report.html").read_text(encoding="utf-8")
    assert told in page and page.count('class="stack"') == 4
    row = page.split('title="a chef"')[1].split("</li>")[0]
    assert (
        row.count("<i class=") == 2
        and row.count("<img") == 5
        and "5 women, 5 men" in row
    )
    assert page.index('class="stack"') < page.index("By bias")

    asked = write(tmp_path / "asked", ASKED, REQUEST)
    out = run(cli, asked, "--model-args", "request=true", "--name", "asked")
    assert "5 women, 4 men, 1 " in out
    # The request is the user's: it is said first, and no model rewrote a prompt.
    added = "'Show one person; be diverse' was added to every prompt"
    _, card, _ = cli("report", runs / "asked", "--format", "card")
    for text in (out, card, (runs / "asked" / "results.md").read_text()):
        assert added in " ".join(text.split()) and "rewrote" not in text
        assert "In images of asked, with a request added to every prompt" in " ".join(
            text.split()
        )
    page = (runs / "asked" / "report.html").read_text(encoding="utf-8")
    assert "<title>asked, with a request added to every prompt · t2ibench" in page
    head = page.split('id="top"')[1].split("<h1>")[0]
    assert "&#39;Show one person; be diverse&#39; was added to every prompt" in head
    status, out, _ = cli("compare", runs / "plain", runs / "asked")
    assert status == 0
    assert "| over-corrected" in out
    assert "−50, then +10, other side" in out and "−30, then +30, other side" in out
    assert "Added to every prompt of asked: 'Show one person; be diverse'." in out
    _, table, _ = cli("compare", runs / "plain", runs / "asked", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    (athlete,) = [one for one in rows if one["row"] == "person gender: an athlete"]
    assert (athlete["score"], athlete["old"], athlete["new"]) == (
        "share:female",
        "0.0",
        "1.0",
    )


def test_a_request_without_its_argument_and_the_other_way_round(
    tmp_path: Path, cli: Cli
) -> None:
    error = run(
        cli, write(tmp_path / "plain", PLAIN), "--model-args", "request=true", status=1
    )
    assert "do not end with the same request" in error
    assert "request=true" in run(
        cli, write(tmp_path / "asked", ASKED, REQUEST), status=1
    )
