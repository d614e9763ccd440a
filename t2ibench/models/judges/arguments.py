"""What --judge-args each judge takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from t2ibench.arguments import positive_int, share

SERVER: dict[str, Callable[[str], Any]] = {
    "base_url": str,
    "api_key_env": str,
    "timeout": positive_int,
    "retries": positive_int,
    "max_tokens": positive_int,
}
ARGUMENTS: Mapping[str, Mapping[str, Callable[[str], Any]]] = {
    "toyland": {},
    "clip": {"margin": share, "template": str},
    "vlm": {"max_tokens": positive_int},
    "openai": SERVER | {"workers": positive_int},
    "answers": {},
}
