"""The hub downloads that a run needs, determined before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from t2ibench.errors import shown
from t2ibench.models.downloads import Download, DownloadState, local_state
from t2ibench.models.encoders import ENCODERS, encoder_downloads
from t2ibench.models.generators import GENERATORS, generator_downloads
from t2ibench.models.hub import NotDownloadedError, hub_problem
from t2ibench.models.judges import JUDGES, judge_downloads
from t2ibench.models.rewriters import REWRITERS, rewriter_downloads
from t2ibench.pipeline.rewriting import to_rewrite
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.registry import Registry, is_target
from t2ibench.settings import RunSettings

_OWN = "t2ibench"
_INSTEAD = {
    "judge": "Without a judge's download: --judge answers:FILE (human labels).",
    "encoder": (
        "Without an encoder's download: weights in a file, --encoder "
        "open_clip:ARCH/FILE.safetensors, or tasks that ask a judge, such as one that "
        "`t2ibench propose` writes."
    ),
}


@dataclass(slots=True)
class ModelNeeds:
    """A model of a run, and the downloads that it needs from the hub.

    Attributes:
        role: model, sources, rewriter, encoder or judge.
        name: As the user or a default named it.
        downloads: What it reads of the hub; None where nobody can tell.
    """

    role: str
    name: str
    downloads: Sequence[Download] | None = field(default_factory=tuple)

    def states(self) -> list[DownloadState]:
        """Return a state for each of the model's downloads, which has not been checked yet."""
        return [
            DownloadState(download, self.role, self.name)
            for download in self.downloads or ()
        ]


def needed_models(
    context: RunContext, models: Models, *, generate_only: bool = False
) -> Iterator[ModelNeeds]:
    """Yield every model that a run needs, in the order of use."""
    settings = context.settings
    adapters = models.adapters
    plan = context.plan
    if settings.rewriter is not None and adapters.rewriter is None:
        yield _needs(
            "rewriter", settings.rewriter, REWRITERS, rewriter_downloads, settings
        )
    if settings.model is not None and adapters.generator is None:
        yield _needs("model", settings.model, GENERATORS, generator_downloads, settings)
    if settings.sources is not None and context.sources is not None:
        yield _needs(
            "sources", settings.sources, GENERATORS, generator_downloads, settings
        )
    if generate_only:
        return
    for name in settings.encoder if plan.needs_encoder else ():
        if name not in adapters.encoders:
            yield _needs("encoder", name, ENCODERS, encoder_downloads, settings)
    for name in settings.judge if plan.asks_judges else ():
        if name not in adapters.judges:
            yield _needs("judge", name, JUDGES, judge_downloads, settings)


def _needs(
    role: str,
    name: str,
    registry: Registry[Any],
    ask: Callable[..., Sequence[Download] | None],
    settings: RunSettings,
) -> ModelNeeds:
    args = {
        "model": settings.model_args,
        "sources": settings.sources_args,
        "rewriter": settings.rewriter_args,
        "judge": settings.judge_args
        if role == "judge" and len(settings.judge) == 1
        else {},
    }
    downloads = ask(name, args[role]) if role in args else ask(name)
    scheme = name.partition(":")[0]
    if downloads is None and scheme in registry and registry.origin(scheme) == _OWN:
        downloads = ()  # this package's own adapters declare what they download
    elif downloads is None and not is_target(name):
        downloads = ()
    return ModelNeeds(role, name, downloads)


def check_downloads(context: RunContext, models: Models, observing: bool) -> None:
    """Raise an error that lists all unavailable downloads, before anything is loaded.

    Only what is left to do counts: a run whose images are there needs no generator.
    """
    if context.settings.engine != "local":
        return  # workers on other machines download for themselves
    missing = [
        state for state in _pending_states(context, models, observing) if not state.here
    ]
    if not missing:
        return
    first = missing[0].download
    problem, hint = hub_problem(first.repository, ".gitattributes", first.revision)
    if not problem:
        return  # the model's own loader reports what the hub refuses
    listed = "; ".join(_missing_line(state) for state in missing)
    roles = dict.fromkeys(state.role for state in missing)
    instead = [_INSTEAD[role] for role in roles if role in _INSTEAD]
    count = len(missing)
    what = "1 download has" if count == 1 else f"{count} downloads have"
    raise NotDownloadedError(
        f"{what} not been made on this machine, and {problem}: {listed}.",
        " ".join(
            [
                f"{hint} `t2ibench prefetch` with the flags of this run downloads them where "
                "there is a network; with --dry-run it prints `hf download` lines.",
                *instead,
            ]
        ),
    )


def _pending_states(
    context: RunContext, models: Models, observing: bool
) -> Iterator[DownloadState]:
    """Yield this machine's state of every download that the remaining work needs."""
    images = context.images
    to_generate = (
        images is not None
        and not context.stored_images_only
        and any(not images.is_done(request.key) for request in context.plan.requests)
    )
    for model in needed_models(context, models, generate_only=not observing):
        if model.role == "model" and not to_generate:
            continue
        # The run that makes the source images checks that itself, as its model.
        if model.role == "sources":
            continue
        if model.role == "rewriter" and not to_rewrite(
            context.plan, images, models.generator
        ):
            continue
        for state in model.states():
            yield local_state(state)


def _missing_line(state: DownloadState) -> str:
    """Return role and repository of a download as text, with its problem or missing files."""
    repository = shown(state.download.repository)
    part = f" ({state.download.part})" if state.download.part else ""
    if state.problem:
        return f"the {state.role} '{repository}'{part}: {state.problem}"
    some = (
        ""
        if not state.commit
        else f", of which {', '.join(state.missing[:3])} is missing"
    )
    return f"the {state.role} '{repository}'{part}{some}"
