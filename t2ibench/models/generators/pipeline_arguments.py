"""The arguments of a diffusers pipeline."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from t2ibench.arguments import Arguments, PositiveInt, Share, Text, one_of
from t2ibench.models.generators.passthrough import gathered

# t2ibench's name of an argument, and the name that pipelines give it.
CALL_NAMES = {
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "negative_prompt": "negative_prompt",
    "strength": "strength",
}
SIDES = ("height", "width")
# Arguments that t2ibench sets for each image, or that change the form of the output.
_OF_AN_IMAGE = (
    "prompt",
    "image",
    "generator",
    "output_type",
    "return_dict",
    "num_images_per_prompt",
    "latents",
    "prompt_embeds",
    "callback",
    "callback_steps",
    "callback_on_step_end",
)
_CODE = "t2ibench runs no code that comes with a model."
_PICKLED = "weights have to be safetensors: others can run code."
_SECRET = (
    "arguments are stored with the run; log in to the hub instead, or set HTTPS_PROXY."
)
# Each of these can run code that comes with a model, or put a secret into run.db.
_NEVER = {
    "trust_remote_code": _CODE,
    "custom_pipeline": _CODE,
    "custom_revision": _CODE,
    "use_safetensors": _PICKLED,
    "use_onnx": _PICKLED,
    "token": _SECRET,
    "use_auth_token": _SECRET,
    "proxies": _SECRET,
}
_REFUSED = {
    "call": {
        **_NEVER,
        **dict.fromkeys(_OF_AN_IMAGE, "t2ibench sets it for each image."),
        **{name: f"write {key}=… instead." for key, name in CALL_NAMES.items()},
        **dict.fromkeys(SIDES, "write size=HEIGHTxWIDTH instead."),
        "clean_caption": "what it does depends on two further packages, so it is off.",
    },
    "load": {
        **_NEVER,
        "torch_dtype": "write --dtype instead.",
        "revision": "write revision=… instead.",
        "safety_checker": "write safety_checker=false instead.",
    },
    "hook": {},
}


def _height_and_width(value: Any) -> Any:
    """Return a size such as '512' or '512x768' (height first) as HEIGHTxWIDTH, checked."""
    height, _, width = str(value).lower().partition("x")
    try:
        pair = int(height), int(width or height)
    except ValueError:
        pair = 0, 0
    if min(pair) < 1:
        raise ValueError("expected a whole number of 1 or more, or HEIGHTxWIDTH")
    return f"{pair[0]}x{pair[1]}"


class DiffusersArguments(Arguments):
    """The options of a pipeline that --model-args accepts; omitted ones use its defaults.

    `size` is height, or HEIGHTxWIDTH, in pixels. `offload` says where weights wait: on the device,
    or in main memory by model or by layer. With `compile` torch compiles the denoiser; the first
    batch takes minutes. With `channels_last` convolutions keep an image's channels together, which
    is faster on many processors and cards. With `image_to_image` a pipeline of prompts becomes the
    one of the same parts that starts from a noised source image; `strength` says how much of it is
    noise.
    """

    steps: PositiveInt | None = None
    guidance: float | None = None
    size: Annotated[str, BeforeValidator(_height_and_width)] | None = None
    negative_prompt: str | None = None
    scheduler: Text | None = None
    lora: Text | None = None
    lora_scale: float = 1.0
    revision: Text | None = None
    safety_checker: bool | None = None
    offload: Annotated[str, one_of("none", "model", "sequential")] = "none"
    compile: bool = False
    channels_last: bool = False
    image_to_image: bool = False
    strength: Share | None = None
    hook: Text | None = None
    to_call: dict[str, Any] = Field(default_factory=dict, alias="call.NAME")
    to_load: dict[str, Any] = Field(default_factory=dict, alias="load.NAME")
    to_hook: dict[str, Any] = Field(default_factory=dict, alias="hook.NAME")

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, data: Any) -> Any:
        return gathered(data, _REFUSED)

    @model_validator(mode="after")
    def _complete(self) -> DiffusersArguments:
        for name in self.to_hook if self.hook is None else ():
            raise ValueError(f"hook.{name} needs a hook: add hook=…")
        if self.lora is None and "lora_scale" in self.model_fields_set:
            raise ValueError("lora_scale needs a LoRA: add lora=…")
        if self.strength is not None and not self.image_to_image:
            raise ValueError("strength needs image to image: add image_to_image=true")
        return self

    def given(self) -> dict[str, Any]:
        """Return the user's arguments by name, with `size` converted to height and width."""
        values = super().given()
        for start in _REFUSED:
            values.pop(f"to_{start}", None)
            further: dict[str, Any] = getattr(self, f"to_{start}")
            values |= {f"{start}.{name}": value for name, value in further.items()}
        for name in ("compile", "channels_last", "image_to_image"):
            if not getattr(self, name):
                values.pop(name, None)
        if "size" in values:
            sides = map(int, values.pop("size").split("x"))
            values = {**dict(zip(SIDES, sides, strict=True)), **values}
        return values

    def call(self) -> dict[str, Any]:
        """Return the arguments of the pipeline's call, keyed by the pipeline's names for them."""
        given = self.given()
        names = CALL_NAMES | dict(zip(SIDES, SIDES, strict=True))
        return {
            name: given[key] for key, name in names.items() if key in given
        } | self.to_call
