"""Submissions whose evidence lies elsewhere: packed, fetched, bounded, and checked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from t2ibench.apps.leaderboard import remote
from t2ibench.apps.leaderboard.board import read_board
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verdicts import Verifier, key_of
from t2ibench.apps.leaderboard.verify import Verdict, verify
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from tests.apps.leaderboard.conftest import Quiet, serving
from tests.apps.leaderboard.forging import edit_json, set_in


@pytest.fixture(scope="module")
def sent(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of submissions with one whose evidence lies beside it."""
    root = tmp_path_factory.mktemp("sent")
    folder = root / "board" / packed.name
    shutil.copytree(packed, folder)
    remote.send(folder, str(root / "evidence.db"))
    return root


@pytest.fixture
def small(sent: Path, tmp_path: Path) -> Path:
    shutil.copytree(sent, tmp_path / "copy")
    (folder,) = (tmp_path / "copy" / "board").iterdir()
    return folder


def test_what_lies_elsewhere_is_fetched_and_everything_is_recomputed(
    sent: Path, packed: Path, tmp_path: Path
) -> None:
    (folder,) = (sent / "board").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["results.json", "submission.json"]
    evidence = read_manifest(folder).evidence
    assert evidence is not None and evidence.url == "../../evidence.db"
    assert evidence.bytes == (sent / "evidence.db").stat().st_size
    verdict = checked(folder)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    with remote.materialised(folder, local=True) as whole:
        assert {one.name for one in whole.iterdir()} == {one.name for one in packed.iterdir()}
    assert not whole.exists()
    folder = Path(shutil.copytree(packed, tmp_path / packed.name))
    with pytest.raises(T2IBenchError, match="--evidence-url"):
        remote.send(folder, "https://example.org/a.db")
    (tmp_path / "away").mkdir()
    assert remote.send(folder, f"{tmp_path}/away").url == f"../away/{packed.name}.db"
    sent_there = (tmp_path / "away" / f"{packed.name}.db").read_bytes()
    assert sent_there == (packed / "evidence.db").read_bytes()


