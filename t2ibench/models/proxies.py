"""Use the proxies of the environment, except for this machine, and name them in errors."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def ask_loopback_directly(address: str | None) -> None:
    """Exempt an address of this machine from the proxies that libraries use.

    Libraries read NO_PROXY themselves, each in its own way; so the variable is completed, where a
    proxy is set and the address is one of this machine.
    """
    host = urlsplit(address).hostname if address else None
    if not host or not is_loopback(host) or not any(map(_value_of, _VARIABLES)):
        return
    excluded = [name.strip() for name in getproxies().get("no", "").split(",")]
    complete = list(dict.fromkeys([*filter(None, excluded), *_LOOPBACK, host]))
    for variable in ("NO_PROXY", "no_proxy"):
        os.environ[variable] = ",".join(complete)


def is_loopback(host: str) -> bool:
    """Return whether a host name or an address is that of this machine.

    Examples:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "10.0.0.1")]
        [True, True, True, False]
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def proxy_of(address: str | None) -> tuple[str, str] | None:
    """Return the variable that sets an address's proxy, and the proxy without credentials.

    None if there is no proxy for it.
    """
    parts = urlsplit(address or "")
    if not parts.hostname or _is_excluded(parts.hostname):
        return None
    proxies = getproxies()
    for scheme in (parts.scheme, "all"):
        proxy = proxies.get(scheme)
        if proxy:
            return _variable(scheme), _without_credentials(proxy)
    return None


def proxy_variables() -> Iterable[str]:
    """Yield the names of the environment variables that set proxies now."""
    for variable in (*_VARIABLES, "NO_PROXY"):
        for name in (variable, variable.lower()):
            if os.environ.get(name):
                yield name


def through_proxy(address: str | None) -> str:
    """Return a clause that names the proxy of an address, for a message; '' without a proxy."""
    proxy = proxy_of(address)
    if proxy is None:
        return ""
    return f" through the proxy {proxy[1]} ({proxy[0]})"


def proxy_advice(address: str | None) -> str | None:
    """Return advice after a failed request through a proxy; None without a proxy."""
    proxy = proxy_of(address)
    if proxy is None:
        return None
    host = urlsplit(address or "").hostname
    return (
        f"Check the proxy that {proxy[0]} names, or put {host} into NO_PROXY to ask the server "
        "without it."
    )


def _is_excluded(host: str) -> bool:
    if "*" in [name.strip() for name in getproxies().get("no", "").split(",")]:
        return True
    return bool(proxy_bypass(host))


def _value_of(variable: str) -> str | None:
    return os.environ.get(variable.lower()) or os.environ.get(variable)


def _variable(scheme: str) -> str:
    upper = f"{scheme.upper()}_PROXY"
    for name in (upper.lower(), upper):
        if os.environ.get(name):
            return name
    return "the system's settings"


def _without_credentials(proxy: str) -> str:
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # a port that is no number
        port = ""
    return f"{parts.scheme}://{parts.hostname or '?'}{port}"
