"""An explorer that tests talk to, over pictures drawn by toyland."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.collection import Collection, open_collection
from t2ibench.apps.explorer.preparation import Preparation
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.toyland import draw
from t2ibench.toyland.world import read_bias_settings

HOME = "http://127.0.0.1:1234"
HEADERS = {"Origin": HOME, "Content-Type": "application/json"}
ADULT = read_bias_settings({"all.age.old": "0"})


class Client:
    """Questions to one explorer."""

    def __init__(self, client: TestClient, collection: Collection) -> None:
        self.http = client
        self.collection = collection

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        """The JSON of a reply; one line of error where it is not 200."""
        reply = self.http.post(path, json=body, headers=HEADERS)
        assert reply.status_code == status, reply.text
        if status == 400:
            assert set(reply.json()) == {"error"} and "\n" not in reply.json()["error"]
        return reply.json()

    def get(self, path: str, status: int = 200) -> Any:
        """The JSON of a reply."""
        reply = self.http.get(path)
        assert reply.status_code == status, reply.text
        return reply.json()


@contextmanager
def explore(collection: Collection, session: Path) -> Iterator[Client]:
    """A running explorer."""
    explorer = Explorer(collection.album, Preparation.of(collection), session)
    with TestClient(create_app(explorer, 1234), base_url=HOME) as found:
        yield Client(found, collection)


def pictures(folder: Path, shown: Mapping[str, Sequence[str]]) -> Path:
    """A folder of pictures: a name to the captions that they are drawn from."""
    for name, captions in shown.items():
        (folder / name).mkdir(parents=True)
        for seed, caption in enumerate(captions):
            draw(caption, seed, ADULT).save(folder / name / f"{seed:03}.png")
    return folder


def opened(*paths: Path, encoder: str | None = "toyland") -> Collection:
    """The pictures of folders and runs."""
    return open_collection(paths, encoder, SilentReporter())


def with_empty_run(collection: Collection) -> Collection:
    """The same, and beside it a run that has no pictures yet."""
    sources = [*collection.sources, collection.sources[0]]
    return Collection(sources, collection.encoder, collection.gallery.pictures)
