"""What is said of tables whose indexes of images count from 1, as spreadsheets do."""

from __future__ import annotations

from collections.abc import Collection

from t2ibench.errors import T2IBenchError, shown


def counted_from_one(
    where: str, indexes: Collection[int], prompt: str, n_images: int, hint: str
) -> T2IBenchError:
    """Return the error for a table whose rows would each be read for the image behind their own.

    Args:
        where: The table, for the message.
        indexes: All indexes in it.
        prompt: A prompt of which the table has an index too many.
        n_images: The number of its images.
        hint: What the user can do.
    """
    return T2IBenchError(
        f"{where}: its indexes are 1 to {max(indexes)}, but the first image of a prompt is 0: "
        f"'{shown(prompt)}' has {n_images} images.",
        hint,
    )
