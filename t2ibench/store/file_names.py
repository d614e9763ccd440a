"""Search for files by user-supplied names, which may be spelt as on another system."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from t2ibench.errors import shown
from t2ibench.store.files import natural_key

_WRITTEN = {".png", ".jpg", ".jpeg", ".webp", ".avif", ".bmp", ".gif", ".tif", ".tiff"}
# Further endings of formats that Pillow always reads: Windows and Chrome write .jfif and .pjpeg.
IMAGE_SUFFIXES = frozenset(
    _WRITTEN | {".jpe", ".jfif", ".jif", ".pjpeg", ".pjp", ".dib", ".apng"}
)
# What lies beside images and is not meant to be one.
_BESIDE_WORDS = (
    ".csv .tsv .tab .xlsx .xlsm .xls .ods .json .jsonl .ndjson .txt .md .yaml .yml .xml .html "
    ".htm .pdf .log .ini .toml .py .ipynb .sh .zip .db .npy .npz .parquet .safetensors"
)
_BESIDE = frozenset(_BESIDE_WORDS.split())
_MOST_ENDINGS = 5  # endings of files that are left out, in a line
_HIDDEN = frozenset(
    {"thumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin", "icon\r"}
)
# A path of another machine: from the root, from a drive, a share of a network, or an address.
_ABSOLUTE = re.compile(r"(?:/|~[\\/]|[A-Za-z]:[\\/]|\\\\|[A-Za-z][A-Za-z0-9+.-]*://)")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^?#]*")
_LABEL_STUDIO = re.compile(r"/data/upload/\d+/[0-9a-f]{8}-(.+)")
# What Windows' "Copy as path" and R put around a name.
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
# A number as pandas writes it where a column has gaps, for an image that is named by a number.
_WITH_ZEROS = re.compile(r"([0-9]+)\.0+")
_NUMBER = re.compile(r"[0-9]{1,15}")
_LOCAL_FILES = re.compile(r".*/data/local-files/\?d=(.+)")


def is_hidden(name: str) -> bool:
    """Return whether a file is hidden or temporary, such as '._a.png' or '~$labels.xlsx'.

    Examples:
        >>> is_hidden(".DS_Store"), is_hidden("~$labels.xlsx"), is_hidden("a.png")
        (True, True, False)
    """
    return name.startswith((".", "~$")) or name.casefold() in _HIDDEN


def visible_entries(folder: Path) -> list[Path]:
    """Return the visible entries of a folder in natural order."""
    entries = (path for path in folder.iterdir() if not is_hidden(path.name))
    return sorted(entries, key=lambda path: natural_key(composed(path.name)))


def visible_files(
    folder: Path, *, leave_out_unreadable: bool = False
) -> Iterator[Path]:
    """Yield the visible files of a folder and its subfolders in natural order.

    Args:
        folder: The folder.
        leave_out_unreadable: Whether a subfolder that cannot be read is left out; else it raises
            an OSError.
    """
    waiting = [folder]
    while waiting:
        folders: list[Path] = []
        place = waiting.pop()
        try:
            entries = visible_entries(place)
        except OSError:
            if place == folder or not leave_out_unreadable:
                raise
            entries = []
        for path in entries:
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            elif not path.is_dir():
                yield path
        waiting += reversed(folders)


def is_image_file(path: Path) -> bool:
    """Return whether a file is visible and has the ending of an image."""
    return path.suffix.lower() in IMAGE_SUFFIXES and not is_hidden(path.name)


def composed(name: str) -> str:
    """Return a name with composed letters, since macOS stores 'é' as two characters."""
    return unicodedata.normalize("NFC", name)


def left_out_line(paths: Iterable[Path]) -> str | None:
    """Return a line on left-out files, neither images nor usual beside them; None if none are."""
    endings: Counter[str] = Counter()
    for path in paths:
        suffix = path.suffix.lower()
        if (
            suffix not in IMAGE_SUFFIXES
            and suffix not in _BESIDE
            and not is_hidden(path.name)
        ):
            endings[suffix] += 1
    if not endings:
        return None
    counted = []
    ordered = sorted(endings.items(), key=lambda item: (-item[1], item[0]))
    for suffix, count in ordered[:_MOST_ENDINGS]:
        plural = "s" if count != 1 else ""
        ending = f"the unknown ending {shown(suffix)}" if suffix else "no ending"
        counted.append(f"{count} file{plural} with {ending}")
    others = sum(count for _, count in ordered[_MOST_ENDINGS:])
    if others:
        counted.append(f"{others} more")
    verb = "is" if sum(endings.values()) == 1 else "are"
    return f"{' and '.join(counted)} {verb} left out."


class FileFinder:
    """Finds files below a folder by names that may be spelt differently there.

    Letters count as the same however they are composed, and in either case where only one file
    fits; an ending may be missing. A backslash separates folders where no file has it in its name.
    Of a path of another machine, the end that exists here counts.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._by_end: dict[Path, set[str]] = {}
        self._folders: dict[Path, _FolderNames] = {}

    def find(self, name: str) -> Path | None:
        """Return the file with this name; None if there is none or more than one."""
        for candidate in _spellings(name):
            path = self._below(candidate)
            if path is not None:
                return path
        for candidate in (*_stored_names(name), *self._ends(name)):
            path = self._below(candidate)
            if path is not None:
                names = self._by_end.setdefault(path, set())
                names.add(_unquoted(name).replace("\\", "/").casefold())
                return path if len(names) == 1 else None
        return None

    def find_all(self, names: Iterable[str]) -> dict[str, Path]:
        """Return the files with these names, without those that may be either of two.

        Two paths of another machine may end alike, such as 'run1/0.png' and 'run2/0.png'.
        """
        paths = {name: self.find(name) for name in names}
        return {
            name: path
            for name, path in paths.items()
            if path is not None and len(self._by_end.get(path, ())) < 2
        }

    def alike(self) -> tuple[str, ...]:
        """Return names that were looked up and may be the same file; none if there are none."""
        several = (names for names in self._by_end.values() if len(names) > 1)
        return tuple(sorted(next(several, ())))

    def _ends(self, name: str) -> Iterator[str]:
        """Yield the ends of another machine's path, the longest first.

        A path that begins with this folder's own name is seen from the folder above it.
        """
        name = _unquoted(name)
        yield from _ends(name)
        parts = PurePosixPath(name.replace("\\", "/")).parts
        above = composed(self._root.resolve().name).casefold()
        if len(parts) > 1 and composed(parts[0]).casefold() == above:
            yield "/".join(parts[1:])

    def _below(self, name: str) -> Path | None:
        """Return the file at a path, relative to the root or absolute; None if it is missing."""
        direct = self._root / name
        if _is_file(direct):
            return direct
        folder = self._root
        parts = PurePosixPath(name).parts
        for part in parts:
            entry = folder / part if part in {"/", ".."} else self._entry(folder, part)
            if entry is None:
                return None
            folder = entry
        return folder if _is_file(folder) else None

    def _entry(self, folder: Path, name: str) -> Path | None:
        if folder not in self._folders:
            self._folders[folder] = _names_in(folder)
        names = self._folders[folder]
        wanted = composed(name)
        folded = wanted.casefold()
        alike = names.folded.get(folded) or names.stems.get(folded, [])
        if not alike and _NUMBER.fullmatch(folded):  # a spreadsheet reads 0001 as 1
            alike = names.numbers.get(int(folded), [])
        return names.exact.get(wanted) or (alike[0] if len(alike) == 1 else None)


