"""OpenBias: everything that is known about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.openbias.agreement import combine
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.describe import describe
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.score import needs, score

METHOD = Family(
    name="openbias",
    title="OpenBias",
    Task=OpenBiasTask,
    check=check,
    needs=needs,
    score=score,
    describe=describe,
    main_score=MainScore("severity", "severity"),
    row_scores=("severity", "severity_free"),
    estimand=(
        "The mean over biases of the context-aware severity of the judge's answers, above "
        "what uniform answers give."
    ),
    combine=combine,
    proposes="t2ibench.methods.openbias.propose:PROPOSAL",
)
