"""The generator `litellm:MODEL`: what LiteLLM reaches, such as Bedrock, Vertex AI or Azure."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_replies import Images, read_item
from t2ibench.models.generators.library import Library, LibraryImages
from t2ibench.models.http import checked_address

_SECRET = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")


class LitellmArguments(HostedArguments):
    """What --model-args are taken; see `HostedArguments`.

    Attributes:
        api_key_env: Variable of the key; None leaves it to LiteLLM, which reads the provider's own.
    """

    api_key_env: str = "T2IBENCH_LITELLM_KEY"


def _library() -> Any:
    # Its table of prices comes with it; without this, the import asks the network for another.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")  # an extra
    except ImportError as error:
        if error.name != "litellm":
            raise
        raise T2IBenchError(
            "litellm:MODEL needs LiteLLM, which is not installed.",
            "pip install 't2ibench[litellm]'",
        ) from None
    litellm.suppress_debug_info = True
    return litellm


def _images(response: Any, prompt: str) -> Images:
    items = tuple(
        read_item(
            {name: getattr(row, name, None) for name in ("b64_json", "url", "revised_prompt")},
            prompt,
        )
        for row in response.data or ()
    )
    cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    # 0 is what it says of a model that its table does not have.
    return Images(items, float(cost) if isinstance(cost, (int, float)) and cost > 0 else None)


def _create(request: Request[LitellmArguments]) -> HostedGenerator:
    if request.recorded:
        raise T2IBenchError(
            f"litellm:{shown(request.source)} is on a server, and its name comes from a stored "
            "file, so it is not asked: that may cost money.",
            "Name it yourself with --model.",
        )
    litellm, args = _library(), request.args
    address = checked_address(args.base_url) if args.base_url else None
    own = ApiKey(args.api_key_env, also=_secrets())
    own_key = own.headers().get("Authorization", "").removeprefix("Bearer ") or None

    def call(prompt: str, n: int, optional: Mapping[str, Any]) -> Images:
        further = {"api_key": own_key} if own_key else {}
        response = litellm.image_generation(
            prompt=prompt,
            model=request.source,
            n=n,
            api_base=address,
            timeout=float(args.timeout),
            max_retries=0,
            **further,
            **optional,
        )
        return _images(response, prompt)

    def code_of(error: Exception) -> str | None:
        blocked = isinstance(error, litellm.exceptions.ContentPolicyViolationError)
        return "content_policy_violation" if blocked else None

    library = Library(call, code_of, (ImportError, NotImplementedError))
    prices = litellm.model_cost.get(request.source, {})
    known = prices.get("output_cost_per_image") or prices.get("input_cost_per_image")
    price = None if known is None else float(known)
    settings = {"model": request.source, "url": address, "library": "litellm"}
    backend = LibraryImages(library, request.spec, own, args, settings, price)
    return HostedGenerator(request.spec, backend, args, request.seed)


def _secrets() -> list[str]:
    """What LiteLLM may take for a key, and a server could send back."""
    return [value for name, value in os.environ.items() if name.upper().endswith(_SECRET)]


ADAPTER = Adapter(
    create=_create,
    form="litellm:MODEL",
    description="whatever LiteLLM reaches; pip install t2ibench[litellm]",
    Args=LitellmArguments,
    libraries=("pillow",),
)
