"""Read a workflow of ComfyUI in its API format, and follow the links between its nodes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.files import read_ordinary
from t2ibench.store.user_paths import expanded

Graph = dict[str, dict[str, Any]]
_LARGEST = 50_000_000  # bytes of a file that is read
_EXPORT = "In ComfyUI choose Workflow > Export (API), and give that file."
_TEXT_SHOWN = 40  # characters of a text that a message shows


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One input of one node, such as '6.text'.

    Attributes:
        node: The id of the node.
        name: The name of the input.
    """

    node: str
    name: str

    def __str__(self) -> str:
        return f"{self.node}.{self.name}"


@dataclass(frozen=True, slots=True)
class Link:
    """Where an input comes from.

    Attributes:
        node: The id of the node that gives it.
        slot: Which of that node's outputs.
    """

    node: str
    slot: int


def link_of(value: Any) -> Link | None:
    """Return the link that an input's value is; None for a literal.

    Examples:
        >>> link_of(["4", 1])
        Link(node='4', slot=1)
        >>> link_of("a photo") is None
        True
    """
    if not isinstance(value, list) or len(value) != 2:
        return None
    node, slot = value
    is_slot = isinstance(slot, int) and not isinstance(slot, bool)
    return Link(node, slot) if isinstance(node, str) and is_slot else None


class Workflow:
    """A graph of nodes, each with a class and inputs that are literals or links.

    Attributes:
        graph: The nodes by id, as ComfyUI's API takes them.
        file: The name of the file, for messages.
    """

    def __init__(self, graph: Graph, file: str) -> None:
        self.graph = graph
        self.file = file

    def copy(self) -> Workflow:
        """Return a copy whose inputs can be changed."""
        return Workflow(copy.deepcopy(self.graph), self.file)

    def class_of(self, node: str) -> str:
        """Return the class of a node."""
        return str(self.graph[node]["class_type"])

    def inputs(self, node: str) -> dict[str, Any]:
        """Return the inputs of a node by name."""
        inputs: dict[str, Any] = self.graph[node]["inputs"]
        return inputs

    def links(self, node: str) -> Iterator[tuple[str, Link]]:
        """Yield the names and links of the inputs of a node that other nodes give."""
        for name, value in self.inputs(node).items():
            link = link_of(value)
            if link is not None:
                yield name, link

    def value(self, place: Place) -> Any:
        """Return the literal or link at a place."""
        return self.inputs(place.node)[place.name]

    def put(self, place: Place, value: Any) -> None:
        """Set the input at a place."""
        self.inputs(place.node)[place.name] = value

    def ancestors(self, node: str) -> list[str]:
        """Return the ids of all nodes that a node depends on and itself, the deepest first."""
        ordered: dict[str, None] = {}
        entered = {node}
        # Each entry is a node, and the nodes behind its links that are still to be visited.
        stack = [(node, [link.node for _, link in self.links(node)])]
        while stack:
            current, waiting = stack[-1]
            if not waiting:
                ordered[current] = None
                stack.pop()
                continue
            before = waiting.pop(0)
            if before not in entered:
                entered.add(before)
                stack.append((before, [link.node for _, link in self.links(before)]))
        return list(ordered)

    def only(self, nodes: list[str]) -> Workflow:
        """Return the part of the workflow with these nodes alone."""
        return Workflow({node: self.graph[node] for node in nodes}, self.file)

    def describe(self, place: Place) -> str:
        """Return a place with its class and the beginning of its value, for messages."""
        value = self.value(place)
        words = "" if link_of(value) else f" {json.dumps(value, ensure_ascii=False)}"
        return shown(f"{place} ({self.class_of(place.node)}{words})", 2 * _TEXT_SHOWN)

    def name_of(self, node: str) -> str:
        """Return a node's id, class and title, for messages."""
        title = (self.graph[node].get("_meta") or {}).get("title")
        is_telling = isinstance(title, str) and title != self.class_of(node)
        words = f", '{shown(title, _TEXT_SHOWN)}'" if is_telling else ""
        return f"node {node} ({self.class_of(node)}{words})"


def read_workflow(source: str) -> Workflow:
    """Return the workflow in a file; raise T2IBenchError if it is none in the API format."""
    path = expanded(source)
    file = path.name or source
    try:
        if path.stat().st_size > _LARGEST:
            raise T2IBenchError(f"'{shown(file)}' is too large for a workflow.")
        data = json.loads(read_ordinary(path))
    except OSError as error:
        raise T2IBenchError(
            f"The workflow '{shown(source)}' cannot be read: {error.strerror or error}.",
            "Give a file that ComfyUI exported: comfyui:WORKFLOW.json.",
        ) from None
    except (ValueError, RecursionError):
        raise T2IBenchError(f"'{shown(file)}' is not JSON.", _EXPORT) from None
    return Workflow(_graph_in(data, file), file)


def _graph_in(data: Any, file: str) -> Graph:
    """Return the nodes in a file's JSON, which may be the body of a request to /prompt."""
    if isinstance(data, Mapping) and isinstance(data.get("prompt"), Mapping):
        data = data["prompt"]
    if isinstance(data, Mapping) and isinstance(data.get("nodes"), list):
        raise T2IBenchError(
            f"'{shown(file)}' is a workflow in the format of ComfyUI's editor, which its server "
            "does not run.",
            _EXPORT,
        )
    if (
        not isinstance(data, Mapping)
        or not data
        or not all(map(_is_node, data.values()))
    ):
        raise T2IBenchError(
            f"'{shown(file)}' is no workflow of ComfyUI: expected nodes by id, each with a "
            "class_type and inputs.",
            _EXPORT,
        )
    graph = {str(node): copy.deepcopy(dict(value)) for node, value in data.items()}
    for node, value in graph.items():
        for name, given in value["inputs"].items():
            link = link_of(given)
            if link is not None and link.node not in graph:
                raise T2IBenchError(
                    f"'{shown(file)}': {shown(node)}.{shown(name)} comes from node "
                    f"'{shown(link.node)}', which is not in the file.",
                    _EXPORT,
                )
    return graph


def _is_node(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return isinstance(value.get("class_type"), str) and isinstance(
        value.get("inputs"), dict
    )
