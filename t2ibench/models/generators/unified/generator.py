"""The generator `transformers:ID_OR_DIR`: a model of transformers that reads and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.devices import choose_device, free_memory, model_dtype, torch_dtype
from t2ibench.models.downloads import model_downloads
from t2ibench.models.fingerprint import find_weights, fingerprint, in_background
from t2ibench.models.generators.hosted import checked_size
from t2ibench.models.generators.unified.families import FAMILIES, Family, Sampling
from t2ibench.models.hub import ask_hub, load_part
from t2ibench.models.locations import loading
from t2ibench.models.protocols import GeneratedImage, ImageRequest

_VERSION = 1
_TOGETHER = 8  # images at once on a GPU
_HINT = (
    "Give --model transformers:ID_OR_DIR with a model of Janus or Emu3 in the form of transformers "
    "and safetensors weights, such as deepseek-community/Janus-Pro-1B."
)
# Models that draw in principle, and why they do not here.
_REFUSED = {
    "chameleon": "its published weights were trained not to draw, and transformers rules its image "
    "tokens out",
}


class UnifiedArguments(Arguments):
    """The arguments of `transformers:ID_OR_DIR` that --model-args accepts.

    Attributes:
        guidance: Strength of classifier-free guidance; by default the model's own.
        temperature: Of the draw of tokens; by default the model's own, as are the next two.
        top_k: How many of the likeliest tokens may be drawn.
        top_p: Which share of the likelihood may be drawn from.
        size: Width and height, such as 512x512, where the model draws several.
        negative_prompt: What guidance leads away from, where the model reads it.
    """

    guidance: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    top_k: PositiveInt | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    size: Annotated[str, AfterValidator(checked_size)] | None = None
    negative_prompt: str = ""


class UnifiedGenerator:
    """Draws with a model that also reads images (see models.protocols.Generator).

    Each image's tokens are drawn from a generator of its own, seeded with its seed, and only
    prompts of one length share a batch, so that nothing is padded: an image is the same alone and
    in any batch, as far as the library's kernels round alike.
    """

    def __init__(self, request: Request[UnifiedArguments]) -> None:
        self._source, identity = find_weights(request.source, "transformers:")
        self._args = request.args
        self._sampling = _sampling(request.args)
        self._device = choose_device(request.device)
        self._dtype = model_dtype(request.dtype, self._device)
        self._local = ask_hub(self._source, "config.json")
        self._family = self._find_family()
        self._family.check(self._sampling)
        self.name = request.spec
        self.revision: str | None = None
        self.batch_size = _TOGETHER if self._device.startswith("cuda") else 1
        self.settings: Mapping[str, Any] = {
            **request.args.given(),
            "dtype": self._dtype,
            "seed": request.seed,
        }
        self._weights = in_background(identity)
        self._model: Any = None
        self._processor: Any = None

    def _find_family(self) -> Family:
        """Return the model's family; raise an error if it does not draw here."""
        from transformers import AutoConfig

        with loading(self._source, _HINT):
            config = load_part(AutoConfig, self._source, **self._local)
        kind = str(config.model_type)
        if kind in _REFUSED:
            raise T2IBenchError(
                f"'{shown(self._source)}' is a {kind}: {_REFUSED[kind]}.",
                "Give a model of Janus or Emu3.",
            )
        if kind not in FAMILIES:
            raise T2IBenchError(
                f"'{shown(self._source)}' is a {shown(kind)}, which transformers: does not draw "
                "with.",
                "Give a model of Janus or Emu3; a pipeline of diffusers is its id or folder alone.",
            )
        return FAMILIES[kind]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides an image (see models.protocols.Generator)."""
        return fingerprint(
            adapter=f"transformers {_VERSION}",
            weights=self._weights(),
            settings=self.settings,
        )

    def available(self, prompt: str) -> int | None:
        """Return None, because the model draws any number of images of a prompt."""
        return None

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the sampling that is in effect; empty before the model is loaded."""
        if self._model is None:
            return {}
        return {
            "model_class": self._family.model_class,
            "dtype": self._dtype,
            **self._family.effective(self._model, self._sampling),
        }

    def release(self) -> None:
        """Free the memory of the weights; the next use loads them again."""
        if self._model is None:
            return
        self._model = self._processor = None
        free_memory()

    def load(self) -> None:
        """Load the model and its processor unless they are loaded."""
        if self._model is not None:
            return
        import transformers

        with loading(self._source, _HINT):
            self._processor = load_part(
                transformers.AutoProcessor, self._source, **self._local
            )
            kind = getattr(transformers, self._family.model_class)
            options = {
                "use_safetensors": True,
                "dtype": torch_dtype(self._dtype),
                **self._local,
            }
            model = load_part(kind, self._source, **options)
        self._model = model.to(self._device).eval()

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return an image for each request; prompts of one length are drawn together."""
        self.load()
        by_length: dict[int, list[int]] = {}
        tokens = []
        for number, request in enumerate(requests):
            inputs = self._family.tokens(
                self._processor, request.prompt, self._sampling
            )
            tokens.append(inputs)
            by_length.setdefault(inputs["input_ids"].shape[1], []).append(number)
        images: dict[int, GeneratedImage] = {}
        for numbers in by_length.values():
            drawn = self._draw(
                [tokens[number] for number in numbers],
                [requests[number].seed for number in numbers],
            )
            images |= dict(zip(numbers, drawn, strict=True))
        return [images[number] for number in range(len(requests))]

    def _draw(
        self, tokens: Sequence[Any], seeds: Sequence[int]
    ) -> list[GeneratedImage]:
        """Return the images of prompts whose tokens are equally many."""
        import torch

        inputs = {
            name: torch.cat([inputs[name] for inputs in tokens]).to(self._device)
            for name in ("input_ids", "attention_mask")
        }
        if "image_sizes" in tokens[0]:
            inputs["image_sizes"] = tokens[0]["image_sizes"]
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        with torch.inference_mode():
            images = self._family.draw(
                self._model, self._processor, inputs, generators, self._sampling
            )
        return [GeneratedImage("ok", image.convert("RGB")) for image in images]


def _sampling(args: UnifiedArguments) -> Sampling:
    size = None
    if args.size is not None:
        if args.size == "auto":
            raise T2IBenchError(
                "--model-args: size=auto is a setting of servers.", "Give size=512x512."
            )
        width, _, height = args.size.partition("x")
        size = int(width), int(height)
    return Sampling(
        guidance=args.guidance,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        negative_prompt=args.negative_prompt,
        size=size,
    )


ADAPTER = Adapter(
    create=UnifiedGenerator,
    downloads=lambda request: model_downloads(request.source),
    form="transformers:ID_OR_DIR",
    description="a model of transformers that reads and draws: Janus, Janus-Pro, Emu3",
    Args=UnifiedArguments,
    libraries=("torch", "transformers"),
)
