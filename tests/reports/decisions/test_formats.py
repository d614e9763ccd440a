"""Decisions in every format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from t2ibench.decisions.decision import Decision
from t2ibench.errors import T2IBenchError
from t2ibench.reports.decisions.formats import FORMATS, format_named
from t2ibench.reports.decisions.sentences import verdict, worst
from tests.apps.explorer.page import Watch, axe
from tests.decisions.made import (
    TASK,
    decided,
    lean_task,
    profile,
    scenario,
    square_task,
)

EVIL = '<script>alert(1)</script> & "x" | `y`'


def decisions() -> list[Decision]:
    gate = profile(
        scenario(name=EVIL, hazard=EVIL),
        scenario(name="rows", measurement={"task": TASK, "statistic": "rows"}),
        scenario(name="absent", measurement={"task": "none", "statistic": "headline"}),
    )
    return [
        decided(gate, {TASK: lean_task(lean)}, departures=["another seed"])
        for lean in (0.0, 0.9)
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_outcome_reason_and_rates(name: str) -> None:
    text = FORMATS[name](decisions())
    assert "<script>" not in text or name in {"terminal", "json"}
    plain = " ".join(re.sub(r"&#?\w+;|\\", "", text).split())
    for part in ("another seed", "is not in the run", "by hand within an hour"):
        assert part in plain
    assert "differ" in plain


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(T2IBenchError, match="Did you mean 'junit'"):
        format_named("junt")


def test_junit_counts_no_failure_of_a_run_that_does_not_fail() -> None:
    """A scenario that fails by itself, and not after the correction, is undecided."""
    other = scenario(name="other", measurement={"task": "b", "statistic": "headline"})
    two = {TASK: lean_task(0.48, 200), "b": lean_task(0.0)}
    decision = decided(profile(scenario(), other), two)
    assert decision.scenarios[0].outcome == "fail" and decision.outcome == "undecided"
    suite = ElementTree.fromstring(FORMATS["junit"]([decision]))[0]
    assert suite.get("failures") == "0" and suite.get("errors") == "1"
    assert "after the correction" in suite.findall("testcase/error")[0].get(
        "message", ""
    )


def test_junit_counts_what_is_no_pass() -> None:
    root = ElementTree.fromstring(FORMATS["junit"](decisions()))
    passing, failing = root.findall("testsuite")
    assert (passing.get("failures"), passing.get("errors")) == ("0", "2")
    assert (failing.get("failures"), failing.get("errors")) == ("2", "2")
    for suite in (passing, failing):
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.get("tests", 0)) == 4
        red = [case for case in cases if case.find("failure") is not None]
        assert len(red) == int(suite.get("failures", -1))
    assert "\x1b" not in FORMATS["junit"]([decided(profile(), {TASK: lean_task(0.0)})])


def test_control_characters_do_not_break_xml() -> None:
    decision = decided(profile(), {TASK: lean_task(0.0, inconclusive="a\x00b\x1b[31m")})
    root = ElementTree.fromstring(FORMATS["junit"]([decision]))
    assert "x1b" in (root.findtext(".//error") or "")


def test_characters_that_xml_forbids_do_not_break_it() -> None:
    given = profile(scenario(name="a\ufffeb\uffff ]]> <b>"))
    decision = decided(given, {TASK: lean_task(0.9)})
    root = ElementTree.fromstring(FORMATS["junit"]([decision]))
    (case,) = root.iter("testcase")
    assert case.get("name") == r"a\ufffeb\uffff ]]> <b>"


def test_json_has_what_the_others_say() -> None:
    content = json.loads(FORMATS["json"](decisions()))
    assert content["outcome"] == "fail"
    first, second = content["decisions"]
    assert (first["outcome"], first["exit_status"]) == ("undecided", 3)
    assert (second["outcome"], second["exit_status"]) == ("fail", 4)
    part = second["scenarios"][0]
    assert part["scenario"]["reason"] and part["quantities"][0]["value"] == 0.9
    assert 0 <= part["two_runs_differ"] <= part["two_runs_differ_at_worst"] <= 1


def test_the_page_needs_no_network_and_no_script() -> None:
    page = FORMATS["html"](decisions())
    assert "default-src 'none'" in page and "<script" not in page
    assert not re.search(r"(?:src|href)=\"?https?:", page)
    assert page.count('class="card scenario"') == 6


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_is_accessible_and_fits(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    page_file = tmp_path / "decision.html"
    long_word = scenario(name="a" * 150, hazard="h" * 300)
    decision = decided(profile(long_word), {TASK: lean_task(0.9)})
    text = FORMATS["html"]([*decisions(), decision])
    page_file.write_text(text, encoding="utf-8")
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    watch = Watch(browser, "file://", bypass_csp=True, **options)
    watch.page.goto(page_file.as_uri())
    assert axe(watch.page) == []
    assert watch.page.evaluate("document.documentElement.scrollWidth") <= width
    watch.close()


def test_a_scenario_that_fails_alone_is_named_in_the_verdict() -> None:
    # Of two scenarios, one fails with a p-value between .025 and .05.
    alone = decided(profile(), {TASK: lean_task(0.4)}).scenarios[0]
    failing = replace(alone, outcome="fail", p_fail=0.03, p_fail_holm=0.06)
    both = decided(profile(scenario(), scenario(name="b")), {TASK: lean_task(0.4)})
    decision = replace(both, scenarios=(failing, both.scenarios[1]))
    assert "0 of 2 scenarios pass, 1 fails alone, none after Holm" in verdict(decision)
    assert "none fails beyond chance" in verdict(both)


def test_the_worst_run_decides() -> None:
    outcomes = {
        lean: decided(profile(), {TASK: square_task(lean)}) for lean in (0.0, 0.4, 0.9)
    }
    assert worst([outcomes[0.0]]) == "pass"
    assert worst([outcomes[0.0], outcomes[0.4]]) == "undecided"
    assert worst(list(outcomes.values())) == "fail"
