"""Read images and their prompts from a folder, in any of several layouts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, shown, shown_path
from t2ibench.models.generators.name_pattern import NamePattern
from t2ibench.models.locations import is_file, is_folder
from t2ibench.store.file_errors import why_unreadable
from t2ibench.store.file_names import (
    FileFinder,
    composed,
    is_image_file,
    left_out_line,
    visible_entries,
    visible_files,
)
from t2ibench.store.files import natural_key
from t2ibench.store.people_tables.cells import NOT_AVAILABLE
from t2ibench.store.people_tables.headings import heading_key
from t2ibench.store.people_tables.json_records import text_of
from t2ibench.store.people_tables.reader import TABLE_SUFFIXES, Table, read_table

_ENDINGS = ("jsonl", "csv", "xlsx", "tsv", "json")
_MANIFESTS = tuple(
    f"{name}.{ending}" for ending in _ENDINGS for name in ("prompts", "metadata")
)
_ANY_TEXT = frozenset({"text", "texte", "texto", "eingabe"})
_SHOWN = 5
_PURPOSE = "each row needs a file and a prompt"
_SENTENCE = "Each row needs a file and a prompt."
_EXAMPLE = '{"file": "a.png", "prompt": "a photo of a nurse"}'


def normal(prompt: str) -> str:
    """Return a prompt in lower case with single spaces and no underscores, for comparison.

    Examples:
        >>> normal("A_photo of  a Nurse")
        'a photo of a nurse'
    """
    return " ".join(composed(prompt).replace("_", " ").split()).casefold()


class ImageFolder:
    """Finds the images of a folder and their prompts, in any layout that `folder:` reads.

    One of: a table with a file and a prompt in each row (prompts or metadata, as .jsonl, .csv,
    .xlsx, .tsv or .json; or the only table of the folder that has both); names that say the prompt,
    by a pattern; one sub-folder a prompt, named by it ('_' may stand for a space).

    Args:
        folder: Where the images are.
        columns: Headings of the table, by what they hold ('image', 'prompt').
        table: The name of the table, where it is not the usual one.
        sheet: The sheet of a workbook.
        pattern: How names say the prompt (see `NamePattern`).
    """

    def __init__(
        self,
        folder: Path,
        *,
        columns: Mapping[str, str] | None = None,
        table: str | None = None,
        sheet: str | None = None,
        pattern: str | None = None,
    ) -> None:
        if not is_folder(folder):
            raise T2IBenchError(
                f"No such folder: '{shown_path(folder)}'.",
                "Check the path after folder:",
            )
        self._root = folder.resolve()
        self._columns = columns or {}
        self._table = table
        self._sheet = sheet
        self._pattern = NamePattern(pattern) if pattern else None
        self._are_inside: dict[Path, bool] = {}  # folders, each looked up once
        self.notes: list[str] = []
        # How many listed images each model made, where the table has a column of models.
        self.models: Counter[str] = Counter()

    @property
    def root(self) -> Path:
        """The folder, as an absolute path without links."""
        return self._root

    @property
    def has_table(self) -> bool:
        """Whether a table of the folder lists its images with their prompts."""
        with _listing(self._root):
            return self._manifest() is not None

    def existing(self) -> list[tuple[Path, str]]:
        """Return every existing image with its prompt, in the order of the folder."""
        return [pair for pair in self.pictures() if is_file(pair[0])]

    def pictures(self) -> list[tuple[Path, str]]:
        """Return listed images, even missing ones, with prompts; raise an error if none exists."""
        self.notes.clear()
        self.models.clear()
        self._are_inside.clear()
        with _listing(self._root):
            listed = self._read()
        if any(is_file(path) for path, _ in listed):
            if len(self.models) > 1:
                self.notes.append(_mixed_line(self.models))
            return listed
        if listed:
            names = [str(path.relative_to(self._root)) for path, _ in listed]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            raise T2IBenchError(
                f"'{self._root}' lists images of which none exists: "
                f"{', '.join(map(shown, names[:_SHOWN]))}{more}.",
                "Add the images, or remove their rows.",
            )
        raise T2IBenchError(
            f"'{self._root}' holds no images with prompts.{self._tables_line()}",
            f"Put a prompts.csv, .xlsx or .jsonl with rows such as {_EXAMPLE} beside them, or one "
            "sub-folder a prompt; or say how names give it: --pattern '{prompt}_{index}.png'.",
        )

    def _read(self) -> list[tuple[Path, str]]:
        if self._pattern is not None:
            return self._by_name(self._pattern)
        manifest = self._manifest()
        if manifest is not None:
            return list(self._listed(manifest))
        return list(self._by_sub_folder())

    # A table beside the images

    def _manifest(self) -> Table | None:
        """Return the table that lists the folder's images and their prompts; None if none does."""
        if self._table is not None:
            path = self._inside(self._root / self._table, "table")
            if not is_file(path):
                tables = [path.name for path in self._tables()]
                near = did_you_mean(self._table, tables)
                raise T2IBenchError(
                    f"'{self._root}' contains no table '{shown(self._table)}'.{near}",
                    f"It contains: {', '.join(map(shown, tables)) or 'none'}.",
                )
            return self._table_at(path)
        by_name = {composed(path.name).casefold(): path for path in self._tables()}
        usual = [by_name[name] for name in _MANIFESTS if name in by_name]
        if not usual:
            return self._only_table()
        if len(usual) > 1:
            others = ", ".join(f"'{shown(path.name)}'" for path in usual[1:])
            self.notes.append(
                f"Images and prompts are read from '{shown(usual[0].name)}', and not from {others}."
            )
        return self._table_at(usual[0])

    def _table_at(self, path: Path) -> Table:
        return read_table(
            self._inside(path, "table"),
            columns=self._columns,
            sheet=self._sheet,
            expected=_EXAMPLE,
        )

    def _tables(self) -> list[Path]:
        return [
            path
            for path in visible_entries(self._root)
            if path.suffix.lower() in TABLE_SUFFIXES and is_file(path)
        ]

    def _only_table(self) -> Table | None:
        """Return the one table with columns of images and prompts; None if sub-folders suffice."""
        tables = []
        for path in self._tables():
            try:
                table = self._table_at(path)
                complete = (
                    table.find("image") is not None and table.find("prompt") is not None
                )
            except T2IBenchError:
                continue  # it need not be a table of prompts; sub-folders may name them
            if complete and table.rows:
                tables.append(table)
        if len(tables) > 1:
            names = ", ".join(f"'{shown(table.path.name)}'" for table in tables)
            raise T2IBenchError(
                f"'{self._root}' contains {len(tables)} tables with images and prompts: {names}.",
                "Call the one that counts prompts.csv (or .xlsx, .tsv, .jsonl, .json), or give "
                f"--model-args 'table={tables[0].path.name}'.",
            )
        if not tables or self._says_what_folders_say(tables[0]):
            return None
        table = tables[0]
        self.notes.append(
            f"Images and prompts are read from '{shown(table.path.name)}'."
        )
        return table

    def _says_what_folders_say(self, table: Table) -> bool:
        """Return whether a table adds nothing, because sub-folders name its images' prompts."""
        finder = FileFinder(self._root)
        image = table.need("image", _PURPOSE)
        prompt = table.need("prompt", _PURPOSE)
        # A column that is called 'text' may hold remarks about images whose folders name prompts.
        is_any_text = heading_key(prompt) in _ANY_TEXT
        if is_any_text and self._has_sub_folders_of_images():
            return True
        for _, row in table.rows:
            path = finder.find(text_of(row.get(image)) or "")
            if path is None or path.parent == self._root:
                return False
            if normal(path.parent.name) != normal(text_of(row.get(prompt)) or ""):
                return False
        return True

    def _has_sub_folders_of_images(self) -> bool:
        folders = (path for path in visible_entries(self._root) if path.is_dir())
        return any(
            is_image_file(path) for folder in folders for path in folder.iterdir()
        )

    def _listed(self, table: Table) -> Iterator[tuple[Path, str]]:
        image = table.need("image", _PURPOSE)
        prompt = table.need("prompt", _PURPOSE)
        model = table.find("model")
        self.notes += table.notes
        paths = FileFinder(self._root).find_all(
            text_of(row.get(image)) or "" for _, row in table.rows
        )
        for line, row in table.rows:
            where = table.where(line)
            name = table.text(line, row, image)
            text = table.text(line, row, prompt)
            for heading, value in ((image, name), (prompt, text)):
                if not value or value == NOT_AVAILABLE:
                    what = "is 'NA', a missing value" if value else "is empty"
                    raise T2IBenchError(
                        f"{where}: its '{shown(heading)}' {what}.", _SENTENCE
                    )
            if model is not None and (made_by := text_of(row.get(model))):
                self.models[made_by] += 1
            path = paths.get(name) or self._root / name
            yield self._inside(path, where), text

    # Names by a pattern, and sub-folders

    def _by_name(self, pattern: NamePattern) -> list[tuple[Path, str]]:
        files = list(visible_files(self._root))
        images = [path for path in files if is_image_file(path)]
        self._note_left_out(files)
        named = []
        unfit = []
        for path in images:
            name = path.relative_to(self._root).as_posix()
            image = pattern.read(name)
            if image is None:
                unfit.append(name)
                continue
            order = (
                normal(image.prompt),
                _or_first(image.index),
                _or_first(image.seed),
            )
            named.append(
                (order, natural_key(name), self._inside(path, name), image.prompt)
            )
        if images and not named:
            raise T2IBenchError(
                f"None of the {len(images)} images of '{self._root}' fits the pattern "
                f"'{pattern.text}'; the first is '{shown(unfit[0])}'.",
                "Fields are {prompt}, {index}, {seed}, and others that are ignored.",
            )
        if unfit:
            examples = ", ".join(f"'{shown(name)}'" for name in unfit[:_SHOWN])
            more = ", …" if len(unfit) > _SHOWN else ""
            verb = "does" if len(unfit) == 1 else "do"
            plural = "" if len(unfit) == 1 else "s"
            self.notes.append(
                f"{len(unfit)} image{plural} {verb} not fit the pattern '{pattern.text}': "
                f"{examples}{more}."
            )
        return [(path, prompt) for _, _, path, prompt in sorted(named)]

    def _by_sub_folder(self) -> Iterator[tuple[Path, str]]:
        others: list[Path] = []
        for folder in visible_entries(self._root):
            if not folder.is_dir():
                continue
            for path in visible_entries(folder):
                if path.is_dir():
                    continue
                others.append(path)
                if is_image_file(path):
                    prompt = composed(folder.name).replace("_", " ")
                    yield self._inside(path, folder.name), prompt
        self._note_left_out(others)

    def _note_left_out(self, files: Sequence[Path]) -> None:
        line = left_out_line(files)
        if line is not None:
            self.notes.append(line)

    def _tables_line(self) -> str:
        """Return a text on the folder's tables and columns, for the error that none is usable."""
        lines = []
        for path in self._tables()[:_SHOWN]:
            try:
                table = self._table_at(path)
            except T2IBenchError as error:
                lines.append(str(error))
                continue
            lines.append(
                f"'{shown(path.name)}' has no images with prompts. {table.listed()}"
            )
        tables = set(self._tables())
        for path in visible_entries(self._root):
            stem = path.name.partition(".")[0].casefold()
            if stem in {"prompts", "metadata"} and path not in tables and is_file(path):
                lines.append(
                    f"'{shown(path.name)}' is not read, because of its ending: save it as CSV or "
                    ".xlsx."
                )
        return f" {' '.join(lines)}" if lines else ""

    def _inside(self, path: Path, where: str) -> Path:
        try:
            inside = self._is_inside(path)
        except (
            RuntimeError,
            OSError,
            ValueError,
        ):  # a loop of links, or no name of a file
            return path
        if not inside:
            raise T2IBenchError(
                f"{where}: '{path}' is outside {self._root}.",
                "Only images and tables inside the folder are used.",
            )
        return path

    def _is_inside(self, path: Path) -> bool:
        """Return whether a path is inside the folder once all links are followed."""
        if path.name == ".." or path == self._root or path.is_symlink():
            return path.resolve().is_relative_to(self._root)
        # A table may have a million rows, whose images are in few folders.
        parent = path.parent
        if parent not in self._are_inside:
            self._are_inside[parent] = parent.resolve().is_relative_to(self._root)
        return self._are_inside[parent]


