"""Scalar functions that generated kernels call. Imports numba, so only generated modules import this.

Errors are below 2 units in the last place (`tests/engine/compiler/kernels/test_functions.py`).
"""

from engine.compiler.kernels.functions.binary import compensated as compensated
from engine.compiler.kernels.functions.binary import floor_divide as floor_divide
from engine.compiler.kernels.functions.binary import fmax as fmax
from engine.compiler.kernels.functions.binary import fmin as fmin
from engine.compiler.kernels.functions.binary import logaddexp32 as logaddexp32
from engine.compiler.kernels.functions.binary import logaddexp64 as logaddexp64
from engine.compiler.kernels.functions.binary import maximum as maximum
from engine.compiler.kernels.functions.binary import minimum as minimum
from engine.compiler.kernels.functions.binary import power32 as power32
from engine.compiler.kernels.functions.binary import power64 as power64
from engine.compiler.kernels.functions.binary import remainder as remainder
from engine.compiler.kernels.functions.exponential import exp2_32 as exp2_32
from engine.compiler.kernels.functions.exponential import exp2_64 as exp2_64
from engine.compiler.kernels.functions.exponential import exp32 as exp32
from engine.compiler.kernels.functions.exponential import exp64 as exp64
from engine.compiler.kernels.functions.exponential import expm1_32 as expm1_32
from engine.compiler.kernels.functions.exponential import expm1_64 as expm1_64
from engine.compiler.kernels.functions.exponential import tanh32 as tanh32
from engine.compiler.kernels.functions.exponential import tanh64 as tanh64
from engine.compiler.kernels.functions.llvm_instructions import bits as bits
from engine.compiler.kernels.functions.llvm_instructions import ceil as ceil
from engine.compiler.kernels.functions.llvm_instructions import copysign as copysign
from engine.compiler.kernels.functions.llvm_instructions import fabs as fabs
from engine.compiler.kernels.functions.llvm_instructions import floor as floor
from engine.compiler.kernels.functions.llvm_instructions import fmod as fmod
from engine.compiler.kernels.functions.llvm_instructions import larger as larger
from engine.compiler.kernels.functions.llvm_instructions import rint as rint
from engine.compiler.kernels.functions.llvm_instructions import smaller as smaller
from engine.compiler.kernels.functions.llvm_instructions import sqrt as sqrt
from engine.compiler.kernels.functions.llvm_instructions import trunc as trunc
from engine.compiler.kernels.functions.llvm_instructions import wide_product as wide_product
from engine.compiler.kernels.functions.logarithm import log1p32 as log1p32
from engine.compiler.kernels.functions.logarithm import log1p64 as log1p64
from engine.compiler.kernels.functions.logarithm import log2_32 as log2_32
from engine.compiler.kernels.functions.logarithm import log2_64 as log2_64
from engine.compiler.kernels.functions.logarithm import log10_32 as log10_32
from engine.compiler.kernels.functions.logarithm import log10_64 as log10_64
from engine.compiler.kernels.functions.logarithm import log32 as log32
from engine.compiler.kernels.functions.logarithm import log64 as log64

__all__ = [
    "bits",
    "ceil",
    "compensated",
    "copysign",
    "exp2_32",
    "exp2_64",
    "exp32",
    "exp64",
    "expm1_32",
    "expm1_64",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "lane_product",
    "lane_sum",
    "larger",
    "log1p32",
    "log1p64",
    "log2_32",
    "log2_64",
    "log10_32",
    "log10_64",
    "log32",
    "log64",
    "logaddexp32",
    "logaddexp64",
    "maximum",
    "minimum",
    "power32",
    "power64",
    "remainder",
    "rint",
    "smaller",
    "sqrt",
    "tanh32",
    "tanh64",
    "trunc",
]
from engine.compiler.kernels.functions.lane_reductions import lane_product as lane_product
from engine.compiler.kernels.functions.lane_reductions import lane_sum as lane_sum
