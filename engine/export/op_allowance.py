"""Which ops an artifact can contain: those of layers, templates and common functions of tensors."""

from __future__ import annotations

from engine.ops.record import REGISTRY

TRACE_OPS = frozenset(("arange", "assign", "fill"))
"""Ops of traces that compute without the kernel of a registered op."""

VIEW_OPS = frozenset((
    "diagonal", "expand", "narrow", "permute", "reshape", "slice", "squeeze", "unfold", "unsqueeze",
))  # fmt: skip
"""Views that stay inside the memory of their input; writes through them are allowed."""

ALLOWED_OPS = TRACE_OPS | VIEW_OPS | frozenset((
    # elementwise
    "abs", "acos", "acosh", "add", "addcdiv", "addcdiv_sqrt", "addcmul", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "cast",
    "ceil", "clamp", "clamp_max", "clamp_min", "clone", "copysign", "cos", "cosh", "digamma", "div", "div_trunc", "elu",
    "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "floor_divide", "fmax", "fmin", "fmod", "frac",
    "gcd", "ge", "gelu", "gt", "heaviside", "hypot", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "lcm", "le", "leaky_relu", "lerp", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "masked_scale", "maximum", "minimum", "mul", "ne",
    "neg", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sinc",
    "sinh", "softplus", "sqrt", "square", "sub", "tan", "tanh", "trunc", "where", "xlogy",
    # reductions and order
    "all", "amax", "amin", "any", "argmax", "argmin", "cummax_or_cummin", "cumprod", "cumsum", "linalg_vector_norm",
    "log_softmax", "logcumsumexp", "max_or_min", "mean", "prod", "searchsorted", "softmax", "sort", "std", "sum",
    "topk", "var",
    # movement and indexing
    "cat", "copy_slices", "diag_embed", "flip", "gather", "index", "index_along", "index_put", "repeat", "roll",
    "scatter", "scatter_reduce", "tril", "triu", "zero_pad",
    # linear algebra
    "det", "euclidean_dist", "inv", "linalg_cholesky_ex", "linalg_eigh", "linalg_pinv", "linalg_qr", "linalg_slogdet",
    "linalg_solve_ex", "linalg_solve_triangular", "linalg_svd", "linear", "matmul",
    # layers
    "attention_weights", "batch_norm", "channel_affine", "channel_dot", "channel_mix", "check_class_targets", "col2im",
    "convolution", "convolution_transpose", "cross_entropy", "elman_layer", "flat_index", "gru_layer", "im2col",
    "layer_norm", "linear_recurrence", "lstm_layer", "max_pool_with_indices", "resample",
    "scaled_dot_product_attention", "sum_pool",
))  # fmt: skip


def refusal(name: str) -> str:
    """Why an artifact cannot contain an op; empty if it can."""
    if name in ALLOWED_OPS:
        return "" if name in TRACE_OPS or name in REGISTRY else "this version of Gradwire has no such op"
    op = REGISTRY.get(name)
    if op is None:
        return "this version of Gradwire has no such op"
    if op.random:
        return "it draws random numbers in an op; artifacts have those of Noise layers and creation functions only"
    if name in ("as_strided", "view_dtype"):
        return "its result depends on the layout of tensors in memory, which a file does not keep"
    if "_backward" in name:
        return "it computes a gradient, and artifacts compute results only"
    return "it is not among the ops of artifacts, which are those of layers and common functions of tensors"


def view_refusal(name: str) -> str:
    """Why a write through a view by an op cannot be stored; empty if it can."""
    return refusal(name) or ("" if name in VIEW_OPS else "it returns no view")


__all__ = ["ALLOWED_OPS", "TRACE_OPS", "VIEW_OPS", "refusal", "view_refusal"]
