"""The encoder `open_clip:ARCH/TAG` (or with weights from a local file)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.garbage import uncollected
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.downloads import Download, ModelFiles, NamedFiles
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS
from t2ibench.models.encoders.open_clip_training import (
    Training,
    training_of_file,
    training_of_tag,
)
from t2ibench.models.encoders.pixel_preparation import PixelPreparation
from t2ibench.models.encoders.towers import TowerEncoder, untrained_copy
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.hub import ask_hub, is_downloaded
from t2ibench.models.library_messages import collect_messages
from t2ibench.models.weight_files import find_file_defect
from t2ibench.store.user_paths import expanded

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_SUFFIX = ".safetensors"


@dataclass(frozen=True, slots=True)
class _Source:
    """The model that a user named: an architecture, and a tag of open_clip or a weight file."""

    architecture: str
    tag: str
    weights: Path | None
    training: Training


class OpenClipEncoder(TowerEncoder):
    """An encoder of images and texts through open_clip (see models.protocols.Encoder).

    Its source is 'ARCH/TAG', or 'ARCH/FILE' with a local safetensors file. The activation function
    and the preprocessing are those that the weights were trained with, whatever open_clip would
    take for the architecture's name.
    """

    def __init__(self, request: Request[Arguments]) -> None:
        source = _read_source(request.source)
        super().__init__(request)
        self._architecture, self._training = source.architecture, source.training
        if source.weights is None:
            _check_reachable(source)
        model, preprocess, self._tokenizer = _load(source, request.source)
        on_gpu = self._device != "cpu"
        self._pixels = PixelPreparation(preprocess, in_two_parts=on_gpu)
        model = model.to(self._device, self._dtype).eval()
        self.towers = lambda: model
        weights = source.tag if source.weights is None else file_hash(source.weights)
        self.network: Mapping[str, Any] = {
            "library": "open_clip",
            "architecture": source.architecture,
            "weights": weights,
            **source.training.record(),
        }
        self.fingerprint = fingerprint(
            adapter="open_clip 2", network=self.network, dtype=str(self._dtype)
        )

    def untrained(self) -> OpenClipEncoder:
        """Return the same architecture with random weights (see models.protocols.HasUntrained)."""
        import open_clip

        activation = self._training.record()["activation"]
        untrained = untrained_copy(
            self,
            lambda: open_clip.create_model(
                self._architecture,
                pretrained=None,
                pretrained_text=False,
                force_quick_gelu=self._training.quick_gelu,
            ),
            {
                "architecture": self._architecture,
                "activation": activation,
                "dtype": str(self._dtype),
            },
            "open_clip_torch",
        )
        untrained.network = {**self.network, "weights": "random"}
        return untrained

    def prepare(self, image: Image) -> torch.Tensor:
        """Return an image preprocessed as the model expects it, shape (3, h, w).

        On a GPU its bytes, which become numbers there.
        """
        self.towers()
        return self._pixels.prepare(image)

    def _read(self, pixels: torch.Tensor) -> Any:
        return self.towers().encode_image(self._pixels.numbers(pixels, self._dtype))

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of texts, shape (n, d); text beyond the model's context is cut off."""

        def call(batch: Sequence[str]) -> Any:
            return self.towers().encode_text(
                self._tokenizer(list(batch)).to(self._device)
            )

        return np.ascontiguousarray(self._rows(texts, call))


def _read_source(text: str) -> _Source:
    """Return the model that 'ARCH/TAG', 'ARCH/FILE' or 'ARCH/FILE#TAG' names."""
    with uncollected():
        import open_clip

    architecture, _, named = text.partition("/")
    architectures = open_clip.list_models()
    if architecture not in architectures:
        raise T2IBenchError(
            f"open_clip has no architecture '{architecture}'."
            f"{did_you_mean(architecture, architectures)}",
            "Write open_clip:ARCH/TAG, for example open_clip:ViT-L-14/openai.",
        )
    weights, trained_as = _file_of(named)
    if weights is not None:
        training = training_of_file(architecture, weights, trained_as)
        return _Source(architecture, trained_as, weights, training)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if named not in tags:
        raise T2IBenchError(
            f"open_clip has no weights '{named}' for {architecture}.{did_you_mean(named, tags)}",
            f"It has: {', '.join(tags) or 'none; give a local file'}.",
        )
    return _Source(architecture, named, None, training_of_tag(architecture, named))


