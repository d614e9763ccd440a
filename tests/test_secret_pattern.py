"""The quick search for secrets finds what one regular expression finds at every place."""

from __future__ import annotations

import base64
import html
import json
import random
import re
from urllib.parse import quote

import pytest

from t2ibench.encoded_runs import encoded_runs
from t2ibench.redaction import Redaction, _holds_encoded
from t2ibench.secret_pattern import SecretPattern

# The runs that were looked at before there was a quick search for them.
RUNS = re.compile(
    r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,.-]{0,2}){6,}"
    r"|(?:[A-Za-z0-9+/_=-]|%2[bBfF]|%3[dD]|\\[rn]|[\r\n]){8,}"
)
SECRETS = [
    ("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x",),
    ("kX7-very+secret/0123456789==", "short6"),
    ('"quoted\\and/slashed"', "&amp;%25-of-a-key"),
    ("pässwörter-sind-geheim", "šifra-12345678"),
    ("İstanbul-Kelvin-straſse-1",),
    ("%&\\%&\\%&\\%&\\", "sssssssssssskkkkkkkkkkkk"),
    ("aaaaaaaaaaaaaaaa", "aaaaaa"),
]


def _escaped(rng: random.Random, text: str) -> str:
    """A text with some characters in another notation, chosen at random."""
    notations = [
        lambda c: c,
        lambda c: c.upper(),
        lambda c: c.lower(),
        lambda c: quote(c, safe=""),
        lambda c: quote(quote(c, safe=""), safe=""),
        lambda c: "".join(f"%{byte:02x}" for byte in c.encode()),
        lambda c: f"&#{ord(c)};",
        lambda c: f"&amp;#x000{ord(c):X}",
        html.escape,
        lambda c: f"\\u{ord(c):04x}",
        lambda c: f"\\\\\\u{{{ord(c):x}}}",
        lambda c: f"\\x{ord(c) % 256:02x}",
        lambda c: f"\\{c}",
        lambda c: c + rng.choice(["", " ", "-.", "\n \t", "___"]),
    ]
    chosen = rng.choices(notations, k=rng.choice([1, 2, 14]))
    return "".join(rng.choice(chosen)(character) for character in text)


def _encoded(rng: random.Random, text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    around = bytes(rng.choices(range(256), k=rng.randrange(4)))
    form = rng.randrange(7)
    if form == 0:
        return base64.b64encode(around + data + around).decode()
    if form == 1:
        return base64.urlsafe_b64encode(around + data).decode().rstrip("=")
    if form == 2:
        return base64.encodebytes(around + data * 3).decode()
    if form == 3:
        return data.hex(rng.choice([":", " ", "-"]))
    if form == 4:
        return "".join(f"\\x{byte:02X}" for byte in data)
    if form == 5:
        return "".join(f"0x{byte:02x}, " for byte in data)
    return quote(base64.b64encode(around + data).decode(), safe="")


def _piece(rng: random.Random, secrets: tuple[str, ...]) -> str:
    secret = rng.choice(secrets)
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice([secret, secret[::-1], secret[1:], secret[:-1]])
    if kind == 1:
        return _escaped(rng, rng.choice([secret, secret[::-1]]))
    if kind == 2:
        return _encoded(rng, secret)
    if kind == 3:
        return _encoded(rng, _escaped(rng, secret))
    if kind == 4:
        return _encoded(rng, _encoded(rng, secret))
    if kind == 5:
        return json.dumps(_escaped(rng, secret))
    if kind == 6:
        return "".join(rng.choices('ab1 %&\\"/u0x;#+=kKs', k=rng.randrange(30)))
    return rng.choice(["the words of a sentence ", "deadbeef", "aa bb cc ", "\\\\"])


def _text(rng: random.Random, secrets: tuple[str, ...]) -> str:
    return "".join(_piece(rng, secrets) for _ in range(rng.randrange(1, 7)))


@pytest.mark.parametrize("secrets", SECRETS)
def test_the_quick_search_is_the_regular_expression(secrets: tuple[str, ...]) -> None:
    """Character for character, in texts of secrets, of parts of them and of escapes alone."""
    rng = random.Random(12)
    pattern = SecretPattern(sorted(secrets, key=lambda secret: (-len(secret), secret)))
    found = 0
    for _ in range(150):
        text = _text(rng, secrets)
        everywhere = pattern._pattern.sub("***", text)
        assert pattern.hidden(text, "***") == everywhere, text
        assert pattern.search(text) == (everywhere != text)
        found += everywhere != text
    assert 30 < found < 140


@pytest.mark.parametrize("secrets", SECRETS)
def test_every_run_that_held_a_secret_is_within_one_that_does(
    secrets: tuple[str, ...],
) -> None:
    rng = random.Random(13)
    redaction = Redaction(secrets)
    assert redaction._pattern is not None
    held = 0
    for _ in range(60):
        text = redaction._pattern.hidden(_text(rng, secrets), "***")
        quick = [*redaction._encoded_spans(text, redaction._pattern)]
        for run in RUNS.finditer(text):
            if not _holds_encoded(run.group(), redaction, 0):
                continue
            held += 1
            start, end = run.span()
            covered = [(low, high) for low, high in quick if low < end and high > start]
            assert covered and covered[0][0] <= start and covered[-1][1] >= end, text
    assert held > 4


NEARLY = "Ab3dEf6hIj9lMn2pQr5tUv8xYz"


@pytest.mark.parametrize(
    "written",
    [
        "".join(f"\\x{ord(character):02x}" for character in NEARLY),
        "".join(f"\\u{ord(character):04x}" for character in NEARLY),
        "".join(f"\\\\u{{{ord(character):x}}}" for character in NEARLY),
        "".join(f"&#{ord(character)};" for character in NEARLY),
        "".join(f"&amp;#x{ord(character):x};" for character in NEARLY),
        "".join(f"%25{ord(character):02x}" for character in NEARLY),
        "&plus;" * 30,
        "&lt;" * 30,
    ],
)
def test_all_but_the_end_of_a_key_is_read_in_one_way(written: str) -> None:
    """A server that knows the key may send nearly all of it.

    With two ways to read a character, the 26 of them would be read in 67 million ways.
    """
    redaction = Redaction([f"{NEARLY}0Qw", "+" * 31 + "!", "<" * 31 + "!"])
    assert redaction.values(written) == written
    wholes = [written + end for end in ("&#48;Qw", "&plus;!", "&lt;!")]
    assert [redaction.values(whole) for whole in wholes] != wholes


def test_runs_that_are_too_short_are_not_looked_at() -> None:
    """A word of a sentence is no secret of 32 characters in Base64."""
    prose = "extraordinarily long words in a sentence, deadbeefcafe " * 20
    assert not [*encoded_runs(prose, 32)]
    assert [*encoded_runs(prose, 6)]


@pytest.mark.parametrize(
    "unit", ["\\", "%25", "&amp;", "sk-proj-", "aa ", "A", "%", "a"]
)
def test_the_places_where_it_is_tried_are_few_or_fail_at_once(unit: str) -> None:
    """Of twenty thousand characters that secrets begin with: ends, and finds nothing."""
    redaction = Redaction(["sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x", "aaaaaaaaaaaab"])
    text = unit * (20_000 // len(unit))
    assert redaction.values(text) == text
