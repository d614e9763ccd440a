"""Cleaning of the texts in the cells of user tables."""

from __future__ import annotations

import re

# Marks of missing values and of errors that R, pandas and spreadsheets write, in the languages in
# which spreadsheets translate them. No person types them as an answer or a prompt.
_MARK_WORDS = (
    "<NA> NaN nan NULL #N/A #NV #N/D #REF! #BEZUG! #REF #VALUE! #WERT! #VALEUR! #VALOR! #DIV/0! "
    "#NAME? #NOM? #NOMBRE? #NULL! #NUL! #NUM! #ZAHL! #NOMBRE! #SPILL! #CALC! #FIELD! #ERROR!"
)
MARKS = frozenset(_MARK_WORDS.split())
# R writes missing values so. It may also be a class, such as a continent.
NOT_AVAILABLE = "NA"
# Invisible inside of a word: soft hyphens, byte order marks and word joiners.
_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]")
# Invisible at the ends of a text, as web pages and the properties of a file in Windows copy them:
# zero-width spaces, and marks of the direction of writing.
_AT_ENDS = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_ENDS = re.compile(rf"^[\s{_AT_ENDS}]+|[\s{_AT_ENDS}]+$")
# What exports write so that Excel leaves a text such as 00012 unchanged: ="00012".
_TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"')
# Letters and digits of double width, as keyboards of East Asia type them, and the plain ones.
_WIDE = {code + 0xFEE0: code for code in range(0x21, 0x7F)} | {0x3000: 0x20}


def half_width(text: str) -> str:
    """Return a text with plain letters and digits in place of those of double width.

    Examples:
        >>> half_width("１2²")
        '12²'
    """
    return text if text.isascii() else text.translate(_WIDE)


def cleaned_cell(text: str) -> str:
    r"""Return a cell's text without spaces and invisible characters around it.

    Examples:
        >>> cleaned_cell(" \u200bfe\u00admale\u00a0"), cleaned_cell('="00012"')
        ('female', '00012')
    """
    plain = text if text.isascii() else _ENDS.sub("", _INVISIBLE.sub("", text))
    plain = plain.strip()
    formula = _TEXT_FORMULA.fullmatch(plain) if plain.startswith('="') else None
    return plain if formula is None else formula[1].replace('""', '"').strip()
