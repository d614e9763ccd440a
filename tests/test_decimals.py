"""A number that rounds to zero has no sign, wherever people read it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import t2ibench
from t2ibench.decimals import decimal, readable, true_minus
from t2ibench.decisions.held import signed
from t2ibench.reports import cells
from t2ibench.reports.csv import CsvWriter
from t2ibench.reports.html import numbers
from t2ibench.reports.latex import LatexWriter
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Headline
from t2ibench.results.text_image_alignment import AgreementChange, agreement_sentence

ROOT = Path(t2ibench.__file__).parent


@pytest.mark.parametrize("value", [-0.0, 0.0, -0.0004, 0.0004])
def test_what_rounds_to_zero_has_no_sign(value: float) -> None:
    assert decimal(value, 3, sign=True) == decimal(value, 3) == "0.000"
    assert cells.number(value, 2) == cells.signed(value, 2) == "0.00"
    assert cells.ends(value, value) == "[0.00, 0.00]"
    assert cells.in_points(value) == "0"
    assert numbers.plain(value) == numbers.signed(value) == "0.00"
    assert numbers.percent(value) == "0 %"


def test_agreement_that_does_not_differ_has_no_signs() -> None:
    change = AgreementChange(
        0.0,
        -0.0,
        0.0,
        1.0,
        encoder="toyland",
        task="",
        group="",
        n_prompts=2,
        n_images=8,
    )
    (sentence,) = agreement_sentence([change], ["before", "after"])
    assert "(0.0000, 0.0000 to 0.0000; 2 prompts" in sentence


def test_sentences_and_pages_have_a_true_minus_from_one_place() -> None:
    assert readable(-0.25, 2) == numbers.signed(-0.25) == "−0.25"
    assert numbers.percent(-0.031) == "−3 %" and signed(-0.25) == "−0.250"
    assert true_minus("-1e-05") == "−1e−05"
    places = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if '.replace("-", "−")' in path.read_text(encoding="utf-8")
    ]
    assert places == ["decimals.py"]


def test_signs_are_formatted_in_one_place() -> None:
    """A sign in a format specification would print -0.00 as soon as a value is small."""
    signs = re.compile(r"""\{[^{}'"]+:\+\.\d*f\}""")
    places = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if signs.search(path.read_text(encoding="utf-8"))
    ]
    assert not places


def test_an_estimate_never_leaves_its_interval_by_rounding() -> None:
    """A value has as many decimals as its interval, wherever both are shown."""
    score = Headline(value=0.4749, ci_low=0.4744, ci_high=0.6, scale="lean")
    low, _ = cells.ends(score.ci_low, score.ci_high).strip("[]").split(", ")
    assert float(low) <= float(cells.headline(score))
    assert cells.headline(score) == "+0.47" and low == "0.47"


def test_numbers_for_people_have_a_zero_before_the_point() -> None:
    scripts = re.compile(r"""replace\(/\^.{0,12}0""")
    templates = re.compile(r""">\s*[+−-]?\.\d""")
    places = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if path.suffix in {".js", ".html", ".svg"}
        and (scripts if path.suffix == ".js" else templates).search(
            path.read_text(encoding="utf-8")
        )
    ]
    assert places == []


def test_programs_read_numbers_as_programs_write_them() -> None:
    table = Table(["a", "b"], [["−0.25", "a − b"]])
    assert CsvWriter().table(table).splitlines() == ["a,b", "-0.25,a − b"]
    assert "$-$0.25" in LatexWriter().table(table)
