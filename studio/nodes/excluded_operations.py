"""Functions of the engine that are not nodes, with the reason. Functions that are layers are not listed."""

from __future__ import annotations

from collections.abc import Mapping

EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "another node does the same": (
        *("clamp_min", "clamp_max", "fmax", "fmin", "copysign", "fmod", "positive", "rsub", "float_power", "assign"),
        *("clone", "t", "mm", "mv", "dot", "vdot", "inner", "addmm", "addmv", "addr", "baddbmm", "addbmm", "norm"),
        *("chain_matmul", "tensordot", "fliplr", "flipud", "ravel", "broadcast_to", "adjoint", "tile", "narrow_copy"),
        *("split", "tensor_split", "hsplit", "vsplit", "dsplit", "hstack", "vstack", "dstack", "column_stack"),
        *("max", "min", "aminmax", "msort", "var_mean", "std_mean", "take", "isinf", "isposinf", "isneginf", "dist"),
        *("signbit", "logaddexp2", "ldexp", "index_add", "scatter", "index_fill", "broadcast_tensors"),
    ),
    "the shape of its result depends on values": (
        *("argwhere", "nonzero", "nonzero_static", "masked_select", "unique", "unique_consecutive", "bincount"),
    ),
    "its result has no gradient, and networks do not need it": (
        *("gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift"),
        *("bitwise_right_shift", "isreal", "nextafter", "heaviside", "frexp", "histc", "histogram", "histogramdd"),
        *("searchsorted", "bucketize", "isin"),
    ),
    "it returns no tensor": ("allclose", "equal", "is_conj", "is_neg", "broadcast_shapes"),
    "it is for complex numbers": ("conj", "conj_physical", "resolve_conj", "resolve_neg", "angle"),
    "its inputs are whole matrices without a batch": (
        *("kron", "trace", "diag", "diagflat", "block_diag", "cov", "corrcoef", "combinations", "cartesian_prod"),
        *("meshgrid", "pdist", "renorm"),
    ),
    "it works on the memory of a tensor": ("as_strided", "as_strided_scatter"),
    "it writes into a copy, which Where or Concatenate does on a canvas": (
        *("masked_scatter", "scatter_reduce", "index_copy", "index_reduce", "select_scatter", "slice_scatter"),
        *("diagonal_scatter",),
    ),
    "it is a factorization or a special function that networks rarely use": (
        *("cholesky_solve", "cholesky_inverse", "slogdet", "qr", "svd", "lu_unpack", "lu_solve", "lu", "geqrf"),
        *("triangular_solve", "pinverse", "householder_product", "ormqr", "i0", "igamma", "igammac", "polygamma"),
        *("mvlgamma", "trapezoid", "cumulative_trapezoid", "gradient", "segment_reduce"),
    ),
    "its result differs in kind with its arguments": (
        *("median", "nanmedian", "kthvalue", "mode", "quantile", "nanquantile"),
        *("atleast_1d", "atleast_2d", "atleast_3d"),
    ),
}
"""Names by reason."""
