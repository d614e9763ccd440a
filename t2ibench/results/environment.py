"""Versions of what decides numbers and pixels."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = (
    "numpy",
    "scipy",
    "statsmodels",
    "torch",
    "diffusers",
    "transformers",
    "open_clip_torch",
    "pillow",
)


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Installed versions of distributions."""
    installed = {}
    for name in distributions:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def environment() -> dict[str, str]:
    """Versions of Python, the platform and the libraries that decide numbers."""
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return system | versions(_LIBRARIES)
