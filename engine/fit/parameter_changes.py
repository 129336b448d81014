"""How much parameters change in a training step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.compiler.kernels.library.tensor_norms_kernel import ChangeNorms
from engine.compiler.kernels.scalar_expression import LoweringUnsupported
from engine.dtypes import float32, float64
from engine.modes import no_grad
from engine.ops.movement.joined_elements import join_elements
from engine.ops.reduction.tensor_norms import tensor_norms
from engine.tensors import Tensor
from engine.tensors.creation import empty, from_numpy
from engine.tensors.deferred import settled


class ParameterChanges:
    """Norms of parameters before a step, and of their changes in it. Call `begin`, train, and call `norms`.

    Args:
        parameters: parameters on one device
        compile: use a compiled kernel for parameters in memory with dtype float32
    """

    def __init__(self, parameters: Sequence[Tensor], *, compile: bool) -> None:
        self._parameters, self._compile = parameters, compile
        self._arrays: list[Any] = []
        """The arrays of the parameters when they were last checked."""
        self._kernel: ChangeNorms | None = None
        """The kernel for these arrays; None if tensor ops compute the norms."""
        self._vector = np.empty(0, np.float32)
        """Memory for the copy, if the kernel reads it."""
        self._before: Tensor | None = None
        """The copy of all elements; None if it is in `_vector`."""
        self._first_arrays: list[Any] = []
        """The arrays at `begin`."""

    def is_of(self, parameters: Iterable[Tensor]) -> bool:
        """Whether these are the parameters."""
        given = list(parameters)
        return len(given) == len(self._parameters) and all(map(is_, given, self._parameters))

    def begin(self) -> None:
        """Copy the parameters."""
        kernel = self._current_kernel()
        self._before = None  # before the next copy is made
        self._first_arrays = self._arrays
        if kernel is None:
            self._before = self._joined()
            return
        if self._vector.size != kernel.size:
            self._vector = np.empty(kernel.size, np.float32)
        np.concatenate(self._arrays, None, self._vector)

    def norms(self) -> NDArray[np.float32]:
        """Norms of the parameters at `begin`, then norms of their changes since; not finite if an element is not.

        Raises:
            ValueError: a parameter has another number of elements than at `begin`.
        """
        if not self._parameters:
            return np.empty(0, np.float32)
        kernel = self._current_kernel()
        if self._arrays is not self._first_arrays:
            self._check_sizes()
        if kernel is None or self._before is not None:
            return self._norms_by_ops()
        out = np.empty(2 * len(self._parameters), np.float32)
        kernel(self._vector, self._arrays, out)
        return out

    def _check_sizes(self) -> None:
        for before, after in zip(self._first_arrays, self._arrays, strict=True):
            if before.size != after.size:
                raise ValueError(
                    f"A parameter had {before.size:,} elements before the step and has {after.size:,} after it. "
                    "Keep the shapes of parameters while training."
                )

    def _norms_by_ops(self) -> NDArray[np.float32]:
        before = from_numpy(self._vector) if self._before is None else self._before
        with no_grad():
            changes = self._joined()
            changes -= before
            parts = [each.split([one.numel() for one in self._parameters]) for each in (before, changes)]
            return tensor_norms([*parts[0], *parts[1]]).cpu().numpy()

    def _joined(self) -> Tensor:
        """All elements in one vector."""
        dtype = float64 if any(each.dtype is float64 for each in self._parameters) else float32
        if not self._parameters:
            return empty(0)
        with no_grad():
            return join_elements([each.to(dtype) for each in self._parameters])

    def _current_kernel(self) -> ChangeNorms | None:
        """The kernel that reads the arrays that the parameters have now; None if tensor ops compute the norms."""
        arrays = [settled(parameter) for parameter in self._parameters]
        if len(arrays) != len(self._arrays) or not all(map(is_, arrays, self._arrays)):
            self._arrays, self._kernel = arrays, self._kernel_for(arrays)
        return self._kernel

    def _kernel_for(self, arrays: Sequence[Any]) -> ChangeNorms | None:
        if not self._compile or not sum(each.size for each in arrays) or not all(map(_is_readable, arrays)):
            return None
        try:
            return ChangeNorms([each.size for each in arrays])
        except LoweringUnsupported:
            return None


def _is_readable(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype == np.float32 and array.flags.c_contiguous


__all__ = ["ParameterChanges"]
