"""The rewriter `file:PATH`: rewritings that somebody has written down, or another run has made."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from t2ibench.arguments import Arguments, one_of
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.adapter import Adapter
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Per, RewriteRequest, Rewriting
from t2ibench.models.locations import is_file
from t2ibench.store.database import NAME as RUN
from t2ibench.store.database import Database
from t2ibench.store.file_errors import read_text
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.rewrites import RewriteStore
from t2ibench.store.tables import read_table

_EXAMPLE = '{"prompt": "a photo of a nurse", "rewritten": "a photo of a male nurse"}'
_KEYS = ("prompt", "rewritten", "index")
_ALSO = ("status", "reason")  # what the rewritings of a run have beside them
_LARGEST = 64 * 2**20  # bytes
_NAMED = 3  # prompts in a message
_Places = dict[tuple[str, int | None], Rewriting]


class FileArguments(Arguments):
    """What --rewriter-args are taken.

    Attributes:
        missing: What becomes of a prompt that is not in the file: 'error', or 'keep', which leaves
            it as it is.
    """

    missing: Annotated[Literal["error", "keep"], one_of("error", "keep")] = "error"


class FileRewriter:
    """Rewritings from a file (see models.language.Rewriter).

    JSON Lines and CSV have 'prompt', 'rewritten' and, where an image has a rewriting of its own,
    'index'; YAML maps prompts to rewritings. In JSON Lines and YAML several rewritings of a prompt
    are a list, from which each image draws one by its seed: the images of a prompt stay alike in
    distribution, as every interval and control supposes. In turn they would not.

    Args:
        path: The file, whose suffix says its form; or another run's folder.
        missing: See `FileArguments`.

    Raises:
        T2IBenchError: the file is missing or malformed.
    """

    def __init__(self, path: Path, missing: str = "error") -> None:
        of_run = (path / RUN).is_file()
        if not of_run and not is_file(path):
            raise T2IBenchError(
                f"No such file: '{shown(path, 400)}'.", "Check the path after file:"
            )
        read = {".csv": _csv, ".yaml": _yaml, ".yml": _yaml}.get(path.suffix.lower(), _jsonl)
        read = _run if of_run else read
        self.name = f"file:{path.name}"
        self._path = path
        self._missing = missing
        self._turns: dict[str, tuple[str, ...]] = {}
        self._places: _Places = {}
        for where, row in read(path):
            self._take(where, row)
        if not self._turns and not self._places:
            raise T2IBenchError(f"{shown(path, 400)} has no rewritings.", f"Expected {_EXAMPLE}.")
        single = all(len(texts) == 1 for texts in self._turns.values())
        per_image = not single or any(index is not None for _, index in self._places)
        self.per: Per = "image" if per_image else "prompt"
        content = [
            sorted([prompt, *texts] for prompt, texts in self._turns.items()),
            sorted(
                [prompt, -1 if index is None else index, one.status, one.text or ""]
                for (prompt, index), one in self._places.items()
            ),
        ]
        self.settings: Mapping[str, Any] = {
            "file": path.name,
            "content": fingerprint({"rows": content}),
            "missing": missing,
        }
        parts = {"adapter": "file rewriter 1", "rows": content, "missing": missing}
        self.fingerprint = fingerprint(parts)

    def _take(self, where: str, row: Mapping[str, Any]) -> None:
        unknown = next((key for key in row if key not in {*_KEYS, *_ALSO}), None)
        if unknown is not None:
            raise T2IBenchError(
                f"{where}: unknown key '{shown(unknown)}'.{did_you_mean(str(unknown), _KEYS)}",
                f"A row is such as {_EXAMPLE}, with an 'index' where images differ.",
            )
        prompt, rewritten, index = (row.get(key) for key in _KEYS)
        if not isinstance(prompt, str) or not prompt.strip():
            raise T2IBenchError(f"{where}: expected a 'prompt'.", f"Such as {_EXAMPLE}.")
        if index is not None and (type(index) is not int or index < 0):
            raise T2IBenchError(
                f"{where}: index {shown(repr(index))}; expected a whole number from 0.",
                "It says which image of the prompt; without it, a rewriting is for all of them.",
            )
        texts = rewritten if isinstance(rewritten, list) else [rewritten]
        status = row.get("status", "ok")
        if status == "failed":  # of a run: it is not known
            return
        if status == "refused":
            one = Rewriting("refused", reason=str(row.get("reason") or "the rewriter declined"))
            self._put(where, prompt, index, one)
            return
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise T2IBenchError(
                f"{where}: 'rewritten' of '{shown(prompt)}' is no text.",
                f"A row is such as {_EXAMPLE}; several texts are a list.",
            )
        if len(texts) > 1 and index is not None:
            raise T2IBenchError(
                f"{where}: a list of rewritings takes no 'index'.",
                "Give one rewriting for the image, or leave 'index' out: images draw from a list.",
            )
        if index is not None:
            self._put(where, prompt, index, Rewriting("ok", texts[0]))
            return
        if prompt in self._turns or (prompt, None) in self._places:
            raise _twice(where, prompt, None)
        self._turns[prompt] = tuple(map(str, texts))

    def rows(self) -> Iterator[dict[str, Any]]:
        """What decides it, as rows of JSON Lines: a rewriter of them has its fingerprint."""
        for prompt, texts in sorted(self._turns.items()):
            yield {"prompt": prompt, "rewritten": texts[0] if len(texts) == 1 else list(texts)}
        for (prompt, index), one in self._places.items():
            row: dict[str, Any] = {"prompt": prompt, "rewritten": one.text, "status": one.status}
            row |= {"reason": one.reason, "index": index}
            yield {key: value for key, value in row.items() if value is not None}

    def _put(self, where: str, prompt: str, index: int | None, one: Rewriting) -> None:
        if (prompt, index) in self._places or (index is None and prompt in self._turns):
            raise _twice(where, prompt, index)
        self._places[prompt, index] = one

    def _find(self, request: RewriteRequest) -> Rewriting | None:
        prompt = request.prompt
        found = self._places.get((prompt, request.index)) or self._places.get((prompt, None))
        if found is None and (texts := self._turns.get(prompt)):
            found = Rewriting("ok", texts[_draw(request, len(texts))])
        if found is None and self._missing == "keep":
            blank = Rewriting("failed", reason="the prompt is empty")
            found = Rewriting("ok", prompt) if prompt.strip() else blank
        return found

    def check(self, requests: Sequence[RewriteRequest]) -> None:
        """Say which prompts are not in the file (see models.language.ChecksPrompts)."""
        missing = [one for one in requests if self._find(one) is None]
        if not missing:
            return
        prompts = list(dict.fromkeys(one.prompt for one in missing))
        known = {*self._turns, *(prompt for prompt, _ in self._places)}
        few = [prompt for prompt in prompts if prompt in known]
        if len(few) == len(prompts):
            first = next(one for one in missing if one.prompt == prompts[0])
            raise T2IBenchError(
                f"{shown(self._path, 400)} has no rewriting of image {first.index} of "
                f"'{shown(prompts[0])}' (of {len(missing)} images in all).",
                "Add rows for them, or give a list of rewritings, from which images draw.",
            )
        names = ", ".join(f"'{shown(prompt)}'" for prompt in prompts[:_NAMED])
        more = ", …" if len(prompts) > _NAMED else ""
        total = len({one.prompt for one in requests})
        raise T2IBenchError(
            f"{shown(self._path, 400)} lacks {len(prompts)} of the {total} prompts of these tasks: "
            f"{names}{more}.",
            "Add them, name fewer tasks, or leave them as they are: --rewriter-args missing=keep.",
        )

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """What the file says."""
        absent = Rewriting("failed", reason=f"{self._path.name} has no rewriting of it")
        return [self._find(one) or absent for one in requests]


def _draw(request: RewriteRequest, count: int) -> int:
    """One of so many texts; another hash than the noise that an image begins with."""
    digest = hashlib.sha256(f"rewriting\0{request.seed}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % count


def _twice(where: str, prompt: str, index: int | None) -> T2IBenchError:
    which = "" if index is None else f"image {index} of "
    return T2IBenchError(f"{where}: {which}'{shown(prompt)}' is there twice.", "Keep one of them.")


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for line, row in read_rows_strictly(path, _EXAMPLE):
        yield f"{shown(path, 400)}:{line}", row


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for line, row in read_table(path).rows:
        yield (
            f"{shown(path, 400)}:{line}",
            {key: _cell(key, value) for key, value in row.items() if value},
        )


def _cell(key: str, value: str) -> Any:
    return int(value) if key == "index" and value.isascii() and value.isdecimal() else value


class _Loader(yaml.SafeLoader):
    """Plain values; a key that is there twice is an error."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    found: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            mark = key_node.start_mark
            raise yaml.MarkedYAMLError(problem="a prompt is not text", problem_mark=mark)
        if key in found:
            mark = key_node.start_mark
            raise yaml.MarkedYAMLError(problem=f"'{key}' is there twice", problem_mark=mark)
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _yaml(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = read_text(path, _LARGEST)
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = shown(getattr(error, "problem", None) or type(error).__name__, 200)
        raise T2IBenchError(f"{shown(path, 400)}{line}: {problem}.") from None
    if not isinstance(data, dict):
        raise T2IBenchError(
            f"{shown(path, 400)}: expected prompts with their rewritings.",
            'Such as "a photo of a nurse": "a photo of a male nurse".',
        )
    for prompt, rewritten in data.items():
        yield shown(path, 400), {"prompt": prompt, "rewritten": rewritten}


def _run(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    database = Database(path)
    for (made_by,) in database.read("SELECT fingerprint FROM models WHERE role = 'rewriter'"):
        for one in RewriteStore(database, "", str(made_by)):
            row = {key: getattr(one, key) for key in (*_KEYS, *_ALSO)}
            yield shown(path, 400), {key: value for key, value in row.items() if value is not None}


ADAPTER = Adapter(
    create=lambda request: FileRewriter(Path(request.source).expanduser(), request.args.missing),
    form="file:PATH",
    description="rewritings from JSON Lines, CSV or YAML, or those of another run, its folder",
    Args=FileArguments,
)
