"""How weights of open_clip were trained: their activation function and preprocessing.

The name of an architecture does not say it. ViT-L-14 was trained with GELU by some and with
QuickGELU by others (OpenAI, MetaCLIP, DFN), and with other means of the pixels; only the
configuration of a tag tells which.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import UNEXPECTED_JSON, T2IBenchError, did_you_mean, shown

# The name of the file that hub repositories have beside the weights.
CONFIGURATION = "open_clip_config.json"
_LARGEST = 1_000_000  # bytes of that file
_QUICK = "-quickgelu"  # how open_clip names an architecture that has QuickGELU


@dataclass(frozen=True, slots=True)
class Training:
    """The activation function and preprocessing with which weights were trained.

    Attributes:
        quick_gelu: Whether the activation function is QuickGELU, x * sigmoid(1.702 x); else the
            architecture's usual one, GELU.
        mean: The mean of each colour channel, subtracted from the pixels.
        std: The standard deviation of each channel, by which the pixels are divided.
        interpolation: How an image is resized.
        resize_mode: What is resized to the network's size: 'shortest' side, 'longest', or both
            ('squash').
    """

    quick_gelu: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    interpolation: str
    resize_mode: str

    def create_options(self) -> dict[str, Any]:
        """Return these settings as arguments of open_clip.create_model_and_transforms."""
        return {
            "force_quick_gelu": self.quick_gelu,
            "image_mean": self.mean,
            "image_std": self.std,
            "image_interpolation": self.interpolation,
            "image_resize_mode": self.resize_mode,
        }

    def record(self) -> dict[str, Any]:
        """Return the settings as JSON values, for fingerprints and records."""
        return {
            "activation": "QuickGELU" if self.quick_gelu else "GELU",
            "mean": list(self.mean),
            "std": list(self.std),
            "interpolation": self.interpolation,
            "resize_mode": self.resize_mode,
        }


def training_of_tag(architecture: str, tag: str) -> Training:
    """Return how the weights of an open_clip tag were trained, as its configuration says."""
    import open_clip

    return _training(architecture, open_clip.get_pretrained_cfg(architecture, tag))


def training_of_file(architecture: str, weights: Path, tag: str) -> Training:
    """Return how a file's weights were trained, from a tag, a configuration or what all tags share.

    Args:
        architecture: The architecture's name.
        weights: The safetensors file.
        tag: The tag that the user named; empty for none.

    Returns:
        The training of the tag; without one that of open_clip_config.json beside the file; without
        that the one that all tags of the architecture share.

    Raises:
        T2IBenchError: the tags differ, and nothing says which is meant.
    """
    import open_clip

    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if tag:
        if tag not in tags:
            raise T2IBenchError(
                f"open_clip has no weights '{shown(tag)}' for {architecture}."
                f"{did_you_mean(tag, tags)}",
                f"After '#' comes the tag whose activation function and preprocessing the file's "
                f"weights have: {', '.join(tags) or 'there is none'}.",
            )
        return training_of_tag(architecture, tag)
    beside = weights.with_name(CONFIGURATION)
    if beside.is_file():
        return _read_configuration(architecture, beside)
    trainings = {name: training_of_tag(architecture, name) for name in tags}
    different = dict.fromkeys(trainings.values())
    if len(different) > 1:
        raise _ambiguous(architecture, weights, trainings)
    return next(iter(different), None) or _training(architecture, {})


def _training(architecture: str, configuration: Mapping[str, Any]) -> Training:
    """Return the training that a configuration describes, completed with open_clip's defaults."""
    from open_clip.factory import get_model_config
    from open_clip.transform import PreprocessCfg

    usual = PreprocessCfg()
    model = get_model_config(architecture) or {}
    return Training(
        quick_gelu=bool(
            configuration.get("quick_gelu", model.get("quick_gelu", False))
        ),
        mean=_numbers(configuration.get("mean", usual.mean)),
        std=_numbers(configuration.get("std", usual.std)),
        interpolation=str(configuration.get("interpolation", usual.interpolation)),
        resize_mode=str(configuration.get("resize_mode", usual.resize_mode)),
    )


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _read_configuration(architecture: str, path: Path) -> Training:
    """Return the training that a repository's open_clip_config.json describes."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is too large")
        configuration = json.loads(path.read_bytes())
        model = configuration["model_cfg"]
        preprocessing = dict(configuration.get("preprocess_cfg", {}))
        # A configuration that does not name the activation function means open_clip's own default.
        preprocessing["quick_gelu"] = bool(model.get("quick_gelu", False))
        training = _training(architecture, preprocessing)
    except (OSError, *UNEXPECTED_JSON) as error:
        raise T2IBenchError(
            f"'{shown(str(path))}' is not a configuration of open_clip "
            f"({type(error).__name__}: {shown(str(error))}).",
            "Take it from the repository that the weights are from, or name the tag that they have "
            "in open_clip: ARCH/FILE#TAG.",
        ) from None
    if architecture.endswith(_QUICK) and not training.quick_gelu:
        raise T2IBenchError(
            f"{architecture} has QuickGELU, and '{shown(str(path))}' says that the weights beside "
            "it were trained without.",
            f"Write open_clip:{architecture.removesuffix(_QUICK)}/FILE.",
        )
    return training


def _ambiguous(
    architecture: str, weights: Path, trainings: Mapping[str, Training]
) -> T2IBenchError:
    """Return the error for a file whose training is ambiguous, with the tags to choose from."""
    examples: dict[Training, str] = {}
    for tag, training in trainings.items():
        examples.setdefault(training, tag)
    differing = [
        name
        for name in next(iter(examples)).record()
        if len({str(training.record()[name]) for training in examples}) > 1
    ]
    choices = "; ".join(
        f"#{tag} ({', '.join(_written(training.record()[name]) for name in differing)})"
        for training, tag in examples.items()
    )
    return T2IBenchError(
        f"Weights of {architecture} were trained in {len(examples)} ways that differ in "
        f"{' and '.join(differing)}, and '{shown(weights.name)}' does not say in which.",
        f"Name the tag that it has or was fine-tuned from: {choices}; or put its {CONFIGURATION} "
        "beside it.",
    )


def _written(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(f"{number:g}" for number in value)
    return str(value)
