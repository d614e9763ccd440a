"""Finding an encoder by its name. Model libraries are imported only by the adapters."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.models.bundled import bundled_model
from t2ibench.models.protocols import Encoder

_SCHEMES = ("toyland", "toy-clip", "open_clip:", "clip:", "vectors:")
# Encoders that come with t2ibench.
_BUNDLED = ("toy-clip",)


def list_encoders() -> list[tuple[str, str]]:
    """Names and descriptions, for `t2ibench ls encoders`."""
    return [
        ("open_clip:ARCH/TAG", "open_clip, for example open_clip:ViT-L-14/openai (the default)"),
        ("open_clip:ARCH/FILE", "open_clip with weights from a local safetensors file"),
        ("clip:ID_OR_DIR", "CLIP or SigLIP through transformers"),
        ("vectors:FILE", "word vectors in word2vec's text format, also gzipped; WEAT only"),
        ("toyland", "reads toyland's pictures and captions"),
        ("toy-clip", "a small CLIP trained on toyland (bundled; the default for toy)"),
    ]


def create_encoder(spec: str, *, device: str | None = None, dtype: str | None = None) -> Encoder:
    """The encoder of a name, loaded.

    Args:
        spec: See `list_encoders`.
        device: Where it runs; None to choose.
        dtype: Its numbers; None is float32.

    Raises:
        T2IBenchError: there is no such encoder, or it cannot be loaded.
    """
    scheme, colon, rest = spec.partition(":")
    if spec == "toyland":
        from t2ibench.models.encoders.toyland import ToylandEncoder

        return ToylandEncoder()
    if spec in _BUNDLED:
        from t2ibench.models.encoders.clip import ClipEncoder

        return ClipEncoder(spec, str(bundled_model(spec)), device=device, dtype=dtype)
    if not colon or not rest or f"{scheme}:" not in _SCHEMES:
        raise T2IBenchError(
            f"There is no encoder '{spec}'.{did_you_mean(scheme + colon, _SCHEMES)}",
            "`t2ibench ls encoders` lists them, for example open_clip:ViT-L-14/openai.",
        )
    if scheme == "vectors":
        from t2ibench.models.encoders.vectors import VectorEncoder

        return VectorEncoder(spec, Path(rest).expanduser())
    if scheme == "clip":
        from t2ibench.models.encoders.clip import ClipEncoder

        return ClipEncoder(spec, rest, device=device, dtype=dtype)
    from t2ibench.models.encoders.open_clip import OpenClipEncoder

    return OpenClipEncoder(spec, rest, device=device, dtype=dtype)


def embeds_images(name: str) -> bool:
    return not name.startswith("vectors:")
