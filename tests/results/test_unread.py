"""What was not read of prompts, in words."""

from __future__ import annotations

from t2ibench.identity import ImageKey
from t2ibench.results.unread import (
    PromptReading,
    UnreadPrompt,
    unread_line,
    unread_prompts,
)
from t2ibench.store.images import Attempt

CLIP = PromptReading(tower="CLIP", tokens=90, limit=77, unread="show a woman")
T5 = PromptReading(tower="T5", tokens=60, limit=512)


def test_texts_are_found_by_what_the_model_got() -> None:
    attempts = [
        Attempt(
            ImageKey.of("chef", 0),
            1,
            "ok",
            sha256="a",
            file="a.png",
            revised_prompt="chef, show a woman",
        ),
        Attempt(ImageKey.of("chef", 1), 2, "failed"),
    ]
    (one,) = unread_prompts(
        {"chef": 2}, lambda *_: attempts, {"chef, show a woman": [CLIP, T5]}
    )
    assert one.prompt == "chef" and one.rewritten == "chef, show a woman"
    assert one.unread == "" and one.cut == "show a woman"
    assert unread_prompts({"chef": 2}, lambda *_: attempts, {"chef": [CLIP]}) == []
    assert unread_prompts({"chef": 2}, lambda *_: [None, None], {"chef": [CLIP]}) == []


def test_words_that_no_text_encoder_read_are_named() -> None:
    unread = [UnreadPrompt(prompt=name, towers=[CLIP]) for name in ("chef", "nurse")]
    assert unread_line(unread, 4) == (
        "the end of 2 of 4 prompts was not read (CLIP read the first 77 tokens): '…show a woman'"
    )
    assert unread_line([], 4) is None


def test_words_that_one_text_encoder_alone_read_are_named() -> None:
    line = unread_line([UnreadPrompt(prompt="chef", towers=[CLIP, T5])], 3)
    assert line == (
        "not every text encoder read the end of 1 of 3 prompts (CLIP read the first 77 tokens, "
        "T5 all): '…show a woman'"
    )


def test_many_or_long_unread_ends_are_shortened() -> None:
    towers = [
        CLIP.model_copy(update={"unread": f"{number} " + "x" * 300})
        for number in range(5)
    ]
    unread = [UnreadPrompt(prompt=f"{one.unread}", towers=[one]) for one in towers]
    line = unread_line(unread, 5) or ""
    assert line.endswith("and 2 more") and len(line) < 700
