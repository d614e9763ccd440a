"""Encoders of random weights: the same architecture, which has learnt nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

from t2ibench.models.devices import quietly
from t2ibench.models.fingerprint import fingerprint

_SEED = 1  # of the weights


class TwoTowers(Protocol):
    """What an encoder has that reads with one torch model.

    Attributes:
        name: Of the encoder.
        fingerprint: Of the encoder.
        towers: Gives the model.
    """

    name: str
    fingerprint: str
    towers: Callable[[], Any]


_E = TypeVar("_E", bound=TwoTowers)


def untrained_twin(
    encoder: _E, build: Callable[[], Any], identity: Mapping[str, Any], library: str
) -> _E:
    """An encoder with random weights in place of its own."""
    from importlib.metadata import version

    def towers() -> Any:
        import torch

        own = next(encoder.towers().parameters())
        with torch.random.fork_rng(devices=[]), quietly():
            torch.manual_seed(_SEED)
            model = build()
        return model.to(own.device, own.dtype).eval()

    twin = copy.copy(encoder)
    twin.name = f"random:{encoder.name}"
    twin.towers = cache(towers)
    twin.fingerprint = fingerprint(
        {
            "adapter": "untrained 1",
            "seed": _SEED,
            "versions": {name: version(name).partition("+")[0] for name in ("torch", library)},
            **identity,
        }
    )
    return twin


def architecture(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without what decides no weight: where it lay, and who wrote it."""
    return {
        key: architecture(value) if isinstance(value, Mapping) else str(value)
        for key, value in config.items()
        if key not in {"_name_or_path", "transformers_version", "dtype"}
    }
