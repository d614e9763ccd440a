"""Refuse settings that change no image, before anything is generated.

Whether a pipeline reads a setting depends on its class, its weights and the other settings, so it
is tried: a small image of a few steps with the setting, and another from its seed without. Where
both are the same to the last bit, and no known rule says why, two images of the real size decide.
"""

from __future__ import annotations

import inspect
import logging
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, first_line, shown
from t2ibench.models.generators.editing_pipelines import (
    edit_call,
    editor_of,
    trial_source,
)
from t2ibench.models.generators.pipeline_arguments import (
    CALL_NAMES,
    SIDES,
    DiffusersArguments,
)
from t2ibench.models.generators.pipeline_classes import prompt_argument
from t2ibench.models.generators.pipelines import call_of, one_a_row, pipeline_call

if TYPE_CHECKING:
    import numpy.typing as npt

    Image = npt.NDArray[Any]

_SIDES_TRIED = (64, 128, 256)  # pixels; the smallest that a pipeline takes
_SIDE_OF_SOURCE = 256  # pixels of a source image where small images do not decide
_STEPS = 2  # some schedulers need two
_MOST_STEPS = 50
_STEP_NAMES = ("num_inference_steps", "prior_num_inference_steps")
_GUIDANCE = CALL_NAMES["guidance"]
_TRUE_GUIDANCE = "true_cfg_scale"
_NEGATIVE = CALL_NAMES["negative_prompt"]
_FIXED_STEPS = ("timesteps", "sigmas")
# Settings that have a language model rewrite the prompt, which takes longer than the image, or
# that set the image's size, which is the trial's own here.
_NOT_TRIED = {
    *SIDES,
    "enable_prompt_rewrite",
    "use_pe",
    "max_area",
    "use_resolution_binning",
}
# Settings of a text's length, whose effect shows only in a longer text.
_OF_LONG_TEXTS = ("sequence_length", "token_length")
_PROMPT = "a photo of a nurse in a garden"
_LONG_PROMPT = ", ".join([_PROMPT] * 200)
_DENOISERS = ("transformer", "unet")

Call = Mapping[str, Any]


def check_effects(pipeline: Any, args: DiffusersArguments) -> None:
    """Raise an error for call settings that have no effect or make the pipeline fail.

    Args:
        pipeline: The pipeline; anything but one of diffusers is left alone.
        args: The settings. What equals the pipeline's own default is always taken.

    Raises:
        T2IBenchError: a setting changes nothing, and every such setting is named; or one makes
            every image fail.
    """
    from diffusers import DiffusionPipeline

    settings = (
        _settings_to_try(pipeline, args)
        if isinstance(pipeline, DiffusionPipeline)
        else {}
    )
    if not settings:
        return
    with _unnoticed():
        trials = _Trials(pipeline, args)
        broken = {
            name: error
            for name in settings
            if (error := trials.error_by(name)) is not None
        }
        useless = [
            name for name in settings if not broken and trials.changes_nothing(name)
        ]
    for name, error in broken.items():
        raise _cannot_take(pipeline, name, settings[name], error)
    if useless:
        raise _refusal(pipeline, args, {name: settings[name] for name in useless})


def _settings_to_try(pipeline: Any, args: DiffusersArguments) -> dict[str, Any]:
    """Return the user's call arguments to try: those that differ from the pipeline's defaults."""
    parameters = inspect.signature(type(pipeline).__call__).parameters
    call = args.call()
    return {
        name: value
        for name, value in call.items()
        if name in parameters
        and name not in _NOT_TRIED
        and value != parameters[name].default
        and not (name.startswith(_NEGATIVE) and value in {"", None})
        and not _repeats_negative_prompt(name, call)
    }


def _repeats_negative_prompt(name: str, call: Call) -> bool:
    """Return whether argument `name` is a further negative prompt that repeats the first."""
    further = name.startswith(f"{_NEGATIVE}_")
    return further and call[name] == call.get(_NEGATIVE)


