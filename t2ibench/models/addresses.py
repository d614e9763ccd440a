"""Whether an address that somebody else names is one of the open web: one check for all of them."""

from __future__ import annotations

import ipaddress
import socket

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def addresses(host: str, port: int) -> list[str]:
    """What a name means now."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))


def is_public(address: str) -> bool:
    """Whether an address is outside of private, link-local and other special networks.

    Examples:
        >>> [is_public(one) for one in ("93.184.216.34", "169.254.169.254", "::ffff:10.0.0.1")]
        [True, False, False]
    """
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast
