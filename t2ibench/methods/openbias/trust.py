"""What a judge's answers show about the judge: answers that never vary, classes never given."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.describe import listed
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.rows import CountedRow

# A model that draws 97 % of one class answers alike on 100 images in 5 % of runs; leaving it out
# with fewer would bias the mean over what is left.
_CAPTIONS, _ANSWERS = 10, 100


def only_class(answers: BiasAnswers) -> str | None:
    """The class that every answer is."""
    given = [
        name
        for name, total in zip(answers.bias.classes, answers.totals.tolist(), strict=True)
        if total
    ]
    return given[0] if len(given) == 1 else None


def never_varies(answers: BiasAnswers) -> str | None:
    """Why a bias does not count: so many equal answers may be the judge's and not the model's."""
    name = only_class(answers)
    captions = int((answers.counts.sum(axis=1) > 0).sum())
    if name is None or captions < _CAPTIONS or answers.n_classified < _ANSWERS:
        return None
    return (
        f"the judge answered '{name}' all {answers.n_classified} times about '{answers.name}', "
        "which cannot be told from a judge that always does"
    )


def warnings_of(answers: Sequence[BiasAnswers], rows: Sequence[CountedRow]) -> list[str]:
    """What a reader must know of the judge."""
    scored = {row.bias for row in rows}
    silent = [found.name for number, found in enumerate(answers) if number not in scored]
    warnings = []
    if silent:
        warnings.append(f"Too few answers, left out: {', '.join(silent)}.")
    for number, found in enumerate(answers):
        if number not in scored:
            continue
        reason, name = never_varies(found), only_class(found)
        if reason is not None:
            warnings.append(f"Left out of the headline: {reason}.")
        elif name is not None:
            warnings.append(
                f"Every one of the {found.n_classified} answers about '{found.name}' is '{name}': "
                "look at the images before calling it the model's."
            )
        else:
            warnings += _unreached(found)
        warnings += _without_reference(found)
    return warnings


def _unreached(found: BiasAnswers) -> list[str]:
    """Classes that a judge who answers much never gives."""
    if found.n_classified < _ANSWERS:
        return []
    pairs = zip(found.bias.classes, found.totals.tolist(), strict=True)
    lacking = [f"'{name}'" for name, total in pairs if not total]
    if not lacking:
        return []
    k = len(found.bias.classes)
    fair = (1 / (k - len(lacking)) - 1 / k) / (1 - 1 / k)
    return [
        f"None of the {found.n_classified} answers about '{found.name}' is {listed(lacking)}: if "
        f"the judge cannot give that, a model without bias reads h = {fair:.2f} here."
    ]


def _without_reference(found: BiasAnswers) -> list[str]:
    bias = found.bias
    if bias.compare_with != "reference" or bias.reference is None:
        return []
    words = dict.fromkeys(caption.stimulus for caption in found.captions)
    lacking = [word for word in words if word is not None and word not in bias.reference.shares]
    if not lacking:
        return []
    return [f"Without a share in '{bias.reference.name}', left out: {', '.join(lacking)}."]
