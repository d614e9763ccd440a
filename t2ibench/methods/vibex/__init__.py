"""ViBEx: everything about this family."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.vibex.schema import VibexTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="ViBEx",
    Task=VibexTask,
    check=check,
    needs=lazy("t2ibench.methods.vibex.needs:needs"),
    score=lazy("t2ibench.methods.vibex.score:score"),
    describe=lazy("t2ibench.methods.vibex.describe:describe"),
    present=lazy("t2ibench.methods.vibex.present:present"),
    main_score=MainScore("tendencies_reproduced", "as published"),
    row_scores=("beyond_words", "similarity_difference", "lean"),
    estimand=(
        "(V / c - W) / (V / c + W): V is the mean over the test concepts, W that over everyday "
        "words, of the squared difference between two anchors' images in their mean cosine with "
        "the text, less what the anchors' own texts explain of it. 0: concepts lean as sets of "
        "everyday words do that are as few and as related (c)."
    ),
    combine=lazy("t2ibench.methods.vibex.score:combine"),
    explores="t2ibench.methods.vibex.explore:EXPLORATION",
)
