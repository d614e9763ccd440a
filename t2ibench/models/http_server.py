"""A server that is asked over HTTP, without a client library of its own."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from t2ibench.models.api_key import ApiKey
from t2ibench.models.proxies import ask_loopback_directly
from t2ibench.models.server_errors import BadReplyError, Reply, ServerAwayError
from t2ibench.models.servers import Server, ServerArguments, checked_address, submit

_ACCEPTED = 202  # the status of a request that is answered later, elsewhere


@dataclass(frozen=True, slots=True)
class Form:
    """A form with files (multipart), as a request's body.

    Attributes:
        fields: Its fields, as texts.
        files: Its files by field, each with name, bytes and media type.
    """

    fields: Mapping[str, str]
    files: Mapping[str, tuple[str, bytes, str]]


class HttpServer(Server):
    """A server of JSON, with the retries, waits and limits of every other one.

    Args:
        address: Its address.
        key: Its key.
        args: Its arguments.
        needs_key: Whether it answers nobody without a key.
    """

    def __init__(
        self, address: str, key: ApiKey, args: ServerArguments, needs_key: bool = False
    ) -> None:
        self.base_url = checked_address(address)
        ask_loopback_directly(self.base_url)
        super().__init__(self.base_url, key, args, address=self.base_url)
        self._largest = args.largest_reply
        self._needs_key = needs_key
        self._client: Any = None

    def check_access(self) -> None:
        """Raise an error if the server needs a key and there is none."""
        if self._needs_key and not self.key:
            name = self.key.variable
            raise ServerAwayError(
                f"{self.where} needs an API key, and {name} is not set.",
                f"Set it with `export {name}=…`.",
            )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        form: Form | None = None,
        headers: Mapping[str, str] | None = None,
        largest: int | None = None,
    ) -> bytes:
        """Return the body of a good reply, asked once; raise httpx.HTTPStatusError for another.

        A reply has at most `largest` bytes; None for the largest of all replies of this server.
        """
        from t2ibench.models.http import LARGEST, BoundedClient

        if self._client is None:
            client = BoundedClient(self._largest, self.key)
            self._client = client
            weakref.finalize(self, lambda: submit(client.aclose())).atexit = False
        response = await self._client.request(
            method,
            self.base_url + path,
            params=query,
            json=body,
            data=None if form is None else form.fields,
            files=None if form is None else form.files,
            headers=headers,
            extensions={LARGEST: self._largest if largest is None else largest},
        )
        response.raise_for_status()
        if response.status_code == _ACCEPTED:
            raise BadReplyError("the server has no answer yet (202)")
        content: bytes = response.content
        return content

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        form: Form | None = None,
        largest: int | None = None,
    ) -> bytes | Reply:
        """Return the body of a good reply, or the reply that is an error; retry a busy server."""
        return await self.ask(
            lambda: self.request(
                method, path, query=query, body=body, form=form, largest=largest
            )
        )