class _Trials:
    """Generates trial images with all of the user's settings, and with one of them changed."""

    def __init__(self, pipeline: Any, args: DiffusersArguments) -> None:
        self._pipeline = pipeline
        self._args = args
        editor = editor_of(type(pipeline))
        self._edits = editor is not None and editor.edits_only
        self._given = call_of(pipeline, args)
        self._parameters = inspect.signature(type(pipeline).__call__).parameters
        self._with_all: dict[tuple[str, bool], Image | None] = {}
        self._side: int | None = None
        self._error: Exception | None = None  # of the last image that failed

    def error_by(self, name: str) -> Exception | None:
        """Return the error that setting `name` causes; None if it causes none."""
        if self._first_of(_PROMPT, small=True) is not None or name in _STEP_NAMES:
            return None
        without = {key: value for key, value in self._given.items() if key != name}
        if self._first_of(_PROMPT, small=False) is not None:
            return None
        error = self._error
        return None if self._image(without, _PROMPT) is None else error

    def _first_of(self, prompt: str, *, small: bool) -> Image | None:
        """Return a prompt's image with all settings, generated once; None if the pipeline fails."""
        key = prompt, small
        if key not in self._with_all:
            self._with_all[key] = (
                self._first(prompt) if small else self._image(self._given, prompt)
            )
        return self._with_all[key]

    def changes_nothing(self, name: str) -> bool:
        """Return whether a setting has no effect on an image, judging by trial images."""
        if self._differ(name, small=True):
            return False
        true_guidance = self._parameters.get(_TRUE_GUIDANCE)
        default = true_guidance.default if true_guidance is not None else None
        if _is_no_guidance(name, {_TRUE_GUIDANCE: default, **self._given}):
            return False
        if known_reason(self._pipeline, name, self._given):
            return self._same(name, small=True) or self._same(name, small=False)
        return self._same(name, small=False)

    def _differ(self, name: str, *, small: bool) -> bool:
        import numpy as np

        first, second = self._pair(name, small=small)
        if first is None:
            return False
        return second is None or not np.array_equal(first, second, equal_nan=True)

    def _same(self, name: str, *, small: bool) -> bool:
        import numpy as np

        first, second = self._pair(name, small=small)
        if first is None or second is None or not np.isfinite(first).all():
            return False
        return np.array_equal(first, second)

    def _pair(self, name: str, *, small: bool) -> tuple[Image | None, Image | None]:
        """Return the images with setting `name` and without it; None for one that fails.

        Steps cannot be left out: there, the second image has one step more.
        """
        prompt = _LONG_PROMPT if name.endswith(_OF_LONG_TEXTS) else _PROMPT
        first = self._first_of(prompt, small=small)
        if first is None:
            return None, None
        call = dict(
            self._small_call(self._side) if small and self._side else self._given
        )
        if name in _STEP_NAMES:
            call[name] += 1
        else:
            del call[name]
        return first, self._image(call, prompt, small=small)

    def _first(self, prompt: str) -> Image | None:
        """Return a prompt's image with all settings, at the smallest size that works; else None."""
        sides = _SIDES_TRIED if self._side is None else (self._side,)
        if self._side is None and max(map(self._given_side, SIDES)) in range(
            1, _SIDES_TRIED[-1]
        ):
            sides = (max(map(self._given_side, SIDES)), *sides)
        for side in sides:
            image = self._image(self._small_call(side), prompt, small=True)
            if image is not None:
                self._side = side
                return image
        return None

    def _given_side(self, name: str) -> int:
        return int(self._given.get(name) or 0)

    def _small_call(self, side: int) -> Call:
        """Return all settings, changed for a quick image with sides of `side` pixels."""
        strength = self._given.get("strength")
        steps = self._steps_of_share(strength) if strength else _STEPS
        quick = dict.fromkeys(_STEP_NAMES, steps) | dict.fromkeys(SIDES, side)
        call = {
            **self._given,
            **{k: v for k, v in quick.items() if k in self._parameters},
        }
        # Else the image would be of a size that the pipeline chooses, whatever it is asked for.
        for name, value in (
            ("use_resolution_binning", False),
            ("max_area", side * side),
        ):
            if name in self._parameters and name not in self._given:
                call[name] = value
        return call

    def _steps_of_share(self, strength: float) -> int:
        """Return so many steps that `strength`, the share that is taken of them, leaves enough.

        The pipeline's default share must take another number of them: else a small image would be
        the same with both, and could not decide whether the setting has an effect.
        """
        default = self._parameters["strength"].default
        enough = min(math.ceil(_STEPS / strength), _MOST_STEPS)
        if not isinstance(default, int | float):  # without a default, it has no share
            return enough
        for steps in range(enough, _MOST_STEPS + 1):
            if int(steps * strength) != int(steps * default):
                return steps
        return enough

    def _image(self, call: Call, prompt: str, *, small: bool = False) -> Image | None:
        """Return the image of a call, undecoded if it is `small`; None if the call fails."""
        import numpy as np
        import torch

        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        form = "latent" if small else "np"
        try:
            with torch.random.fork_rng(devices), torch.inference_mode():
                torch.manual_seed(0)
                generator = torch.Generator(device="cpu").manual_seed(0)
                text = prompt_argument(self._pipeline, [prompt])
                whole = {**one_a_row(call, 1), "prompt": text}
                if self._edits:
                    side = (self._side or _SIDES_TRIED[0]) if small else _SIDE_OF_SOURCE
                    source = trial_source(side)
                    whole = {**edit_call(self._pipeline, self._args, [source]), **whole}
                image = pipeline_call(self._pipeline, whole, generator, form)
                image = image[0] if isinstance(image, (list, tuple)) else image
                if isinstance(image, torch.Tensor):
                    image = image.float().cpu().numpy()
                return np.array(image)
        except Exception as error:  # the images of the run fail likewise, and say why
            self._error = error
            return None


