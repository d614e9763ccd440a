"""`t2ibench explore`: open runs or folders of images in the browser."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag, not_negative
from t2ibench.errors import T2IBenchError, check_installed, shown_path

if TYPE_CHECKING:
    from t2ibench.apps.explorer.album import Album
    from t2ibench.models.protocols import Encoder


def add(verbs: Any) -> None:
    """Add the command `explore` and its flags to the command line."""
    verb = verbs.add_parser(
        "explore",
        description="Open runs or folders of images in local web pages: every test with its "
        "images, every image with the answers about it, and, once all images are embedded, which "
        "anchor a word that you type leans to. Several runs are shown side by side. Nothing leaves "
        "this machine.",
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
        "embed words and images with this encoder (default: the run's; if it has none, no "
        "words can be typed)",
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
    from t2ibench.apps.explorer.album import open_album
    from t2ibench.apps.explorer.app import Explorer, create_app
    from t2ibench.apps.explorer.preparation import Preparation
    from t2ibench.apps.explorer.start import check_anchors
    from t2ibench.local_server import local_listener, serve
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    paths = _paths(arguments.paths)
    listener = local_listener(arguments.port)
    album = open_album(paths, reporter)
    check_anchors(album, arguments.anchors or ())
    preparation = Preparation(album, arguments.anchors)
    encoder = _encoder(album, arguments.encoder, arguments.device)
    if isinstance(encoder, str):
        reporter.say(encoder)
        preparation.refuse(encoder)
    else:
        preparation.begin(encoder, reporter)
    source = album.sources[0]
    session = (
        source.folder / ("explorer" if source.run else ".t2ibench") / "session.json"
    )
    explorer = Explorer(album, preparation, session)
    port = int(listener.getsockname()[1])
    address = f"http://127.0.0.1:{port}/"
    print(f"Exploring at {address} (Ctrl-C ends it)", flush=True)
    if arguments.open:
        webbrowser.open(address)
    try:
        serve(create_app(explorer, port), listener)
    finally:
        preparation.end()
    return 0


def _paths(named: Sequence[str]) -> list[Path]:
    """Return the folders to open, by default that of the latest run."""
    paths = [Path(path) for path in named]
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
                f"No such folder: '{shown_path(path)}'.",
                "Give a run folder, or a folder of images.",
            )
    return paths


def _encoder(
    album: Album, name: str | None, device: str | None
) -> Callable[[], Encoder] | str:
    """Return what loads the encoder; a sentence on why there is none if it has to be downloaded.

    An encoder that the user names is loaded at once, so that an error ends the command.
    """
    from t2ibench.apps.explorer.collection import (
        NoEncoderError,
        encoder_of,
        loaded_encoder,
    )

    if name is not None:
        encoder = loaded_encoder(name, device, recorded=False)
        return lambda: encoder
    try:
        of_album = encoder_of(album)
    except NoEncoderError as error:
        return " ".join(str(error).split())
    return lambda: loaded_encoder(of_album, device, recorded=True)
