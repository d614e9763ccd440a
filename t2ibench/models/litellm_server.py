"""Ask models through LiteLLM, with the HTTP client of every other server."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.proxies import ask_loopback_directly
from t2ibench.models.servers import Server, ServerArguments, checked_address
from t2ibench.redaction import is_secret_name

_LARGEST_REPLY = 100_000_000  # bytes, unpacked; of images and chats alike
_EXTRA = "'t2ibench[litellm]'"
_HANDLERS = "litellm.llms.custom_httpx.http_handler"  # its classes of clients
# A provider whose requests LiteLLM sends with a client that it lets nobody replace.
_UNBOUNDED = "aiohttp_openai/"
_LONGEST = 600.0  # seconds of a request to which LiteLLM gives no timeout, as in LiteLLM itself


class LitellmServer(Server):
    """A model that LiteLLM reaches under LiteLLM's own name for it, such as bedrock/…."""

    def __init__(self, model: str, args: ServerArguments) -> None:
        if model.startswith(_UNBOUNDED):
            raise T2IBenchError(
                f"litellm:{model} is asked by a client that follows redirects and reads replies "
                "of any size.",
                f"Write litellm:openai/{model.removeprefix(_UNBOUNDED)}.",
            )
        self.library = _load_litellm()
        address = checked_address(args.base_url) if args.base_url else None
        ask_loopback_directly(address)
        # Values that LiteLLM may use as a key, and that a server could send back.
        secrets = [value for name, value in os.environ.items() if is_secret_name(name)]
        super().__init__(
            address or f"litellm:{model}",
            ApiKey(args.api_key_env or "T2IBENCH_LITELLM_KEY", also=secrets),
            args,
            address=address,
            code_of=lambda error: (
                "content_policy_violation"
                if isinstance(
                    error, self.library.exceptions.ContentPolicyViolationError
                )
                else None
            ),
            hopeless=(ImportError, NotImplementedError),
        )
        self._given = {
            "model": model,
            "api_base": self.address,
            "timeout": float(args.timeout),
        }

    def given(self) -> dict[str, Any]:
        """Return the arguments that every call of LiteLLM gets, among them the key."""
        return {**self._given, "api_key": self.key.value or None, "max_retries": 0}


def _load_litellm() -> Any:
    """Return LiteLLM, imported; raise T2IBenchError if it is not installed."""
    # LiteLLM has a table of prices; without this, its import downloads another.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")  # an extra
    except ImportError as error:
        if error.name != "litellm":
            raise
        raise T2IBenchError(
            "litellm:MODEL needs LiteLLM, which is not installed.",
            f"pip install {_EXTRA}",
        ) from None
    litellm.suppress_debug_info = True
    _bound_clients(litellm)
    return litellm


def _bound_clients(litellm: Any) -> None:
    """Let LiteLLM ask every provider with clients that follow no redirect and bound replies.

    A client that is given to a call has another type for each kind of provider, and some providers
    ignore it. So what LiteLLM makes its clients with is replaced, for this process: a session for
    servers of OpenAI's kind, unless the user has given one, and a method of two classes for all
    other providers.
    """
    from t2ibench.models.http import BoundedClient, BoundedSyncClient

    if getattr(litellm, "aclient_session", None) is None:
        litellm.aclient_session = BoundedClient(_LARGEST_REPLY)
    handlers = _import_handlers()
    clients = {"AsyncHTTPHandler": BoundedClient, "HTTPHandler": BoundedSyncClient}
    for name, client_class in clients.items():
        handler_class: Any = getattr(handlers, name, None)
        replaced = getattr(handler_class, "create_client", None)
        if replaced is None:
            raise T2IBenchError(
                f"LiteLLM {_version()} makes its HTTP clients in a way that t2ibench does not "
                "know, so they might follow redirects.",
                f"Upgrade both with `pip install -U {_EXTRA}`.",
            )
        if replaced.__module__ != __name__:
            handler_class.create_client = _maker(client_class, litellm, handlers)
            # Clients that were made before would be used on.
            litellm.in_memory_llm_clients_cache.flush_cache()


def _import_handlers() -> Any:
    """Return the module with LiteLLM's classes of clients; None if this version has none."""
    with suppress(ModuleNotFoundError):
        return importlib.import_module(_HANDLERS)
    return None


def _maker(client_class: Callable[..., Any], litellm: Any, handlers: Any) -> Any:
    """Return the method that makes a bounded client, with LiteLLM's other settings.

    Some providers give their timeout to the client alone: without it, a thread would wait for ever.
    """
    import httpx

    from t2ibench.models.http import CONNECT

    usual = httpx.Timeout(_LONGEST, connect=CONNECT)

    def create_client(handler: Any, *_: Any, **__: Any) -> Any:
        timeout = getattr(handler, "timeout", None)
        return client_class(
            _LARGEST_REPLY,
            timeout=usual if timeout is None else timeout,
            event_hooks=getattr(handler, "event_hooks", None),
            verify=handlers.get_ssl_configuration(handler.ssl_verify),
            cert=os.getenv("SSL_CERTIFICATE", litellm.ssl_certificate),
        )

    return create_client


def _version() -> str:
    """Return the version of LiteLLM that is installed."""
    with suppress(PackageNotFoundError):
        return version("litellm")
    return "of an unknown version"
