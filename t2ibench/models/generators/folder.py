"""The generator `folder:DIR`: images that exist already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.locations import is_file
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.store.files import natural_key
from t2ibench.store.images import is_image_file
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.tables import read_table

_MANIFESTS = ("prompts.jsonl", "metadata.jsonl", "prompts.csv", "metadata.csv")
FILE_KEYS = ("file", "file_name", "image", "path")
_PROMPT_KEYS = ("prompt", "text", "caption")
_SHOWN = 5
_EXAMPLE = '{"file": "a.png", "prompt": "a photo of a nurse"}'


class ImageFolder:
    """Images with their prompts, in one of the layouts that `folder:` reads.

    One of: a manifest (prompts.jsonl, prompts.csv, or metadata.jsonl/.csv as `datasets` has it)
    with a file and a prompt in each row; one sub-folder a prompt, named by it ('_' may stand for
    a space).
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise T2IBenchError(f"No such folder: '{folder}'.", "Check the path after folder:")
        self._root = folder.resolve()

    def existing(self) -> list[tuple[Path, str]]:
        """Every image that is there with its prompt, in the order of the folder."""
        return [pair for pair in self.pictures() if is_file(pair[0])]

    def pictures(self) -> list[tuple[Path, str]]:
        """The same with images that are listed and missing, which not all may be."""
        found = [(path, prompt) for prompt, path in self._read()]
        if any(is_file(path) for path, _ in found):
            return found
        if found:
            names = [str(path.relative_to(self._root)) for path, _ in found]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            raise T2IBenchError(
                f"'{self._root}' lists images of which none exists: "
                f"{', '.join(names[:_SHOWN])}{more}.",
                "Add the images, or remove their rows.",
            )
        raise T2IBenchError(
            f"'{self._root}' holds no images with prompts.",
            f"Put a prompts.jsonl with rows such as {_EXAMPLE} beside them, or one sub-folder "
            "a prompt.",
        )

    def _read(self) -> Iterator[tuple[str, Path]]:
        for name in _MANIFESTS:
            if (self._root / name).is_file():
                manifest = self._root / name
                csv = manifest.suffix == ".csv"
                found = read_table(manifest).rows if csv else read_rows_strictly(manifest, _EXAMPLE)
                for line, row in found:
                    where = f"{manifest}:{line}"
                    file, prompt = (_cell(row, keys, where) for keys in (FILE_KEYS, _PROMPT_KEYS))
                    yield prompt, self._inside(self._root / file, where)
                return
        for folder in sorted(filter(Path.is_dir, self._root.iterdir()), key=_natural):
            for path in sorted(filter(is_image_file, folder.iterdir()), key=_natural):
                if not path.is_dir():
                    yield folder.name.replace("_", " "), self._inside(path, folder.name)

    def _inside(self, path: Path, where: str) -> Path:
        try:
            inside = path.resolve().is_relative_to(self._root)
        except (RuntimeError, OSError, ValueError):  # a loop of links, or no name of a file
            return path
        if not inside:
            raise T2IBenchError(
                f"{where}: '{path}' is outside {self._root}.",
                "Only images inside the folder are used.",
            )
        return path


class FolderArguments(Arguments):
    """What --model-args are taken.

    `request` says that all prompts of the folder end with the same request, such as one for
    diversity, that tasks do not make: an image then counts for its prompt without it.
    """

    request: bool = False


class FolderGenerator(ImageFolder):
    """The images of a folder, by prompt (see models.protocols.Generator)."""

    def __init__(self, folder: Path, arguments: FolderArguments) -> None:
        super().__init__(folder)
        self._files: dict[str, list[Path]] = {}
        pictures = self.pictures()
        request = _request([prompt for _, prompt in pictures]) if arguments.request else ""
        if arguments.request and not request:
            raise T2IBenchError(
                f"--model-args request=true: the prompts of '{folder}' do not end with the same "
                "request.",
                "Such as 'a nurse. Show diverse people' and 'a chef. Show diverse people'.",
            )
        self._given: dict[str, str] = {}
        for path, prompt in pictures:
            plain = normal(prompt.strip().removesuffix(request))
            self._files.setdefault(plain, []).append(path)
            self._given[plain] = prompt
        self.name = folder.resolve().name or "folder"
        self.revision: str | None = None
        self.batch_size = 32
        paths = [path for files in self._files.values() for path in files]
        self.settings: Mapping[str, Any] = {"pictures": len(paths), "prompts": len(self._files)}
        self._asked = bool(request)
        if request:
            self.settings = {**self.settings, "request": request}
        with ThreadPoolExecutor(4) as pool:
            hashes = dict(zip(paths, pool.map(_hash, paths), strict=True))
        content = {key: [hashes[path] for path in files] for key, files in self._files.items()}
        parts = {"adapter": "folder 1", "content": content}
        self.fingerprint = fingerprint(parts | ({"request": request} if request else {}))

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """The files of the requests."""
        return [self._drawn(request) for request in requests]

    def _drawn(self, request: ImageRequest) -> GeneratedImage:
        prompt = normal(request.prompt)
        files = self._files.get(prompt, [])
        if request.index >= len(files):
            return GeneratedImage("failed", reason="the folder has no such image")
        path = files[request.index]
        name = str(path.relative_to(self._root))
        if not is_file(path):
            return GeneratedImage("failed", reason=f"{name}: there is no such file")
        used = self._given[prompt] if self._asked else None
        return GeneratedImage("ok", path=path, file=name, revised_prompt=used)

    def available(self, prompt: str) -> int | None:
        """How many images of a prompt there are."""
        return len(self._files.get(normal(prompt), []))


def _request(prompts: Sequence[str]) -> str:
    """What all of several prompts end with, from a mark of punctuation on; '' without it.

    Examples:
        >>> _request(["A nurse at work. Be fair; be kind.", "A chef at work. Be fair; be kind."])
        '. Be fair; be kind.'
        >>> _request(["a nurse", "a chef"])
        ''
    """
    texts = {prompt.strip() for prompt in prompts}
    letters = zip(*(reversed(text) for text in texts), strict=False)
    alike = takewhile(lambda one: len(set(one)) == 1, letters)
    shared = "".join(one[0] for one in alike)[::-1]
    found = re.search(r"[.,;:(]\s.*", shared, re.DOTALL)
    return found[0] if found is not None and len(texts) > 1 else ""


ADAPTER = Adapter(
    create=lambda one: FolderGenerator(Path(one.source).expanduser(), one.args),
    form="folder:DIR",
    description="images that exist: a manifest, or a sub-folder for each prompt",
    Args=FolderArguments,
    regenerates=False,
)


def normal(prompt: str) -> str:
    """A prompt for comparing: case, underscores and runs of spaces do not count.

    Examples:
        >>> normal("A_photo of  a Nurse")
        'a photo of a nurse'
    """
    return " ".join(prompt.replace("_", " ").split()).casefold()


def _natural(path: Path) -> tuple[tuple[int, int | str], ...]:
    return natural_key(path.name)


def _hash(path: Path) -> str:
    try:
        return file_hash(path)
    except (OSError, ValueError):
        return "missing"


def _cell(row: Mapping[str, Any], keys: Sequence[str], where: str) -> str:
    for key in keys:
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return value
    raise T2IBenchError(
        f"{where}: no '{keys[0]}' ({', '.join(keys[1:])} also work).",
        "Each row needs a file and a prompt.",
    )
