"""Serve any model of t2ibench as an images API: POST /v1/images/generations, as OpenAI has it.

    python examples/images_server.py --model toy --port 8001
    t2ibench --model openai:toy --model-args base_url=http://127.0.0.1:8001/v1 --tasks t2iat

A model on a machine with a GPU can so be measured from another one. Requests that come together are
generated together; an image depends on its own prompt and seed alone.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import io
import secrets
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from t2ibench.plugins import (
    GeneratedImage,
    Generator,
    ImageRequest,
    create_generator,
)

_FIELDS = {
    "model",
    "prompt",
    "n",
    "size",
    "seed",
    "response_format",
    "output_format",
    "user",
}


class Batches:
    """Puts requests that wait for the same model into one call of it.

    Args:
        generator: The model.
        most: Images in one call.
    """

    def __init__(self, generator: Generator, most: int) -> None:
        self._generator = generator
        self._most = most
        self._waiting: asyncio.Queue[
            tuple[ImageRequest, asyncio.Future[GeneratedImage]]
        ] = asyncio.Queue()

    async def generate(self, prompt: str, seed: int) -> GeneratedImage:
        """One image, as soon as the model comes to it."""
        future: asyncio.Future[GeneratedImage] = (
            asyncio.get_running_loop().create_future()
        )
        await self._waiting.put((ImageRequest(prompt, 0, seed), future))
        return await future

    async def work(self) -> None:
        """Call the model for ever."""
        while True:
            batch = [await self._waiting.get()]
            await asyncio.sleep(0.005)  # requests that were sent together come together
            while len(batch) < self._most and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            requests = [request for request, _ in batch]
            try:
                found = await asyncio.to_thread(self._generator.generate, requests)
            except Exception as error:
                found = [
                    GeneratedImage("failed", reason=f"{type(error).__name__}: {error}")
                ] * len(batch)
            for (_, future), drawn in zip(batch, found, strict=True):
                if not future.done():  # whoever asked may have gone
                    future.set_result(drawn)


def _error(
    status: int, message: str, code: str, param: str | None = None
) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "code": code, "param": param}
    return JSONResponse({"error": error}, status)


def images_app(model: str, generator: Generator) -> Starlette:
    """The API of one model.

    Args:
        model: Its name, which requests have to give.
        generator: The model.

    Returns:
        An ASGI application.
    """
    batches = Batches(generator, generator.batch_size)

    async def generations(request: Request) -> JSONResponse:
        body: dict[str, Any] = await request.json()
        unknown = sorted(set(body) - _FIELDS)
        if unknown:
            words = f"Unknown parameter: '{unknown[0]}'."
            return _error(400, words, "unknown_parameter", unknown[0])
        if body.get("model", model) != model:
            words = f"The model '{body['model']}' does not exist."
            return _error(404, words, "model_not_found", "model")
        prompt, number = body.get("prompt"), body.get("n") or 1
        if (
            not isinstance(prompt, str)
            or not isinstance(number, int)
            or not 1 <= number <= 16
        ):
            return _error(
                400, "'prompt' is text, 'n' is from 1 to 16.", "invalid_value"
            )
        first = body.get("seed")
        seeds = [
            secrets.randbits(63) if first is None else first + i for i in range(number)
        ]
        found = await asyncio.gather(
            *(batches.generate(prompt, seed) for seed in seeds)
        )
        data = []
        for drawn in found:
            if drawn.status == "failed":
                return _error(500, drawn.reason or "it failed", "server_error")
            if drawn.image is None:
                return _error(
                    400, drawn.reason or "declined", "content_policy_violation"
                )
            buffer = io.BytesIO()
            drawn.image.save(buffer, format="PNG", compress_level=1)
            data.append({"b64_json": base64.b64encode(buffer.getvalue()).decode()})
        return JSONResponse({"created": 0, "data": data})

    async def models(_: Request) -> JSONResponse:
        return JSONResponse(
            {"object": "list", "data": [{"id": model, "object": "model"}]}
        )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        worker = asyncio.create_task(batches.work())
        yield
        worker.cancel()

    routes = [
        Route("/v1/images/generations", generations, methods=["POST"]),
        Route("/v1/models", models),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def main() -> None:
    """Serve the model that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="toy", help="as --model of t2ibench (toy)")
    parser.add_argument("--name", help="what requests call it (the same)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    given = parser.parse_args()
    app = images_app(given.name or given.model, create_generator(given.model))
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
