"""Which ops run in which precision under autocast, by the names of their records. PyTorch's lists, for each device.

What is not listed takes the dtypes that it is given. Functions that are written in ops and have a precision of their
own, losses for instance, are marked where they are defined, by `in_full_precision`.
"""

from __future__ import annotations

PRODUCTS = frozenset(
    {
        "attention_weights",
        "channel_mix",
        "convolution",
        "convolution_input",
        "convolution_weight",
        "elman_layer",
        "gru_layer",
        "linear",
        "lstm_layer",
        "matmul",
    }
)
"""Run in the lower precision: what spends its time in multiply-adds, and keeps their sums in a wider register."""

DELICATE = {
    "cpu": frozenset(
        {
            "cholesky_factor",
            "ctc",
            "ctc_posterior",
            "eigen_factors",
            "euclidean_distances",
            "inv",
            "prod",
            "pseudo_inverse",
            "qr_factors",
            "singular_factors",
            "solve_columns",
            "solve_triangle",
        }
    ),
    "cuda": frozenset(
        {
            "acos",
            "asin",
            "cosh",
            "ctc",
            "ctc_posterior",
            "erfinv",
            "euclidean_distances",
            "exp",
            "expm1",
            "log",
            "log10",
            "log1p",
            "log2",
            "log_softmax",
            "normalize_rows",
            "p_norm",
            "pow",
            "prod",
            "reciprocal",
            "rsqrt",
            "running_product",
            "running_sum",
            "sinh",
            "softmax",
            "softplus",
            "standardize",
            "sum",
            "tan",
        }
    ),
}
"""Run in float32: what overflows, or adds up many small numbers."""

WIDEST = {
    "cpu": frozenset({"cat"}),
    "cuda": frozenset({"addcdiv", "addcmul", "atan2", "cat", "put_at", "resample"}),
}
"""Run in the widest of the dtypes they are given."""