@pytest.fixture
def server(sent: Path) -> Iterator[Callable[[str], str]]:
    """A file server of the evidence, which also redirects and never ends."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            if self.path.startswith("/away?"):
                self.send_response(302)
                self.send_header("Location", self.path.partition("?")[2])
                self.end_headers()
            elif self.path == "/endless":
                self.send_response(200)
                self.end_headers()
                with suppress(OSError):
                    while True:
                        self.wfile.write(b"\0" * 65536)
            else:
                super().do_GET()

    with serving(sent, Handler) as home:
        yield lambda path: f"{home}{path}"


def checked(folder: Path) -> Verdict:
    """The verdict of somebody who trusts this disk and this network."""
    return verify(folder, local=True)


def read_from(folder: Path, url: str) -> None:
    edit_json(folder / "submission.json", set_in("evidence", "url", value=url))


@pytest.mark.parametrize("path", ["evidence.db", "away?/evidence.db"])
def test_it_is_fetched_over_http(path: str, small: Path, server: Callable[[str], str]) -> None:
    read_from(small, server(path))
    assert checked(small).level == "recomputed"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("endless", "has more than"),
        ("nothing.db", "404"),
        ("away?file:///etc/passwd", "leads away from the web"),
        ("away?/away?/away?/away?/away?/away?/away?/evidence.db", "404|redirected too often"),
        ("board", "is not the evidence|cannot be fetched"),
    ],
)
def test_what_a_server_may_do(
    path: str, why: str, small: Path, server: Callable[[str], str]
) -> None:
    read_from(small, server(path))
    assert re.search(why, checked(small).problems[0])


def test_a_file_address_and_a_pipe(small: Path) -> None:
    file = small.parents[1] / "evidence.db"
    read_from(small, file.as_uri())
    assert checked(small).level == "recomputed"
    os.mkfifo(small.parents[1] / "pipe")
    read_from(small, "../../pipe")
    assert "not a plain file" in checked(small).problems[0]
    read_from(small, "simplecache::zip://a")
    assert "expected http, https or file" in checked(small).problems[0]


def test_changed_evidence_is_refused(small: Path) -> None:
    file = small.parents[1] / "evidence.db"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert "is not the evidence that submission.json names" in checked(small).problems[0]
    file.write_bytes(bytes(data) + b"\0" * 512)
    assert "has more than" in checked(small).problems[0]


def test_another_database_is_refused(small: Path) -> None:
    """Its hash and its size fit, and it is not the one that the scores were computed from."""
    file = small.parents[1] / "evidence.db"
    file.write_bytes(b"#!/bin/sh\n")
    for key, value in (("sha256", hashlib.sha256(file.read_bytes()).hexdigest()), ("bytes", 10)):
        edit_json(small / "submission.json", set_in("evidence", key, value=value))
    assert "evidence.db has changed" in checked(small).problems[0]
    edit_json(
        small / "submission.json",
        lambda data: data["files"].update({"evidence.db": data["evidence"]["sha256"]}),
    )
    assert "file is not a database" in checked(small).problems[0]


def test_evidence_is_in_one_place_and_of_bounded_size(small: Path) -> None:
    (small / "evidence.db").touch()
    assert "evidence.db lies elsewhere, and is there" in checked(small).problems[0]
    (small / "evidence.db").unlink()
    (small / "thumbs").symlink_to(small)
    assert "thumbs is a link" in checked(small).problems[0]
    (small / "thumbs").unlink()
    edit_json(small / "submission.json", set_in("evidence", "bytes", value=10**9))
    assert "are accepted" in checked(small).problems[0]


def test_a_verdict_is_recalled_without_fetching(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "verdicts"
    (entry,) = read_board(small.parent, Verifier([small.parent], 0, file, local=True)).entries
    key = key_of(small)
    (small.parents[1] / "evidence.db").unlink()
    board = read_board(small.parent, Verifier([small.parent], 0, file))
    assert entry.level == board.entries[0].level == "recomputed"
    # Another evidence.db has another hash, which submission.json names.
    edit_json(small / "submission.json", set_in("evidence", "sha256", value="0" * 64))
    assert key_of(small) not in {key, None}
    assert "cannot be fetched" in checked(small).problems[0]


def test_add_with_a_card_and_evidence_elsewhere(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to, away = tmp_path / "board", tmp_path / "away.db"
    words = ["leaderboard", "add", str(run), "--to", str(to), "--thumbnails", "2"]
    card = "--licence apache-2.0 --parameters 0.9B --released 2026-05 --weights open"
    card += " --url https://example.org/m"
    given = [*words, *card.split(), "--submitter", "A. Person"]
    assert main([*given, "--evidence-to", str(away), "--evidence-url", away.as_uri()]) == 0
    (folder,) = to.iterdir()
    manifest = read_manifest(folder)
    assert manifest.card.weights == "open" and manifest.card.parameters == "0.9B"
    assert manifest.evidence is not None and manifest.evidence.url == away.as_uri()
    assert checked(folder).problems == []
    # A path is taken from where the submission lies, and not from where it was packed.
    assert main([*given, "--evidence-to", str(tmp_path / "again.db")]) == 0
    assert read_manifest(folder).evidence.url == "../../again.db"  # type: ignore[union-attr]
    assert checked(folder).problems == []
    output = tmp_path / "site"
    build = ["leaderboard", "build", "--submissions", str(to), "--output", str(output), "--local"]
    assert main([*build, "--date", "2026-05-02"]) == 0
    page = (output / "model" / "toyland.html").read_text()
    for text in ("apache-2.0", "0.9B", "A. Person", 'href="https://example.org/m"', "2026-05-02"):
        assert text in page
    files = [path for path in output.rglob("*") if path.is_file()]
    written = {path: path.read_bytes() for path in files}
    assert main([*build, "--date", "2026-05-02"]) == 0
    assert all(path.read_bytes() == written[path] for path in files)
    for option, value, why in (
        ("--url", "javascript:alert(1)", "--url javascript:alert(1): expected an address"),
        ("--released", "soon", "expected a date"),
        ("--evidence-url", "https://example.org", "Give both"),
    ):
        capsys.readouterr()
        assert main([*words, option, value]) == 1
        assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    [
        "../../evidence.db", "FILE:///etc/passwd", "/etc/passwd", "evidence.db",
        "http://169.254.169.254/latest/meta-data", "http://localhost:{port}/evidence.db",
        "http://127.0.0.1:{port}/evidence.db", "http://2130706433:{port}/evidence.db",
        "http://0x7f.1:{port}/evidence.db", "http://[::1]:{port}/evidence.db",
        "http://[::ffff:127.0.0.1]:{port}/evidence.db", "HTTP://0.0.0.0:{port}/evidence.db",
        "https://user:pw@192.168.0.1/evidence.db",
        "http://[64:ff9b::7f00:1]/x", "http://[2002:7f00:1::]/x", "http://[fe80::1]/x",
        "http://224.0.0.1/x",
    ],
)  # fmt: skip
def test_private_places_are_not_asked_unless_a_flag_says_so(
    url: str, small: Path, server: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server("").split(":")[-1].strip("/")
    monkeypatch.setattr("httpx.Client.send", None)
    monkeypatch.setattr("t2ibench.apps.leaderboard.remote.stat", None)  # no file is looked at
    read_from(small, url.format(port=port))
    (problem,) = verify(small).problems
    assert "--local reads it" in problem


def test_a_public_server_leads_to_no_private_one(
    small: Path, server: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every hop is resolved once, checked, and asked at the very address that was checked."""
    public, asked = "93.184.216.34", []
    honest = httpx.Client.send

    def send(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        asked.append((request.url.host, request.headers["host"], request.extensions))
        request.url = request.url.copy_with(host="127.0.0.1")
        return honest(client, request, **options)

    def means(host: str, _: int) -> list[str]:
        return [public] if host == "evidence.example" else ["127.0.0.1"]

    monkeypatch.setattr("httpx.Client.send", send)
    monkeypatch.setattr("t2ibench.apps.leaderboard.remote.addresses", means)
    there = server("evidence.db")
    named = there.replace("127.0.0.1", "evidence.example")
    read_from(small, named)
    assert verify(small).level == "recomputed"
    ((host, header, extensions),) = asked
    assert host == public and header.startswith("evidence.example")
    assert extensions["sni_hostname"] == "evidence.example"
    read_from(small, named.replace("evidence.db", f"away?{there}"))
    (problem,) = verify(small).problems
    assert "in a private network" in problem and len(asked) == 2
