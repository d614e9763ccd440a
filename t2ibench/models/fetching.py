"""Images that a server names by their address: from http(s) alone, bounded, and from where."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from t2ibench.models.api_key import ApiKey
from t2ibench.models.wire import BadReplyError, new_client, whole_body
from t2ibench.version import __version__

if TYPE_CHECKING:
    import httpx

_HOPS = 3
_PORTS = {"http": 80, "https": 443}


async def fetch_image(url: str, base_url: str, key: ApiKey, largest: int, timeout: float) -> bytes:
    """Get an image file from the address that a server named.

    The key goes to the server's own address alone. An address inside of a private network is
    asked only if the server is in one itself, so that no server can reach into the network that
    t2ibench runs in.
    """
    import httpx

    client = new_client()
    try:
        return await asyncio.wait_for(_followed(client, url, base_url, key, largest), timeout)
    except (TimeoutError, asyncio.TimeoutError, httpx.TimeoutException):
        raise BadReplyError(f"the image's address does not answer within {timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        raise BadReplyError(f"the image's address fails ({type(error).__name__})") from None
    finally:
        await client.aclose()


async def _followed(
    client: httpx.AsyncClient, url: str, base_url: str, key: ApiKey, largest: int
) -> bytes:
    base = urlsplit(base_url)
    for _ in range(_HOPS):
        url = urljoin(base_url + "/", url)
        parts = _checked(url)
        own = _origin(parts) == _origin(base)
        request = _request(client, parts, None, key) if own else await _pinned(client, parts, base)
        response = await client.send(request, stream=True)
        try:
            if response.status_code == 200:
                return await whole_body(response, largest)
            if response.status_code not in {301, 302, 303, 307, 308}:
                raise BadReplyError(f"the image's address replied {response.status_code}")
            url = urljoin(url, response.headers.get("location", ""))
        finally:
            await response.aclose()
    raise BadReplyError("the image's address redirects too often")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise BadReplyError("the image's address is not one of http or https")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)


async def _pinned(
    client: httpx.AsyncClient, parts: SplitResult, base: SplitResult
) -> httpx.Request:
    """A request to the very address that was checked, whatever the name means a moment later."""
    if any(not address.is_global for address in await _addresses(base)):
        return _request(client, parts, None, None)
    addresses = await _addresses(parts)
    if not addresses or any(not address.is_global for address in addresses):
        raise BadReplyError("the image's address is in a private network, and the server is not")
    return _request(client, parts, addresses[0], None)


async def _addresses(
    parts: SplitResult,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    port = parts.port or _PORTS.get(parts.scheme, 0)
    found = await asyncio.get_running_loop().getaddrinfo(
        parts.hostname, port, type=socket.SOCK_STREAM
    )
    return [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def _request(
    client: httpx.AsyncClient,
    parts: SplitResult,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None,
    key: ApiKey | None,
) -> httpx.Request:
    import httpx

    url = httpx.URL(parts.geturl())
    headers = {
        "Accept": "image/*",
        "Accept-Encoding": "gzip",
        "User-Agent": f"t2ibench/{__version__}",
        "Host": parts.netloc.rpartition("@")[2],
        **(key.headers() if key else {}),
    }
    extensions = {}
    if address is not None:
        url = url.copy_with(host=str(address))
        extensions["sni_hostname"] = parts.hostname or ""
    return client.build_request("GET", url, headers=headers, extensions=extensions)
