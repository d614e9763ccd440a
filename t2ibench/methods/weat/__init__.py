"""WEAT, the word embedding association test, as a method of the benchmark."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.weat.publications import PUBLICATIONS
from t2ibench.methods.weat.schema import WeatTask, check
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.weat import describe as describing
    from t2ibench.methods.weat import needs as requirements
    from t2ibench.methods.weat import present as presenting
    from t2ibench.methods.weat import score as scoring
else:  # what scores is imported when it is first called
    describing = LazyModule("t2ibench.methods.weat.describe")
    requirements = LazyModule("t2ibench.methods.weat.needs")
    presenting = LazyModule("t2ibench.methods.weat.present")
    scoring = LazyModule("t2ibench.methods.weat.score")

METHOD = Method(
    title="WEAT",
    Task=WeatTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    combine=scoring.combine,
    main_score=MainScore("effect_size", "effect size"),
    estimand=(
        "Cliff's delta between the two target sets in the encoder's association of a word with the "
        "attributes A rather than B: the share of pairs of words from X and from Y, of which X's "
        "is the nearer to A, less the share where Y's is; over words like these."
    ),
    publications=PUBLICATIONS,
)
