"""Find a model in a local folder or on the hub, and explain why it cannot be loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown
from t2ibench.models.library_messages import collect_messages
from t2ibench.models.weight_files import find_file_defect
from t2ibench.store.user_paths import expanded

_HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_WIDTH = 300  # characters of a path that a message shows
_PIP = re.compile(r"pip install (?:-[-\w]+ )*['\"`]?([A-Za-z][\w.\[\]-]*)")
_REQUIRES = re.compile(
    r"(?:requires the|metadata was found for|No module named) '?([A-Za-z][\w-]*)"
)
_MEMORY = re.compile(
    "can't allocate memory|not enough memory|out of memory", re.IGNORECASE
)
_NO_CODE = "no code that comes with a model is run here"
_WEIGHTS = {".bin", ".ckpt", ".pt", ".pth"}


def exists(text: str) -> bool:
    """Return whether a text is the path of an existing file or folder."""
    return os.path.exists(expanded(text))  # noqa: PTH110  pathlib's raises


def is_file(path: Path) -> bool:
    """Return whether a path is that of an existing file; a broken link is none."""
    return os.path.isfile(path)  # noqa: PTH113  pathlib's raises


def is_folder(path: Path) -> bool:
    """Return whether a path is that of an existing folder; a path that is too long is none."""
    return os.path.isdir(path)  # noqa: PTH112  pathlib's raises


def is_hub_id(text: str) -> bool:
    """Return whether a text has the form of a hub id, ORG/NAME."""
    return _HUB_ID.fullmatch(text) is not None


def is_path(text: str) -> bool:
    """Return whether a text is a local path, for which the hub must not be asked."""
    if exists(text) or text.startswith((".", "/", "~")):
        return True
    first, slash, _ = text.partition("/")
    if not slash or ":" in first:  # a name, or one with a scheme that may be misspelt
        return False
    return not is_hub_id(text) or exists(first)


def no_folder(text: str, hint: str | None = None) -> T2IBenchError:
    """Return the error for a folder that does not exist, with the most similar existing name."""
    message = f"No such folder: '{shown(text, _WIDTH)}'."
    try:
        path = expanded(text)
        if path.is_file():
            return T2IBenchError(
                f"'{shown(text, _WIDTH)}' is a file; a folder is needed.", hint
            )
        if path.parent.is_dir():
            message += did_you_mean(path.name, [p.name for p in path.parent.iterdir()])
    except (OSError, ValueError, RuntimeError):
        pass
    return T2IBenchError(message, hint)


@contextmanager
def loading(
    source: str, hint: str, *, what: str | None = None, library: str = "transformers"
) -> Iterator[None]:
    """Turn a model library's error inside this context into one line with its cause."""
    try:
        with collect_messages(what or source):
            yield
    except T2IBenchError:
        raise
    except Exception as error:
        raise cannot_load(source, error, hint, what=what, library=library) from error


def cannot_load(
    source: str,
    error: BaseException,
    hint: str,
    *,
    what: str | None = None,
    library: str,
) -> T2IBenchError:
    """Return the error for a model that cannot be loaded: a damaged file, or the library's text."""
    model = what or repr(source)
    defect = find_file_defect(expanded(source)) if exists(source) else None
    if defect is not None:
        return T2IBenchError(f"{model} cannot be loaded: {defect.reason}.", defect.hint)
    return T2IBenchError(
        f"{library} could not load {model}: {first_line(error)}",
        loading_hint(source, error) or hint,
    )


def loading_hint(source: str, error: BaseException) -> str | None:
    """Return advice after a failure to load a model; None if no remedy is known."""
    text = str(error)
    if isinstance(error, ImportError) or "pip install" in text:
        wanted = _PIP.search(text) or _REQUIRES.search(text)
        if wanted:
            return f"It needs a further package: pip install {shown(wanted.group(1))}"
    if _MEMORY.search(text):
        return (
            "It needs more memory than there is: give --dtype float16, or offload=model or "
            "offload=sequential in --model-args."
        )
    if not exists(source):
        if "pipeline.py" in text or "trust_remote_code" in text:
            return f"It brings its own code; {_NO_CODE}."
        return None
    suffixes = {path.suffix for path in Path(source).rglob("*.*")}
    if ".safetensors" not in suffixes and suffixes & _WEIGHTS:
        return (
            "Its weights are not safetensors, and other formats can run code when they are loaded: "
            "save it with save_pretrained(folder, safe_serialization=True)."
        )
    return None
