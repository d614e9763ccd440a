"""How each family of unified models draws: its prompt, its call of `generate`, its image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Protocol

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.unified.seeded_draw import SeededDraw, warpers_of

if TYPE_CHECKING:
    from PIL.Image import Image

_IMAGE = "PIL.Image.Image"
# Janus' authors guide by 5 where nothing else is said, and Emu3's by 3.
_JANUS_GUIDANCE = 5.0
_EMU3_GUIDANCE = 3.0
_EMU3_AREA = 518_400
# Tokens behind those of an image: the ends of the frame, of the image and of the text.
_ENDS = 3


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        guidance: Strength of classifier-free guidance; None for the model's own.
        temperature: None for the model's own.
        top_k: None for the model's own.
        top_p: None for the model's own.
        negative_prompt: What guidance leads away from, for models that read one.
        size: Width and height in pixels; None for the model's own.
    """

    guidance: float | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    negative_prompt: str = ""
    size: tuple[int, int] | None = None


class Family(Protocol):
    """A family of models that read and draw.

    Attributes:
        model_class: The class of transformers.
    """

    model_class: str

    def check(self, sampling: Sampling) -> None:
        """Raise an error for a setting that the family does not have."""

    def tokens(self, processor: Any, prompt: str, sampling: Sampling) -> Any:
        """Return the tokens of a prompt, shape (1, length), as the processor gives them."""

    def draw(
        self,
        model: Any,
        processor: Any,
        inputs: Any,
        generators: Sequence[Any],
        sampling: Sampling,
    ) -> list[Image]:
        """Return an image for each row of the tokens, drawn from its generator."""

    def effective(self, model: Any, sampling: Sampling) -> dict[str, Any]:
        """Return the sampling that is in effect, with the model's own defaults."""


def _own(model: Any, name: str, given: Any) -> Any:
    """Return a setting of the user's, or else that of the model's generation config."""
    return getattr(model.generation_config, name, None) if given is None else given


def _effective(model: Any, sampling: Sampling, guidance: float) -> dict[str, Any]:
    strength = _own(model, "guidance_scale", sampling.guidance)
    return {
        "guidance": guidance if strength is None else float(strength),
        "temperature": _own(model, "temperature", sampling.temperature),
        "top_k": _own(model, "top_k", sampling.top_k),
        "top_p": _own(model, "top_p", sampling.top_p),
    }


def _warpers(effective: dict[str, Any]) -> list[Any]:
    return warpers_of(effective["temperature"], effective["top_k"], effective["top_p"])


class Janus:
    """Janus and Janus-Pro: a fixed number of image tokens from a head of their own."""

    model_class = "JanusForConditionalGeneration"

    def check(self, sampling: Sampling) -> None:
        """Raise an error for a size or a negative prompt (see `Family`)."""
        if sampling.size is not None:
            raise T2IBenchError(
                "--model-args: Janus draws images of one size.", "Leave size out."
            )
        if sampling.negative_prompt:
            raise T2IBenchError(
                "--model-args: Janus' guidance leads away from no prompt at all.",
                "Leave negative_prompt out.",
            )

    def effective(self, model: Any, sampling: Sampling) -> dict[str, Any]:
        """Return the sampling that is in effect (see `Family`)."""
        return _effective(model, sampling, _JANUS_GUIDANCE)

    def tokens(self, processor: Any, prompt: str, sampling: Sampling) -> Any:
        """Return the tokens of a prompt as a user's turn (see `Family`)."""
        content = [{"type": "text", "text": prompt}]
        text = processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        return processor(text=text, generation_mode="image", return_tensors="pt")

    def draw(
        self,
        model: Any,
        processor: Any,
        inputs: Any,
        generators: Sequence[Any],
        sampling: Sampling,
    ) -> list[Image]:
        """Return an image for each row (see `Family`).

        Its `generate` would guide behind the processors that it is given, so these guide, and it
        is told not to.
        """
        effective = self.effective(model, sampling)
        draw = SeededDraw(generators, _warpers(effective), effective["guidance"])
        tokens = model.generate(
            **inputs,
            generation_mode="image",
            do_sample=True,
            guidance_scale=1,
            logits_processor=_processors(draw),
        )
        decoded = model.decode_image_tokens(tokens).float().cpu().numpy()
        return [_unnormalized(row, processor.image_processor) for row in decoded]


