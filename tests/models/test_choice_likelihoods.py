"""Reading an image once gives what reading it for every class gives, on several architectures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.models.adapter import Request
from t2ibench.models.judges.choice_likelihoods import Scored, SharedPasses
from t2ibench.models.judges.replies import instruction
from t2ibench.models.judges.vlm import VlmArguments, VlmJudge
from t2ibench.models.protocols import Answer, Query, QueryOfFile
from t2ibench.store.image_headers import UnreadableImageError
from tests.models import tiny, tiny_vlms

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

CLASSES = ("male", "female", "a person of another gender", "a")
QUESTIONS = {"Which?": CLASSES, "What is the weather in the image?": ("sunny", "rainy")}
SIZES = [(48, 48), (64, 40), (140, 40), (40, 72)]


# A plain one, and one whose positions have three axes; every night the others, too.
EVERY_TIME = ("llava", "qwen2_vl")
NIGHTLY = [name for name in tiny_vlms.VLMS if name not in EVERY_TIME]


@pytest.fixture(
    scope="module",
    params=[
        *EVERY_TIME,
        *(pytest.param(name, marks=pytest.mark.nightly) for name in NIGHTLY),
    ],
)
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    name = str(request.param)
    return tiny_vlms.save(name, tmp_path_factory.mktemp(name))


def make(folder: Path, dtype: str = "float32") -> tuple[VlmJudge, list[str]]:
    """A judge, and what it says about itself."""
    request = Request(
        f"vlm:{folder}", str(folder), VlmArguments(), device="cpu", dtype=dtype
    )
    judge, said = VlmJudge(request), list[str]()
    judge.report_waits(said.append)
    return judge, said


def queries() -> list[Query]:
    """Two questions about each of four images, each of another size."""
    images = [
        image.resize(size) for image, size in zip(tiny.images(4), SIZES, strict=True)
    ]
    return [
        Query(image, "p", number, str(number), question, classes)
        for number, image in enumerate(images)
        for question, classes in QUESTIONS.items()
    ]


def one_pass_a_class(
    folder: Path, asked: Sequence[Query], dtype: str
) -> list[dict[str, float]]:
    """Mean log-probability of every class: a forward pass each, without a cache, by hand."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    kind = getattr(torch, dtype)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=kind).eval()
    processor = AutoProcessor.from_pretrained(folder)
    found = []
    for query in asked:
        text = instruction(query.question, query.classes)
        content = [{"type": "image"}, {"type": "text", "text": text}]
        prompt = processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        scores = {}
        for name in (*query.classes, "unknown"):
            # The answer is part of the text, as the processor would read it.
            inputs = processor(
                images=query.image, text=prompt + name, return_tensors="pt"
            )
            inputs = {
                k: v.to(kind) if v.is_floating_point() else v for k, v in inputs.items()
            }
            with torch.inference_mode():
                logits = model(**inputs, use_cache=False).logits[0].float()
            tokens = inputs["input_ids"][0, -len(name) :]  # one token a letter
            logs = torch.log_softmax(logits[-len(name) - 1 : -1], dim=-1)
            scores[name] = float(logs.gather(1, tokens[:, None]).mean())
        found.append(scores)
    return found


def likeliest(scores: dict[str, float]) -> str:
    return max(scores, key=lambda name: scores[name])


def test_scores_are_those_of_a_pass_for_each_class(folder: Path) -> None:
    judge, said = make(folder)
    asked = queries()
    expected = one_pass_a_class(folder, asked, "float32")
    found = judge.answer(asked)
    for answer, scores in zip(found, expected, strict=True):
        assert json.loads(answer.raw) == pytest.approx(scores, abs=2e-4)
        assert answer.answer == likeliest(scores)
    # image and question both count
    assert len({answer.raw for answer in found}) == len(asked)
    assert not said


def test_an_answer_does_not_depend_on_other_questions_in_its_batch(
    folder: Path,
) -> None:
    judge, _ = make(folder)
    asked = queries()
    together = [answer.answer for answer in judge.answer(asked)]
    assert [judge.answer([query])[0].answer for query in asked] == together
    assert [answer.answer for answer in judge.answer(asked[::-1])] == together[::-1]


def test_four_images_are_read_in_two_passes(folder: Path) -> None:
    judge, _ = make(folder)
    judge.answer(queries())  # the first answers are compared with the slower way
    passes: list[object] = []
    judge._loaded().register_forward_pre_hook(lambda *given: passes.append(given))
    judge.answer([query for query in queries() if query.question != "Which?"])
    assert len(passes) == 2


def test_rounding_does_not_change_answers(folder: Path) -> None:
    """In bfloat16 scores are coarse; what is too close to call is asked as it was before."""
    judge, said = make(folder, "bfloat16")
    asked = queries()
    expected = [likeliest(one) for one in one_pass_a_class(folder, asked, "bfloat16")]
    assert [answer.answer for answer in judge.answer(asked)] == expected
    assert not said


