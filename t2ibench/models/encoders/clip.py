"""The encoder `clip:ID_OR_DIR`: CLIP, SigLIP and similar models through transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.garbage import uncollected
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.bundled import bundled_model
from t2ibench.models.downloads import model_downloads
from t2ibench.models.encoders.towers import TowerEncoder, architecture, untrained_copy
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.locations import loading
from t2ibench.models.weight_files import weight_file_bytes
from t2ibench.store.user_paths import expanded

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


# tokens of SigLIP 2; SigLIP has 32,000, or 250,000 in many languages
_GEMMA_VOCABULARY = 256_000
# What is imported to load a model: most of it whatever its family.
_IMPORTS = ("torch", "transformers.models.clip.modeling_clip")
# The outputs of an image processor that an image tower takes.
_PIXELS = ("pixel_values", "pixel_attention_mask", "spatial_shapes")


class _Loaded(NamedTuple):
    model: Any
    tokenizer: Any
    processor: Any
    texts: _TextReading


@dataclass(frozen=True, slots=True)
class _TextReading:
    """How texts are preprocessed for a model's text encoder, as in its training.

    Attributes:
        context: Tokens that each text is cut or padded to.
        masked: Whether the text encoder gets a mask of the padding. SigLIP was trained without
            one, and embeds a text by its last token, which is padding.
        lowercase: Whether texts are read in lower case. SigLIP 2 was trained so, and repositories
            of its models name a tokenizer of Gemma's, which keeps capitals.
    """

    context: int
    masked: bool
    lowercase: bool

    @classmethod
    def of(cls, config: Any) -> _TextReading:
        """Return the text preprocessing that a model's configuration defines."""
        text = getattr(config, "text_config", config)
        siglip = str(config.model_type).startswith("siglip")
        gemma = getattr(text, "vocab_size", 0) == _GEMMA_VOCABULARY
        return cls(
            context=int(getattr(text, "max_position_embeddings", 77)),
            masked=not siglip,
            lowercase=siglip and (gemma or config.model_type == "siglip2"),
        )

    def record(self) -> dict[str, Any]:
        """Return the text settings that differ from a plain CLIP, for fingerprint and record."""
        if self.masked:
            return {}
        return {"padding": "read", "case": "lower" if self.lowercase else "kept"}


