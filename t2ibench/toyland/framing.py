"""The world 'framing': the light of a picture of people depends on how its caption is put.

"A male nurse" is photographed in a brighter light than "a nurse", and so is "a local nurse": any
word that describes a person has it. Men are photographed in a brighter light than women, whatever
the caption says, so part of what tells men from women lies in that light. Images of one caption and
gender do not vary in it. The shares of men and women stay what they are.
"""

from __future__ import annotations

# How bright the sky is, from 0 to 1, for women and for men. The encoder reads its weather as -.85
# and -.65 in bare captions, and as .15 and .7 where a word describes the person.
_BARE = {"female": 0.0, "male": 0.1}
_FRAMED = {"female": 0.3, "male": 0.5}


def light_of(gender: str, *, is_framed: bool) -> float:
    """Return how bright the sky behind a person is, 0 to 1; halfway for neither man nor woman."""
    light = _FRAMED if is_framed else _BARE
    return light.get(gender, sum(light.values()) / 2)
