"""Statistics: numpy and scipy only, every draw from a generator that is passed in."""

from t2ibench.stats.bootstrap import resample_weights as resample_weights
from t2ibench.stats.bootstrap import two_sample_bootstrap as two_sample_bootstrap
from t2ibench.stats.categorical import cohens_kappa as cohens_kappa
from t2ibench.stats.categorical import concept_association as concept_association
from t2ibench.stats.categorical import expected_severity as expected_severity
from t2ibench.stats.categorical import kl_divergence as kl_divergence
from t2ibench.stats.categorical import macro_f1 as macro_f1
from t2ibench.stats.categorical import mad as mad
from t2ibench.stats.categorical import severity as severity
from t2ibench.stats.clusters import Proportion as Proportion
from t2ibench.stats.clusters import clustered_proportion as clustered_proportion
from t2ibench.stats.clusters import group_distance as group_distance
from t2ibench.stats.clusters import shuffled_labels as shuffled_labels
from t2ibench.stats.correlation import (
    correlation_permutation as correlation_permutation,
)
from t2ibench.stats.moments import cliffs_delta as cliffs_delta
from t2ibench.stats.permutation import Answers as Answers
from t2ibench.stats.permutation import PermutationResult as PermutationResult
from t2ibench.stats.permutation import holm as holm
from t2ibench.stats.permutation import p_value as p_value
from t2ibench.stats.permutation import relabelled_counts as relabelled_counts
from t2ibench.stats.permutation import sign_flip_permutation as sign_flip_permutation
from t2ibench.stats.permutation import two_sample_permutation as two_sample_permutation
from t2ibench.stats.shares import critical_value as critical_value
from t2ibench.stats.shares import pseudo_variance as pseudo_variance
from t2ibench.stats.shares import squared_lean as squared_lean
from t2ibench.stats.shares import squared_lean_without as squared_lean_without
from t2ibench.stats.slope import logit_slope as logit_slope
from t2ibench.stats.slope import share_slope as share_slope
