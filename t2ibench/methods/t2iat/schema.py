"""The schema of T2IAT tasks."""

from __future__ import annotations

from typing import Literal

from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import Concept, Count, Strict, TwoWordGroups


class Concepts(Strict):
    """The two target concepts."""

    X: Concept
    Y: Concept


class T2iatTask(GuidedTask):
    """A text-to-image association test (Wang et al. 2023).

    Attributes:
        concepts: Target concepts X and Y.
        attributes: Attribute sets A and B.
        prompts: Templates. A neutral one may have alternatives, such as '{child|kid}': its prompts
            are then drawn with each of them, as one wording.
        pairing: 'cycle' gives each stimulus `words_per_stimulus` attribute words, 'cross' all.
        words_per_stimulus: For pairing 'cycle'.
        match: Compare a neutral image with the attribute images of its own 'stimulus', or of its
            whole 'concept'.
        effect_size: The convention of score 'd': 'cohen' (pooled SD), 'weat' (SD of the union,
            ddof 1) or 't2iat_code' (ddof 0, one association per prompt).
    """

    method: Literal["t2iat"]
    concepts: Concepts
    attributes: TwoWordGroups
    pairing: Literal["cycle", "cross"] = "cycle"
    words_per_stimulus: Count = 2
    match: Literal["stimulus", "concept"] = "stimulus"
    effect_size: Literal["cohen", "weat", "t2iat_code"] = "cohen"
