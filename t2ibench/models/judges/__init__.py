"""Create judges by name. Model libraries are imported only when a judge answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments, read_args
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
    """Return the name of a judge for run records, with an alias replaced by its model.

    Examples:
        >>> recorded_name("llava-1.5-7b"), recorded_name("toyland")
        ('vlm:llava-hf/llava-1.5-7b-hf', 'toyland')
    """
    return (
        f"vlm:{ALIASES[spec].source}"
        if spec in ALIASES and spec not in JUDGES
        else spec
    )


def name_in_results(spec: str) -> str:
    """Return the name that results give a judge which a user names so; no file is read.

    That of the judge `clip` also has the encoder of the run.

    Examples:
        >>> name_in_results("llava-1.5-7b"), name_in_results("answers:a/b.csv,by=anna")
        ('vlm:llava-hf/llava-1.5-7b-hf', 'answers by anna')
    """
    scheme, colon, source = spec.partition(":")
    if colon and scheme == "answers":
        # It imports what reads tables.
        from t2ibench.models.judges.answers import judge_name

        return judge_name(source)
    return recorded_name(spec)


def unreachable_classes(judge: str, classes: Sequence[str]) -> frozenset[str]:
    """Return the classes of a question with which a judge never answers.

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
    """Create judges from their names, each with those of `args` that it takes."""
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
    """Return what a judge downloads from the hub; None if its adapter does not declare it."""
    for item in _requested([spec], args or {}):
        if isinstance(item, tuple) and item[0].downloads is not None:
            return item[0].downloads(item[1])
    return None


def check_judges(
    specs: Sequence[str | Judge], args: Mapping[str, Any] | None = None
) -> None:
    """Raise an error for unusable judge names, arguments or files, without loading a model."""
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
    """Yield each judge's adapter and request, or the judge itself if it is an object."""
    resolved: dict[Any, ResolvedAdapter | Judge] = {}
    for spec in specs:
        if isinstance(spec, str):
            name = recorded_name(spec)
            resolved[name] = resolve(JUDGES, name, recorded=recorded, others=ALIASES)
        else:
            resolved[id(spec)] = given_object(spec, Judge, "judge")
    models = {
        str(name): judge.adapter.Args
        for name, judge in resolved.items()
        if isinstance(judge, ResolvedAdapter)
    }
    _check_names(args, models)
    for name, judge in resolved.items():
        if isinstance(judge, ResolvedAdapter):
            adapter, source = judge
            accepted = dict(args)
            if not _takes_any(adapter.Args):
                fields = adapter.Args.model_fields
                accepted = {key: value for key, value in args.items() if key in fields}
            read = read_args(adapter.Args, accepted, name, flag=_FLAG)
            yield adapter, Request(name, source, read, recorded=recorded, **where)
        else:
            yield judge


def _check_names(
    args: Mapping[str, Any], models: Mapping[str, type[Arguments]]
) -> None:
    """Raise an error for an argument that none of the judges accepts."""
    if any(_takes_any(model) for model in models.values()):
        return
    taken = {key for model in models.values() for key in model.model_fields}
    for key in args:
        if key not in taken:
            judges = ", ".join(models)
            raise T2IBenchError(
                f"{_FLAG}: '{judges}' has no argument '{key}'.{did_you_mean(key, taken)}",
                f"It takes: {', '.join(sorted(taken)) or 'none'}.",
            )


def _takes_any(model: type[Arguments]) -> bool:
    """Return whether an adapter accepts arguments of any name."""
    return model.model_config.get("extra") == "allow"


def answers_in_words(spec: str) -> bool:
    """Return whether a judge answers questions that have no classes."""
    return resolve(JUDGES, recorded_name(spec), others=ALIASES).adapter.free_text
