"""A server that speaks what huggingface_hub asks of the hub to make a repository and commit."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "hf_local_token"


@dataclass
class Hub:
    """Repositories in memory: 'datasets/OWNER/NAME' to path to content."""

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    pull_requests: dict[str, list[dict[str, bytes]]] = field(default_factory=dict)

    @property
    def app(self) -> Any:
        return Starlette(
            routes=[
                Route("/api/repos/create", self.create, methods=["POST"]),
                Route("/api/validate-yaml", self.validate, methods=["POST"]),
                Route("/api/{kind}/{o}/{n}/preupload/{rev}", self.preupload, methods=["POST"]),
                Route("/api/{kind}/{o}/{n}/commit/{rev}", self.commit, methods=["POST"]),
                Route("/datasets/{o}/{n}/resolve/{rev}/{path:path}", self.file, methods=["HEAD"]),
            ]
        )

    @staticmethod
    def _refused(request: Request) -> Response | None:
        if request.headers.get("authorization") == f"Bearer {TOKEN}":
            return None
        return JSONResponse({"error": "Invalid username or password."}, 401)

    async def create(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        asked = await request.json()
        owner = asked.get("organization") or "someone"
        repo = f"{asked['type']}s/{owner}/{asked['name']}"
        url = str(request.base_url) + repo
        if repo in self.repos:
            return JSONResponse({"error": "You already created this dataset repo", "url": url}, 409)
        self.repos[repo] = {}
        # What older and newer versions of huggingface_hub call it.
        self.private[repo] = bool(asked.get("private")) or asked.get("visibility") == "private"
        return JSONResponse({"url": url, "id": repo, "name": repo.partition("/")[2]})

    @staticmethod
    async def validate(request: Request) -> Response:
        _, front, _ = (await request.json())["content"].split("---\n", 2)
        ok = isinstance(yaml.safe_load(front), dict)
        errors = [] if ok else [{"message": "no mapping"}]
        return JSONResponse({"errors": errors, "warnings": []})

    @staticmethod
    def _repo(request: Request) -> str:
        at = request.path_params
        return f"{at.get('kind', 'datasets')}/{at['o']}/{at['n']}"

    async def preupload(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        if self._repo(request) not in self.repos:
            return _absent("RepoNotFound")
        files = [
            {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
            for one in (await request.json())["files"]
        ]
        return JSONResponse({"files": files})

    async def commit(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        repo = self._repo(request)
        lines = [json.loads(line) for line in (await request.body()).splitlines()]
        files = {
            line["value"]["path"]: base64.b64decode(line["value"]["content"])
            for line in lines
            if line["key"] == "file"
        }
        said = {"success": True, "commitOid": "c" * 40, "hookOutput": ""}
        base = str(request.base_url)
        said["commitUrl"] = f"{base}{repo}/commit/{'c' * 40}"
        if request.query_params.get("create_pr") == "1":
            opened = self.pull_requests.setdefault(repo, [])
            opened.append(files)
            said["pullRequestUrl"] = f"{base}{repo}/discussions/{len(opened)}"
        else:
            self.repos[repo] |= files
        return JSONResponse(said)

    async def file(self, request: Request) -> Response:
        content = self.repos.get(self._repo(request), {}).get(request.path_params["path"])
        if content is None:
            return _absent("EntryNotFound")
        headers = {"etag": '"e"', "x-repo-commit": "c" * 40, "content-length": str(len(content))}
        return Response(b"", headers=headers)


def _absent(code: str) -> Response:
    return Response(b"", 404, headers={"x-error-code": code})
