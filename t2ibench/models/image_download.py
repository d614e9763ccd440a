"""Download images from addresses in replies, safely: http(s) only, of limited size."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from t2ibench.models import servers
from t2ibench.models.api_key import ApiKey
from t2ibench.models.http import BoundedClient
from t2ibench.models.proxies import ask_loopback_directly
from t2ibench.models.server_errors import ANSWERED, BadReplyError
from t2ibench.models.server_states import is_busy

_HOPS = 3
_WAITS = (0.5, 2.0, 5.0)  # seconds before an address that is busy is asked again
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}


async def fetch_image(
    url: str, base_url: str, key: ApiKey, largest: int, timeout: float
) -> bytes:
    """Return an image file, downloaded from the address in a server's reply.

    The key goes to the server's own address alone. An address inside of a private network is
    asked only if the server is in one itself, so that no server can reach into the network that
    t2ibench runs in.
    """
    ask_loopback_directly(url)
    try:
        async with BoundedClient(largest) as client:
            return await asyncio.wait_for(
                _with_retries(client, url, base_url, key), timeout
            )
    except (TimeoutError, asyncio.TimeoutError):
        raise BadReplyError(
            f"the image's address does not answer within {timeout:g} s"
        ) from None
    except BadReplyError:
        raise
    except Exception as error:
        raise BadReplyError(
            f"the image's address fails ({type(error).__name__})"
        ) from None


class _BusyAddressError(BadReplyError):
    """Raised while the image is not available at its address yet."""


async def _with_retries(
    client: BoundedClient, url: str, base_url: str, key: ApiKey
) -> bytes:
    """Return a downloaded image; retry if its address is busy, because it has been paid for."""
    for wait in _WAITS:
        try:
            return await _followed(client, url, base_url, key)
        except _BusyAddressError:
            await servers.pause(wait)
    return await _followed(client, url, base_url, key)


async def _followed(
    client: BoundedClient, url: str, base_url: str, key: ApiKey
) -> bytes:
    base = urlsplit(base_url)
    for _ in range(_HOPS):
        url = urljoin(base_url + "/", url)
        parts = _checked(url)
        same_origin = _origin(parts) == _origin(base)
        address = None if same_origin else await _public_address(parts, base)
        headers = {"Accept": "image/*", "Host": parts.netloc}
        extensions: dict[str, Any] = {}
        # Connect to the address that was checked, even if the name resolves differently by now.
        if address is not None:
            extensions["sni_hostname"] = parts.hostname
        request = client.build_request(
            "GET",
            url,
            headers={**headers, **(key.headers() if same_origin else {})},
            extensions=extensions,
        )
        if address is not None:
            request.url = request.url.copy_with(host=address)
        response = await client.send(request)
        if response.status_code in ANSWERED:
            return response.content
        if is_busy(response.status_code, ()):
            raise _BusyAddressError(
                f"the image's address replied {response.status_code}"
            )
        if response.status_code not in {301, 302, 303, 307, 308}:
            raise BadReplyError(f"the image's address replied {response.status_code}")
        url = urljoin(url, response.headers.get("location", ""))
    raise BadReplyError("the image's address redirects too often")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise BadReplyError("the image's address is not one of http or https")
    if "@" in parts.netloc:
        # It would be sent as a password, to a host that a stranger chose.
        raise BadReplyError("the image's address has a user's name or a password in it")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)


async def _public_address(parts: SplitResult, base: SplitResult) -> str | None:
    """Return the public IP address to connect to; None if the server is in a private network.

    A name may have addresses of both kinds, such as a public one and one of an IPv6 network of its
    own (ULA). Such a server is no private one: else any server could say that it is, by a further
    address of its name. Such an image is fetched from its public address, to which the connection
    goes whatever the name says by then.
    """
    if not any(map(is_public, await _addresses(base))):
        return None
    public = [address for address in await _addresses(parts) if is_public(address)]
    if not public:
        raise BadReplyError(
            "the image's address is in a private network, and the server is not"
        )
    return public[0]


async def _addresses(parts: SplitResult) -> list[str]:
    """Return the IP addresses to which the host in an address currently resolves."""
    host, port = parts.hostname or "", _origin(parts)[2]
    ask = asyncio.get_running_loop().getaddrinfo
    results = await ask(host, port, type=socket.SOCK_STREAM)
    return list(
        dict.fromkeys(str(result[4][0]).partition("%")[0] for result in results)
    )


def is_public(address: str) -> bool:
    """Return whether an address is outside of private, link-local and other special networks.

    Examples:
        >>> addresses = ("93.184.216.34", "169.254.169.254", "::ffff:10.0.0.1")
        >>> [is_public(address) for address in addresses]
        [True, False, False]
    """
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
