"""What a method proposes for captions or prompts: the one way to it, for commands and for runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.proposal import Proposal, Proposed
from t2ibench.methods.registry import METHODS
from t2ibench.models.proposers import Proposer
from t2ibench.proposals.captions import LONGEST, usable
from t2ibench.proposals.recording import Recorder
from t2ibench.registry import load_target


def proposal_of(name: str) -> Proposal[Any]:
    """The proposal of a method."""
    targets = _targets()
    if name in targets:
        proposal: Proposal[Any] = load_target(targets[name])
        return proposal
    hint = f"These can be proposed: {', '.join(targets)}."
    if name in METHODS:
        raise T2IBenchError(f"No language model proposes tasks of the method '{name}'.", hint)
    raise T2IBenchError(f"Unknown method '{shown(name)}'.{did_you_mean(name, targets)}", hint)


def method_for(subjects: str) -> str:
    """The method whose tasks are proposed from something."""
    return next(
        name for name, target in _targets().items() if load_target(target).subjects == subjects
    )


def _targets() -> dict[str, str]:
    """What each method proposes with, of those whose tasks can be proposed."""
    targets: dict[str, str] = {}
    for key in METHODS:
        with contextlib.suppress(T2IBenchError):  # a broken plug-in is no reason to stop others
            target = METHODS.get(key).proposes
            if target:
                targets[key] = target
    return targets


def propose(
    proposal: Proposal[Any],
    subjects: Sequence[str],
    proposer: Proposer,
    settings: Arguments,
    *,
    replies: Path | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Proposed, int]:
    """Ask a proposer about captions or prompts."""
    asked = usable(subjects) if proposal.subjects == "captions" else list(subjects)
    recorder = Recorder(proposer, replies)
    proposed = proposal.propose(asked, recorder, settings, advance)
    if len(asked) < len(subjects):
        reason = f"captions of more than {LONGEST} characters, or with invisible ones"
        dropped = {**proposed.dropped, reason: len(subjects) - len(asked)}
        proposed = replace(proposed, dropped=dropped)
    return proposed, recorder.asked
