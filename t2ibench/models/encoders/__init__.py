"""Create encoders by name. A model library is imported only when its encoder is created."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from t2ibench.models.adapter import Adapter
from t2ibench.models.downloads import Download
from t2ibench.models.protocols import Encoder
from t2ibench.models.resolution import create, downloads_of, find_registered
from t2ibench.registry import Registry

DEFAULT_ENCODER = "open_clip:ViT-L-14/openai"
DEFAULT_WEIGHTS = (
    "timm/vit_large_patch14_clip_224.openai",
    "open_clip_model.safetensors",
)
ENCODERS: Registry[Adapter[Encoder]] = Registry(
    "encoder",
    {
        "open_clip": "t2ibench.models.encoders.open_clip:ADAPTER",
        "clip": "t2ibench.models.encoders.clip:ADAPTER",
        "vectors": "t2ibench.models.encoders.vectors:ADAPTER",
        "wordllama": "t2ibench.models.encoders.wordllama:ADAPTER",
        "text_of": "t2ibench.models.encoders.text_of:ADAPTER",
        "toyland": "t2ibench.models.encoders.toyland:ADAPTER",
        "toy-clip": "t2ibench.models.encoders.clip:TOY_CLIP",
    },
)
# Creates and loads an encoder from its name; an encoder is returned as it is (see `create`).
create_encoder = partial(create, ENCODERS, Encoder)


def encoder_downloads(name: str) -> Sequence[Download] | None:
    """Return what an encoder downloads from the hub; None if its adapter does not declare it."""
    return downloads_of(ENCODERS, name)


def embeds_images(name: str) -> bool:
    """Return whether an encoder embeds images; False for word vectors.

    The name may come from a stored run, so a module that it names is not imported.
    """
    resolved = find_registered(ENCODERS, name)
    return resolved.adapter.embeds_images if resolved else True
