"""`t2ibench explore`: open runs or folders of images in the browser."""

from __future__ import annotations

import argparse
import contextlib
import socket
import webbrowser
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import add_flag, not_negative
from t2ibench.errors import T2IBenchError, check_installed


def add(verbs: Any) -> None:
    """Add the command `explore` and its flags to the command line."""
    verb = verbs.add_parser(
        "explore",
        description="Open runs or folders of images in a local web page: type a concept, and "
        "see at once which anchor it leans to, with the images behind it. Several runs "
        "are shown side by side. Nothing leaves this machine.",
    )
    add_flag(
        verb,
        "paths RUN|DIR",
        "open these runs or folders of images (default: the latest run)",
        nargs="*",
    )
    add_flag(
        verb,
        "--anchors PROMPT",
        "start with these prompts as anchors, two or more (default: those of the run)",
        nargs="+",
    )
    add_flag(
        verb,
        "--encoder E",
        "embed words and images with this encoder (default: the run's)",
    )
    add_flag(
        verb,
        "--port N",
        "serve on port N (default: a free one)",
        type=not_negative,
        default=0,
    )
    add_flag(
        verb,
        "--device D",
        "run models on cuda, mps or cpu (default: the best that is available)",
    )
    add_flag(verb, "--open", "open the browser (default: print the address)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve the explorer until Ctrl-C, and return the exit status."""
    for module in ("starlette", "uvicorn"):
        check_installed(module, "explore")
    import uvicorn

    from t2ibench.apps.explorer.app import Explorer, create_app
    from t2ibench.apps.explorer.source import open_collection
    from t2ibench.apps.explorer.start import first_state
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    paths = [Path(path) for path in arguments.paths]
    if not paths:
        runs = list(Path("runs").glob("*/run.db"))
        if not runs:
            raise T2IBenchError(
                "No runs in ./runs.", "Give a run folder, or a folder of images."
            )
        paths = [max(runs, key=lambda path: path.stat().st_mtime).parent]
    for path in paths:
        if not path.is_dir():
            raise T2IBenchError(
                f"No such folder: '{path}'.",
                "Give a run folder, or a folder of images.",
            )
    listener = _listener(
        arguments.port
    )  # first, because opening the images takes a while
    collection = open_collection(paths, arguments.encoder, reporter, arguments.device)
    start = first_state(collection, arguments.anchors)
    source = collection.sources[0]
    session = (
        source.folder / ("explorer" if source.run else ".t2ibench") / "session.json"
    )
    explorer = Explorer(collection, start, session)
    port = int(listener.getsockname()[1])
    address = f"http://127.0.0.1:{port}/"
    print(f"Exploring at {address} (Ctrl-C ends it)", flush=True)
    if arguments.open:
        webbrowser.open(address)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(explorer, port), log_level="warning", access_log=False
        )
    )
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    return 0


def _listener(port: int) -> socket.socket:
    """Return a listening socket that only this machine can reach; raise an error if that fails."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # connections wait until the server has started
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "ports go up to 65535"
        raise T2IBenchError(
            f"Port {port} cannot be used: {why}.", "Omit --port to use a free one."
        ) from None
    return listener
