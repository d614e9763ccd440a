"""The OpenBias method, as the benchmark registers it."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.publications import PUBLICATIONS
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.openbias import agreement as agreeing
    from t2ibench.methods.openbias import describe as describing
    from t2ibench.methods.openbias import needs as requirements
    from t2ibench.methods.openbias import present as presenting
    from t2ibench.methods.openbias import score as scoring
else:  # what scores is imported when it is first called
    agreeing = LazyModule("t2ibench.methods.openbias.agreement")
    describing = LazyModule("t2ibench.methods.openbias.describe")
    requirements = LazyModule("t2ibench.methods.openbias.needs")
    presenting = LazyModule("t2ibench.methods.openbias.present")
    scoring = LazyModule("t2ibench.methods.openbias.score")

METHOD = Method(
    title="OpenBias",
    Task=OpenBiasTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    main_score=MainScore("severity", "severity"),
    row_scores=("squared_lean", "lean"),
    estimand=(
        "The mean over biases of the mean over captions of the squared lean of the answers that "
        "the judge would give about endlessly many images: the sum of (p − r)² over the classes, "
        "divided by 1 − 1/k, with r = 1/k or the shares that the task names. For two classes "
        "against uniform ones its root is |2p − 1|."
    ),
    combine=agreeing.combine,
    proposes="t2ibench.methods.openbias.propose:PROPOSAL",
    publications=PUBLICATIONS,
)