def _is_no_guidance(name: str, call: Call) -> bool:
    """Return whether setting `name` is a guidance of 1 or less, which turns guidance off.

    It is not where a negative prompt has a true guidance above 1.
    """
    if name != _GUIDANCE or call[name] is None or call[name] > 1:
        return False
    return not (call.get(_NEGATIVE) and (call.get(_TRUE_GUIDANCE) or 0) > 1)


def known_reason(pipeline: Any, name: str, call: Call) -> str | None:
    """Return why a pipeline ignores setting `name`, and what to do; None if no rule is known.

    Args:
        pipeline: The pipeline.
        name: The argument of its call.
        call: Its settings.

    Returns:
        A sentence; None where no rule is known.
    """
    parameters = inspect.signature(type(pipeline).__call__).parameters
    default = parameters[_GUIDANCE].default if _GUIDANCE in parameters else None
    guidance = call.get(_GUIDANCE, default)
    if name.startswith(_NEGATIVE):
        if _TRUE_GUIDANCE in parameters:
            return f"It reads a negative prompt with call.{_TRUE_GUIDANCE}=… above 1 alone."
        return _reason_of_negative_prompt(pipeline, name, call, guidance)
    if name == _GUIDANCE and _TRUE_GUIDANCE in parameters:
        return (
            f"It is guided by call.{_TRUE_GUIDANCE}=… above 1 together with a negative_prompt; "
            "leave guidance out."
        )
    if name == _GUIDANCE and _is_distilled(pipeline):
        return "It is a distilled model, whose guidance is fixed; leave guidance out."
    if name == _TRUE_GUIDANCE and not call.get(_NEGATIVE):
        return f"call.{_TRUE_GUIDANCE} needs a negative_prompt."
    steps_are_fixed = any(call.get(fixed) is not None for fixed in _FIXED_STEPS)
    if name in _STEP_NAMES and steps_are_fixed:
        return "call.timesteps or call.sigmas say how many steps there are; leave steps out."
    return None


def _reason_of_negative_prompt(
    pipeline: Any, name: str, call: Call, guidance: Any
) -> str | None:
    """Return why a pipeline ignores a negative prompt; None if no rule is known."""
    if isinstance(guidance, (int, float)) and guidance <= 1:
        return (
            f"guidance={guidance:g} is no guidance, and a negative prompt needs some."
        )
    if _is_distilled(pipeline):
        return "It is a distilled model, which takes no negative prompt."
    if name != _NEGATIVE and not call.get(_NEGATIVE):
        return f"It reads {name} together with negative_prompt=… alone: give that, too."
    return None


def _is_distilled(pipeline: Any) -> bool:
    """Return whether a pipeline's model is guidance-distilled."""
    if getattr(getattr(pipeline, "config", None), "is_distilled", False):
        return True
    for name in _DENOISERS:
        config = getattr(getattr(pipeline, name, None), "config", None)
        if getattr(config, "time_cond_proj_dim", None) or hasattr(
            config, "guidance_embeds"
        ):
            return True
    return False


def _cannot_take(
    pipeline: Any, name: str, value: Any, error: Exception
) -> T2IBenchError:
    """Return the error for a setting that makes a pipeline fail."""
    hint = "Give a value that it takes, or leave it out."
    layers = _layers_of_text_encoder(pipeline) if name == "clip_skip" else None
    if layers is not None and isinstance(error, IndexError):
        hint = f"Its text encoder has {layers} layers: expected fewer, or leave it out."
    return T2IBenchError(
        f"--model-args: {_written(name)}={shown(value)} makes this {type(pipeline).__name__} "
        f"fail with {type(error).__name__}: {first_line(error).rstrip('.')}.",
        hint,
    )


def _layers_of_text_encoder(pipeline: Any) -> int | None:
    config = getattr(getattr(pipeline, "text_encoder", None), "config", None)
    layers = getattr(config, "num_hidden_layers", None)
    return layers if isinstance(layers, int) else None


def _written(name: str) -> str:
    """Return how --model-args writes an argument of a pipeline's call, such as 'call.sigmas'."""
    keys = {argument: key for key, argument in CALL_NAMES.items()}
    return keys.get(name, f"call.{name}")


def _refusal(
    pipeline: Any, args: DiffusersArguments, useless: Mapping[str, Any]
) -> T2IBenchError:
    names = [f"{_written(name)}={shown(value)}" for name, value in useless.items()]
    given = call_of(pipeline, args)
    reasons = [
        known_reason(pipeline, name, given) or "Leave it out." for name in useless
    ]
    plural = "change nothing" if len(names) > 1 else "changes nothing"
    return T2IBenchError(
        f"--model-args: {', '.join(names)} {plural} in this {type(pipeline).__name__}: images with "
        "and without are the same to the pixel.",
        " ".join(dict.fromkeys(reasons)),
    )


@contextmanager
def _unnoticed() -> Iterator[None]:
    """Suppress log lines, warnings and compilation during trial calls."""
    import torch

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), torch.compiler.set_stance("force_eager"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
