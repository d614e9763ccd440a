"""Judges by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.arguments import take_args
from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.models.judges.arguments import ARGUMENTS
from t2ibench.models.protocols import Judge

_SCHEMES = ("toyland", "clip", "clip:", "vlm:", "openai:", "answers:")


def list_judges() -> list[tuple[str, str]]:
    """Every kind of judge with a line on it."""
    return [
        ("vlm:ID_OR_DIR", "a vision-language model of transformers (LLaVA, Qwen-VL, …)"),
        ("openai:MODEL", "any OpenAI-compatible server; --judge-args base_url=…"),
        ("clip", "the run's encoder, zero-shot; clip:ENCODER for another; classes only"),
        ("answers:FILE", "answers that people or another tool gave, as CSV or JSON Lines"),
        ("toyland", "reads toyland's pictures (the default for toy and toyland)"),
    ]


def create_judges(
    specs: Sequence[str],
    args: Mapping[str, str],
    *,
    device: str | None = None,
    dtype: str | None = None,
    encoders: Sequence[str] = (),
) -> list[Judge]:
    """Make judges.

    Args:
        specs: Their names; see `list_judges`.
        args: Arguments; each goes to the judges that take it.
        device: Where they run; None to choose.
        dtype: Their numbers; None to choose.
        encoders: The run's encoders; the first is what `clip` looks with.

    Raises:
        T2IBenchError: there is no such judge, an argument fits none of them, or a file or model
            cannot be read.
    """
    kinds, values = _checked(specs, args)
    return [
        _create(
            spec,
            kind,
            {key: value for key, value in values.items() if key in ARGUMENTS[kind]},
            device,
            dtype,
            encoders,
        )
        for spec, kind in kinds.items()
    ]


def check_judges(specs: Sequence[str], args: Mapping[str, str]) -> None:
    """Check names, arguments and files without loading a model.

    Raises:
        T2IBenchError: as `create_judges` does.
    """
    kinds, _ = _checked(specs, args)
    for spec, kind in kinds.items():
        if kind == "answers":
            _create(spec, kind, {}, None, None, ())


def _checked(
    specs: Sequence[str], args: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """The kind of each judge, and the arguments converted."""
    kinds = {spec: _kind(spec) for spec in specs}
    known: dict[str, Callable[[str], Any]] = {}
    for kind in kinds.values():
        known |= ARGUMENTS[kind]
    return kinds, take_args(args, known, ", ".join(specs), flag="--judge-args")


def _kind(spec: str) -> str:
    scheme, colon, rest = spec.partition(":")
    if (
        scheme not in ARGUMENTS
        or (bool(colon) != bool(rest))
        or not (rest or scheme in {"toyland", "clip"})
    ):
        raise T2IBenchError(
            f"There is no judge '{spec}'.{did_you_mean(scheme + colon, _SCHEMES)}",
            "Judges: " + ", ".join(name for name, _ in list_judges()) + ".",
        )
    return scheme


def _create(
    spec: str,
    kind: str,
    args: Mapping[str, Any],
    device: str | None,
    dtype: str | None,
    encoders: Sequence[str],
) -> Judge:
    rest = spec.partition(":")[2]
    if kind == "toyland":
        from t2ibench.models.judges.toyland import ToylandJudge

        return ToylandJudge()
    if kind == "clip":
        from t2ibench.models.encoders import create_encoder
        from t2ibench.models.judges.clip import ClipJudge

        encoder = create_encoder(rest or encoders[0], device=device, dtype=dtype)
        return ClipJudge(spec, encoder, **args)
    if kind == "answers":
        from t2ibench.models.judges.answers import AnswersJudge

        return AnswersJudge(spec, Path(rest).expanduser())
    if kind == "openai":
        from t2ibench.models.judges.openai import OpenAiJudge

        return OpenAiJudge(spec, rest, **args)
    from t2ibench.models.judges.vlm import VlmJudge

    return VlmJudge(spec, rest, device=device, dtype=dtype, **args)
