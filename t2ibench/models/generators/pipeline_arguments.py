"""The arguments of a diffusers pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from t2ibench.arguments import Arguments, PositiveInt, one_of
from t2ibench.models.generators import passthrough, speed


def _height_and_width(value: Any) -> Any:
    """'512' or '512x768' (height first)."""
    height, _, width = str(value).lower().partition("x")
    try:
        pair = int(height), int(width or height)
    except ValueError:
        pair = 0, 0
    if min(pair) < 1:
        raise ValueError("expected a whole number of 1 or more, or HEIGHTxWIDTH")
    return f"{pair[0]}x{pair[1]}"


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("expected a name or a path")
    return value


_Text = Annotated[str, AfterValidator(_not_blank)]


class DiffusersArguments(Arguments):
    """What --model-args are taken. What is omitted is the pipeline's own default.

    Attributes:
        steps: Number of inference steps.
        guidance: Guidance scale.
        true_cfg: Scale of true classifier-free guidance, where a pipeline has it.
        size: Height, or HEIGHTxWIDTH, in pixels; `height` and `width` win.
        height: Height in pixels.
        width: Width in pixels.
        negative_prompt: What not to show.
        max_sequence_length: Longest prompt in tokens, for pipelines with T5.
        scheduler: Class of diffusers that fits the pipeline.
        lora: A safetensors file, a folder or a hub id.
        lora_scale: Weight of the LoRA.
        revision: Revision of the hub repository.
        variant: Variant of the weights' files, such as fp16.
        safety_checker: False switches it off.
        offload: Where weights wait: on the device, or in main memory by model, by layer, or only
            those of the text encoders, once the prompts of a shard are encoded.
        compile: Whether torch compiles the denoiser; the first batch takes minutes.
        channels_last: Whether convolutions see channels last.
        attention: Back-end of attention: sdpa, or what diffusers calls it, such as xformers.
        cache: What steps of the denoiser reuse of earlier ones; images are other ones.
        hook: A function of the user's own, called with the loaded pipeline (see `hooks`).
        to_call: `call.NAME=VALUE`: further arguments of the pipeline's `__call__`.
        to_load: `load.NAME=VALUE`: further arguments of `from_pretrained`.
        to_cache: `cache.NAME=VALUE`: settings of `cache`.
        to_hook: `hook.NAME=VALUE`: keywords of `hook`.
    """

    steps: PositiveInt | None = None
    guidance: float | None = None
    true_cfg: float | None = None
    size: Annotated[str, BeforeValidator(_height_and_width)] | None = None
    height: PositiveInt | None = None
    width: PositiveInt | None = None
    negative_prompt: str | None = None
    max_sequence_length: PositiveInt | None = None
    scheduler: _Text | None = None
    lora: _Text | None = None
    lora_scale: float | None = None
    revision: _Text | None = None
    variant: _Text | None = None
    safety_checker: bool | None = None
    offload: Annotated[str, one_of("none", "model", "sequential", "text")] | None = None
    compile: bool | None = None
    channels_last: bool | None = None
    attention: _Text | None = None
    cache: Annotated[str, one_of("none", *speed.CACHES)] | None = None
    hook: _Text | None = None
    to_call: dict[str, Any] = Field(default_factory=dict, alias="call.NAME")
    to_load: dict[str, Any] = Field(default_factory=dict, alias="load.NAME")
    to_cache: dict[str, Any] = Field(default_factory=dict, alias="cache.NAME")
    to_hook: dict[str, Any] = Field(default_factory=dict, alias="hook.NAME")

    @model_validator(mode="before")
    @classmethod
    def _collected(cls, data: Any) -> Any:
        return passthrough.collected(data) if isinstance(data, Mapping) else data

    def given(self) -> dict[str, Any]:
        """What the user gave, converted; `size` as height and width."""
        values = super().given()
        for start, further in (
            (passthrough.CALL, self.to_call),
            (passthrough.LOAD, self.to_load),
            (passthrough.CACHE, self.to_cache),
            (passthrough.HOOK, self.to_hook),
        ):
            values.pop(f"to_{start.rstrip('.')}", None)
            values |= {f"{start}{name}": value for name, value in further.items()}
        if "size" in values:
            height, width = map(int, values.pop("size").split("x"))
            values = {"height": height, "width": width, **values}
        return values
