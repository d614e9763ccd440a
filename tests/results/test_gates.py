"""--fail-on: what is read, what stops a run, and that nothing else is ever run."""

from __future__ import annotations

from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.results.comparison import compare
from t2ibench.results.gates import (
    COMPARISON,
    RUN,
    check_comparison,
    check_run,
    magnitude,
    parse_gates,
)
from t2ibench.results.schema import Headline, Results
from tests import hand

STRONG = {"x": [1.0] * 19 + [-1.0], "y": [1.0] * 18 + [-1.0] * 2}
WEAK = {"x": [1.0, -1.0] * 10, "y": [-1.0, 1.0] * 10}
OTHER_WAY = {prompt: [-x for x in images] for prompt, images in STRONG.items()}


def run(**images: object) -> Results:
    return hand.results(**{k: hand.record(hand.mean_lean(v)) for k, v in images.items()})  # type: ignore[arg-type]


def failures(results: Results, *texts: str) -> list[str]:
    lines = check_run(parse_gates(texts, RUN), results).failures
    return [line.partition(":")[0] for line in lines]


def test_a_gate_stops_the_tasks_that_meet_it() -> None:
    results = run(strong=STRONG, weak=WEAK, back=OTHER_WAY)
    assert failures(results, "headline.ci_low>0.2") == ["strong"]
    assert failures(results, "headline.magnitude_low>.2") == ["strong", "back"]
    assert failures(results, "headline.p_holm < 5e-2") == ["strong", "back"]
    assert failures(results, "headline.p_holm<0.05, headline.value<0") == ["back"]
    assert failures(results, "headline.ci_low>0.2", "headline.ci_high<=-0.2") == ["strong", "back"]
    assert failures(results, "headline.value>0.9") == []
    value = results.tasks["strong"].headline.value
    assert failures(results, f"headline.value>={value}") == ["strong"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("headline.ci_lw>0.2", "Did you mean 'headline.ci_low'"),
        ("headline.ci_low=0.2", "cannot read 'headline.ci_low=0.2'"),
        ("headline.ci_low>x", "cannot read"),
        ("headline.ci_low>0.2;1", "cannot read"),
        ("__import__('os').system('true')>0", "cannot read"),
        ("headline.p<0.05,", "cannot read ''"),
        ("", "cannot read ''"),
        ("difference.ci_low>0.1", "does not know 'difference.ci_low'"),
        ("headline.p<nan", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_one_line(text: str, message: str) -> None:
    with pytest.raises(T2IBenchError, match="--fail-on") as caught:
        parse_gates([text], RUN)
    assert message in str(caught.value) and "\n" not in caught.value.message


def test_nothing_checked_is_not_passed() -> None:
    gates = parse_gates(["headline.ci_low>0.2"], RUN)
    undecided = hand.record(hand.mean_lean(STRONG), inconclusive="its halves disagree")
    nothing = hand.record(MethodResult.undefined("there are no images"))
    found = check_run(gates, hand.results(a=undecided, b=nothing))
    assert found.failures == [] and found.failed
    said = ["not checked (inconclusive): a", "not checked (no headline.ci_low): b"]
    assert list(found.unchecked[:2]) == said
    weak = hand.record(hand.mean_lean(WEAK))
    assert not check_run(gates, hand.results(a=undecided, c=weak)).failed
    assert not check_run(gates, hand.results()).failed


def test_magnitudes() -> None:
    lean = Headline(value=-0.5, ci_low=-0.7, ci_high=0.2, square=0.16, scale="lean")
    assert magnitude(lean) == (0.5, 0.0, 0.7)
    square = Headline(value=-0.01, ci_low=-0.01, ci_high=0.25, square=-0.01, scale="mean_square")
    assert magnitude(square) == (0.0, 0.0, 0.5)
    assert magnitude(Headline(value=-0.2, square=-0.2, scale="excess"))[0] == -0.2
    assert magnitude(Headline(reason="nothing", scale="lean")) == (None, None, None)


def test_gates_are_in_the_unit_that_is_shown() -> None:
    results = hand.results(t=hand.record(hand.mean_square(STRONG)))
    assert 0.6 < (results.tasks["t"].headline.value or 0) < 0.8  # its root is above .8
    assert failures(results, "headline.value>0.8") == ["t"]


@pytest.mark.parametrize("make", [hand.mean_lean, hand.mean_square])
@pytest.mark.parametrize("strong", [STRONG, OTHER_WAY])
def test_a_gate_on_a_comparison_fails_where_the_new_run_leans_more(
    make: Any, strong: dict[str, list[float]]
) -> None:
    worse, better = make(strong), make(WEAK)
    for runs, worsened in (((better, worse), True), ((worse, better), False)):
        records = [hand.results(t=hand.record(one)) for one in runs]
        found = compare(*records, *[hand.pairs({"t": one}) for one in runs])
        for text, failed in (
            ("difference.ci_low>0.1", worsened),
            ("difference.ci_high<-0.1", not worsened),
            ("difference.value>0.95", False),
            ("difference.p_holm<0.05", True),
            ("new.magnitude_low>0.2", worsened),
            ("old.magnitude_low>0.2", not worsened),
        ):
            assert check_comparison(parse_gates([text], COMPARISON), found).failed == failed, text


def test_nothing_is_decided_where_readers_differ() -> None:
    runs = hand.mean_lean(STRONG), hand.mean_lean(WEAK)
    others = [
        hand.results(t=hand.record(one, settings=hand.settings(encoders={e: "0" * 64})))
        for one, e in zip(runs, "ab", strict=True)
    ]
    checked = check_comparison(parse_gates(["difference.value>0"], COMPARISON), compare(*others))
    assert checked.failed and not checked.failures
