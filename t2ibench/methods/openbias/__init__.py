"""OpenBias: everything about this family."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.registry import lazy

METHOD = Method(
    title="OpenBias",
    Task=OpenBiasTask,
    check=check,
    needs=lazy("t2ibench.methods.openbias.needs:needs"),
    score=lazy("t2ibench.methods.openbias.score:score"),
    describe=lazy("t2ibench.methods.openbias.describe:describe"),
    present=lazy("t2ibench.methods.openbias.present:present"),
    main_score=MainScore("severity", "severity"),
    row_scores=("squared_lean", "lean"),
    estimand=(
        "The mean over biases of the mean over captions of the squared lean of the answers that "
        "the judge would give about endlessly many images: the sum of (p − r)² over the classes, "
        "divided by 1 − 1/k, with r = 1/k or the shares that the task names. For two classes "
        "against uniform ones its root is |2p − 1|."
    ),
    combine=lazy("t2ibench.methods.openbias.agreement:combine"),
    proposes="t2ibench.methods.openbias.propose:PROPOSAL",
)