@contextmanager
def _listing(folder: Path) -> Iterator[None]:
    """Turn an error on listing a folder inside this context into one clear line."""
    try:
        yield
    except OSError as error:
        path = Path(os.fsdecode(error.filename)) if error.filename else folder
        reason, advice = why_unreadable(error, path)
        raise T2IBenchError(
            f"'{shown_path(path)}' cannot be read: {reason}.", advice
        ) from error


def _mixed_line(models: Mapping[str, int]) -> str:
    """Return a sentence that warns that one folder mixes images of several models.

    Examples:
        >>> _mixed_line({"sdxl": 40, "flux": 20})[:62]
        "Images of 2 models are mixed: 'sdxl' (40) and 'flux' (20). Inte"
    """
    names = [f"'{shown(name)}' ({count})" for name, count in models.items()]
    listed = ", ".join(names[:_SHOWN])
    if len(names) == 2:
        listed = " and ".join(names)
    elif len(names) > _SHOWN:
        listed += f" and {len(names) - _SHOWN} more"
    return (
        f"Images of {len(models)} models are mixed: {listed}. Intervals are too narrow if one "
        "model drew a group and another the rest; measure each model's images in a folder of "
        "their own."
    )


def _or_first(number: int | None) -> int:
    return -1 if number is None else number