@dataclass(slots=True)
class _FolderNames:
    """A folder's files keyed by name and by lower-case name, and images by name without ending.

    Images whose names are numbers are also keyed by these, however many zeros they begin with.
    """

    exact: dict[str, Path] = field(default_factory=dict)
    folded: dict[str, list[Path]] = field(default_factory=dict)
    stems: dict[str, list[Path]] = field(default_factory=dict)
    numbers: dict[int, list[Path]] = field(default_factory=dict)


def _names_in(folder: Path) -> _FolderNames:
    names = _FolderNames()
    try:
        entries = sorted(folder.iterdir())
    except (OSError, ValueError):
        entries = []
    for path in entries:
        name = composed(path.name)
        names.exact[name] = path
        names.folded.setdefault(name.casefold(), []).append(path)
        if is_image_file(path):  # 'nurse_0' for 'nurse_0.png'
            names.stems.setdefault(composed(path.stem).casefold(), []).append(path)
            if _NUMBER.fullmatch(path.stem):
                names.numbers.setdefault(int(path.stem), []).append(path)
    return names


def _spellings(name: str) -> Iterator[str]:
    """Yield the alternative spellings of a name, the exact one first."""
    yield name
    plain = _unquoted(name)
    slashes = plain.replace("\\", "/")
    decoded = unquote(slashes)
    yield from dict.fromkeys(form for form in (plain, slashes, decoded) if form != name)
    with_zeros = _WITH_ZEROS.fullmatch(plain)
    if with_zeros is not None:
        yield with_zeros[1]


def _stored_names(name: str) -> Iterator[str]:
    """Yield what a file was called before Label Studio stored it."""
    decoded = unquote(_unquoted(name).replace("\\", "/"))
    stored = _LABEL_STUDIO.fullmatch(decoded) or _LOCAL_FILES.fullmatch(decoded)
    if stored is not None:
        yield stored[1]
        yield PurePosixPath(stored[1]).name


def _unquoted(name: str) -> str:
    """Return a name without one pair of quotes around it, or an apostrophe before it."""
    name = name.strip()
    closing = _QUOTES.get(name[:1])
    if closing is not None and len(name) > 2 and name.endswith(closing):
        return name[1:-1].strip()
    # Spreadsheets mark a number that is stored as a text so.
    return name.removeprefix("'")


def _ends(name: str) -> Iterator[str]:
    """Yield the ends of another machine's path, the longest first."""
    address = _ADDRESS.match(name)
    if address is not None:
        name = unquote(address[0])
    if _ABSOLUTE.match(name):
        parts = [
            part for part in name.replace("\\", "/").split("/") if part and part != ".."
        ]
        for start in range(1, len(parts)):
            yield "/".join(parts[start:])


def _is_file(path: Path) -> bool:
    try:
        return os.path.isfile(path)  # noqa: PTH113  pathlib's raises for some names
    except ValueError:
        return False
