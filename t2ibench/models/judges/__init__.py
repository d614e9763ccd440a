"""Judges by name. Model libraries are imported only by the adapters, when one answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.models.adapter import Adapter, Request, read_aliases
from t2ibench.models.downloads import Download
from t2ibench.models.protocols import Encoder, Judge
from t2ibench.models.resolution import ResolvedAdapter, given_object, made, resolve
from t2ibench.registry import Registry

ALIASES = read_aliases(Path(__file__).with_name("aliases.yaml"))
DEFAULT_JUDGE = f"vlm:{ALIASES['qwen3-vl-4b'].source}"
JUDGES: Registry[Adapter[Judge]] = Registry(
    "judge",
    {
        "vlm": "t2ibench.models.judges.vlm:ADAPTER",
        "openai": "t2ibench.models.judges.openai:ADAPTER",
        "litellm": "t2ibench.models.judges.openai:LITELLM",
        "clip": "t2ibench.models.judges.clip:ADAPTER",
        "answers": "t2ibench.models.judges.answers:ADAPTER",
        "face-gender": "t2ibench.models.judges.face_gender:ADAPTER",
        "toyland": "t2ibench.models.judges.toyland:ADAPTER",
    },
)
_FLAG = "--judge-args"


def recorded_name(spec: str) -> str:
    """What a run calls a judge: an alias is only another way to write it.

    Examples:
        >>> recorded_name("llava-1.5-7b"), recorded_name("toyland")
        ('vlm:llava-hf/llava-1.5-7b-hf', 'toyland')
    """
    return (
        f"vlm:{ALIASES[spec].source}"
        if spec in ALIASES and spec not in JUDGES
        else spec
    )


def unreachable_classes(judge: str, classes: Sequence[str]) -> frozenset[str]:
    """The classes of a question that a judge of a run, by its recorded name, can never answer with.

    Examples:
        >>> sorted(unreachable_classes("toyland", ["young", "middle-aged", "old"]))
        ['middle-aged']
    """
    adapter = JUDGES.get(judge) if judge in JUDGES else None
    if adapter is None or adapter.unreachable is None:
        return frozenset()
    return adapter.unreachable(classes)


def create_judges(
    specs: Sequence[str | Judge],
    args: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    encoders: Sequence[str | Encoder] = (),
    recorded: bool = False,
) -> list[Judge]:
    """Make judges."""
    where: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "encoders": tuple(encoders),
    }
    return [
        made(*item, Judge, "judge") if isinstance(item, tuple) else item
        for item in _requested(specs, args or {}, recorded=recorded, **where)
    ]


def judge_downloads(
    spec: str, args: Mapping[str, Any] | None = None
) -> Sequence[Download] | None:
    """What a judge reads of the hub; None where its adapter does not say."""
    for item in _requested([spec], args or {}):
        if isinstance(item, tuple) and item[0].downloads is not None:
            return item[0].downloads(item[1])
    return None


def check_judges(
    specs: Sequence[str | Judge], args: Mapping[str, Any] | None = None
) -> None:
    """Check names, arguments and files without loading a model."""
    for item in _requested(specs, args or {}):
        if isinstance(item, tuple) and item[0].check is not None:
            item[0].check(item[1])


def _requested(
    specs: Sequence[str | Judge],
    args: Mapping[str, Any],
    *,
    recorded: bool = False,
    **where: Any,
) -> Iterator[tuple[Adapter[Any], Request[Any]] | Judge]:
    """Every judge: those given as objects as they are, the others with what they are made of."""
    resolved: dict[Any, ResolvedAdapter | Judge] = {}
    for spec in specs:
        if isinstance(spec, str):
            name = recorded_name(spec)
            resolved[name] = resolve(JUDGES, name, recorded=recorded, others=ALIASES)
        else:
            resolved[id(spec)] = given_object(spec, Judge, "judge")
    named = {
        k: one.adapter.Args
        for k, one in resolved.items()
        if isinstance(one, ResolvedAdapter)
    }
    free = {
        name for name, one in named.items() if one.model_config.get("extra") == "allow"
    }
    known = {key for one in named.values() for key in one.model_fields}
    for key in () if free else args:
        if key not in known:
            raise T2IBenchError(
                f"{_FLAG}: '{', '.join(named)}' has no argument '{key}'.{did_you_mean(key, known)}",
                f"It takes: {', '.join(sorted(known)) or 'none'}.",
            )
    for name, judge in resolved.items():
        if isinstance(judge, ResolvedAdapter):
            adapter, source = judge
            taken = args if name in free else adapter.Args.model_fields
            accepted = {key: one for key, one in args.items() if key in taken}
            read = read_args(adapter.Args, accepted, name, flag=_FLAG)
            yield adapter, Request(name, source, read, recorded=recorded, **where)
        else:
            yield judge


def answers_in_words(spec: str) -> bool:
    """Whether a judge answers questions that have no classes."""
    return resolve(JUDGES, recorded_name(spec), others=ALIASES).adapter.free_text
