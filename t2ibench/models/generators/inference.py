"""The generator `hf:MODEL`: models of the hub that Hugging Face's providers serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.hosted import HostedArguments, HostedGenerator
from t2ibench.models.generators.image_server import (
    FIRST_ATTEMPTS,
    ImageCall,
    ImageServer,
    check_local,
)
from t2ibench.models.server_errors import UnusableServerError
from t2ibench.models.servers import Server, checked_address
from t2ibench.store.pixels import as_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

_OWN = {"num_inference_steps", "guidance_scale", "negative_prompt", "seed", "scheduler"}


class InferenceArguments(HostedArguments):
    """What --model-args are taken; see `HostedArguments`.

    Attributes:
        provider: Who serves the model, such as fal-ai, together or hf-inference; 'auto' takes the
            first of the user's own order.
        base_url: An Inference Endpoint, instead of a provider.
    """

    provider: str = "auto"


def _create(request: Request[InferenceArguments]) -> HostedGenerator:
    import huggingface_hub
    from huggingface_hub.errors import OfflineModeIsEnabled

    args = request.args
    if args.n > 1:
        raise T2IBenchError("--model-args: n: hf: gives one image a request.", "Leave n out.")
    address = checked_address(args.base_url) if args.base_url else None
    if request.recorded:
        check_local("hf", request.source, address)
    login = None if request.recorded else huggingface_hub.get_token()
    key = ApiKey("T2IBENCH_NO_KEY" if request.recorded else args.api_key_env or "HF_TOKEN", login)
    provider: Any = None if address else args.provider
    client = huggingface_hub.AsyncInferenceClient(
        model=address or request.source,
        provider=provider,
        token=key.value or None,
        timeout=float(args.timeout),
    )

    async def call(asked: ImageCall) -> Image:
        if not key and address is None:
            raise UnusableServerError(
                f"{request.spec} needs a token of Hugging Face, and {key.variable} is not set.",
                f"Set it with `export {key.variable}=…`, or run `hf auth login`.",
            )
        given = dict(asked.optional)
        width, _, height = str(given.pop("size", "")).partition("x")
        sides: dict[str, Any] = (
            {"width": int(width), "height": int(height)} if width.isdigit() else {}
        )
        own = {name: given.pop(name) for name in list(given) if name in _OWN}
        found = await client.text_to_image(asked.prompt, **sides, **own, extra_body=given or None)
        return as_rgb(found)

    server = Server(
        f"{request.spec} ({address or args.provider})",
        key,
        args,
        first_attempts=FIRST_ATTEMPTS,
        hopeless=(OfflineModeIsEnabled, ValueError, KeyError, ImportError, NotImplementedError),
    )
    settings = {"model": request.source, "url": address, "provider": args.provider}
    backend = ImageServer(server, call, args, settings)
    return HostedGenerator(request.spec, backend, args, request.seed)


ADAPTER = Adapter(
    create=_create,
    form="hf:MODEL",
    description="a model of the hub that a provider serves; --model-args provider=…",
    Args=InferenceArguments,
    libraries=("pillow",),
)
