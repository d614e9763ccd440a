"""The contract of a rewriter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

from t2ibench.models.contract.common import (
    ODD_TEXTS,
    Findings,
    Trial,
    is_json,
    make_two,
)
from t2ibench.models.language import Per, Rewriter, RewriteRequest, Rewriting

PROMPTS = (
    *("a photo of a nurse", "a photo of a chef", "a portrait of an engineer", "a tulip, joy"),
    *("a church", "an old man", "a photo of a {thing} for 100 %", "a guitar"),
)
_RULE = (
    "a rewriting must depend on its own prompt, index and seed only (a server may not be able to "
    "promise that: what it said is stored and replayed)"
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
    rewriter, _ = make_two(findings, make, make_other, Rewriter, _TYPES)
    if rewriter is None:
        return findings.lines
    findings.require(
        rewriter.per in get_args(Per), f"per is {rewriter.per!r}; expected 'prompt' or 'image'"
    )
    findings.require(
        is_json(dict(rewriter.settings)), "settings are not JSON values: they are stored"
    )
    requests = [
        RewriteRequest(prompt, number if rewriter.per == "image" else None, 7919 * number)
        for number, prompt in enumerate(prompts)
    ]
    trial = Trial(findings, "rewrite", rewriter.rewrite, Rewriting, "prompts", "rewritings")
    alone: list[str | None] = []
    for request in requests:
        texts = _rewritten(trial, [request], "alone")
        if texts is None:
            return findings.lines
        alone += texts
    trial.check_batches(partial(_rewritten, trial), requests, alone, _RULE)
    for what, text in ODD_TEXTS.items():
        odd = [RewriteRequest(text, 0 if rewriter.per == "image" else None, 1)]
        _rewritten(trial, odd, f"for {what}")
    return findings.lines


def _rewritten(
    trial: Trial[RewriteRequest, Rewriting], requests: list[RewriteRequest], how: str
) -> list[str | None] | None:
    """The texts of one call, where its rewritings are as promised."""
    findings, found = trial.findings, trial.of(requests, how)
    if found is None:
        return None
    for one in found:
        if one.status == "ok":
            kept = isinstance(one.text, str) and bool(one.text.strip())
            findings.require(kept, f"a rewriting with status 'ok' has the text {one.text!r}")
        else:
            known = one.status in {"refused", "failed"}
            findings.require(known, f"status {one.status!r}; expected ok, refused or failed")
            findings.require(bool(one.reason), f"a rewriting is {one.status} without a reason")
    return [one.text for one in found]