def _file_of(named: str) -> tuple[Path | None, str]:
    """Return the weight file and the tag that a text names; (None, '') for a tag alone."""
    if not named:
        return None, ""
    whole = expanded(named)
    before, _, behind = named.rpartition("#")
    if before and not whole.is_file():
        weights, tag = expanded(before), behind
    else:
        weights, tag = whole, ""
    if not weights.is_file() and weights.suffix != _SUFFIX:
        return None, ""
    if weights.suffix != _SUFFIX:
        raise T2IBenchError(
            f"'{weights}' is not a safetensors file.",
            "Other formats can run code when they are loaded; convert it first.",
        )
    if not weights.is_file():
        raise T2IBenchError(f"No such file: '{weights}'.", "Check the path after ARCH/")
    return weights, tag


def _check_reachable(source: _Source) -> None:
    """Raise an error within seconds if weights are missing here and the hub does not answer."""
    import open_clip

    where = (
        open_clip.get_pretrained_cfg(source.architecture, source.tag).get("hf_hub")
        or ""
    )
    repository, _, file = where.rpartition("/")
    names = (file,) if file else _WEIGHTS
    if repository and not any(is_downloaded(repository, name) for name in names):
        ask_hub(repository, ".gitattributes")  # which every repository has


def _load(source: _Source, text: str) -> tuple[Any, Any, Any]:
    """Return a model's network, its preprocessing function and its tokenizer."""
    import open_clip

    try:
        with collect_messages(text):
            model, _, preprocess = open_clip.create_model_and_transforms(
                source.architecture,
                pretrained=str(source.weights or source.tag),
                weights_only=True,
                **source.training.create_options(),
            )
            tokenizer = open_clip.get_tokenizer(source.architecture)
    except T2IBenchError:
        raise
    except Exception as error:
        defect = None if source.weights is None else find_file_defect(source.weights)
        if defect is not None:
            raise T2IBenchError(
                f"{text} cannot be loaded: {defect.reason}.", defect.hint
            ) from error
        raise T2IBenchError(
            f"open_clip could not load {text}: {first_line(error)[:200]}.",
            "Weights come from the hub the first time: check the connection, or give a local "
            "safetensors file as open_clip:ARCH/FILE."
            if source.weights is None
            else f"Give a safetensors file of {source.architecture}'s weights as open_clip saves "
            "them.",
        ) from error
    _check_activation(model, source)
    return model, preprocess, tokenizer


def _check_activation(model: Any, source: _Source) -> None:
    """Raise an error if a network's activation function is not that of its weights' training."""
    built = any(type(module).__name__ == "QuickGELU" for module in model.modules())
    if built != source.training.quick_gelu:
        wanted = source.training.record()["activation"]
        raise T2IBenchError(
            f"The weights '{source.tag or source.weights}' of {source.architecture} were trained "
            f"with {wanted}, and the open_clip that is installed builds a network without it.",
            "Install another version: pip install -U open_clip_torch",
        )


def _downloads(request: Request[Arguments]) -> list[Download]:
    """Return the downloads of a tag's weights, and of a tokenizer that belongs to another model."""
    if request.spec == DEFAULT_ENCODER:  # known without importing a library
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
        downloads.append(
            Download(name, ModelFiles(with_weights=False), part="tokenizer")
        )
    return downloads


ADAPTER = Adapter(
    create=OpenClipEncoder,
    downloads=_downloads,
    form="open_clip:ARCH/TAG",
    description="open_clip, for example open_clip:ViT-L-14/openai (the default); instead of a TAG "
    "a local safetensors file, with #TAG behind it where the file alone does not say how its "
    "weights were trained",
)