@pytest.mark.parametrize(
    ("moved", "passes"),
    [
        pytest.param({}, 5, id="all of four classes and 'unknown' are equal"),
        pytest.param({"male": -9, "a": -9, "unknown": -9}, 2, id="two are equal"),
        pytest.param({"male": 9}, 0, id="one is far ahead"),
        pytest.param({"a": float("nan")}, 5, id="one has no score"),
    ],
)
def test_only_classes_close_to_the_best_are_scored_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moved: dict[str, float],
    passes: int,
) -> None:
    judge, _ = make(tiny.llava(tmp_path / "llava"))
    query = queries()[0]
    judge.answer([query])  # the first answer is compared with the slower way
    scored = Scored({name: moved.get(name, 0.0) for name in (*CLASSES, "unknown")}, 1)
    monkeypatch.setattr(SharedPasses, "scores", lambda *_: [[scored]])
    seen: list[object] = []
    judge._loaded().register_forward_pre_hook(lambda *given: seen.append(given))
    answer = judge.answer([query])[0]
    assert len(seen) == passes
    recorded = json.loads(answer.raw)
    assert list(recorded) == [*CLASSES, "unknown"]
    if passes == 0:
        assert answer.answer == "male"
    elif passes == 2:
        expected = {name: recorded[name] for name in CLASSES[1:3]}
        assert answer.answer == likeliest(expected)
        assert recorded["a"] == -9


def test_an_image_that_is_gone_does_not_change_how_others_are_read(
    folder: Path,
) -> None:
    def gone() -> Image.Image:
        raise UnreadableImageError("it has changed")

    judge, said = make(folder)
    lost = QueryOfFile(gone, "p", 9, "9", "Which?", CLASSES)
    with pytest.raises(UnreadableImageError, match="it has changed"):
        judge.answer([*queries(), lost])
    assert judge._shares
    assert not said


def test_exact_ties_go_to_the_first_class(tmp_path: Path) -> None:
    import torch

    judge, _ = make(tiny.llava(tmp_path / "llava"))
    with torch.no_grad():
        judge._loaded().lm_head.weight.zero_()
    assert [answer.answer for answer in judge.answer(queries())] == [
        "male",
        "sunny",
    ] * 4


QUESTION_FIRST = (
    "{% for message in messages %}{{ message['content'][1]['text'] }}<image> {% "
    "endfor %}answer: "
)


def test_a_template_may_put_the_question_first(tmp_path: Path) -> None:
    folder = tiny.llava(tmp_path / "llava", chat=QUESTION_FIRST)
    judge, said = make(folder)
    found = judge.answer(queries())
    for answer, scores in zip(
        found, one_pass_a_class(folder, queries(), "float32"), strict=True
    ):
        assert json.loads(answer.raw) == pytest.approx(scores, abs=2e-4)
    assert not said


def _unlike_llama(kind: str) -> Any:
    """Language models whose memory of the image no branch can share."""
    from transformers import Lfm2Config, MistralConfig

    tokens = tiny.letter_tokenizer()
    sizes = {**tiny.token_ids(tokens), **tiny.SIZES}
    if kind == "window":
        return MistralConfig(**sizes, sliding_window=16)
    return Lfm2Config(
        **sizes, layer_types=["conv", "full_attention"], block_multiple_of=32
    )


@pytest.mark.parametrize(
    ("kind", "why"), [("window", "attention window"), ("convolution", "kind conv")]
)
def test_a_model_that_cannot_share_is_asked_class_by_class(
    tmp_path: Path, kind: str, why: str
) -> None:
    folder = tiny.llava(tmp_path / kind, text=_unlike_llama(kind))
    judge, said = make(folder)
    found = judge.answer(queries())
    expected = one_pass_a_class(folder, queries(), "float32")
    assert [answer.answer for answer in found] == [likeliest(one) for one in expected]
    assert judge.answer(queries()) == found
    assert len(said) == 1 and "slower" in said[0] and why in said[0]


def test_a_model_that_takes_no_positions_is_found_out(tmp_path: Path) -> None:
    """The first answers are compared with the slower way, so that no wrong one is stored."""
    judge, said = make(tiny_vlms.save("idefics3", tmp_path / "idefics3"))

    def forget(_: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, {
            key: value for key, value in kwargs.items() if key != "position_ids"
        }

    judge._loaded().register_forward_pre_hook(forget, with_kwargs=True)
    expected = one_pass_a_class(tmp_path / "idefics3", queries(), "float32")
    found = judge.answer(queries())
    assert [answer.answer for answer in found] == [likeliest(one) for one in expected]
    assert len(said) == 1 and "log-probabilities differ" in said[0]


def test_too_little_memory_costs_time_and_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    judge, said = make(tiny_vlms.save("qwen2_vl", tmp_path / "qwen"))
    expected: list[Answer] = judge.answer(queries())
    shared, calls = SharedPasses.scores, list[int]()

    def scores(self: SharedPasses, groups: Sequence[Sequence[Any]]) -> Any:
        calls.append(len(groups))
        if len(groups) > 1:
            raise torch.OutOfMemoryError("no memory")
        return shared(self, groups)

    monkeypatch.setattr(SharedPasses, "scores", scores)
    for _ in range(2):
        assert [one.answer for one in judge.answer(queries())] == [
            one.answer for one in expected
        ]
    assert calls == [4, 2, 1, 1, 1, 1, 1, 1, 1, 1]  # fewer together, until they fit
    assert not said
