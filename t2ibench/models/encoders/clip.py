"""The encoder `clip:ID_OR_DIR`: CLIP, SigLIP and the like through transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.bundled import bundled_model
from t2ibench.models.devices import choose_device, dtype_name, quietly, torch_dtype
from t2ibench.models.encoders.towers import batch_sizes, encode, stacked, unit_rows
from t2ibench.models.encoders.untrained import architecture, untrained_twin
from t2ibench.models.fingerprint import find_weights, fingerprint
from t2ibench.models.hub import ask_hub
from t2ibench.models.places import loading_hint

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


class ClipEncoder:
    """A two-tower model of transformers (see models.protocols.Encoder).

    Args:
        name: As the user wrote it.
        source: A hub id, or a folder that save_pretrained wrote (model, tokenizer and image
            processor).
        device: Where it runs; None to choose.
        dtype: Its precision; None is float32.

    Raises:
        T2IBenchError: it cannot be loaded, or has no image and text tower.
    """

    def __init__(
        self, name: str, source: str, *, device: str | None = None, dtype: str | None = None
    ) -> None:
        where, identity = find_weights(source, "clip:")
        self.name = name
        self.embeds_images = True
        self._device = choose_device(device)
        self._dtype = torch_dtype(dtype_name(dtype) or "float32")
        self._batch, self.batch_size = batch_sizes(self._device)
        model = self._load(where)
        self.towers: Callable[[], Any] = lambda: model
        self.fingerprint = fingerprint(
            {
                "adapter": "clip 1",
                "weights": identity(),
                "dtype": str(self._dtype),
            }
        )

    def _load(self, source: str) -> Any:
        local = ask_hub(source, "config.json")
        from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

        try:
            with quietly():
                model = AutoModel.from_pretrained(
                    source,
                    use_safetensors=True,
                    trust_remote_code=False,
                    dtype=self._dtype,
                    **local,
                )
                self._tokenizer = AutoTokenizer.from_pretrained(
                    source, trust_remote_code=False, **local
                )
                self._processor = AutoImageProcessor.from_pretrained(
                    source, trust_remote_code=False, **local
                )
        except Exception as error:
            raise T2IBenchError(
                f"transformers could not load '{source}': {first_line(error)}",
                loading_hint(source, error)
                or "Give a hub id such as openai/clip-vit-base-patch32 (safetensors weights), or a "
                "folder with model, tokenizer and image processor.",
            ) from error
        if not hasattr(model, "get_image_features") or not hasattr(model, "get_text_features"):
            raise T2IBenchError(
                f"'{source}' is a {type(model).__name__}, which has no image and text towers.",
                "Give a CLIP or SigLIP model.",
            )
        text_config = getattr(model.config, "text_config", model.config)
        self._context = int(getattr(text_config, "max_position_embeddings", 77))
        return model.to(self._device).eval()

    def untrained(self) -> ClipEncoder:
        """The same architecture with random weights (see models.protocols.HasUntrained)."""
        import torch
        from transformers import AutoModel

        config = self.towers().config
        return untrained_twin(
            self,
            lambda: AutoModel.from_config(config, dtype=torch.float32),
            {"config": architecture(config.to_dict()), "dtype": str(self._dtype)},
            "transformers",
        )

    def prepare(self, image: Image) -> torch.Tensor:
        """The model's own preprocessing, shape (3, h, w)."""
        pixels: torch.Tensor = self._processor(images=image, return_tensors="pt")["pixel_values"][0]
        return pixels

    def encode_images(self, prepared: Sequence[torch.Tensor]) -> Float32Array:
        """Shape (n, d)."""

        def call(batch: Sequence[torch.Tensor]) -> Any:
            pixels = stacked(batch, self._device, self._dtype)
            return _tensor(self.towers().get_image_features(pixel_values=pixels))

        return unit_rows(encode(prepared, self._batch, call))

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Shape (n, d); texts longer than the model's context are cut."""

        def call(batch: Sequence[str]) -> Any:
            tokens = self._tokenizer(
                list(batch),
                padding="max_length",  # one shape for all batches, and what SigLIP was trained on
                max_length=self._context,
                truncation=True,
                return_tensors="pt",
            ).to(self._device)
            names = ("input_ids", "attention_mask")
            inputs = {key: tokens[key] for key in names if key in tokens}
            return _tensor(self.towers().get_text_features(**inputs))

        return unit_rows(encode(texts, self._batch, call))


def _create(request: Request[Arguments]) -> ClipEncoder:
    return ClipEncoder(request.spec, request.source, device=request.device, dtype=request.dtype)


def _create_bundled(request: Request[Arguments]) -> ClipEncoder:
    folder = str(bundled_model(request.spec))
    return ClipEncoder(request.spec, folder, device=request.device, dtype=request.dtype)


ADAPTER = Adapter(
    create=_create,
    form="clip:ID_OR_DIR",
    description="CLIP or SigLIP through transformers",
    check=lambda request: find_weights(request.source, "clip:"),
)
TOY_CLIP = Adapter(
    create=_create_bundled,
    form="toy-clip",
    description="a small CLIP trained on toyland (bundled; the default for toy)",
)


def _tensor(output: Any) -> Any:
    """Features as a tensor; newer releases of transformers wrap them in an output object."""
    pooled = getattr(output, "pooler_output", None)
    return output if pooled is None else pooled
