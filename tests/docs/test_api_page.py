"""The page of the Python API names all that can be imported."""

from __future__ import annotations

import t2ibench
from tools.docsite import api


def test_every_public_name_is_on_the_page_of_the_api() -> None:
    (page,) = api.pages().values()
    assert isinstance(page, str)
    public = set(t2ibench.__all__) - {"__version__"}
    assert not {name for name in public if f".{name}\n" not in page}
