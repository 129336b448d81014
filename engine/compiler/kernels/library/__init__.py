"""Hand-written kernels for ops that are neither elementwise nor reductions.

A plan waits for them before its first run, because NumPy sums in another order, and results must not depend on timing.
They serve all sizes, so they are compiled once per machine, in about a second each.
"""

from engine.compiler.kernels.library import add_rows_kernel as add_rows_kernel
from engine.compiler.kernels.library import attention_kernels as attention_kernels
from engine.compiler.kernels.library import class_targets_kernel as class_targets_kernel
from engine.compiler.kernels.library import convolution_kernels as convolution_kernels
from engine.compiler.kernels.library import dropout_mask_kernel as dropout_mask_kernel
from engine.compiler.kernels.library import lstm_kernels as lstm_kernels
from engine.compiler.kernels.library import pooling_kernels as pooling_kernels
from engine.compiler.kernels.library import product_blocks_kernel as product_blocks_kernel
from engine.compiler.kernels.library import tensor_norms_kernel as tensor_norms_kernel
from engine.compiler.kernels.library import tensor_statistics_kernel as tensor_statistics_kernel
from engine.compiler.kernels.library.routines import STRIDED as STRIDED
from engine.compiler.kernels.library.routines import Routine as Routine
from engine.compiler.kernels.library.routines import routine_of as routine_of
from engine.compiler.kernels.library.routines import start_thread_pool as start_thread_pool

__all__ = ["STRIDED", "Routine", "routine_of", "start_thread_pool"]
