"""The encoder `clip:ID_OR_DIR`: CLIP, SigLIP and the like through transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.bundled import bundled_model
from t2ibench.models.downloads import model_downloads
from t2ibench.models.encoders.towers import TowerEncoder, architecture, untrained_twin
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.locations import loading

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


class _Loaded(NamedTuple):
    model: Any
    tokenizer: Any
    processor: Any
    context: int  # tokens


class ClipEncoder(TowerEncoder):
    """A two-tower model of transformers (see models.protocols.Encoder).

    Its source is a hub id, or a folder that save_pretrained wrote (model, tokenizer and image
    processor). Loaded at once, what is wrong with it is told before anything is generated.
    """

    def __init__(self, request: Request[Arguments], at_once: bool = True) -> None:
        where, identity = find_weights(request.source, "clip:")
        super().__init__(request)
        self._folder = Path(where) if Path(where).is_dir() else None
        self._loaded = cache(lambda: self._load(where))
        self.towers = lambda: self._loaded().model
        if at_once:
            self._loaded()
        self.fingerprint = fingerprint(
            adapter="clip 1", weights=identity(), dtype=f"torch.{self._precision}"
        )

    def _load(self, source: str) -> _Loaded:
        local = ask_hub(source, "config.json")
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
        if not hasattr(model, "get_image_features") or not hasattr(model, "get_text_features"):
            raise T2IBenchError(
                f"'{source}' is a {type(model).__name__}, which has no image and text towers.",
                "Give a CLIP or SigLIP model.",
            )
        text_config = getattr(model.config, "text_config", model.config)
        context = int(getattr(text_config, "max_position_embeddings", 77))
        return _Loaded(model.to(self._device).eval(), tokenizer, processor, context)

    def untrained(self) -> ClipEncoder:
        """The same architecture with random weights (see models.protocols.HasUntrained)."""

        def build() -> Any:
            import torch
            from transformers import AutoModel

            return AutoModel.from_config(self.towers().config, dtype=torch.float32)

        if self._folder is not None:  # told without loading it
            config = json.loads((self._folder / "config.json").read_bytes())
        else:
            config = self.towers().config.to_dict()
        identity = {"config": architecture(config), "dtype": f"torch.{self._precision}"}
        return untrained_twin(self, build, identity, "transformers")

    def prepare(self, image: Image) -> torch.Tensor:
        """The model's own preprocessing, shape (3, h, w); a first image loads all that is lazy."""
        self.towers()
        processed = self._loaded().processor(images=image, return_tensors="pt")
        pixels: torch.Tensor = processed["pixel_values"][0]
        return pixels

    def _read(self, pixels: torch.Tensor) -> Any:
        return _tensor(self.towers().get_image_features(pixel_values=pixels))

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Shape (n, d); texts longer than the model's context are cut."""
        towers, loaded = self.towers(), self._loaded()

        def call(batch: Sequence[str]) -> Any:
            tokens = loaded.tokenizer(
                list(batch),
                padding="max_length",  # one shape for all batches, and what SigLIP was trained on
                max_length=loaded.context,
                truncation=True,
                return_tensors="pt",
            ).to(self._device)
            names = ("input_ids", "attention_mask")
            inputs = {key: tokens[key] for key in names if key in tokens}
            return _tensor(towers.get_text_features(**inputs))

        return self._rows(texts, call)


def _create_bundled(request: Request[Arguments]) -> ClipEncoder:
    # So small that a CPU will do; and a run that lacks nothing need not load it, nor torch.
    folder, device = str(bundled_model(request.spec)), request.device or "cpu"
    return ClipEncoder(replace(request, source=folder, device=device), at_once=False)


ADAPTER = Adapter(
    create=ClipEncoder,
    form="clip:ID_OR_DIR",
    description="CLIP or SigLIP through transformers",
    downloads=lambda request: model_downloads(request.source),
)
TOY_CLIP = Adapter(
    create=_create_bundled,
    form="toy-clip",
    description="a small CLIP trained on toyland (bundled; the default for toy)",
    downloads=lambda _: (),
)


def _tensor(output: Any) -> Any:
    """Features as a tensor; newer releases of transformers wrap them in an output object."""
    pooled = getattr(output, "pooler_output", None)
    return output if pooled is None else pooled
