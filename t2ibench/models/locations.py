"""Where a model is, a folder of this machine or a repository of the hub; why it cannot load."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown
from t2ibench.models.devices import quietly

_HUB_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_CAUSES = 20  # of an error that are looked at
_WIDTH = 300  # characters of a path that a message shows
_PIP = re.compile(r"pip install (?:-[-\w]+ )*['\"`]?([A-Za-z][\w.\[\]-]*)")
_REQUIRES = re.compile(
    r"(?:requires the|metadata was found for|No module named) '?([A-Za-z][\w-]*)"
)
_MEMORY = re.compile("can't allocate memory|not enough memory|out of memory", re.IGNORECASE)
_NO_CODE = "no code that comes with a model is run here"
_WEIGHTS = (".bin", ".ckpt", ".pt", ".pth")
# The part of a name of weights that says which variant they are: model.fp16.safetensors and
# model.fp16-00001-of-00002.safetensors.
_VARIANT = re.compile(r"\.([\w-]+?)(?:-\d+-of-\d+)?\.safetensors$")


def exists(text: str) -> bool:
    """Whether a text is the path of something."""
    try:
        return Path(text).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, no such home
        return False


def is_file(path: Path) -> bool:
    """Whether a path is a file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_hub_id(text: str) -> bool:
    """Whether a text has the form ORG/NAME."""
    return _HUB_ID.fullmatch(text) is not None


def is_path(text: str) -> bool:
    """Whether a text means a path of this machine, which the hub must not be asked for."""
    if exists(text) or text.startswith((".", "/", "~")) or "\\" in text or _DRIVE.match(text):
        return True
    first, slash, _ = text.partition("/")
    if not slash or ":" in first:  # a name, or one with a scheme that may be misspelt
        return False
    return not is_hub_id(text) or exists(first)


def no_folder(text: str, hint: str | None = None) -> T2IBenchError:
    """The error for a folder that is not there."""
    message = f"No such folder: '{shown(text, _WIDTH)}'."
    if "\\" in text or _DRIVE.match(text):
        if "/" in str(Path("a/b")):
            hint = "Paths of this machine are written with '/', such as ./models/sd."
        return T2IBenchError(message, hint)
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return T2IBenchError(f"'{shown(text, _WIDTH)}' is a file; a folder is needed.", hint)
        there = next((part for part in path.parents if part.is_dir()), None)
        if there is not None and there == path.parent:
            message += did_you_mean(path.name, [p.name for p in there.iterdir() if p.is_dir()])
    except (OSError, ValueError, RuntimeError):
        pass
    return T2IBenchError(message, hint)


@contextmanager
def loading(
    source: str,
    hint: str,
    *,
    what: str | None = None,
    library: str = "transformers",
    flag: str | None = None,
) -> Iterator[None]:
    """Load a model quietly; what a library raises is one line with its likeliest cause."""
    try:
        with quietly():
            yield
    except T2IBenchError:
        raise
    except Exception as error:
        raise T2IBenchError(
            f"{library} could not load {what or repr(source)}: {first_line(error)}",
            loading_hint(source, error, flag) or hint,
        ) from error


def loading_hint(source: str, error: BaseException, flag: str | None = None) -> str | None:
    """The next step after a library could not load a model."""
    folder = Path(source)
    if exists(source) and folder.is_dir():
        return _anywhere(error) or _local_hint(folder, flag)
    text = str(error)
    if flag and "variant" in text:
        return f"The repository may have one variant only: {flag} variant=fp16."
    if "pipeline.py" in text or "trust_remote_code" in text:
        return f"It brings its own code; {_NO_CODE}."
    return _anywhere(error)


def variant_in(name: str) -> str | None:
    """The variant that a file of weights is of."""
    match = _VARIANT.search(name)
    return match.group(1) if match else None


def _anywhere(error: BaseException) -> str | None:
    """What a library says it lacks: a package, memory or room on the disk."""
    text = str(error)
    if isinstance(error, ImportError) or "pip install" in text:
        wanted = _PIP.search(text) or _REQUIRES.search(text)
        if wanted:
            return f"It needs a further package: pip install {shown(wanted.group(1))}"
    if _out_of_memory(error) or _MEMORY.search(text):
        return (
            "It needs more memory than there is: give --dtype float16, or offload=model or "
            "offload=sequential in --model-args."
        )
    if getattr(error, "errno", None) == errno.ENOSPC:
        return "The disk is full: free some room, or put the cache elsewhere by HF_HOME."
    return None


def _out_of_memory(error: BaseException) -> bool:
    """Whether an error, or something it came from, is torch's own for that."""
    current: BaseException | None = error
    for _ in range(_CAUSES):
        if current is None or type(current).__name__ == "OutOfMemoryError":
            return current is not None
        current = current.__cause__ or current.__context__
    return False


def _local_hint(folder: Path, flag: str | None) -> str | None:
    """What the files of a model folder say about why it does not load."""
    try:
        files = [path.name for path in folder.rglob("*") if path.is_file()]
    except OSError:
        return None
    variants = sorted({found for name in files if (found := variant_in(name))})
    plain = any(name.endswith(".safetensors") and not variant_in(name) for name in files)
    if flag and variants and not plain:
        return f"Its weights are a variant: {flag} variant={variants[0]}."
    if not plain and not variants and any(name.endswith(_WEIGHTS) for name in files):
        return (
            "Its weights are not safetensors, and other formats can run code when they are loaded: "
            "save it with save_pretrained(folder, safe_serialization=True)."
        )
    return None
