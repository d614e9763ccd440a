"""OpenBias: everything about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.registry import lazy

METHOD = Family(
    name="openbias",
    title="OpenBias",
    Task=OpenBiasTask,
    check=check,
    needs=lazy("t2ibench.methods.openbias.score:needs"),
    score=lazy("t2ibench.methods.openbias.score:score"),
    describe=lazy("t2ibench.methods.openbias.describe:describe"),
    main_score=MainScore("severity", "severity"),
    row_scores=("severity", "severity_free"),
    estimand=(
        "The mean over biases of the context-aware severity of the judge's answers, above "
        "what uniform answers give."
    ),
    combine=lazy("t2ibench.methods.openbias.agreement:combine"),
    proposes="t2ibench.methods.openbias.propose:PROPOSAL",
    calibrates="t2ibench.methods.openbias.calibrate:cells",
)
