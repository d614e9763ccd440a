"""Create generators by name. Model libraries are imported only when an image is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Alias, Request
from t2ibench.models.downloads import Download
from t2ibench.models.encoders import DEFAULT_ENCODER
from t2ibench.models.generators.aliases import ALIASES as ALIASES
from t2ibench.models.judges import DEFAULT_JUDGE
from t2ibench.models.locations import is_hub_id, is_path
from t2ibench.models.protocols import Generator
from t2ibench.models.resolution import (
    ResolvedAdapter,
    closest,
    find_registered,
    find_target,
    given_object,
    made,
)
from t2ibench.registry import Registry

GENERATORS: Registry[Adapter[Generator]] = Registry(
    "generator",
    {
        "toyland": "t2ibench.models.generators.toyland:ADAPTER",
        "diffusers": "t2ibench.models.generators.diffusers:ADAPTER",
        "folder": "t2ibench.models.generators.folder:ADAPTER",
        "openai": "t2ibench.models.generators.served:ADAPTER",
        "openrouter": "t2ibench.models.generators.gateways.openrouter:ADAPTER",
        "gemini": "t2ibench.models.generators.gateways.gemini:ADAPTER",
        "chat": "t2ibench.models.generators.gateways.chat:ADAPTER",
        "azure": "t2ibench.models.generators.gateways.azure:ADAPTER",
        "comfyui": "t2ibench.models.generators.comfyui.generator:ADAPTER",
        "transformers": "t2ibench.models.generators.unified.generator:ADAPTER",
        "hf": "t2ibench.models.generators.served:HUB",
        "litellm": "t2ibench.models.generators.served:LITELLM",
    },
)
_DIFFUSERS = "diffusers"


def create_generator(
    spec: str | Path | Generator,
    model_args: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
    dtype: str | None = None,
    deterministic: bool = False,
    recorded: bool = False,
) -> Generator:
    """Create a generator from its name; its weights are loaded when it first generates."""
    given = dict(model_args or {})
    if not isinstance(spec, (str, Path)):
        return given_object(spec, Generator, "generator", given)
    resolved, request = _requested(
        str(spec),
        given,
        seed=seed,
        device=device,
        dtype=dtype,
        deterministic=deterministic,
        recorded=recorded,
    )
    if deterministic and "torch" not in resolved.adapter.libraries:
        raise T2IBenchError(
            f"--deterministic: {shown(str(spec))} runs no kernels of torch.",
            "Leave it out.",
        )
    model: Generator = made(resolved.adapter, request, Generator, "generator")
    return model


def generator_downloads(
    spec: str, model_args: Mapping[str, Any] | None = None
) -> Sequence[Download] | None:
    """Return what a generator downloads from the hub; None if its adapter does not declare it."""
    resolved, request = _requested(spec, dict(model_args or {}))
    declared = resolved.adapter.downloads
    return None if declared is None else declared(request)


def cpu_weights(
    spec: str, model_args: Mapping[str, Any] | None = None, device: str | None = None
) -> int | None:
    """Return the bytes of weights that a generator loads onto a CPU; None if unknown."""
    resolved, request = _requested(spec, dict(model_args or {}), device=device)
    declared = resolved.adapter.cpu_weights
    return None if declared is None else declared(request)


def imports_of(spec: str) -> tuple[str, ...]:
    """Return the modules that a generator's adapter says it imports where it is loaded."""
    adapter, _ = _declared(spec)
    return adapter.imports if adapter is not None else ()


def _requested(
    spec: str,
    given: Mapping[str, Any],
    *,
    seed: int = 0,
    device: str | None = None,
    dtype: str | None = None,
    deterministic: bool = False,
    recorded: bool = False,
) -> tuple[ResolvedAdapter, Request[Any]]:
    """Return the adapter that `spec` names, and the request from which it creates the generator."""
    resolved, alias = _resolve(spec, recorded=recorded)
    if alias is not None:
        given = {**alias.args, **given}
    # Messages name the last part of a path only.
    called = (is_path(spec) and Path(spec).name) or spec
    return resolved, Request(
        spec=spec,
        source=resolved.source,
        args=read_args(resolved.adapter.Args, given, called),
        seed=seed,
        device=alias.device if device is None and alias is not None else device,
        dtype=dtype,
        fixed_batch=alias.fixed_batch if alias else None,
        deterministic=deterministic,
        recorded=recorded,
    )


