"""Make the edits that a run makes itself, as negative controls of a model's edits."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from t2ibench.methods.core.computed_edits import (
    JPEG_QUALITY,
    ComputedEdit,
    computed_edit,
)
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import read_image

if TYPE_CHECKING:
    from PIL.Image import Image

# The share of its sides that an image keeps before it is enlarged again.
_SMALLER = 0.75


def is_computed(request: ImageRequest) -> bool:
    """Return whether a run makes an image itself, from its source image alone."""
    return request.source is not None and computed_edit(request.prompt) is not None


def computed_image(request: ImageRequest) -> GeneratedImage:
    """Return the source image of a request, saved again or resized as its instruction says."""
    edit = computed_edit(request.prompt)
    assert edit is not None and request.source is not None
    try:
        source = request.source.read()
    except UnreadableImageError as error:
        reason = f"the source image could not be read: {error}"
        return GeneratedImage("failed", reason=reason)
    return GeneratedImage("ok", unchanged(source, edit))


def unchanged(source: Image, edit: ComputedEdit) -> Image:
    """Return an image that shows what another one shows: as a JPEG of it, or resized and back."""
    if edit == "saved again":
        buffer = io.BytesIO()
        source.save(buffer, format="JPEG", quality=JPEG_QUALITY)
        return read_image(buffer.getvalue())
    width, height = source.size
    smaller = source.resize(
        (max(1, round(_SMALLER * width)), max(1, round(_SMALLER * height)))
    )
    return smaller.resize((width, height))
