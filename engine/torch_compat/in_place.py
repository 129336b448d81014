"""In-place functions of `engine`, such as `engine.sin_(x)`: the tensor methods of the same names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.nn.functional import celu_, rrelu_, selu_, threshold_  # noqa: F401  (named here too)
from engine.tensors import Tensor

METHODS = [
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
    "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_",
    "fix_", "floor_", "frac_", "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_",
    "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "resize_as_", "round_",
    "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_",
    "zero_",
]  # fmt: skip

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


globals().update({name: getattr(Tensor, name) for name in METHODS})
globals().update(__all__=["celu_", "rrelu_", "selu_", "threshold_", *METHODS])
