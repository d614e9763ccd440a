"""Separate the answer of a language model from its reasoning."""

from __future__ import annotations

import re

# Opening and closing marks of reasoning: DeepSeek, Qwen, GLM and many others; Magistral; Kimi-VL;
# Seed-OSS; Gemma. A chat template may open the thoughts itself, so that only the end is there.
_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel>", "<channel|>"),
    ("<unused94>", "<unused95>"),
)
# Marks around an answer: GLM-4.5V, and what R1-like models are trained to write.
_ANSWER_MARKS = (("<|begin_of_box|>", "<|end_of_box|>"), ("<answer>", "</answer>"))
# Harmony, the format of gpt-oss: <|channel|>analysis<|message|>…<|end|><|start|>assistant…
# The name ends at the end of a word, so that there is one way to read a channel.
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)\b[^<]*<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
# The same format in a text without the special tokens.
_PLAIN_HARMONY = re.compile(r"\A\s*(?:analysis|commentary)(?=[A-Z\s])")
_PLAIN_FINAL = "assistantfinal"


def without_thinking(text: str) -> str | None:
    """Return a reply's answer without its reasoning; None if it ends within the reasoning.

    Examples:
        >>> without_thinking("<think>male? or female?</think>female")
        'female'
        >>> without_thinking("<think>male? or") is None
        True
    """
    if _CHANNEL.search(text):
        return _final_channel(text)
    if _PLAIN_HARMONY.match(text) and _PLAIN_FINAL in text:
        return text.rpartition(_PLAIN_FINAL)[2].strip()
    for opening, closing in _MARKS:
        start, end = text.find(opening), text.rfind(closing)
        if start < 0 and end < 0:
            continue
        if end < start or text.rfind(opening) > end:
            # A mark in the middle of an answer, such as one that quotes it, opens nothing.
            return None if not text[:start].strip() or end >= 0 else text
        before = text[:start] if 0 <= start < end else ""
        text = f"{before}{text[end + len(closing) :]}".strip()
    return _unmarked(text)


def _final_channel(text: str) -> str | None:
    """Return the text of Harmony's channel 'final'; None if there is none."""
    last: int | None = None
    for channel in _CHANNEL.finditer(text):
        if channel.group(1) == "final":
            last = channel.end()
    if last is None:
        return None
    return _HARMONY_END.split(text[last:], maxsplit=1)[0].strip()


def _unmarked(text: str) -> str:
    for opening, closing in _ANSWER_MARKS:
        start, end = text.rfind(opening), text.rfind(closing)
        if 0 <= start < end:
            return text[start + len(opening) : end].strip()
    return text
