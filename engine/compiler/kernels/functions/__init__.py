"""Scalar functions that generated kernels call. Imports numba, so only generated modules import this.

Errors are below 2 units of the last place (`tests/engine/compiler/kernels/test_functions.py`).
"""

from engine.compiler.kernels.functions.choice import *
from engine.compiler.kernels.functions.exponential import *
from engine.compiler.kernels.functions.instructions import *
from engine.compiler.kernels.functions.logarithm import *
