"""`t2ibench explore`."""

from __future__ import annotations

import argparse
import contextlib
import socket
import webbrowser
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, nearest

if TYPE_CHECKING:
    from t2ibench.explorer.source import Collection
    from t2ibench.explorer.tree import State

# Okabe and Ito's colours, which people with any colour vision tell apart.
_COLOURS = ("#e69f00", "#0072b2", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#6a3d9a")


def run(arguments: argparse.Namespace) -> int:
    """Serve the explorer until Ctrl-C."""
    import uvicorn

    from t2ibench.explorer.app import Explorer, create_app
    from t2ibench.explorer.source import open_collection
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    paths = [Path(path) for path in arguments.paths] or _latest()
    for path in paths:
        if not path.is_dir():
            raise T2IBenchError(f"There is no folder '{path}'.", "Give a run folder, or pictures.")
    collection = open_collection(paths, arguments.encoder, reporter, arguments.device)
    start = _start(collection, arguments.anchors)
    place = collection.sources[0].folder
    is_run = collection.sources[0].run is not None
    session = place / ("explorer" if is_run else ".t2ibench") / "session.json"
    explorer = Explorer(collection, start, session, arguments.device)
    listener = _listener(arguments.port)
    port = int(listener.getsockname()[1])
    address = f"http://127.0.0.1:{port}/"
    reporter.say(f"{len(collection.pictures)} images, {collection.encoder.name}.")
    print(f"Exploring at {address} (Ctrl-C ends it)", flush=True)
    if arguments.open:
        webbrowser.open(address)
    server = uvicorn.Server(
        uvicorn.Config(create_app(explorer, port), log_level="warning", access_log=False)
    )
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    return 0


def _listener(port: int) -> socket.socket:
    """A socket on this machine alone.

    Raises:
        T2IBenchError: the port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        raise T2IBenchError(
            f"Port {port} cannot be used: {error.strerror}.", "Leave --port out for a free one."
        ) from None
    return listener


def _latest() -> list[Path]:
    """The run that was written last."""
    runs = [path.parent for path in Path("runs").glob("*/run.json")]
    if not runs:
        raise T2IBenchError(
            "There is no run in ./runs.", "Give a run folder, or a folder of pictures."
        )
    return [max(runs, key=lambda path: (path / "run.json").stat().st_mtime)]


def _start(collection: Collection, anchors: list[str] | None) -> State:
    """The first state: the anchors asked for, or those of the run's own ViBEx task."""
    from t2ibench.explorer.tree import Node, PageAnchor, State, Tree

    known = Counter(one.prompt for one in collection.pictures)
    names: dict[str, str] = {}
    if anchors:
        for prompt in anchors:
            if prompt not in known:
                close = nearest(prompt, known)
                hint = f" Did you mean '{close}'?" if close else ""
                raise T2IBenchError(
                    f"No image has the prompt '{prompt}'.{hint}",
                    "Anchors are prompts of the images; quote each one.",
                )
            names[prompt] = ""
    else:
        names = _of_tasks(collection, known) or {p: "" for p, _ in known.most_common(2)}
    prompts = list(names)
    root, relation, labels = split(prompts)
    nodes = [Node(id="root", label=root)]
    nodes += [
        Node(id=f"anchor{number}", label=label[:200], parent="root", relation=relation)
        for number, label in enumerate(labels)
    ]
    page = [
        PageAnchor(
            name=(names[prompt] or labels[k] or prompt)[:200],
            prompt=prompt,
            colour=_COLOURS[k % len(_COLOURS)],
        )
        for k, prompt in enumerate(prompts)
    ]
    return State(tree=Tree(nodes=nodes), anchors=page)


def _of_tasks(collection: Collection, known: Any) -> dict[str, str]:
    """The anchors of the first ViBEx task of the run whose images are all there."""
    from t2ibench.methods.vibex.schema import VibexTask
    from t2ibench.tasks.index import load_tasks

    run = collection.sources[0].run
    if run is None or not run.record.tasks:
        return {}
    try:
        tasks = load_tasks(
            run.record.tasks, [path for path in run.record.include_path if Path(path).is_dir()]
        )
    except T2IBenchError:
        return {}
    for task in tasks:
        spec = task.spec
        if isinstance(spec, VibexTask) and all(one.prompt in known for one in spec.anchors):
            return {one.prompt: one.name for one in spec.anchors}
    return {}


def split(prompts: list[str]) -> tuple[str, str, list[str]]:
    """Root, relation and labels of a tree whose leaves say just these prompts."""
    from t2ibench.explorer.tree import Node, Tree

    words = [prompt.split() for prompt in prompts]
    shared = 0
    while all(len(one) > shared + 1 for one in words) and len({one[shared] for one in words}) == 1:
        shared += 1
    if shared >= 2:
        root, relation = words[0][0], " ".join(words[0][1:shared])
        labels = [" ".join(one[shared:]) for one in words]
        nodes = [Node(id="root", label=root)]
        nodes += [
            Node(id=f"n{k}", label=label[:200], parent="root", relation=relation)
            for k, label in enumerate(labels)
        ]
        tree = Tree(nodes=nodes)
        if [tree.text([f"n{k}"]) for k in range(len(labels))] == prompts:
            return root, relation, labels
    return "", "has property", prompts  # a property of nothing is its own text
