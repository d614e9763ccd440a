"""Images from the pixels that a pipeline returns, checked for values that are no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from t2ibench.models.protocols import ALL_BLACK, GeneratedImage

if TYPE_CHECKING:
    import numpy.typing as npt

_WAY_OUT = "give --dtype float32 or bfloat16, whose numbers reach further"
_NOT_FINITE = {
    "float16": _WAY_OUT,
    "float32": "its weights or settings are at fault; check its files, and leave out lora, "
    "scheduler and guidance",
}
_PERHAPS_PRECISION = "its weights or settings are at fault, or --dtype float32 helps"


def checked_image(image: npt.NDArray[Any], unsafe: bool, dtype: str) -> GeneratedImage:
    """Return pixels of shape (h, w, 3), 0 to 1, as an image, or the reason why they are none."""
    import numpy as np
    from PIL import Image

    if not np.isfinite(image).all():
        way_out = _NOT_FINITE.get(dtype, _PERHAPS_PRECISION)
        return GeneratedImage(
            "failed",
            reason=f"the image has values that are not numbers in {dtype}: {way_out}",
        )
    if unsafe:
        return GeneratedImage("filtered", reason="the pipeline's safety checker")
    pixels = (image * 255).round().astype(np.uint8)
    if not pixels.any():
        return GeneratedImage("filtered", reason=ALL_BLACK)
    return GeneratedImage("ok", Image.fromarray(pixels))
