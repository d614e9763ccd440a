"""The client of `hf:MODEL`, with the bounds of every other one: redirects, sizes and formats."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any

from t2ibench.models.generators.image_replies import checked_file
from t2ibench.models.server_errors import BadReplyError
from t2ibench.models.servers import submit

if TYPE_CHECKING:
    from httpx import Request, Response
    from PIL.Image import Image


def bounded_inference_client(largest: int, **options: Any) -> Any:
    """Return a client of huggingface_hub that follows no redirect and bounds each reply.

    The library's own one would send the prompt, and the image to edit, wherever a server points,
    and read a reply without an end.

    Args:
        largest: Bytes of the largest reply that is read.
        **options: The arguments of `huggingface_hub.AsyncInferenceClient`.
    """
    from huggingface_hub import AsyncInferenceClient, constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    from t2ibench.models.http import BoundedClient

    class Connection(BoundedClient):
        """A bounded client to which a redirect is an error.

        Versions of the library that speak httpx themselves take its empty body for an image.
        """

        async def send(self, request: Request, **settings: Any) -> Response:
            response = await super().send(request, **settings)
            if response.is_redirect:
                response.raise_for_status()
            return response

    class Client(AsyncInferenceClient):
        bounded: BoundedClient | None = None

        async def _get_async_client(self) -> Any:
            # The library's own connection would say so.
            if constants.is_offline_mode():
                raise OfflineModeIsEnabled("HF_HUB_OFFLINE is set, so nobody is asked.")
            if self.bounded is None:
                # The library's own headers have the key.
                client = Connection(largest)
                self.bounded = client
                weakref.finalize(self, lambda: submit(client.aclose())).atexit = False
            return self.bounded

    return Client(**options)


async def file_within_bounds(opened: Image) -> bytes:
    """Return the file of an image that the library has opened, checked as other servers' are.

    The library opens a file of any format, of any size. It decodes nothing by that, and nothing is
    decoded here if the file is of a format that is not read, such as a program (EPS).

    Raises:
        BadReplyError: it cannot be read.
    """
    file = getattr(opened, "fp", None)
    if file is None:
        raise BadReplyError("the server's image cannot be read")
    file.seek(0)
    data: bytes = file.read()
    result = await asyncio.to_thread(checked_file, data)
    if result.status != "ok":
        raise BadReplyError(result.reason or "the server's image cannot be read")
    return data