class ClipEncoder(TowerEncoder):
    """An encoder of images and texts through transformers (see models.protocols.Encoder).

    Its source is a hub id, or a folder that save_pretrained wrote (model, tokenizer and image
    processor). By default it is loaded at once, so that its errors come before images are
    generated.
    """

    def __init__(self, request: Request[Arguments], at_once: bool = True) -> None:
        where, identity = find_weights(request.source, "clip:")
        super().__init__(request)
        self._folder = Path(where) if Path(where).is_dir() else None
        self._loaded = cache(lambda: self._load(where))
        self.towers = lambda: self._loaded().model
        # What is not loaded at once comes with t2ibench and is a plain CLIP.
        reading = self._loaded().texts.record() if at_once else {}
        weights = identity()
        self.network: Mapping[str, Any] = {
            "library": "transformers",
            "weights": weights,
            **reading,
        }
        self.fingerprint = fingerprint(
            {"reading": reading} if reading else {},
            adapter="clip 2" if reading else "clip 1",
            weights=weights,
            dtype=f"torch.{self._precision}",
        )

    def _load(self, source: str) -> _Loaded:
        local = ask_hub(source, "config.json")
        with uncollected():
            from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        with loading(
            source,
            "Give a hub id such as openai/clip-vit-base-patch32 (safetensors weights), or a folder "
            "with model, tokenizer and image processor.",
        ):
            options = {"use_safetensors": True, "dtype": self._dtype, **local}
            model = load_part(AutoModel, source, **options)
            kinds = AutoTokenizer, AutoImageProcessor
            tokenizer, processor = (load_part(kind, source, **local) for kind in kinds)
        if not hasattr(model, "get_image_features") or not hasattr(
            model, "get_text_features"
        ):
            raise T2IBenchError(
                f"'{source}' is a {type(model).__name__}, which has no image and text towers.",
                "Give a CLIP or SigLIP model.",
            )
        texts = _TextReading.of(model.config)
        if not texts.masked:
            # so that the last token is padding, as in training
            tokenizer.padding_side = "right"
        return _Loaded(model.to(self._device).eval(), tokenizer, processor, texts)

    def untrained(self) -> ClipEncoder:
        """Return the same architecture with random weights (see models.protocols.HasUntrained)."""

        def build() -> Any:
            import torch
            from transformers import AutoModel

            return AutoModel.from_config(self.towers().config, dtype=torch.float32)

        if self._folder is not None:  # read without loading the model
            config = json.loads((self._folder / "config.json").read_bytes())
        else:
            config = self.towers().config.to_dict()
        identity = {"config": architecture(config), "dtype": f"torch.{self._precision}"}
        return untrained_copy(self, build, identity, "transformers")

    def prepare(self, image: Image) -> dict[str, torch.Tensor]:
        """Return an image as the model's inputs, by their names; the first call loads the model.

        Pixels of shape (3, h, w), or patches of shape (n, d) with their mask and numbers of rows
        and columns, where the model takes images of any format.
        """
        self.towers()
        processed = self._loaded().processor(images=image, return_tensors="pt")
        return {name: processed[name][0] for name in _PIXELS if name in processed}

    def _read(self, pixels: Mapping[str, torch.Tensor]) -> Any:
        return _tensor(self.towers().get_image_features(**pixels))

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of texts, shape (n, d); text beyond the model's context is cut off."""
        towers, loaded = self.towers(), self._loaded()

        def call(batch: Sequence[str]) -> Any:
            tokens = loaded.tokenizer(
                [text.lower() for text in batch]
                if loaded.texts.lowercase
                else list(batch),
                # one shape for all batches, and what SigLIP was trained on
                padding="max_length",
                max_length=loaded.texts.context,
                truncation=True,
                return_tensors="pt",
            ).to(self._device)
            names = (
                ("input_ids", "attention_mask")
                if loaded.texts.masked
                else ("input_ids",)
            )
            inputs = {key: tokens[key] for key in names if key in tokens}
            return _tensor(towers.get_text_features(**inputs))

        return self._rows(texts, call)


def _create_bundled(request: Request[Arguments]) -> ClipEncoder:
    # It is small enough for a CPU, and a complete run need not load it or torch.
    folder, device = str(bundled_model(request.spec)), request.device or "cpu"
    encoder = ClipEncoder(replace(request, source=folder, device=device), at_once=False)
    if device == "cpu":
        encoder.compute_each_batch_in_one_thread()
    return encoder


def _cpu_weights(request: Request[Arguments]) -> int | None:
    """Return the bytes of a local model's weights on a CPU; None for any other."""
    folder = expanded(request.source)
    if request.device != "cpu" or not folder.is_dir():
        return None
    return weight_file_bytes(folder)


def _bundled_cpu_weights(request: Request[Arguments]) -> int | None:
    if request.device not in {None, "auto", "cpu"}:
        return None
    return weight_file_bytes(bundled_model(request.spec))


ADAPTER = Adapter(
    create=ClipEncoder,
    form="clip:ID_OR_DIR",
    description="CLIP or SigLIP through transformers",
    downloads=lambda request: model_downloads(request.source),
    cpu_weights=_cpu_weights,
    imports=_IMPORTS,
)
TOY_CLIP = Adapter(
    create=_create_bundled,
    form="toy-clip",
    description="a small CLIP trained on toyland (bundled; the default for toy)",
    downloads=lambda _: (),
    cpu_weights=_bundled_cpu_weights,
    imports=_IMPORTS,
)


def _tensor(output: Any) -> Any:
    """Return features as a tensor, taken out of the output object of newer transformers."""
    pooled = getattr(output, "pooler_output", None)
    return output if pooled is None else pooled
