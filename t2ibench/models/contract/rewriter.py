"""The contract of a rewriter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from t2ibench.models.contract.common import (
    BATCHES,
    ODD_TEXTS,
    Findings,
    check_fingerprints,
    check_members,
    is_json,
    is_reordered,
)
from t2ibench.models.language import Per, Rewriter, RewriteRequest, Rewriting

PROMPTS = (
    *("a photo of a nurse", "a photo of a chef", "a portrait of an engineer", "a tulip, joy"),
    *("a church", "an old man", "a photo of a {thing} for 100 %", "a guitar"),
)
_TYPES: dict[str, tuple[type, ...]] = {"name": (str,), "fingerprint": (str,), "per": (str,)}


def check_rewriter(
    make: Callable[[], Rewriter],
    *,
    make_other: Callable[[], Rewriter] | None = None,
    prompts: Sequence[str] = PROMPTS,
) -> list[str]:
    """Try a rewriter against its contract. Rewritings are compared exactly.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide rewritings; None where there are
            none.
        prompts: What it is tried with; from eight on, batches of 8 are full.

    Returns:
        A line for everything that is wrong.
    """
    findings = Findings()
    rewriter = findings.attempt("making it", make)
    if rewriter is None:
        return findings.lines
    if not check_members(findings, _Sized(rewriter), Rewriter, _TYPES):
        return findings.lines
    findings.require(
        rewriter.per in get_args(Per), f"per is {rewriter.per!r}; expected 'prompt' or 'image'"
    )
    findings.require(
        is_json(dict(rewriter.settings)), "settings are not JSON values: they go into run.json"
    )
    second = findings.attempt("making it again", make)
    if second is not None:
        check_fingerprints(findings, rewriter, second, make_other)
    requests = [
        RewriteRequest(prompt, number if rewriter.per == "image" else None, 7919 * number)
        for number, prompt in enumerate(prompts)
    ]
    singly: list[Rewriting] = []
    for request in requests:
        found = _rewritten(findings, rewriter, [request], "alone")
        if found is None:
            return findings.lines
        singly += found
    _check_batches(findings, rewriter, requests, singly)
    for what, text in ODD_TEXTS.items():
        odd = [RewriteRequest(text, 0 if rewriter.per == "image" else None, 1)]
        _rewritten(findings, rewriter, odd, f"for {what}")
    return findings.lines


class _Sized:
    """A rewriter as the checks of all kinds see it: it has no batch size."""

    batch_size = 1

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter

    def __getattr__(self, name: str) -> object:
        return getattr(self._rewriter, name)


def _rewritten(
    findings: Findings, rewriter: Rewriter, requests: list[RewriteRequest], how: str
) -> list[Rewriting] | None:
    """Rewritings of one call, where they are as promised."""
    found = findings.attempt(
        f"rewrite() of {len(requests)} prompts {how}", lambda: rewriter.rewrite(requests)
    )
    if found is None:
        return None
    typed = isinstance(found, list) and all(isinstance(one, Rewriting) for one in found)
    if not findings.require(typed, "rewrite() must return a list of Rewriting"):
        return None
    count = f"rewrite() returns {len(found)} rewritings for {len(requests)} prompts"
    if not findings.require(len(found) == len(requests), count):
        return None
    for one in found:
        if one.status == "ok":
            kept = isinstance(one.text, str) and bool(one.text.strip())
            findings.require(kept, f"a rewriting with status 'ok' has the text {one.text!r}")
        else:
            known = one.status in {"refused", "failed"}
            findings.require(known, f"status {one.status!r}; expected ok, refused or failed")
            findings.require(bool(one.reason), f"a rewriting is {one.status} without a reason")
    return found


def _check_batches(
    findings: Findings,
    rewriter: Rewriter,
    requests: list[RewriteRequest],
    singly: list[Rewriting],
) -> None:
    """Batches of 3 and 8, and another order, give what each prompt gives alone."""
    expected = [one.text for one in singly]
    for size in BATCHES[1:]:
        batched: list[Rewriting] = []
        for start in range(0, len(requests), size):
            part = requests[start : start + size]
            found = _rewritten(findings, rewriter, part, f"in batches of {size}")
            if found is None:
                return
            batched += found
        _compare(findings, expected, [one.text for one in batched], f"a batch of {size}")
    backwards = _rewritten(findings, rewriter, requests[::-1], "in another order")
    if backwards is not None:
        actual = [one.text for one in backwards[::-1]]
        _compare(findings, expected, actual, "another order of the prompts")


def _compare(
    findings: Findings, expected: list[str | None], actual: list[str | None], where: str
) -> None:
    if expected == actual:
        return
    if is_reordered(expected, actual):
        findings.add(f"rewritings are not in the order of the prompts ({where})")
        return
    findings.add(
        f"rewritings in {where} differ from those given alone: a rewriting must depend on its own "
        "prompt, index and seed only (a server may not be able to promise that: what it said is "
        "stored and replayed)"
    )