def _resolve(
    spec: str, *, recorded: bool = False
) -> tuple[ResolvedAdapter, Alias | None]:
    """Return the adapter that a name stands for, and the alias that it is; None if it is none."""
    scheme, colon, name = spec.partition(":")
    alias_name = name if colon and scheme == _DIFFUSERS else spec
    if spec not in GENERATORS and alias_name in ALIASES:
        alias = ALIASES[alias_name]
        return ResolvedAdapter(GENERATORS.get(_DIFFUSERS), str(alias.source)), alias
    resolved = find_registered(GENERATORS, spec) or find_target(
        GENERATORS, spec, recorded=recorded
    )
    if (
        resolved is None
        and scheme not in GENERATORS
        and (is_path(spec) or is_hub_id(spec))
    ):
        resolved = ResolvedAdapter(GENERATORS.get(_DIFFUSERS), spec)
    if resolved is None:
        raise T2IBenchError(
            f"Unknown model '{shown(spec)}'.{closest(spec, GENERATORS, ALIASES)}",
            "`t2ibench ls models` lists them; a hub id has the form ORG/NAME, images that exist "
            "are folder:DIR, a pipeline on this disk is the path of its folder, your own is "
            "package.module:factory.",
        )
    return resolved, None


def _declared(
    spec: object, *, recorded: bool = False
) -> tuple[Adapter[Any] | None, Alias | None]:
    """Return the adapter and the alias of a name; None for each that it does not have.

    A name may come from a stored run: with `recorded` a module that it names is not imported.
    """
    if isinstance(spec, str):
        with suppress(T2IBenchError):
            resolved, alias = _resolve(spec, recorded=recorded)
            return resolved.adapter, alias
    return None, None


def default_encoder(spec: object) -> str:
    """Return the name of the default encoder for runs of a generator."""
    adapter, alias = _declared(spec)
    return getattr(alias or adapter, "default_encoder", None) or DEFAULT_ENCODER


def default_judge(spec: object) -> str:
    """Return the name of the judge for runs of a generator where the user names none."""
    return own_judge(spec) or DEFAULT_JUDGE


def own_judge(spec: object) -> str | None:
    """Return the name of the judge that a generator brings as its default; None for most."""
    adapter, alias = _declared(spec)
    judge: str | None = getattr(alias or adapter, "default_judge", None)
    return judge


def default_images(spec: object) -> tuple[int | None, int | None]:
    """Return a model's default numbers of neutral and guided images; None if it has none."""
    _, alias = _declared(spec)
    return (
        (alias.images_per_prompt, alias.guided_images_per_prompt)
        if alias
        else (None, None)
    )


def free_arguments(spec: str) -> frozenset[str]:
    """Return the names of a model's arguments that its alias leaves to the user.

    There are none for a model whose default encoder is not t2ibench's.
    """
    resolved, alias = _resolve(spec)
    if default_encoder(spec) != DEFAULT_ENCODER:
        return frozenset()
    return frozenset(resolved.adapter.Args.model_fields) - set(
        alias.args if alias else ()
    )


def can_regenerate(spec: str) -> bool:
    """Return whether a model can regenerate its images; False for existing images."""
    adapter, _ = _declared(spec, recorded=True)
    return adapter is None or adapter.regenerates


def libraries_of(spec: str) -> tuple[str, ...]:
    """Return the Python distributions whose versions affect a model's pixels."""
    adapter, _ = _declared(spec, recorded=True)
    return adapter.libraries if adapter is not None else ()
