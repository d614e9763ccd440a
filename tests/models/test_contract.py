"""Every adapter that can run here keeps its contract, and broken ones are told what they break."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.contract import check_encoder, check_generator, check_judge
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import create_generator
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Answer, GeneratedImage, ImageRequest, Query
from tests.models import tiny
from tests.models.parts import Flat, Grey, Yes, digest

pytestmark = pytest.mark.networks


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("toyland", {"nurse.gender.female": "0.1"}),
        pytest.param("toy", {"steps": "1"}, marks=pytest.mark.nightly),
    ],
)
def test_generators_compared_to_the_byte(name: str, other: dict[str, str]) -> None:
    first = {} if name == "toyland" else {"steps": "2"}
    assert not check_generator(
        lambda: create_generator(name, first, device="cpu"),
        make_other=lambda: create_generator(name, other, device="cpu"),
    )


def test_a_folder_of_images(tmp_path: Path) -> None:
    for word in ("rose", "ant"):
        (tmp_path / f"a_{word}").mkdir()
        for number, image in enumerate(tiny.images(2)):
            image.rotate(len(word)).save(tmp_path / f"a_{word}" / f"{number}.png")
    assert not check_generator(
        lambda: create_generator(f"folder:{tmp_path}"),
        prompts=["a rose", "an ant", "a ant"],
    )


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    rows = {"man": "1 0 0.5", "woman": "-1 0 0.5", "flower": "0 2 1"}
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {numbers}\n" for word, numbers in rows.items()))
    return f"vectors:{path}"


def test_encoders_without_torch(vectors: str) -> None:
    for spec in ("toyland", vectors):
        assert not check_encoder(lambda: create_encoder(spec, device="cpu")), spec  # noqa: B023


@pytest.mark.slow
def test_encoders(tmp_path: Path) -> None:
    architecture, weights = tiny.open_clip_model(tmp_path / "open_clip")
    clip = tiny.clip_model(tmp_path / "clip")
    for spec in ("toy-clip", f"clip:{clip}", f"open_clip:{architecture}/{weights}"):
        make = partial(create_encoder, spec, device="cpu")
        assert not check_encoder(make, make_other=partial(make, dtype="bfloat16")), spec


def judge(spec: str, args: dict[str, str] | None = None) -> Any:
    return create_judges([spec], args, device="cpu", encoders=["toyland"])[0]


def test_judges(tmp_path: Path) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("prompt,index,answer\na photo of a person,0,male\n")
    assert not check_judge(lambda: judge("toyland"))
    assert not check_judge(lambda: judge(f"answers:{answers}"))
    assert not check_judge(
        lambda: judge("clip"),
        make_other=lambda: judge("clip", {"margin": "0.3"}),
        free_text=False,
    )


@pytest.mark.slow
def test_a_vision_language_model(tmp_path: Path) -> None:
    vlm = tiny.llava(tmp_path / "llava")
    assert not check_judge(
        lambda: judge(f"vlm:{vlm}", {"max_tokens": "4"}),
        make_other=lambda: judge(f"vlm:{vlm}", {"max_tokens": "5"}),
    )


class Coloured(Grey):
    """A good generator: its image depends on prompt and seed."""

    def image(self, request: ImageRequest) -> Image.Image:
        value = int(digest(request.prompt, request.seed)[:2], 16)
        return Image.new("RGB", (8, 8), (value, 10, 10))

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [GeneratedImage("ok", self.image(request)) for request in requests]


class Reversed(Coloured):
    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return super().generate(requests[::-1])


def generating(generate: Callable[..., list[GeneratedImage]]) -> type[Coloured]:
    return type("Bad", (Coloured,), {"generate": generate})


def drawing(image: Callable[[ImageRequest], Image.Image]) -> type[Coloured]:
    return generating(
        lambda self, requests: [GeneratedImage("ok", image(one)) for one in requests]
    )


def batchy(_: Any, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
    return [
        GeneratedImage("ok", Image.new("RGB", (8, 8), (len(requests), 0, 0)))
        for _ in requests
    ]


def prudish(self: Coloured, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
    if not all(request.prompt for request in requests):
        raise ValueError("no prompt\nat all")
    return Coloured.generate(self, requests)


Batchy, Prudish = generating(batchy), generating(prudish)
Silent = generating(lambda _, requests: [GeneratedImage("refused") for _ in requests])
Short = generating(lambda one, requests: Coloured.generate(one, requests[:2]))
Transparent = drawing(lambda _: Image.new("RGBA", (8, 8), "red"))


class Timely(Coloured):
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Timely.made += 1
        self.fingerprint = digest(Timely.made)
        self.settings = {"size": (1, 2)}
        self.batch_size = 0


class Nameless:
    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return []


@pytest.mark.parametrize(
    ("kind", "messages"),
    [
        (Coloured, []),
        (Reversed, ["each must depend on its own request only, and be in its place"]),
        (
            Batchy,
            [
                "a batch of 3 differ by up to 2 of 255 levels",
                "each must depend on its own request only",
            ],
        ),
        (
            Prudish,
            [
                "generate() of 1 requests for the empty text raises ValueError: no prompt"
            ],
        ),
        (Silent, ["'refused' without a reason", "none of the prompts gives an image"]),
        (Short, ["returns 2 results for 3 requests"]),
        (Transparent, ["has the mode RGBA; expected RGB"]),
        (
            Timely,
            [
                "fingerprint differs between two",
                "expected a mapping of JSON",
                "batch_size is 0",
            ],
        ),
        (
            Nameless,
            ["name is missing", "fingerprint is missing", "available is missing"],
        ),
    ],
)
def test_broken_generators(kind: type[Any], messages: list[str]) -> None:
    lines = check_generator(kind)
    assert all(any(message in line for line in lines) for message in messages), lines
    assert bool(lines) == bool(messages) and not any("\n" in line for line in lines)


def test_a_fingerprint_that_forgets_an_argument() -> None:
    (line,) = check_generator(Coloured, make_other=Coloured)
    assert "the same with other arguments" in line
    assert not check_generator(Coloured, make_other=lambda: Coloured(3))


class Rows(Flat):
    """A good encoder: mean colour, and a hash of the text."""

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        rows = [np.asarray(image, dtype=float).mean(axis=(0, 1)) for image in prepared]
        return self.unit(np.array(rows))

    def encode_texts(self, texts: Sequence[str]) -> Any:
        return self.unit(
            np.array(
                [[int(digest(text)[i], 16) + 1 for i in range(3)] for text in texts]
            )
        )

    def unit(self, rows: Any) -> Any:
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def embedding(**members: Callable[..., Any]) -> type[Rows]:
    return type("Bad", (Rows,), members)


Long = embedding(unit=lambda _, rows: rows.astype(np.float32))
Doubles = embedding(
    unit=lambda _, rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
)
Unsorted = embedding(
    encode_texts=lambda one, texts: Rows.encode_texts(one, sorted(texts))
)


class Centred(Rows):
    def encode_images(self, prepared: Sequence[Any]) -> Any:
        rows = super().encode_images(prepared)
        return self.unit(rows + rows.mean(axis=0) + [0, 0, len(rows)])


class Zeros(Rows):
    def encode_texts(self, texts: Sequence[str]) -> Any:
        rows = super().encode_texts(texts)
        rows[[text == "qzxv" for text in texts]] = 0  # should be NaN
        return rows


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Rows, None),
        (Long, "not of unit length"),
        (Doubles, "gives float64 of shape (1, 3); expected a float32 array"),
        (Unsorted, "and be in its place"),
        (Centred, "each must depend on its own request only"),
        (Zeros, "row of NaN for a missing embedding"),
    ],
)
def test_broken_encoders(kind: type[Any], message: str | None) -> None:
    lines = check_encoder(kind)
    assert any(message in line for line in lines) if message else not lines, lines


def answering(answer: Answer) -> type[Yes]:
    return type("Bad", (Yes,), {"answer": lambda _, queries: [answer] * len(queries)})


Poetic, Mute = answering(Answer("a rose by any other name")), answering(Answer(None))


class Counting(Yes):
    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        return [
            Answer(query.classes[min(place, 1)] if query.classes else "x")
            for place, query in enumerate(queries)
        ]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Yes, None),
        (Poetic, "is none of the classes male, female and not 'unknown'"),
        (Counting, "each must depend on its own request only"),
        (Mute, "neither an answer nor a reason"),
    ],
)
def test_broken_judges(kind: type[Any], message: str | None) -> None:
    lines = check_judge(kind)
    assert any(message in line for line in lines) if message else not lines, lines


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*words: str) -> tuple[int, str]:
        status = main(["check", "adapter", *words])
        return status, "".join(capsys.readouterr())

    return run


def test_the_command(check: Callable[..., tuple[int, str]], vectors: str) -> None:
    here = "tests.models.test_contract"
    status, said = check("toyland")
    assert status == 0 and said.endswith(
        "toyland: meets the contract of a generator.\n"
    )
    assert check(vectors)[1].endswith("meets the contract of an encoder.\n")
    assert (
        check("clip", "--model-args", "margin=0.2", "--other-args", "margin=0.3")[0]
        == 0
    )
    status, said = check(f"{here}:Reversed")
    assert (
        status == 1 and "be in its place" in said and "1 problem found" not in said[:20]
    )
    status, said = check(f"{here}:Zeros", "--kind", "encoder")
    assert status == 1 and "not of unit length" in said
    status, said = check("toylnd")
    assert status == 1 and "Did you mean 'toyland'" in said and "\n" not in said.strip()
    status, said = check("toyland", "--model-args", "nurze.gender.female=1")
    assert status == 1 and "Did you mean 'nurse'" in said


class Faded:
    """Fades source images to a grey that the seed gives; `wrong` says what it does wrongly."""

    name = "faded"
    settings: ClassVar[Mapping[str, Any]] = {}
    revision = None
    batch_size = 4
    fingerprint = digest("faded")

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong

    def check_edits(self) -> None:
        if self.wrong == "declines":
            raise T2IBenchError("faded takes no source image.")

    def available(self, prompt: str) -> int | None:
        return None

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        if self.wrong == "breaks":
            raise ValueError("oh")
        if any(request.source is None for request in requests):
            raise T2IBenchError("It edits only.", "Give --sources MODEL.")
        made = [self._edited(request) for request in requests]
        return made[::-1] if self.wrong == "turns" else made

    def _edited(self, request: ImageRequest) -> GeneratedImage:
        assert request.source is not None
        if self.wrong == "fails":
            return GeneratedImage("failed", reason="no memory")
        before = request.source.read()
        grey = Image.new("RGB", before.size, (request.seed % 256,) * 3)
        return GeneratedImage("ok", Image.blend(before, grey, 0.5))


@pytest.mark.parametrize(
    ("wrong", "line", "note"),
    [
        ("", None, "Edits of 2 source images were tried, too."),
        (
            "turns",
            "in a batch of 3 differ",
            "Edits of 2 source images were tried, too.",
        ),
        ("fails", "none of the edits gives an image", "Edits of 2 source images were"),
        (
            "breaks",
            "raises ValueError: oh",
            "Edits of 2 source images were tried, too.",
        ),
        (
            "declines",
            "raises T2IBenchError: It edits only",
            "Edits were not tried: faded",
        ),
    ],
)
def test_edits_are_tried_where_a_generator_edits(
    wrong: str, line: str | None, note: str
) -> None:
    notes: list[str] = []
    lines = check_generator(lambda: Faded(wrong), tell=notes.append)
    assert note in notes[0] and len(notes) == 1
    assert lines == [] if line is None else any(line in text for text in lines), lines
