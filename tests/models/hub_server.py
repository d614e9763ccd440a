"""A hub of models on this machine: folders, served as the hub serves repositories."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants, hf_api

_REVISION = "/revision/"
_RESOLVE = "/resolve/"
_TREE = "/tree/"


@dataclass
class LocalHub:
    """Repositories by ORG/NAME, and the files that were downloaded from it."""

    address: str
    folders: dict[str, Path]
    downloaded: list[str] = field(default_factory=list)

    def commit(self, repository: str) -> str:
        """The commit of a repository."""
        return hashlib.sha1(repository.encode()).hexdigest()

    def files(self, repository: str) -> dict[str, Path]:
        """The files of a repository by their names."""
        folder = self.folders[repository]
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path for path in paths}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: LocalHub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith("/api/models/"):
            self._describe(path.removeprefix("/api/models/"))
        elif _RESOLVE in path:
            self._file(path)
        else:
            self._send(404, b"{}", {})

    def _describe(self, path: str) -> None:
        for separator in (_REVISION, _TREE):
            repository, _, tail = path.partition(separator)
            if tail:
                break
        if repository not in self.hub.folders:
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        files = self.hub.files(repository)
        if _TREE in path:
            tree = [
                {
                    "type": "file",
                    "path": name,
                    "size": file.stat().st_size,
                    "oid": _etag(file),
                }
                for name, file in files.items()
            ]
            return self._send(200, json.dumps(tree).encode(), {})
        siblings = [
            {"rfilename": name, "size": file.stat().st_size, "blobId": _etag(file)}
            for name, file in files.items()
        ]
        info = {
            "id": repository,
            "sha": self.hub.commit(repository),
            "siblings": siblings,
        }
        return self._send(200, json.dumps(info).encode(), {})

    def _file(self, path: str) -> None:
        repository, _, tail = path.lstrip("/").partition(_RESOLVE)
        name = tail.partition("/")[2]
        if repository not in self.hub.folders:
            return self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
        commit = {"X-Repo-Commit": self.hub.commit(repository)}
        file = self.hub.files(repository).get(name)
        if file is None and name != ".gitattributes":
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound", **commit})
        data = b"" if file is None else file.read_bytes()
        if self.command == "GET":
            self.hub.downloaded.append(f"{repository}/{name}")
        etag = '"x"' if file is None else f'"{_etag(file)}"'
        return self._send(200, data, {**commit, "ETag": etag})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()


@contextmanager
def local_hub(folders: dict[str, Path]) -> Iterator[LocalHub]:
    """A hub that serves these folders; nothing else of the network is asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    hub = LocalHub(f"http://127.0.0.1:{server.server_address[1]}", folders)
    server.RequestHandlerClass = type("Handler", (_Handler,), {"hub": hub})
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hub_at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """As HF_ENDPOINT says it before the client is imported."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(
        constants.ENDPOINT, address
    )
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    # diffusers asks through this one, which was made with the client's import
    monkeypatch.setattr(hf_api.api, "endpoint", address)
