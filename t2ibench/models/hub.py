"""Check quickly whether the hub has a model, before a library starts longer requests.

The libraries wait minutes for an unreachable hub, without a message, and then say that the model
does not exist. Here one small request decides whether the model is there, is not there, or can only
be used if it was downloaded before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, first_line, shown
from t2ibench.models.downloads import snapshot_of
from t2ibench.models.locations import exists
from t2ibench.redaction import redacted

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


class NotDownloadedError(T2IBenchError):
    """Raised if a model is not on this machine and the hub is unavailable."""


def ask_hub(source: str, file: str, revision: str | None = None) -> dict[str, Any]:
    """Check that a model can be loaded; return the options with which its library loads it."""
    if exists(source):
        return {}
    from huggingface_hub import constants

    here = is_downloaded(source, file, revision)
    if constants.HF_HUB_OFFLINE:
        if here:
            return {}
        raise NotDownloadedError(
            f"'{shown(source)}' has not been downloaded to this machine, and the hub is not asked "
            "(HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set).",
            "Unset them, or give a local folder.",
        )
    try:
        problem, hint = _problem(source, file, revision)
    except OSError as error:
        raise _refused(source, file, revision, error) from error
    if not problem:
        return {}
    if here:
        return {"local_files_only": True}
    raise NotDownloadedError(
        f"'{shown(source)}' cannot be downloaded: {problem}.", hint
    )


def offline_folder(source: str, *, away: bool = False) -> Path | None:
    """Return a repository's folder on this machine if the hub is unavailable; else None."""
    from huggingface_hub import constants

    if exists(source) or not (away or constants.HF_HUB_OFFLINE):
        return None
    return snapshot_of(source)


def load_part(kind: Any, source: str, **options: Any) -> Any:
    """Return a loaded part of a transformers model; code in the repository is never executed.

    If the hub is unavailable, the downloaded folder is read instead: otherwise transformers would
    ask the hub for optional files that the repository does not have.
    """
    folder = offline_folder(source, away=bool(options.get("local_files_only")))
    where = source if folder is None else str(folder)
    return kind.from_pretrained(where, trust_remote_code=False, **options)


def is_downloaded(source: str, file: str, revision: str | None = None) -> bool:
    """Return whether this machine has a downloaded copy of a file of the hub."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(source, file, revision=revision), str)


_OTHERWISE = {
    "model_index.json": "Give a text-to-image pipeline in the form of diffusers; a LoRA goes with "
    "its base model: --model BASE --model-args lora=ORG/NAME.",
    "config.json": "Give a model in the form of transformers.",
}


def hub_problem(source: str, file: str, revision: str | None) -> tuple[str, str]:
    """Return why the hub cannot be asked for a file, and a remedy; two empty texts if it can."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return (
            "the hub is not asked (HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set)",
            "Unset them, or give a local folder.",
        )
    try:
        return _problem(source, file, revision)
    except OSError:  # it answers, and refuses
        return "", ""


def _problem(source: str, file: str, revision: str | None) -> tuple[str, str]:
    """Ask the hub for a file; return why it is unavailable and a remedy, or two empty texts."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    # It may hold a password, as the address of a mirror.
    where = redacted(constants.ENDPOINT)
    try:
        metadata = get_hf_file_metadata(
            hf_hub_url(source, file, revision=revision), timeout=5.0
        )
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status not in _BUSY:
            raise
        hint = "Try again later; `hf auth login` raises limits."
        return f"{where} is busy at the moment ({status})", hint
    except (
        Exception
    ) as error:  # the client's own classes change with the library below it
        hint = "Check the connection, proxies and HF_ENDPOINT, or give a local folder."
        return (
            f"{where} does not answer ({type(error).__name__}: {first_line(error)})",
            hint,
        )
    if metadata.commit_hash:
        return "", ""
    return f"{where} is not a hub of models (it names no commit)", "Check HF_ENDPOINT."


def refusal_of(source: str, revision: str | None, error: Exception) -> str:
    """Return a text that says why the hub refuses a repository, judging by `error`."""
    if not isinstance(error, OSError):
        return f"{type(error).__name__}: {first_line(error)}"
    return str(_refused(source, ".gitattributes", revision, error))


def _refused(
    source: str, file: str, revision: str | None, error: OSError
) -> T2IBenchError:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    model = shown(source)
    if "GatedRepoError" in kinds:
        return T2IBenchError(
            f"'{model}' is gated: its makers give access to those who accept their licence.",
            f"Accept it at https://huggingface.co/{model}, then log in: `hf auth login`.",
        )
    if "RevisionNotFoundError" in kinds:
        return T2IBenchError(
            f"'{model}' has no revision '{shown(revision)}'.",
            "Give a branch, a tag or a commit.",
        )
    if "EntryNotFoundError" in kinds:
        return T2IBenchError(f"'{model}' has no {file}.", _OTHERWISE.get(file))
    return T2IBenchError(
        f"The hub has no model '{model}', or it is private.",
        "Check the name; a private model needs `hf auth login`, and a token that may read it.",
    )
