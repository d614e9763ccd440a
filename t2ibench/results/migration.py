"""Conversion of results of schema 2, whose scores were named by the papers' letters.

docs/score-names.md shows `SCORES` and `FIELDS`; names of other packages' methods are theirs.
Conventions, which are for people to read, stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from t2ibench.methods.core.score_names import join_score_name, split_score_name
from t2ibench.results.schema import SCHEMA_VERSION

OLDEST = 2  # schema that is read

_SETS = {
    "asc": "association",
    "asc_X": "association_of_x",
    "asc_Y": "association_of_y",
    "S": "differential_association",
    "d": "effect_size",
    "cell_XA": "cosine_of_x_and_a",
    "cell_XB": "cosine_of_x_and_b",
    "cell_YA": "cosine_of_y_and_a",
    "cell_YB": "cosine_of_y_and_b",
}

_WEAT = {
    **_SETS,
    "sc_weat_d": "single_category_effect_size",
}
_T2IAT = {
    **_SETS,
    "d_prompt": "effect_size_over_prompts",
    "lean_X": "lean_of_x",
    "lean_Y": "lean_of_y",
    "p": "p_value",
}
_OCCUPATIONS = {
    "asc": "association",
    "asc_text": "association_text",
    "mean_asc": "association_mean",
    "q25": "lower_quartile",
    "q75": "upper_quartile",
    "two_p_minus_one": "nearer_share_difference",
    "mean_abs_two_p_minus_one": "mean_absolute_nearer_share_difference",
    "apart": "group_distance",
    "apart_halves": "group_distance_of_halves",
    "lean_these_wordings": "lean_fixed_wordings",
    "lean_mean_like_these": "lean_mean_prompt_population",
    "slope_like_these": "slope_prompt_population",
}
_MCAS = {
    "ii": "image_to_image_association",
    "itp": "text_to_image_association",
    "it": "image_to_text_association",
    "tt": "text_to_text_association",
    "ii_d": "image_to_image_association_effect_size",
    "itp_d": "text_to_image_association_effect_size",
    "it_d": "image_to_text_association_effect_size",
    "tt_d": "text_to_text_association_effect_size",
    "mcas": "composite_association_score",
    "ii_minus_tt": "image_to_image_minus_text_to_text",
    "delta": "diffusion_bias",
    "signed_delta": "signed_diffusion_bias",
    "alpha": "bias_amplification",
    "signed_alpha": "signed_bias_amplification",
    "alpha_slope": "bias_amplification_slope",
}
_OPENBIAS = {
    "h": "squared_lean",
    "h_free": "squared_lean_of_means",
    "h_corrected": "squared_lean_corrected",
    "delta": "relative_deviation",
}
_TIBET = {
    "cas": "concept_association_score",
    "cas_share": "concept_association_share",
    "cas_share_female": "concept_association_share_female",
    "cas_share_male": "concept_association_share_male",
    "cas_clip": "clip_association_score",
    "mad": "mean_absolute_deviation",
    "mad_before_root": "mean_absolute_deviation_before_root",
    "mad_clip": "mean_absolute_deviation_clip",
    "mad_bipartite": "mean_absolute_deviation_bipartite",
    "mad_societal": "mean_absolute_deviation_societal",
    "mad_incidental": "mean_absolute_deviation_incidental",
}
_VIBEX = {
    "m": "similarity_difference",
    "D": "kolmogorov_smirnov_distance",
    "D_mean": "kolmogorov_smirnov_distance_mean",
    "delta": "cliffs_delta",
    "x": "anchor_similarity_difference",
}
SCORES: Mapping[str, Mapping[str, str]] = {
    "weat": _WEAT,
    "t2iat": _T2IAT,
    "occupations": _OCCUPATIONS,
    "mcas": _MCAS,
    "openbias": _OPENBIAS,
    "tibet": _TIBET,
    "vibex": _VIBEX,
}

FIELDS: Mapping[str, str] = {
    "these": "fixed_prompts",
    "like_these": "prompt_population",
    "treatment": "prompt_outcomes",
    "prompt_agreement": "text_image_alignment",
    "signs_agree": "encoder_agreement",
}

# Parts of `details` that are no score's name.
_DETAILS = {"agreement": "rater_agreement", "alpha": "krippendorff_alpha"}
_QUESTIONS = {old: FIELDS[old] for old in ("these", "like_these")}
# Ends of names that are made of a score's name: means over targets, of all and of one side, and
# what flipped answers change.
_ENDS = {
    "_mean": "_mean",
    "_mean_A": "_mean_of_a",
    "_mean_B": "_mean_of_b",
    "_change": "_change",
    "_pooled": "_pooled",
}


def score_name(method: str, name: str) -> str:
    """Return the present name of a score that a file of schema 2 names otherwise.

    Examples:
        >>> score_name("tibet", "cas:female"), score_name("mcas", "alpha_mean_A")
        ('concept_association_score:female', 'bias_amplification_mean_of_a')
        >>> score_name("vibex", "delta"), score_name("openbias", "delta")
        ('cliffs_delta', 'relative_deviation')
        >>> score_name("a plug-in's", "d")
        'd'
    """
    names = SCORES.get(method, {})
    base, about = split_score_name(name)
    new = names.get(base, base)
    if new == base and method in {"mcas", "tibet"}:
        for old_end, new_end in _ENDS.items():
            stem = base.removesuffix(old_end)
            if stem != base and stem in names:
                new = names[stem] + new_end
    return join_score_name(new, about)


def migrate(data: dict[str, Any]) -> None:
    """Convert the data of a schema 2 file in place; whether they are valid is not checked here."""
    if data["schema"] == OLDEST:
        for part in ("tasks", "earlier"):
            for task in _mappings(data.get(part)):
                _migrate_task(task)
    data["schema"] = SCHEMA_VERSION


def _migrate_task(task: dict[str, Any]) -> None:
    method = str(task.get("method"))
    _rename(task, FIELDS)
    for part in (task, *_mappings(task.get("by_encoder"))):
        headline = part.get("headline")
        if isinstance(headline, dict):
            _rename(headline, FIELDS)
            _rename_question(headline)
        for row in (part, *_mappings(part.get("by"))):
            _rename_scores(row, method)
    for block in _mappings(task.get("published")):
        _rename_scores(block, method)
    for alignment in _mappings(task.get("text_image_alignment"), lists=True):
        _rename_question(alignment)
    details = task.get("details")
    if isinstance(details, dict) and method in SCORES:
        _rename(details, _DETAILS)
        _rename(details.get("by_stereotype"), SCORES[method])
        for shares in _mappings(details.get("shares")):
            for share in _mappings(shares):
                _rename(share, FIELDS)


def _rename_scores(part: dict[str, Any], method: str) -> None:
    scores = part.get("scores")
    if isinstance(scores, dict):
        _rename(scores, {name: score_name(method, name) for name in scores})


def _rename_question(part: dict[str, Any]) -> None:
    question = part.get("question")
    if isinstance(question, str):
        part["question"] = _QUESTIONS.get(question, question)


def _rename(part: Any, names: Mapping[str, str]) -> None:
    if isinstance(part, dict):
        pairs = [(names.get(key, key), value) for key, value in part.items()]
        part.clear()
        part.update(pairs)


def _mappings(part: Any, lists: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the dicts directly in a list or dict; with `lists`, also those in its inner lists."""
    members: Iterable[Any] = ()
    if isinstance(part, dict):
        members = part.values()
    elif isinstance(part, list):
        members = part
    for member in members:
        if isinstance(member, dict):
            yield member
        elif lists and isinstance(member, list):
            yield from _mappings(member)
