"""ViBEx, which queries concepts in relation to anchors, as a method of the benchmark."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.vibex.publications import PUBLICATIONS
from t2ibench.methods.vibex.schema import VibexTask, check
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.vibex import combination
    from t2ibench.methods.vibex import describe as describing
    from t2ibench.methods.vibex import needs as requirements
    from t2ibench.methods.vibex import present as presenting
    from t2ibench.methods.vibex import score as scoring
else:  # what scores is imported when it is first called
    combination = LazyModule("t2ibench.methods.vibex.combination")
    describing = LazyModule("t2ibench.methods.vibex.describe")
    requirements = LazyModule("t2ibench.methods.vibex.needs")
    presenting = LazyModule("t2ibench.methods.vibex.present")
    scoring = LazyModule("t2ibench.methods.vibex.score")

METHOD = Method(
    title="ViBEx",
    Task=VibexTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    main_score=MainScore("tendencies_reproduced", "as published"),
    row_scores=("beyond_words", "similarity_difference", "lean"),
    estimand=(
        "(V / c - W) / (V / c + W): V is the mean over the test concepts, W that over everyday "
        "words, of the squared difference between two anchors' images in their mean cosine with "
        "the text, less what the anchors' own texts explain of it. 0: concepts lean as sets of "
        "everyday words do that are as few and as related (c)."
    ),
    combine=combination.combine,
    explores="t2ibench.methods.vibex.explore:EXPLORATION",
    publications=PUBLICATIONS,
)
