"""Settings for reading user tables, passed as arguments to the adapters that read them."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.arguments import format_args
from t2ibench.errors import T2IBenchError
from t2ibench.settings import RunSettings

_FOLDER = "folder:"
_ANSWERS = "answers:"
_FILE = "file:"


def model_arguments(settings: RunSettings) -> dict[str, str]:
    """Return the generator's arguments, with --columns and --pattern for a folder."""
    if not (settings.model or "").startswith(_FOLDER):
        return settings.model_args
    arguments = {} if settings.pattern is None else {"pattern": settings.pattern}
    return {**_columns(settings), **arguments, **settings.model_args}


def judge_arguments(settings: RunSettings, judges: Sequence[object]) -> dict[str, str]:
    """Return the judges' arguments, with --columns for files of answers."""
    if not any(str(judge).startswith(_ANSWERS) for judge in judges):
        return settings.judge_args
    return {**_columns(settings), **settings.judge_args}


def rewriter_arguments(settings: RunSettings) -> dict[str, str]:
    """Return the rewriter's arguments, with --columns for a file."""
    if not (settings.rewriter or "").startswith(_FILE):
        return settings.rewriter_args
    return {**_columns(settings), **settings.rewriter_args}


def check_used(settings: RunSettings) -> None:
    """Raise an error if --columns or --pattern is given and nothing in the run uses it."""
    reads_folder = any(
        (model or "").startswith(_FOLDER)
        for model in (settings.model, settings.sources)
    )
    if settings.pattern is not None and not reads_folder:
        raise T2IBenchError(
            "--pattern is how names of files give prompts, and goes with --model folder:DIR.",
            "Leave it out, or give a folder.",
        )
    reads = [(settings.model, _FOLDER), (settings.sources, _FOLDER)]
    reads += [(settings.rewriter, _FILE)]
    reads += [(judge, _ANSWERS) for judge in settings.judge]
    is_read = settings.captions or any(
        (name or "").startswith(kind) for name, kind in reads
    )
    if settings.columns and not is_read:
        raise T2IBenchError(
            "--columns names the headings of a table, and no table is read.",
            "It goes with --model folder:DIR, --judge answers:FILE, --rewriter file:PATH and "
            "--captions.",
        )


def _columns(settings: RunSettings) -> dict[str, str]:
    return {"columns": format_args(settings.columns)} if settings.columns else {}
