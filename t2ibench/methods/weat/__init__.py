"""WEAT: everything about this family."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.weat.schema import WeatTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="WEAT",
    Task=WeatTask,
    check=check,
    needs=lazy("t2ibench.methods.weat.needs:needs"),
    score=lazy("t2ibench.methods.weat.score:score"),
    describe=lazy("t2ibench.methods.weat.describe:describe"),
    present=lazy("t2ibench.methods.weat.present:present"),
    combine=lazy("t2ibench.methods.weat.score:combine"),
    main_score=MainScore("effect_size", "effect size"),
    estimand=(
        "Cliff's delta between the two target sets in the encoder's association of a word with the "
        "attributes A rather than B: the share of pairs of words from X and from Y, of which X's "
        "is the nearer to A, less the share where Y's is; over words like these."
    ),
)
