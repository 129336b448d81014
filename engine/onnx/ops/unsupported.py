"""Why ops cannot be exported."""

from __future__ import annotations

from engine.onnx.translators import cannot_export

_GRADIENT = "it computes a gradient, and ONNX files hold forward passes"
_VALUES = "the shape of its result depends on the values of its input"
_FUNCTION = "ONNX has no operator for this function"
_SOLVER = "ONNX has no matrix decompositions and no solvers"
_MEMORY = "its result depends on how a tensor lies in memory, which ONNX does not define"
_RANDOM = "it draws random numbers, which differ between runtimes"
_LOSS = "it belongs to a loss, and a file holds the outputs of the model. Export the model without the loss"

cannot_export(
    _GRADIENT,
    "attention_backward", "attention_backward_packed", "as_strided_backward", "convolution_backward_weight",
    "cross_entropy_backward", "ctc_posterior", "ctc_posterior_jvp", "elman_layer_backward", "gru_layer_backward",
    "layer_norm_backward", "log_softmax_backward", "lstm_layer_backward", "softmax_backward", "sum_pool_backward",
    "unfold_backward", "cofactors",
)  # fmt: skip
cannot_export(_VALUES, "argwhere", "bincount", "histc", "unique", "unique_consecutive", "repeat_interleave_indices")
cannot_export(
    _FUNCTION,
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "erfcx", "erfinv", "frexp", "gcd", "i0",
    "i0e", "i1", "i1e", "igamma", "igammac", "lcm", "lgamma", "nextafter", "polygamma", "polynomial",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "zeta",
)  # fmt: skip
cannot_export(
    _SOLVER,
    "geqrf", "inv", "ldl_layout", "linalg_cholesky_ex", "linalg_eigh", "linalg_ldl_factor_ex", "linalg_lu_factor_ex",
    "linalg_pinv", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_solve_triangular", "linalg_svd",
    "matrix_exp", "pivots_to_permutation",
)  # fmt: skip
cannot_export(_MEMORY, "as_strided", "view_dtype")
cannot_export(_RANDOM, "dropout", "dropout_mask")
cannot_export("random numbers are inputs of a file", "random")
cannot_export(_LOSS, "check_class_targets", "cross_entropy", "ctc_loss", "smallest_probability")
cannot_export(
    "ONNX has running sums only, of the operators that go along a dimension step by step",
    "cummax_or_cummin", "cumprod", "linear_recurrence", "logcumsumexp",
)  # fmt: skip
cannot_export("ONNX has no operator for the most frequent value", "mode")
cannot_export(
    "ONNX's max pooling has other indices than the engine's: remove return_indices, and layers that use the indices",
    "flat_index", "window_gather", "window_scatter_add",
)  # fmt: skip
cannot_export("its values depend on values of tensors, or the model reads memory that it has not written", "empty")
cannot_export(
    "it measures tensors for the window, and no model calls it",
    "tensor_statistics", "tensor_norms", "dead_share", "join_elements",
)  # fmt: skip
