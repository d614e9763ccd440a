"""The generator `folder:DIR`: images that exist already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import Field

from t2ibench.arguments import Arguments, Columns, Text
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.generators.image_folder import ImageFolder, normal
from t2ibench.models.locations import is_file
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.store.user_paths import expanded

_THREADS = 4  # that read files, whose hashes they compute at the same time


class FolderArguments(Arguments):
    """The arguments of `folder:DIR` that --model-args accepts.

    Attributes:
        request: Whether all prompts of the folder end with the same request, such as one for
            diversity, that the prompts of tasks do not have; an image then counts for its prompt
            without the request.
        columns: The headings of the columns of images and prompts in the table of prompts.
        table: The file name of that table.
        sheet: The sheet of a workbook.
        pattern: Where the prompt is in the names of image files.
        most: How many images of each prompt count, the first ones of the folder; None for all.
    """

    request: bool = False
    columns: Columns = Field(default_factory=dict)
    table: Text | None = None
    sheet: Text | None = None
    pattern: Text | None = None
    most: int | None = Field(default=None, ge=1)


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """The image files of a folder by prompt, without anything read of them.

    Attributes:
        files: Normal form of a prompt (see `normal`) to its files, in the order of the folder.
        given: Normal form of a prompt to the prompt as the folder has it, with its request.
        request: The request that all prompts end with, where the folder is read so; else ''.
    """

    files: Mapping[str, list[Path]]
    given: Mapping[str, str]
    request: str = ""


def folder_of(place: Path, arguments: FolderArguments) -> ImageFolder:
    """Return the reader of a folder's images, set up by the arguments of `folder:`."""
    return ImageFolder(place, **_reading(arguments))


def prompt_files(folder: ImageFolder, arguments: FolderArguments) -> PromptFiles:
    """Return the image files of a folder by prompt; raise an error if it has none."""
    pictures = folder.pictures()
    request = _request([prompt for _, prompt in pictures]) if arguments.request else ""
    if arguments.request and not request:
        raise T2IBenchError(
            f"--model-args request=true: the prompts of '{folder.root}' do not end with the same "
            "request.",
            "Such as 'a nurse. Show diverse people' and 'a chef. Show diverse people'.",
        )
    files: dict[str, list[Path]] = {}
    given: dict[str, str] = {}
    for path, prompt in pictures:
        plain = normal(prompt.strip().removesuffix(request))
        of_prompt = files.setdefault(plain, [])
        if arguments.most is None or len(of_prompt) < arguments.most:
            of_prompt.append(path)
        given[plain] = prompt
    return PromptFiles(files, given, request)


def _reading(arguments: FolderArguments) -> dict[str, Any]:
    """Return the keywords with which `ImageFolder` reads a folder."""
    return {
        "columns": arguments.columns,
        "table": arguments.table,
        "sheet": arguments.sheet,
        "pattern": arguments.pattern,
    }


class FolderGenerator(ImageFolder):
    """Gives a folder's existing images for their prompts (see models.protocols.Generator)."""

    def __init__(self, folder: Path, arguments: FolderArguments) -> None:
        super().__init__(folder, **_reading(arguments))
        by_prompt = prompt_files(self, arguments)
        request = by_prompt.request
        self._files = by_prompt.files
        self._given = by_prompt.given
        self.name = folder.resolve().name or "folder"
        self.revision: str | None = None
        self.batch_size = 32
        paths = [path for files in self._files.values() for path in files]
        self.settings: Mapping[str, Any] = {
            "pictures": len(paths),
            "prompts": len(self._files),
        }
        if len(self.models) > 1:
            self.settings = {**self.settings, "models": dict(self.models)}
        self._asked = bool(request)
        if arguments.most is not None:
            self.settings = {**self.settings, "most": arguments.most}
        if request:
            self.settings = {**self.settings, "request": request}
        hashes = _hashes(paths)
        content = {
            key: [hashes[path] for path in files] for key, files in self._files.items()
        }
        parts = {"adapter": "folder 1", "content": content}
        self.fingerprint = fingerprint(
            parts | ({"request": request} if request else {})
        )

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return the image of each request, read from its file."""
        return [self._read_image(request) for request in requests]

    def _read_image(self, request: ImageRequest) -> GeneratedImage:
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
        """Return how many images of a prompt the folder has."""
        return len(self._files.get(normal(prompt), []))


def _request(prompts: Sequence[str]) -> str:
    """Return the request that all prompts end with, such as '. Be fair.'; '' if there is none.

    Examples:
        >>> _request(["A nurse at work. Be fair; be kind.", "A chef at work. Be fair; be kind."])
        '. Be fair; be kind.'
        >>> _request(["a nurse", "a chef"])
        ''
    """
    texts = {prompt.strip() for prompt in prompts}
    letters = zip(*(reversed(text) for text in texts), strict=False)
    alike = takewhile(lambda characters: len(set(characters)) == 1, letters)
    shared = "".join(characters[0] for characters in alike)[::-1]
    ending = re.search(r"[.,;:(]\s.*", shared, re.DOTALL)
    return ending[0] if ending is not None and len(texts) > 1 else ""


ADAPTER = Adapter(
    create=lambda request: FolderGenerator(expanded(request.source), request.args),
    form="folder:DIR",
    description="images that exist: a manifest, or a sub-folder for each prompt",
    Args=FolderArguments,
    regenerates=False,
)


def _hashes(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the hash of each file, which is read once however many rows name it."""
    distinct = list(dict.fromkeys(paths))
    # A task a thread: one a file would take more memory than the hashes of a million files.
    shares = [distinct[start::_THREADS] for start in range(_THREADS)]
    hashes: dict[Path, str] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for share in pool.map(
            lambda share: {path: _hash(path) for path in share}, shares
        ):
            hashes |= share
    return hashes


def _hash(path: Path) -> str:
    try:
        return file_hash(path)
    except (OSError, ValueError):
        return "missing"
