"""What a submission says of its origin: what was compared, and what is only stated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.shown import DRAWN_LEVELS, Model
from t2ibench.apps.leaderboard.table import Entry

# What generating images again has compared; everything else is the submitter's word, unless the
# verdict no longer lists it as such.
_DRAWN = ("model", "arguments", "fingerprint")
_OF_THE_MODEL = ("revision", "settings", "effective_settings")
_DEEPEST = 8  # of values that a submission states


def provenance(entry: Entry) -> dict[str, dict[str, Any]]:
    """What a submission says of its origin."""
    manifest, results = entry.manifest, entry.results
    told = {
        "model": manifest.model,
        "arguments": manifest.model_args,
        "fingerprint": manifest.fingerprint,
        "revision": manifest.revision,
        "settings": results.model.settings,
        "effective_settings": results.model.effective_settings,
        "encoders": manifest.encoders,
        "judges": manifest.judges,
        "t2ibench": manifest.t2ibench,
        "environment": results.environment,
        "command": results.command,
    }
    if results.model.rewriter is not None:
        told["rewriter"] = results.model.rewriter.model_dump(mode="json")
    shown = {name: plain(value) for name, value in told.items()}
    checked: set[str] = set()
    if entry.level in DRAWN_LEVELS:
        checked |= {*_DRAWN, *(_OF_THE_MODEL if entry.stated else ())} - set(entry.stated)
    if entry.level == "reproduced":
        checked |= {"encoders", *(["judges"] if entry.parts.get("answers") else [])}
    return {
        "checked": {name: value for name, value in shown.items() if name in checked},
        "stated": {name: value for name, value in shown.items() if name not in checked},
    }


def plain(value: Any, depth: int = _DEEPEST) -> Any:
    """JSON of a stranger as it is shown: finite, not deep, and no text that hides anything."""
    if isinstance(value, Mapping) and depth:
        return {visible(str(key)): plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [plain(one, depth - 1) for one in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) and abs(value) < 1e15 else str(value)
    return visible(str(value))


def facts(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values as lines of a page."""
    return [(name, _text(value)) for name, value in told.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else "none"
    return "not stated" if value is None else str(value)


def effective(model: Model) -> list[tuple[str, str, None]]:
    """What a model's page says of the settings that its images were generated with."""
    of = model.entry.results.model
    found = plain(of.effective_settings or of.settings)
    text = ", ".join(f"{key} {_text(value)}" for key, value in sorted(found.items()))
    return [("Settings", text or "not stated", None)]


def badge_text(model: Model) -> str:
    """The words of a model's badge: a count, never a score."""
    if not model.entry.verified:
        return model.entry.level
    counts, total = model.run.counts(), len(model.run.tests)
    unsure = counts["cannot_tell"] + counts["no_score"]
    return f"{counts['clear']} of {total} tests lean clearly, {unsure} cannot tell"
