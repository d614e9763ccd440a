"""Statistics: numpy and scipy only, every draw from a generator that is passed in."""

from t2ibench.stats.agreement import cohens_kappa, krippendorff_alpha
from t2ibench.stats.bootstrap import (
    one_sample_bootstrap,
    one_sample_bootstraps,
    percentile_interval,
    resample_weights,
    two_sample_bootstrap,
)
from t2ibench.stats.categorical import (
    concept_association,
    expected_severity,
    jackknife_severity,
    kl_divergence,
    macro_f1,
    mad,
    miller_madow,
    severity,
)
from t2ibench.stats.correlation import correlation_permutation
from t2ibench.stats.effects import (
    cliffs_delta,
    cohens_d,
    two_sample_statistic,
    union_effect_size,
)
from t2ibench.stats.ks import group_distance, shuffled_labels
from t2ibench.stats.multiple import benjamini_hochberg, holm
from t2ibench.stats.permutation import (
    PermutationResult,
    p_value,
    two_sample_permutation,
)
from t2ibench.stats.proportions import (
    Proportion,
    clustered_proportion,
    pooled_proportion,
    sampled_proportion,
)
from t2ibench.stats.relabelling import Answers, relabelled_codes, relabelled_counts
from t2ibench.stats.shares import (
    anchored_interval,
    critical_value,
    free_square,
    pseudo_variance,
    squared_lean,
    squared_lean_without,
    variance_path,
)
from t2ibench.stats.signs import (
    sign_flip_permutation,
)
from t2ibench.stats.slope import Slope, logit_slope, share_slope

__all__ = [
    "Answers",
    "PermutationResult",
    "Proportion",
    "Slope",
    "anchored_interval",
    "benjamini_hochberg",
    "cliffs_delta",
    "clustered_proportion",
    "cohens_d",
    "cohens_kappa",
    "concept_association",
    "correlation_permutation",
    "critical_value",
    "expected_severity",
    "free_square",
    "group_distance",
    "holm",
    "jackknife_severity",
    "kl_divergence",
    "krippendorff_alpha",
    "logit_slope",
    "macro_f1",
    "mad",
    "miller_madow",
    "one_sample_bootstrap",
    "one_sample_bootstraps",
    "p_value",
    "percentile_interval",
    "pooled_proportion",
    "pseudo_variance",
    "relabelled_codes",
    "relabelled_counts",
    "resample_weights",
    "sampled_proportion",
    "severity",
    "share_slope",
    "shuffled_labels",
    "sign_flip_permutation",
    "squared_lean",
    "squared_lean_without",
    "two_sample_bootstrap",
    "two_sample_permutation",
    "two_sample_statistic",
    "union_effect_size",
    "variance_path",
]