def _unnormalized(values: Any, image_processor: Any) -> Image:
    """Return the image of Janus' decoded values, shape (height, width, 3), as its authors do.

    The processors' `postprocess` is not called: that of transformers 5.24 with torchvision cannot
    give images.
    """
    import numpy as np
    from PIL import Image

    mean = np.asarray(image_processor.image_mean, dtype=np.float32)
    deviation = np.asarray(image_processor.image_std, dtype=np.float32)
    pixels = (values * deviation + mean) * 255.0
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


class Emu3:
    """Emu3: rows of image tokens in the text, each ended, with a size that the prompt names."""

    model_class = "Emu3ForConditionalGeneration"

    def check(self, sampling: Sampling) -> None:
        """Raise no error: Emu3 has every setting (see `Family`)."""

    def effective(self, model: Any, sampling: Sampling) -> dict[str, Any]:
        """Return the sampling that is in effect (see `Family`)."""
        negative = {"negative_prompt": sampling.negative_prompt}
        return {**_effective(model, sampling, _EMU3_GUIDANCE), **negative}

    def tokens(self, processor: Any, prompt: str, sampling: Sampling) -> Any:
        """Return the tokens of a prompt, with the size of its image (see `Family`)."""
        ratio, area = "1:1", _EMU3_AREA
        if sampling.size is not None:
            width, height = sampling.size
            shared = gcd(width, height)
            ratio, area = f"{width // shared}:{height // shared}", width * height
        return processor(
            text=prompt,
            return_for_image_generation=True,
            ratio=ratio,
            image_area=area,
            return_tensors="pt",
        )

    def draw(
        self,
        model: Any,
        processor: Any,
        inputs: Any,
        generators: Sequence[Any],
        sampling: Sampling,
    ) -> list[Image]:
        """Return an image for each row (see `Family`)."""
        effective = self.effective(model, sampling)
        height, width = (int(side) for side in inputs.pop("image_sizes")[0])
        ids = inputs["input_ids"]
        negative = self.tokens(processor, sampling.negative_prompt, sampling)
        count = len(generators)
        length = height * (width + 1) + _ENDS
        output = model.generate(
            **inputs,
            do_sample=True,
            max_new_tokens=length,
            min_new_tokens=length,
            eos_token_id=None,
            guidance_scale=effective["guidance"],
            negative_prompt_ids=negative["input_ids"].repeat(count, 1).to(ids.device),
            negative_prompt_attention_mask=negative["attention_mask"]
            .repeat(count, 1)
            .to(ids.device),
            prefix_allowed_tokens_fn=_Layout(
                model, processor, height, width, ids.shape[1]
            ),
            logits_processor=_processors(SeededDraw(generators, _warpers(effective))),
        )
        decoded = model.decode_image_tokens(
            image_tokens=output[:, ids.shape[1] :], height=height, width=width
        )
        images = processor.postprocess(list(decoded.float()), return_tensors=_IMAGE)
        return list(images["pixel_values"])


class _Layout:
    """Which tokens may follow in Emu3: image tokens in rows with their ends, and then the end."""

    def __init__(
        self, model: Any, processor: Any, height: int, width: int, prompt: int
    ) -> None:
        tokenizer = processor.tokenizer
        mapping = model.vocabulary_mapping
        self._image_tokens = mapping.image_tokens
        self._row_end = [mapping.eol_token_id]
        self._ends = [
            [tokenizer.eof_token_id],
            [tokenizer.eoi_token_id],
            [tokenizer.eos_token_id],
        ]
        self._row = width + 1
        self._count = height * self._row
        self._prompt = prompt

    def __call__(self, _: int, ids: Any) -> list[int]:
        """Return the tokens that may follow a row's tokens."""
        place = len(ids) - self._prompt
        if place >= self._count:
            return self._ends[min(place - self._count, _ENDS - 1)]
        if place % self._row == self._row - 1:
            return self._row_end
        return list(self._image_tokens)


def _processors(draw: SeededDraw) -> Any:
    from transformers import LogitsProcessorList

    return LogitsProcessorList([draw])


FAMILIES: dict[str, Family] = {"janus": Janus(), "emu3": Emu3()}
