"""`t2ibench prefetch`: download all model files that a run will need."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from t2ibench.cli.run import PRESET, add_settings, announce, settings_of
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, first_line

if TYPE_CHECKING:
    from t2ibench.models.downloads import DownloadState
    from t2ibench.pipeline.downloads import ModelNeeds

_EXAMPLES = """examples:
  t2ibench prefetch sdxl --tasks core                      model, encoder and judge of this run
  t2ibench prefetch sdxl --tasks core --dry-run            list them with their sizes alone
  t2ibench prefetch --config run.yaml                      what the run of a file needs

It accepts every flag of `t2ibench run`, and ignores those that change no download: put `prefetch`
in the place of `run`, on a machine with a network; copy $HF_HOME to a machine without.
exit status: 0 all is here, or was listed; 1 something cannot be had; 2 wrong usage
"""
# Flags of `t2ibench run` that decide what is downloaded, and what they say here.
_DECIDES = {
    "model": "download this model: an alias (sdxl) or a hub id "
    "(default: none, or MODEL)",
    "tasks": "download what these tasks need; `t2ibench ls` lists them (required)",
    "model_args": "set options of the model that decide what is downloaded: lora=… "
    "(default: none)",
    "sources": "download this model of source images too, for tasks with edits (default: none)",
    "sources_args": "set options of the model of source images that decide what is downloaded: "
    "revision=… (default: none)",
    "rewriter": "download this rewriter of prompts too: hf:MODEL (default: none)",
    "rewriter_args": "set options of the rewriter that decide what is downloaded: "
    "revision=… (default: none)",
    "encoder": "download these encoders, if the tasks need one (default: open_clip's "
    "ViT-L-14; see `t2ibench ls encoders`)",
    "judge": "download these judges, if the tasks ask questions (default: "
    "Qwen3-VL-4B; see `t2ibench ls judges`)",
    "judge_args": "set options of the judges that decide what is downloaded: revision=… "
    "(default: none)",
    "generate_only": "download neither encoders nor judges (default: download them)",
}
# Flags that mean here what they mean there.
_ALIKE = {"include_path", "captions"}
_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


def add(verbs: Any) -> None:
    """Add the command `prefetch` and its flags to the command line."""
    verb = verbs.add_parser(
        "prefetch",
        description="List every repository of the hub that a run will need (model, LoRA, encoders, "
        "judges, rewriter), with its size and whether it is downloaded, and download the others.",
        epilog=_EXAMPLES,
    )
    add_flag(
        verb,
        "named MODEL",
        "download for this model, given as for --model (default: none)",
        nargs="?",
    )
    what, *_ = add_settings(
        verb,
        purposes=_purpose,
        dry_run="list what is needed and what is available, and download "
        "nothing (default: download)",
    )
    add_flag(what, "--preset PAPER", PRESET)
    verb.set_defaults(handler=run)


def _purpose(setting: str, line: str) -> str:
    """Return the help of a setting's flag here; flags that decide no download are hidden."""
    if setting in _ALIKE:
        return line
    return _DECIDES.get(setting, argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """List the model files that a run needs, download missing ones, and return the exit status."""
    from t2ibench.pipeline.downloads import needed_models
    from t2ibench.pipeline.preparation import prepare
    from t2ibench.pipeline.progress import ConsoleReporter

    if arguments.named is not None:
        if arguments.model is not None:
            raise T2IBenchError("Two models are named; give MODEL or --model.")
        arguments.model = arguments.named
    reporter = ConsoleReporter()
    with reporter.opening("Reading the tasks …"):
        settings = settings_of(arguments)
        context, models = prepare(settings)
        announce(context, models, reporter)
        needed = list(
            needed_models(context, models, generate_only=settings.generate_only)
        )
        states = [state for model in needed for state in model.states()]
        unreachable = update_states(states)
    print_states(needed, states)
    missing = [state for state in states if not state.here]
    if arguments.dry_run or not missing:
        _say_next(missing, unreachable)
        return 0
    if unreachable:
        _say_next(missing, unreachable)
        raise T2IBenchError(f"Nothing was downloaded: {unreachable}.")
    failed = [state for state in missing if not _fetched(state, reporter)]
    if failed:
        names = ", ".join(state.download.repository for state in failed)
        raise T2IBenchError(
            f"Not downloaded: {names}.", "The lines above give reasons."
        )
    print("Everything is downloaded now.")
    return 0


def update_states(states: Sequence[DownloadState]) -> str:
    """Update the states of downloads; return why the hub could not be asked, or an empty text."""
    from t2ibench.models.downloads import hub_state, local_state
    from t2ibench.models.hub import hub_problem, refusal_of

    if not states:
        return ""
    first = states[0].download
    unreachable, _ = hub_problem(first.repository, ".gitattributes", first.revision)
    for state in states:
        if unreachable:
            local_state(state)
            continue
        try:
            hub_state(state)
        except (
            Exception
        ) as error:  # the client's own classes change with the library below it
            state.problem = refusal_of(
                state.download.repository, state.download.revision, error
            )
    return unreachable


def _fetched(state: DownloadState, reporter: Any) -> bool:
    """Download the missing files of a repository; return whether all are here now."""
    from t2ibench.models.downloads import fetch, hub_state

    download = state.download
    if state.problem:
        reporter.warn(f"{download.repository}: {state.problem}")
        return False
    reporter.say(f"Downloading {download.repository}: {size_text(state.to_fetch)} …")
    try:
        fetch(state)
        hub_state(state)
    except (
        Exception,
        T2IBenchError,
    ) as error:  # a failed download must not stop the others
        reporter.warn(
            f"{download.repository} could not be downloaded: {first_line(error)}"
        )
        return False
    if not state.here:
        names = ", ".join(state.missing[:3]) or state.problem
        reporter.warn(f"{download.repository} is not complete: {names}")
    return state.here


def print_states(models: Sequence[ModelNeeds], states: Sequence[DownloadState]) -> None:
    """Print a row for each repository, and a line for each model without downloads."""
    from tabulate import tabulate

    rows = [_state_row(state) for state in states]
    if rows:
        headers = ["", "Repository", "Revision", "Files", "Size", "Here"]
        print(tabulate(rows, headers=headers, tablefmt="simple"))
        print()
    for model in models:
        if model.downloads is None:
            print(
                f"{model.role} {model.name}: your own code; its downloads are unknown."
            )
        elif not model.downloads:
            print(f"{model.role} {model.name}: nothing to download.")
    sizes = [state.size for state in states if state.size is not None]
    if len(sizes) == len(states) and states:
        waiting = sum(state.to_fetch for state in states)
        print(
            f"Total: {size_text(sum(sizes))}, of which {size_text(waiting)} are missing."
        )


def _state_row(state: DownloadState) -> list[object]:
    """Return a repository's row of the table: role, name, revision, files, size and state."""
    download = state.download
    part = f" ({download.part})" if download.part else ""
    revision = (download.revision or "main")[:12]
    commit = f" {state.commit[:8]}" if state.commit else ""
    return [
        f"{state.role}{part}",
        download.repository,
        f"{revision}{commit}",
        "" if state.files is None else state.files,
        "" if state.size is None else size_text(state.size),
        _here_text(state),
    ]


def _here_text(state: DownloadState) -> str:
    """Return the cell that says whether a download is complete, or what is missing."""
    if state.problem:
        return f"no: {state.problem}"
    if state.here:
        return "yes"
    if not state.commit or len(state.missing) == state.files:
        return "no"
    names = ", ".join(state.missing[:2])
    more = f" and {len(state.missing) - 2} more" if len(state.missing) > 2 else ""
    return f"no: {names}{more} missing"


def _say_next(missing: Sequence[DownloadState], unreachable: str) -> None:
    """Print the commands that download missing files."""
    if not missing:
        print("Everything is downloaded already.")
        return
    if unreachable:
        print(f"Checked on this machine only: {unreachable}.")
    print("Download missing files, here or on a machine with a network:")
    for command in dict.fromkeys(state.download.command() for state in missing):
        print(f"  {command}")


def size_text(size: float) -> str:
    """Return a number of bytes as text with a unit, such as '1.7 GB'.

    Examples:
        >>> size_text(812), size_text(1_710_000_000)
        ('812 B', '1.7 GB')
    """
    unit = 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size /= _STEP
        unit += 1
    return (
        f"{size:.0f} {_UNITS[unit]}"
        if unit == 0 or size >= 100
        else f"{size:.1f} {_UNITS[unit]}"
    )
