"""The encoder `open_clip:ARCH/TAG` (or with weights from a local file)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import quietly
from t2ibench.models.downloads import Download, ModelFiles, NamedFiles
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS
from t2ibench.models.encoders.towers import TowerEncoder, untrained_twin
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.hub import ask_hub, is_downloaded

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")


class OpenClipEncoder(TowerEncoder):
    """An open_clip model (see models.protocols.Encoder).

    Its source is 'ARCH/TAG', or 'ARCH/FILE' with a local safetensors file.
    """

    def __init__(self, request: Request[Arguments]) -> None:
        import open_clip

        architecture, _, tag = request.source.partition("/")
        known = open_clip.list_models()
        if architecture not in known:
            raise T2IBenchError(
                f"open_clip has no architecture '{architecture}'."
                f"{did_you_mean(architecture, known)}",
                "Write open_clip:ARCH/TAG, for example open_clip:ViT-L-14/openai.",
            )
        weights = Path(tag).expanduser()
        local = bool(tag) and (weights.is_file() or weights.suffix == ".safetensors")
        tags = open_clip.list_pretrained_tags_by_model(architecture)
        if local and weights.suffix != ".safetensors":
            raise T2IBenchError(
                f"'{weights}' is not a safetensors file.",
                "Other formats can run code when they are loaded; convert it first.",
            )
        if local and not weights.is_file():
            raise T2IBenchError(f"No such file: '{weights}'.", "Check the path after ARCH/")
        if not local and tag not in tags:
            raise T2IBenchError(
                f"open_clip has no weights '{tag}' for {architecture}.{did_you_mean(tag, tags)}",
                f"It has: {', '.join(tags) or 'none; give a local file'}.",
            )
        super().__init__(request)
        if not local:
            # Raises in seconds where weights are not here and the hub does not answer.
            where = open_clip.get_pretrained_cfg(architecture, tag).get("hf_hub") or ""
            repository, _, file = where.rpartition("/")
            names = (file,) if file else _WEIGHTS
            if repository and not any(is_downloaded(repository, name) for name in names):
                ask_hub(repository, ".gitattributes")  # which every repository has
        pretrained = str(weights) if local else tag
        try:
            with quietly():
                model, _, self._preprocess = open_clip.create_model_and_transforms(
                    architecture, pretrained=pretrained, weights_only=True
                )
        except Exception as error:
            raise T2IBenchError(
                f"open_clip could not load {request.source}: {first_line(error)[:200]}.",
                "Weights come from the hub the first time: check the connection, or give a local "
                "safetensors file as open_clip:ARCH/FILE.",
            ) from error
        model = model.to(self._device, self._dtype).eval()
        self.towers = lambda: model
        self._architecture = architecture
        self._tokenizer = open_clip.get_tokenizer(architecture)
        self.fingerprint = fingerprint(
            adapter="open_clip 1",
            architecture=architecture,
            weights=file_hash(weights) if local else tag,
            dtype=str(self._dtype),
        )

    def untrained(self) -> OpenClipEncoder:
        """The same architecture with random weights (see models.protocols.HasUntrained)."""
        import open_clip

        return untrained_twin(
            self,
            lambda: open_clip.create_model(
                self._architecture, pretrained=None, pretrained_text=False
            ),
            {"architecture": self._architecture, "dtype": str(self._dtype)},
            "open_clip_torch",
        )

    def prepare(self, image: Image) -> torch.Tensor:
        """The model's own preprocessing, shape (3, h, w); a first image loads all that is lazy."""
        self.towers()
        pixels: torch.Tensor = self._preprocess(image)
        return pixels

    def _read(self, pixels: torch.Tensor) -> Any:
        return self.towers().encode_image(pixels)

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Shape (n, d); texts longer than the model's context are cut, as in training."""

        def call(batch: Sequence[str]) -> Any:
            return self.towers().encode_text(self._tokenizer(list(batch)).to(self._device))

        return np.ascontiguousarray(self._rows(texts, call))


def _downloads(request: Request[Arguments]) -> list[Download]:
    """The weights of a tag, and what reads texts for towers whose tokenizer is a model's."""
    if request.spec == DEFAULT_ENCODER:  # told without importing a library
        return [Download(DEFAULT_WEIGHTS[0], NamedFiles(_WEIGHTS))]
    import open_clip

    architecture, _, tag = request.source.partition("/")
    where = open_clip.get_pretrained_cfg(architecture, tag).get("hf_hub") or ""
    repository, _, file = where.rpartition("/")
    if not repository:
        return []
    names = (f"{file.rpartition('.')[0]}.safetensors", file) if file else _WEIGHTS
    downloads = [Download(repository, NamedFiles(tuple(dict.fromkeys(names))))]
    texts = (open_clip.get_model_config(architecture) or {}).get("text_cfg", {})
    tower, tokenizer = texts.get("hf_model_name"), texts.get("hf_tokenizer_name")
    for name in dict.fromkeys(filter(None, (tokenizer, tower))):
        downloads.append(Download(name, ModelFiles(with_weights=False), part="tokenizer"))
    return downloads


ADAPTER = Adapter(
    create=OpenClipEncoder,
    downloads=_downloads,
    form="open_clip:ARCH/TAG",
    description="open_clip, for example open_clip:ViT-L-14/openai (the default); instead of a TAG "
    "a local safetensors file",
)
