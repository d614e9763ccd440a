"""Read YAML strictly: no code, no duplicate keys, no aliases; every value has its line number."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from t2ibench.errors import one_line, shown
from t2ibench.store.file_errors import could_be_endless, why_unreadable

Location = tuple[str | int, ...]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_BYTES = 8 * 1024 * 1024
# Levels of nesting; a task file needs five, and libyaml overflows the C stack at some thousands.
_MAX_DEPTH = 40
_MAX_NODES = 250_000  # the largest bundled task has 9,000
_STANDARD = "tag:yaml.org,2002:"
# What messages say of a value that is none of its kind.
_IS_NONE = {
    f"{_STANDARD}str": "is no text",
    f"{_STANDARD}int": "is no whole number",
    f"{_STANDARD}float": "is no number",
    f"{_STANDARD}bool": "is neither yes nor no",
    f"{_STANDARD}null": "is no empty value",
    f"{_STANDARD}timestamp": "is no date",
}
_PLAIN_TAGS = {*_IS_NONE, f"{_STANDARD}map", f"{_STANDARD}seq"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a line of a file, or of the file as a whole.

    Attributes:
        path: The file.
        line: Counted from 1; None for the whole file.
        message: What is wrong and what was expected.
        warning: Whether the file can be used all the same.
        stops_run: Whether no run starts with it, although it is a warning.
    """

    path: Path
    line: int | None
    message: str
    warning: bool = False
    stops_run: bool = False

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        return one_line(f"{where}: {'warning: ' if self.warning else ''}{self.message}")


@dataclass(slots=True)
class Document:
    """A parsed YAML file.

    Attributes:
        path: The file.
        data: Its content as plain values.
        lines: The line, counted from 1, of each key and list item.
        problems: What is wrong with the file as YAML.
    """

    path: Path
    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, location: Location) -> int | None:
        """Return the line of a location in the file, or of the nearest location around it."""
        for length in range(len(location), 0, -1):
            if location[:length] in self.lines:
                return self.lines[location[:length]]
        return self.lines.get((), None)

    def problem(
        self,
        location: Location,
        message: str,
        warning: bool = False,
        stops_run: bool = False,
    ) -> Problem:
        """Return a problem with this message at a location in this file."""
        return Problem(self.path, self.line(location), message, warning, stops_run)


def read_yaml(path: Path) -> Document:
    """Return the content of a YAML file, read without executing anything in it."""
    document = Document(path)
    text = _text(path)
    if isinstance(text, Problem):
        document.problems.append(text)
        return document
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                document.problems.append(Problem(path, 1, "the file is empty"))
            else:
                document.data = _construct(loader, node, (), document, set())
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        document.problems.append(_syntax_problem(path, error))
    return document


def _text(path: Path) -> str | Problem:
    """Return the text of a file, or the problem that prevents reading it."""
    line: int | None = None
    why: str | None
    try:
        if path.stat().st_size > _MAX_BYTES:
            why = "the file is larger than 8 MiB"
        elif could_be_endless(path):
            why = "is no ordinary file"
        else:
            text = path.read_text(encoding="utf-8")
            line, why = _too_much(text)
            if why is None:
                return text
    except yaml.YAMLError as error:
        return _syntax_problem(path, error)
    except OSError as error:
        why = f"cannot be read: {why_unreadable(error, path)[0]}"
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text (byte {error.start})"
    except ValueError:  # a NUL in the name of the file
        why = "cannot be read: no file has such a name"
    return Problem(path, line, why)


def _too_much(text: str) -> tuple[int | None, str | None]:
    """Return the line at which a document gets too deep or too long, and why; else two None."""
    if sum(map(text.count, "[{-:?")) <= _MAX_DEPTH:
        return None, None
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH or number > _MAX_NODES:
            line = event.start_mark.line + 1 if event.start_mark else 1
            if depth > _MAX_DEPTH:
                return line, "is nested too deeply"
            return line, "has too many values"
    return None, None


def _syntax_problem(path: Path, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    parts = [getattr(error, "context", None), getattr(error, "problem", None)]
    text = " ".join(part for part in parts if part) or str(error).splitlines()[0]
    return Problem(path, mark.line + 1 if mark else None, f"malformed YAML: {text}")


def _construct(
    loader: Any, node: yaml.Node, at: Location, document: Document, seen: set[int]
) -> Any:
    line = node.start_mark.line + 1
    document.lines.setdefault(at, line)
    if id(node) in seen:
        # An alias repeats a node. Nothing here needs them, and nested ones grow without bound.
        _report(
            document,
            document.lines[at],
            "anchors and aliases (& and *) are not allowed",
        )
        return None
    seen.add(id(node))
    if node.tag not in _PLAIN_TAGS:
        name = node.tag.replace(_STANDARD, "!!")
        _report(
            document,
            line,
            f"the tag '{shown(name)}' is not allowed; write plain values",
        )
        return None
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(loader, node, at, document, seen)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*at, number), document, seen)
            for number, item in enumerate(node.value)
        ]
    assert isinstance(node, yaml.ScalarNode), "YAML has three kinds of nodes"
    value, why_none = _scalar(loader, node)
    if why_none is not None:
        _report(document, line, f"'{shown(node.value)}' {why_none}")
    return value


def _scalar(loader: Any, node: yaml.ScalarNode) -> tuple[Any, str | None]:
    """Return the value of a text, number, date or the like, and None; if it has none, None and why.

    A date may not exist, and a tag such as '!!int' may stand before anything.
    """
    try:
        value = loader.construct_object(node)
        # A number with so many digits that Python does not write them cannot be shown either.
        str(value)
    except (ValueError, ArithmeticError, LookupError, AttributeError) as error:
        is_none = _IS_NONE[node.tag]
        is_plain = not node.style
        if node.tag != loader.resolve(
            yaml.ScalarNode, node.value, (is_plain, not is_plain)
        ):
            name = node.tag.replace(_STANDARD, "!!")
            return None, f"{is_none}, as the tag '{name}' says; remove the tag"
        if "integer string conversion" in str(error):
            is_none = "has more than 4,300 digits"
        return None, f"{is_none}; put the value in quotes"
    return value, None


def _report(document: Document, line: int, message: str) -> None:
    """Add a problem to a document, unless the last one is the same."""
    problem = Problem(document.path, line, message)
    if problem not in document.problems[-1:]:
        document.problems.append(problem)


def _construct_mapping(
    loader: Any,
    node: yaml.MappingNode,
    at: Location,
    document: Document,
    seen: set[int],
) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        is_scalar = isinstance(key_node, yaml.ScalarNode)
        if not is_scalar or key_node.tag != _STANDARD + "str":
            name = f"'{shown(key_node.value)}'" if is_scalar else "of several values"
            _report(document, line, f"the key {name} is not text; put it in quotes")
            continue
        key: str = key_node.value
        location: Location = (*at, key)
        if key in mapping:
            first = document.lines[location]
            _report(
                document, line, f"duplicate key '{shown(key)}' (first on line {first})"
            )
            continue
        document.lines[location] = line
        mapping[key] = _construct(loader, value_node, location, document, seen)
    return mapping
