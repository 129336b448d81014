"""Kernels written by hand, for ops that are neither elementwise nor reductions.

A plan waits for them before it runs for the first time, since NumPy's kernels add up in another order: what runs must
not depend on when. They serve all sizes, so they are compiled once on a machine, in about a second each.
"""

from engine.compiler.kernels.library import attention as attention
from engine.compiler.kernels.library import chance as chance
from engine.compiler.kernels.library import convolution as convolution
from engine.compiler.kernels.library import pooling as pooling
from engine.compiler.kernels.library import recurrent as recurrent
from engine.compiler.kernels.library import rows as rows
from engine.compiler.kernels.library.routine import STRIDED as STRIDED
from engine.compiler.kernels.library.routine import Routine as Routine
from engine.compiler.kernels.library.routine import routine_of as routine_of
from engine.compiler.kernels.library.routine import start_helpers as start_helpers

__all__ = ["STRIDED", "Routine", "routine_of", "start_helpers"]
