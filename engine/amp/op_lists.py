"""PyTorch's autocast lists: precision by name, for ops, composites and functions decorated with `cast_by_name`.

Ops that are not listed keep the dtypes of their inputs. Composites that are not listed are cast op by op.
"""

from __future__ import annotations

_LOWER_PRECISION = {
    "addbmm", "addmm", "attention_weights", "baddbmm", "channel_mix", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "convolution", "convolution_backward_weight", "convolution_transpose",
    "elman_layer", "linear", "lstm_layer", "matmul", "prelu", "vecdot",
}  # fmt: skip

LOWER_PRECISION = {
    "cpu": frozenset(_LOWER_PRECISION),
    "cuda": frozenset({*_LOWER_PRECISION, "addmv", "addr", "gru_layer", "mv"}),
}
"""Run in the lower precision: ops dominated by multiply-adds, which accumulate in a wider register."""

_FLOAT32 = {
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cosine_embedding_loss", "cross_entropy",
    "ctc_loss", "ctc_posterior", "euclidean_dist", "hinge_embedding_loss", "huber_loss", "kl_div",
    "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nll_loss",
    "poisson_nll_loss", "prod", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
}  # fmt: skip

FLOAT32 = {
    "cpu": frozenset({
        *_FLOAT32, "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "linalg_cholesky_ex", "linalg_eigh",
        "fractional_max_pool2d", "fractional_max_pool3d", "geqrf", "grid_sample", "householder_product", "inv", "lu",
        "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "pad_with_input", "nanquantile", "ormqr",
        "linalg_pinv", "linalg_qr", "quantile", "linalg_svd", "linalg_solve_ex", "linalg_solve_triangular", "trace",
        "triangular_solve",
    }),
    "cuda": frozenset({
        *_FLOAT32, "acos", "asin", "cosh", "cosine_similarity", "dist", "erfinv", "exp", "expm1", "group_norm", "log",
        "log10", "log1p", "log2", "log_softmax", "layer_norm", "linalg_vector_norm", "pow", "reciprocal", "renorm",
        "rsqrt", "cumprod", "cumsum", "sinh", "softmax", "softplus", "sum", "tan",
    }),
}  # fmt: skip
"""Run in float32: ops that may overflow, or sum many small numbers."""

WIDEST_INPUT = {
    "cpu": frozenset({"cat", "gru_layer"}),
    "cuda": frozenset({
        "addcdiv", "addcmul", "atan2", "bilinear", "cat", "dot", "grid_sample", "index_put", "resample", "tensordot",
        "vdot",
    }),
}  # fmt: skip
"""Run in the widest input dtype."""

INPUT_PRECISION = {
    "cpu": frozenset({"addmv", "addr", "bilinear", "dot", "mv", "segment_reduce", "vdot"}),
    "cuda": frozenset({"segment_reduce"}),
}
"""Keep the input dtypes, although ops inside are listed."""

NAMES = {
    kind: LOWER_PRECISION[kind] | FLOAT32[kind] | WIDEST_INPUT[kind] | INPUT_PRECISION[kind] for kind in LOWER_PRECISION
}
"""All listed names per device type."""
